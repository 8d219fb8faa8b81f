"""The lines of a roofline plot as points, with the positions of their labels."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from .ceilings import Axes, Ceiling, line_ends_of_ceiling
from .charts import HEIGHT

Value = str | float | bool

_LETTER_WIDTH, _LABEL_HEIGHT = 5.9, 13.0  # approximate size of a label's character in pixels


def roofline_points(ceilings: Sequence[Ceiling], room: Axes) -> list[dict[str, Value]]:
    """Two points for each ceiling; the left one carries the label."""
    several = len({ceiling.device for ceiling in ceilings}) > 1
    rises = _label_rises(ceilings, room)
    points: list[dict[str, Value]] = []
    for index, ceiling in enumerate(ceilings):
        label = f"{ceiling.label}, {ceiling.device}" if several else ceiling.label
        parallel = _levels_of_device(ceiling, ceilings)
        ends = line_ends_of_ceiling(ceiling, ceilings, room)
        if not ceiling.arithmetic and _label_overlaps(ceiling, parallel, room):
            label = ""  # the tooltip shows it instead
        for end, (x, y) in enumerate(ends):
            points.append({
                "line": index,
                "device": ceiling.device,
                "precision": ceiling.name if ceiling.arithmetic else "",
                "x": x,
                "y": y,
                "tip": ceiling.description,
                "kind": "arithmetic" if ceiling.arithmetic else "memory",
                "label": "" if end else label,
                "rise": rises.get(index, 0.0),
                "under": len(parallel) > 1 and ceiling is parallel[0],
                # The chart hides a label that does not fit; only the chart knows its width.
                "length": _LETTER_WIDTH * len(label) + 10,
                "until": ends[-1][0],
            })  # fmt: skip
    return points


def _label_rises(ceilings: Sequence[Ceiling], room: Axes) -> dict[int, float]:
    """The distance in pixels between horizontal lines and their labels, chosen so that labels do
    not overlap."""
    horizontal = [index for index, one in enumerate(ceilings) if one.arithmetic]
    rises = {}
    free = -math.inf
    for index in sorted(horizontal, key=lambda i: ceilings[i].highest):
        height = _pixels_per_decade(room) * math.log10(ceilings[index].highest)
        rises[index] = max(0.0, free - height)
        free = max(free, height) + _LABEL_HEIGHT
    return rises


def _levels_of_device(ceiling: Ceiling, ceilings: Sequence[Ceiling]) -> list[Ceiling]:
    """The memory levels of a ceiling's device, the slowest first."""
    alike = [one for one in ceilings if one.device == ceiling.device and not one.arithmetic]
    return sorted(alike, key=lambda one: one.highest)


def _label_overlaps(ceiling: Ceiling, parallel: Sequence[Ceiling], room: Axes) -> bool:
    """Whether the label of a bandwidth line would overlap the next line above. The label of the
    lowest line is below it and never overlaps."""
    above: Iterator[float] = (one.highest for one in parallel if one.highest > ceiling.highest)
    gap = min(
        (_pixels_per_decade(room) * math.log10(one / ceiling.highest) for one in above),
        default=None,
    )
    return gap is not None and gap < _LABEL_HEIGHT + 2 and ceiling is not parallel[0]


def _pixels_per_decade(room: Axes) -> float:
    return HEIGHT / math.log10(room.y[1] / room.y[0])
