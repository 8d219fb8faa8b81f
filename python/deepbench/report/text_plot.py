"""A plot of labeled points in plain characters."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

_COLUMNS, _LINES = 56, 12  # of the area between the axes
_POINT, _MARKED = "o", "*"


@dataclass(frozen=True)
class PlotPoint:
    x: float
    y: float
    label: str
    is_marked: bool = False


def plot_lines(
    points: Sequence[PlotPoint],
    x_ends: tuple[str, str],
    y_ends: tuple[str, str],
    x_title: str,
    *,
    x_scale: Callable[[float], float] = math.log,
    y_low: float = 0.0,
) -> Iterator[str]:
    """The lines of a plot with an x axis from the smallest to the largest x, logarithmic unless
    `x_scale` is another function, and a y axis from `y_low` to the largest y. The ends of an axis
    are its labels. A label is left out where another point or label is."""
    area = [[" "] * _COLUMNS for _ in range(_LINES)]
    across = _shares([x_scale(point.x) for point in points])
    up = _shares([y_low, *(point.y for point in points)])[1:]
    places = [
        (round((1 - high) * (_LINES - 1)), round(along * (_COLUMNS - 1)))
        for along, high in zip(across, up, strict=True)
    ]
    for point, (line, column) in zip(points, places, strict=True):
        area[line][column] = _MARKED if point.is_marked else _POINT
    for point, (line, column) in zip(points, places, strict=True):
        _write_label(area[line], column, point.label)
    low, high = y_ends
    width = max(len(low), len(high))
    for number, cells in enumerate(area):
        label = high if number == 0 else ""
        yield f"{label:>{width}} |{''.join(cells).rstrip()}"
    yield f"{low:>{width}} +{'-' * _COLUMNS}"
    left, right = x_ends
    middle = x_title.center(_COLUMNS - len(left) - len(right))
    yield f"{'':{width}}  {left}{middle}{right}"


def _shares(values: Sequence[float]) -> list[float]:
    """How far each value is from the smallest to the largest one; the middle if all are equal."""
    low, high = min(values), max(values)
    return [(value - low) / (high - low) if high > low else 0.5 for value in values]


def _write_label(cells: list[str], column: int, label: str) -> None:
    """Writes a label after its point, or before it if there is room only there."""
    for start in (column + 2, column - 1 - len(label)):
        end = start + len(label)
        if start >= 0 and end <= len(cells) and set(cells[start:end]) == {" "}:
            cells[start:end] = label
            return
