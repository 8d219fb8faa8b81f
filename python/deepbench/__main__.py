"""python -m deepbench: runs the command line. Ctrl-C is handled even while it is imported."""

import os  # like sys, already imported by Python's start
import sys

# Python has put the working directory first on the path. A json.py there would replace the standard
# library's. The folder must leave the path before any other import, including `from __future__`.
if __name__ == "__main__" and not (sys.flags.isolated or getattr(sys.flags, "safe_path", False)):
    try:
        os.getcwd()  # noqa: PTH109
    except OSError:
        pass  # the working directory was removed, so that Python has put nothing on the path
    else:
        del sys.path[0]


def _run_command_line() -> int:
    try:
        from deepbench.cli import main

        return main()
    except KeyboardInterrupt:
        return 130


if __name__ == "__main__":
    sys.exit(_run_command_line())
