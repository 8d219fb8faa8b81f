"""deepbench model FILE...: predicts collectives on more ranks with models fitted to rows, and
prints the errors of the models on sizes and rank counts that they were not fitted to."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from deepbench.cli.command import Command, CommandLine, Option
from deepbench.collective_model import (
    Fit,
    Group,
    Point,
    PredictionError,
    algorithm_of,
    fit,
    group_points,
    reach,
)
from deepbench.errors import UsageError, in_quotes, printable_line
from deepbench.problems.ranges import whole_number
from deepbench.results import read
from deepbench.runner.progress import Screen
from deepbench.terminal_text import folded
from deepbench.workload import model_file

_OPTIONS = (
    Option("--ranks", "numbers of ranks to predict for, as in 8,64,1024 (the default)", "LIST"),
)
_USAGE = """\
usage: deepbench model FILE... [--ranks LIST]

Fits models to the rows of collectives and predicts their times on more ranks.
Prints how far a model is off on sizes and rank counts it was not fitted to.
Rows of one machine predict nothing beyond its devices or processors.
"""
_MOST_RANKS = 1 << 20
_COLUMN = 14  # width in terminal cells


def main(line: CommandLine) -> int:
    if not line.words:
        raise UsageError("model needs a result file: deepbench model FILE")
    ranks = _predicted_rank_counts(line)
    for word in line.words:
        _refuse_name_of_workload(word)
    files = [read(Path(word)) for word in line.words]
    found: dict[Group, list[Point]] = {}
    reaches: dict[Group, list[int | None]] = {}
    for file in files:
        for group, points in group_points(file.rows).items():
            found.setdefault(group, []).extend(points)
            reaches.setdefault(group, []).append(reach(file.context))
    if not found:
        names = " ".join(map(in_quotes, line.words))
        raise UsageError(f"there is no row of a collective that was measured in {names}")
    screen = Screen()
    limits = {group: _largest(counts) for group, counts in reaches.items()}
    for text in _reach_texts(limits, max(ranks)):
        screen.say(f"deepbench: {text}")
    for group, points in found.items():
        op, library, algorithm, precision = group
        fitted = fit(algorithm_of(library, algorithm, op), points)
        title = printable_line(f"{op} {precision}: {library} {algorithm}")
        reached = [count for count in ranks if count <= limits[group]]
        lines = _prediction_lines(title, fitted, points, reached, screen.report_width())
        screen.report("".join(f"{line}\n" for line in lines))
    return 0


def _refuse_name_of_workload(word: str) -> None:
    """Raises UsageError for a model whose kernels `deepbench workload` measures, unless a file has
    its name."""
    if word in model_file.available() and not Path(word).exists():
        raise UsageError(
            f"{word} is no result file; 'deepbench workload {word}' measures the model's kernels"
        )


def _largest(reaches: Sequence[int | None]) -> float:
    """The largest of several reaches, of which None has no limit."""
    return max(math.inf if one is None else one for one in reaches)


def _predicted_rank_counts(line: CommandLine) -> list[int]:
    words = (line.get("--ranks") or "8,64,1024").split(",")
    numbers = [whole_number(word) or 0 for word in words]
    if not all(2 <= number <= _MOST_RANKS for number in numbers):
        raise UsageError(f"--ranks {','.join(words)}: must be numbers from 2, as in 8,64,1024")
    return numbers


def _prediction_lines(
    title: str,
    fitted: Fit | None,
    points: Sequence[Point],
    ranks: Sequence[int],
    width: int | None,
) -> Iterator[str]:
    for line in _model_lines(title, fitted, points):
        yield from folded(line, width, "    ")
    if fitted is not None:
        measured = sorted({point.ranks for point in points})
        yield from _time_lines(fitted, points, [*measured, *ranks], width)


def _model_lines(title: str, fitted: Fit | None, points: Sequence[Point]) -> Iterator[str]:
    """The model of a library's algorithm, and its errors."""
    yield title
    if fitted is None:
        yield f"  {len(points)} rows: too few to fit a model and to test it; at least 5 sizes"
        return
    model = fitted.model
    start = f"{model.start_ns / 1e3:.3g} us and " if model.start_ns else ""
    step = f"{start}{model.latency_ns / 1e3:.3g} us a step, {_bandwidth_text(model.ns_per_byte)}"
    yield f"  as {model.algorithm.name}: {step}"
    if large := model.large:
        more = f"{large.extra_ns / 1e3:.3g} us more, {_bandwidth_text(large.ns_per_byte)}"
        yield f"  from {large.least:.0f} B on: {more}"
    error = _error_text(fitted.size_error)
    yield f"  of every second size of {fitted.points} rows, on the others: {error}"
    measured = sorted({point.ranks for point in points})
    if fitted.rank_error:
        fewer = ", ".join(map(str, measured[:-1]))
        yield f"  of {fewer} ranks alone, on {measured[-1]}: {_error_text(fitted.rank_error)}"


def _time_lines(
    fitted: Fit, points: Sequence[Point], ranks: Sequence[int], width: int | None
) -> Iterator[str]:
    """A table of times with one column for each number of ranks. Where a terminal is too narrow,
    further tables have the remaining columns."""
    first = "  time (us)  "
    most = len(ranks) if width is None else max(1, (width - len(first)) // _COLUMN)
    for start in range(0, len(ranks), most):
        shown = ranks[start : start + most]
        yield first + "".join(f"{f'{n} ranks':>{_COLUMN}}" for n in shown)
        for size in sorted({point.bytes for point in points}):
            times = (fitted.model.time_ns(n, size) / 1e3 for n in shown)
            yield f"  {size:>9.0f} B" + "".join(f"{time:>{_COLUMN}.1f}" for time in times)


def _reach_texts(limits: Mapping[Group, float], asked: int) -> Iterator[str]:
    """For each limit below the ranks that were asked for, the operations whose rows have it. The
    library is named too if an operation has several limits."""
    of_op: dict[str, set[float]] = {}
    for group, limit in limits.items():
        of_op.setdefault(group.op, set()).add(limit)
    for most in sorted({limit for limit in limits.values() if limit < asked}):
        names = dict.fromkeys(
            group.op if len(of_op[group.op]) == 1 else f"{group.op} through {group.library}"
            for group, limit in limits.items()
            if limit == most
        )
        yield printable_line(
            f"{', '.join(names)}: rows of one machine predict nothing beyond {most} ranks: it has "
            f"room for {most}, and they measured no network"
        )


def _bandwidth_text(ns_per_byte: float) -> str:
    return f"{1 / ns_per_byte:.3g} GB/s a rank" if ns_per_byte else "no limit seen"


def _error_text(error: PredictionError) -> str:
    return f"off by {error.median:.0%} (median), {error.largest:.0%} (largest)"


command = Command("model", _OPTIONS, main, _USAGE)
