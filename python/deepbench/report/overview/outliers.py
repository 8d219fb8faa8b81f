"""Samples that lie so far from the others that a plot of all would show nothing else: the scale
leaves them out, and says how many there are and where they lie."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from deepbench.report.fields import time_text

_FENCE = 3.0  # interquartile ranges beyond a quartile
_MOST = 0.1  # of the samples that may be left out at either end
_WORTH = 1.5  # by how much the scale must shrink
_FINEST = 0.001  # of the median: quartiles that are closer are one value


@dataclass(frozen=True)
class Outliers:
    """The scale, in the samples' unit, and what is outside, above and below."""

    low: float = -math.inf
    high: float = math.inf
    texts: tuple[str, ...] = ()

    def shows(self, value: float) -> bool:
        return self.low <= value <= self.high


def outliers(samples: Sequence[float]) -> Outliers:
    """Of samples in microseconds. A scale covers three interquartile ranges on both sides of the
    quartiles, and whatever lies beyond if it is much."""
    known = sorted(samples)
    if len(known) < 4:
        return Outliers()
    q1, median, q3 = (known[round(share * (len(known) - 1))] for share in (0.25, 0.5, 0.75))
    room = _FENCE * max(q3 - q1, _FINEST * abs(median))
    most = math.ceil(_MOST * len(known))
    low, high = min(q1 - room, known[most]), max(q3 + room, known[-1 - most])
    inside = [value for value in known if low <= value <= high]
    if known[-1] - known[0] <= _WORTH * max(inside[-1] - inside[0], room / _FENCE):
        return Outliers()
    below = [value for value in known if value < low]
    above = [value for value in known if value > high]
    sides = ((above, "above"), (below, "below"))
    texts = [_text(some, where, median) for some, where in sides if some]
    return Outliers(low, high, tuple(texts))


def _text(values: Sequence[float], where: str, median: float) -> str:
    """'2 samples above the scale: 12.30 µs to 45.60 µs', in the unit of the median."""
    ends = dict.fromkeys(time_text(1e3 * value, 1e3 * median) for value in (values[0], values[-1]))
    count = f"{len(values)} sample{'s' if len(values) > 1 else ''}"
    return f"{count} {where} the scale: {' to '.join(ends)}"
