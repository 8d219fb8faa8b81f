"""Writes the work of every built-in suite, so that `deepbench list` reads no problem.

    python tools/suite_work.py [--check]

The file is python/deepbench/suites/work.json. If a suite has changed since, `deepbench list` reads
all problems. It does not notice a change of an operation's work, which --check finds: nothing is
written then, and a file that differs is an error.
"""

from __future__ import annotations

import json
import sys
from dataclasses import asdict
from pathlib import Path

from deepbench import suites
from deepbench.cli.list_command import work_of_suite

FILE = Path(__file__).parents[1] / "python/deepbench/suites/work.json"


def main() -> None:
    if sys.argv[1:] not in ([], ["--check"]):
        sys.exit(__doc__)
    text = file_text()
    if not sys.argv[1:]:
        FILE.write_text(text, encoding="utf-8")
    elif FILE.read_text(encoding="utf-8") != text:
        sys.exit(f"{FILE.name} differs from the suites: python tools/suite_work.py writes it anew")


def file_text() -> str:
    """One line for each suite."""
    lines = [
        f'"{"/".join(pair)}": '
        + json.dumps({"checksum": suites.checksum(*pair), **asdict(work_of_suite(*pair))})
        for pair in suites.available()
    ]
    return "{\n" + ",\n".join(lines) + "\n}\n"


if __name__ == "__main__":
    main()
