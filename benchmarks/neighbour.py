"""Prints how many rows compare calls faster or slower between two runs of one command, while other
work on the same processors comes and goes.

Goal: none, and a row without such work is not disturbed.

    python benchmarks/neighbour.py PAIRS COMMAND...        a process on each processor, now and then
    python benchmarks/neighbour.py --alone PAIRS COMMAND...               without such processes
    python benchmarks/neighbour.py FILE FILE [FILE FILE...]               pairs of result files
"""

from __future__ import annotations

import os
import random
import subprocess
import sys
import tempfile
import threading
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from command_runs import run_to_file

from deepbench.compare import Rules, compare
from deepbench.compare.result_set import to_result_set
from deepbench.results import read

_USAGE = "usage: neighbour.py [--alone] PAIRS COMMAND... | FILE FILE..."
_SHORTEST_S, _LONGEST_S = 1.0, 5.0  # for which the neighbour comes, and for which it goes
_SPIN = "import os, sys\nos.sched_setaffinity(0, [int(sys.argv[1])])\nwhile True: pass"


@contextmanager
def neighbour() -> Iterator[None]:
    """Processes that compute on every processor, for some seconds at a time."""
    ends, lengths = threading.Event(), random.Random()

    def come_and_go() -> None:
        while not ends.wait(lengths.uniform(_SHORTEST_S, _LONGEST_S)):
            spinning = [
                subprocess.Popen([sys.executable, "-c", _SPIN, str(processor)])
                for processor in os.sched_getaffinity(0)
            ]
            ends.wait(lengths.uniform(_SHORTEST_S, _LONGEST_S))
            for process in spinning:
                process.kill()
                process.wait()

    thread = threading.Thread(target=come_and_go)
    thread.start()
    try:
        yield
    finally:
        ends.set()
        thread.join()


def print_verdicts(base: Path, other: Path) -> Counter[str]:
    """Compares the files of two runs of one command. Prints how many rows have each verdict, and
    every row that is called faster or slower. Returns the number of rows by verdict."""
    sets = [to_result_set(read(path)) for path in (base, other)]
    rows = compare(sets, Rules()).others[0].rows
    counts = Counter(row.verdict for row in rows)
    print(", ".join(f"{count} {verdict}" for verdict, count in sorted(counts.items())), flush=True)
    for row in rows:
        if row.verdict in ("faster", "slower") and row.ratio is not None:
            print(f"    {row.verdict}, {row.ratio.value:.3f}: {row.base.problem}", flush=True)
    return counts


def print_all_verdicts(pairs: Sequence[tuple[Path, Path]]) -> None:
    counts: Counter[str] = Counter()
    for pair in pairs:
        counts += print_verdicts(*pair)
    called = counts["faster"] + counts["slower"]
    print(
        f"{called} of {counts.total()} rows are called faster or slower, {counts['disturbed']} are "
        "disturbed"
    )


def run_pairs(count: int, command: Sequence[str], alone: bool) -> None:
    with tempfile.TemporaryDirectory() as folder:
        paths = [Path(folder) / f"{run}.jsonl" for run in range(2 * count)]
        for path in paths:
            if alone:
                run_to_file(path, *command)
            else:
                with neighbour():
                    run_to_file(path, *command)
        print_all_verdicts(list(zip(paths[::2], paths[1::2], strict=True)))


def main() -> None:
    words = sys.argv[1:]
    alone = words[:1] == ["--alone"]
    words = words[alone:]
    if words and words[0].isdecimal():
        run_pairs(int(words[0]), words[1:], alone)
    elif words and len(words) % 2 == 0:
        paths = [Path(word) for word in words]
        print_all_verdicts(list(zip(paths[::2], paths[1::2], strict=True)))
    else:
        sys.exit(_USAGE)


if __name__ == "__main__":
    main()
