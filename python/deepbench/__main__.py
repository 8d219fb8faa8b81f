"""python -m deepbench: the command line."""

from __future__ import annotations

import sys

from deepbench.cli import main

if __name__ == "__main__":
    sys.exit(main())
