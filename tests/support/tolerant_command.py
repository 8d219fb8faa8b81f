"""A `deepbench` that a busy machine does not make fail. A busy machine may end a row as mistrusted,
and make a comparison find a regression or a difference, or an acceptance fail; every other failure
counts.

The options in the variable GUIDE_OPTIONS are added to commands that measure rows: `--no-ceilings`
where a test does not look at ceilings.

The rows are read from the result file of the command. A command that names none gets one in the
working directory, whose name follows from the words, so that all ranks of a launcher agree on it.
"""

from __future__ import annotations

import os
import subprocess
import sys
import zlib
from collections.abc import Sequence
from pathlib import Path

from deepbench.problems.problem_arguments import operation_name

TOLERATED = {"ok", "unsupported", "mistrusted"}


def main(words: Sequence[str]) -> int:
    if words[:1] in (["compare"], ["accept"], ["ab"]):
        status = run(words)
        return 0 if status in (1, 3) else status
    if not measures_rows(words):
        return run(words)
    options = os.environ.get("GUIDE_OPTIONS", "").split()
    given = {word.partition("=")[0] for word in words}
    words = [*words, *(option for option in options if option.partition("=")[0] not in given)]
    outputs = [words[i + 1] for i, word in enumerate(words) if word in ("-o", "--output")]
    if outputs:
        file = Path(outputs[0])
    else:
        file = Path(f"rows_{zlib.crc32(' '.join(words).encode()):08x}.jsonl")
        words = [*words, "-o", str(file), "--overwrite"]
    status = run(words)
    return 0 if status == 1 and has_nothing_worse_than_mistrusted(file) else status


def run(words: Sequence[str]) -> int:
    return subprocess.run([sys.executable, "-m", "deepbench", *words]).returncode


def measures_rows(words: Sequence[str]) -> bool:
    first = words[0] if words else ""
    return "--help" not in words and (first == "run" or operation_name(first) is not None)


def has_nothing_worse_than_mistrusted(file: Path) -> bool:
    """Whether all planned rows are there and nothing worse than `mistrusted` happened."""
    from deepbench.results import read  # which takes time, and is needed after a failure alone

    result = read(file)
    statuses = {row.status for row in result.rows}
    complete = len(result.rows) == int(result.context["rows"])
    return complete and "mistrusted" in statuses and statuses <= TOLERATED


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
