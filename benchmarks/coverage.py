"""Prints how often the rows of repeated runs agree within their combined intervals.

Goal: 90 to 97 % of the pairs of rows agree, and on a GPU the median half-width is at most 1 %.

    python benchmarks/coverage.py FILE FILE...            compares result files of one setup
    python benchmarks/coverage.py -n 4 gemm training half --visits 3
                                                          runs the command four times first
"""

from __future__ import annotations

import math
import statistics
import sys
import tempfile
from collections import defaultdict
from collections.abc import Iterator, Sequence
from itertools import combinations
from pathlib import Path

from command_runs import run_to_file

from deepbench.compare.ratios import median_interval, ratio
from deepbench.compare.result_set import Entry, to_result_set
from deepbench.results import read

_USAGE = "usage: coverage.py FILE FILE... | -n RUNS COMMAND..."


def entries(path: Path) -> dict[int, Entry]:
    """The rows of a file that have a time, by position."""
    return {one.position: one for one in to_result_set(read(path)).entries if one.time_ns}


def decade(entry: Entry) -> str:
    assert entry.time_ns is not None
    return f"{entry.op} from 1e{math.floor(math.log10(entry.time_ns)) - 3} us"


def agreements(runs: Sequence[dict[int, Entry]]) -> Iterator[tuple[str, bool]]:
    """The class of each pair of rows, and whether their ratio's interval includes 1."""
    for first, second in combinations(runs, 2):
        for position in first.keys() & second.keys():
            one = ratio(first[position], second[position])
            if one is not None and one.low is not None and one.high is not None:
                yield decade(first[position]), one.low <= 1 <= one.high


def half_widths(runs: Sequence[dict[int, Entry]]) -> dict[str, list[float]]:
    widths: dict[str, list[float]] = defaultdict(list)
    for run in runs:
        for entry in run.values():
            interval = median_interval(entry)
            if interval is not None:
                widths[decade(entry)].append((interval.below + interval.above) / 2)
    return widths


def print_line(name: str, agree: Sequence[bool], widths: Sequence[float]) -> None:
    share = 100 * sum(agree) / len(agree) if agree else math.nan
    width = 100 * statistics.median(widths) if widths else math.nan
    print(f"{name:24} {len(agree):6} pairs {share:6.1f} % agree, half-width {width:6.2f} %")


def print_coverage(paths: Sequence[Path]) -> None:
    runs = [entries(path) for path in paths]
    by_class: dict[str, list[bool]] = defaultdict(list)
    for name, agree in agreements(runs):
        by_class[name].append(agree)
    widths = half_widths(runs)
    for name, agree in sorted(by_class.items()):
        print_line(name, agree, widths[name])
    every = [one for agree in by_class.values() for one in agree]
    print_line("all", every, [width for of_class in widths.values() for width in of_class])


def main() -> None:
    words = sys.argv[1:]
    if words[:1] == ["-n"] and len(words) > 2:
        with tempfile.TemporaryDirectory() as folder:
            paths = [Path(folder) / f"{run}.jsonl" for run in range(int(words[1]))]
            for path in paths:
                run_to_file(path, *words[2:])
            print_coverage(paths)
    elif len(words) > 1:
        print_coverage([Path(word) for word in words])
    else:
        sys.exit(_USAGE)


if __name__ == "__main__":
    main()
