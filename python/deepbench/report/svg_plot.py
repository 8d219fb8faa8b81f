"""A plot of values with their intervals as a static SVG, which a page without scripts can show."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from html import escape

_WIDTH, _HEIGHT = 960, 380
_LEFT, _RIGHT, _TOP, _BOTTOM = 90, 940, 66, 340  # of the area between the axes
_TICKS = 5
_LABEL_LINES, _LABEL_HEIGHT = 4, 14  # labels of marks take turns on lines, so that few collide


@dataclass(frozen=True)
class IntervalPoint:
    """A value within its interval. `mark` is the label of a line across the plot, if any."""

    value: float
    low: float
    high: float
    about: str  # the text that a reader sees at the pointer
    mark: str = ""


def interval_plot(
    points: Sequence[IntervalPoint], text_of: Callable[[float], str], x_ends: tuple[str, str]
) -> str:
    """The points from left to right at equal distances, over an axis from the lowest to the highest
    end of an interval, whose ticks have the texts of `text_of`."""
    low, high = min(one.low for one in points), max(one.high for one in points)
    if high <= low:
        low, high = 0.95 * low, 1.05 * high or 1.0
    step = (_RIGHT - _LEFT) / max(len(points) - 1, 1)

    def height(value: float) -> float:
        return _BOTTOM - (value - low) / (high - low) * (_BOTTOM - _TOP)

    parts = [
        f'<svg viewBox="0 0 {_WIDTH} {_HEIGHT}" style="max-width: {_WIDTH}px" role="img"'
        ' font-family="system-ui, sans-serif" font-size="12" fill="#333">'
    ]
    for number in range(_TICKS):
        value = low + (high - low) * number / (_TICKS - 1)
        parts.append(_line(_LEFT, height(value), _RIGHT, height(value), "#ddd"))
        parts.append(_text(_LEFT - 8, height(value) + 4, text_of(value), "end"))
    marks = 0
    for number, point in enumerate(points):
        x = _LEFT + number * step
        if point.mark:
            parts += _mark_parts(x, marks, point.mark)
            marks += 1
        parts.append(_line(x, height(point.low), x, height(point.high), "#2a6f97"))
        parts.append(
            f'<circle cx="{x:.1f}" cy="{height(point.value):.1f}" r="4" fill="#2a6f97">'
            f"<title>{escape(point.about)}</title></circle>"
        )
    parts += [
        _text(_LEFT, _BOTTOM + 24, x_ends[0], "start"),
        _text(_RIGHT, _BOTTOM + 24, x_ends[1], "end"),
        "</svg>",
    ]
    return "\n".join(parts) + "\n"


def _mark_parts(x: float, number: int, label: str) -> Iterator[str]:
    """A dashed line, and its label on the side with more room."""
    y = _LABEL_HEIGHT * (number % _LABEL_LINES + 1)
    side, anchor = (4.0, "start") if x < (_LEFT + _RIGHT) / 2 else (-4.0, "end")
    yield _line(x, y - 10, x, _BOTTOM, "#b5651d", ' stroke-dasharray="4 3"')
    yield _text(x + side, y, label, anchor)


def _line(x1: float, y1: float, x2: float, y2: float, color: str, more: str = "") -> str:
    ends = f'x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}"'
    return f'<line {ends} stroke="{color}"{more}/>'


def _text(x: float, y: float, text: str, anchor: str) -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}">{escape(text)}</text>'
