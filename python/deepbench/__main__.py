"""python -m deepbench: the command line. Ctrl-C may come before it is even imported."""

import os  # which Python itself has imported by now, as it has sys
import sys

# Python has put the working directory first on the path, and would take a json.py there for the
# standard library's. This comes before any other import, and `from __future__` is an import too.
if __name__ == "__main__" and not (sys.flags.isolated or getattr(sys.flags, "safe_path", False)):
    try:
        os.getcwd()  # noqa: PTH109
    except OSError:
        pass  # it was removed: Python has put nothing on the path
    else:
        del sys.path[0]


def _main() -> int:
    try:
        from deepbench.cli import main

        return main()
    except KeyboardInterrupt:
        return 130


if __name__ == "__main__":
    sys.exit(_main())
