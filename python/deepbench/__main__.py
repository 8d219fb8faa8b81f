"""python -m deepbench: the command line. Ctrl-C may come before it is even imported."""

from __future__ import annotations

import sys


def _main() -> int:
    try:
        from deepbench.cli import main

        return main()
    except KeyboardInterrupt:
        return 130


if __name__ == "__main__":
    sys.exit(_main())
