"""deepbench model FILE: what all_reduce would take on more ranks, by a model fitted to a file's
rows, and how far that model is off on sizes that it has not seen."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from deepbench.cli.errors import UsageError, shown
from deepbench.cli.flags import HELP, CommandLine, Flag, help_lines, parse, whole_number
from deepbench.cost_model import Fit, Point, algorithm_of, fit, groups
from deepbench.progress import Screen
from deepbench.refusal import one_line
from deepbench.results import read

_FLAGS = (
    Flag("--ranks", "numbers of ranks to predict for, as in 8,64,1024 (the default)", "LIST"),
    HELP,
)
_USAGE = "usage: deepbench model FILE [--ranks LIST]\n"
_MOST_RANKS = 1 << 20


def main(arguments: Sequence[str]) -> int:
    line = parse(arguments, _FLAGS)
    if line.has("--help"):
        print("\n".join([_USAGE, *help_lines(_FLAGS)]))
        return 0
    if len(line.words) != 1:
        raise UsageError("model needs one result file: deepbench model FILE")
    ranks = _ranks(line)
    found = groups(read(Path(line.words[0])).rows)
    if not found:
        raise UsageError(f"{shown(line.words[0])} has no all_reduce row that was measured")
    screen = Screen()
    for (library, algorithm, precision), points in found.items():
        fitted = fit(algorithm_of(library, algorithm), points)
        title = one_line(f"{library} {algorithm}, {precision}")
        screen.report("\n".join(_lines(title, fitted, points, ranks)) + "\n")
    return 0


def _ranks(line: CommandLine) -> list[int]:
    words = (line.get("--ranks") or "8,64,1024").split(",")
    numbers = [whole_number(word) or 0 for word in words]
    if not all(2 <= number <= _MOST_RANKS for number in numbers):
        raise UsageError(f"--ranks {','.join(words)}: must be numbers from 2, as in 8,64,1024")
    return numbers


def _lines(
    title: str, fitted: Fit | None, points: Sequence[Point], ranks: Sequence[int]
) -> Iterator[str]:
    yield title
    if fitted is None:
        yield f"  {len(points)} rows: too few to fit a model and to test it; at least 5 sizes"
        return
    model = fitted.model
    speed = f"{1 / model.ns_per_byte:.3g} GB/s" if model.ns_per_byte else "no limit seen"
    yield f"  as {model.algorithm.name}: {model.latency_ns / 1e3:.3g} us a step, {speed} a rank"
    yield (
        f"  of half of {fitted.points} rows, on the other half: off by {fitted.median_error:.0%} "
        f"(median), {fitted.largest_error:.0%} (largest)"
    )
    measured = sorted({point.ranks for point in points})
    yield "  time (us)  " + "".join(f"{f'{n} ranks':>14}" for n in [*measured, *ranks])
    for size in sorted({point.bytes for point in points}):
        times = (model.time_ns(n, size) / 1e3 for n in [*measured, *ranks])
        yield f"  {size:>9.0f} B" + "".join(f"{time:>14.1f}" for time in times)
