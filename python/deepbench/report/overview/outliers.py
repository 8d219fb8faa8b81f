"""Finds samples so far from the others that they would dominate the scale of a plot. The scale
excludes them, and a text states their number and range."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from deepbench.errors import counted
from deepbench.report.fields import time_text

_FENCE = 3.0  # interquartile ranges between a quartile and the end of the scale
_LARGEST_SHARE = 0.1  # largest fraction of samples that is excluded at either end
_LEAST_GAIN = 1.5  # factor by which excluding outliers must shrink the scale
_FINEST = 0.001  # of the median; an interquartile range counts as at least this wide


@dataclass(frozen=True)
class Outliers:
    """The ends of the scale in the samples' unit, and texts on the samples above and below it."""

    low: float = -math.inf
    high: float = math.inf
    texts: tuple[str, ...] = ()

    def shows(self, value: float) -> bool:
        return self.low <= value <= self.high


_NONE = Outliers()


def outliers(samples: Sequence[float]) -> Outliers:
    """The scale for samples in microseconds. It extends three interquartile ranges beyond the
    quartiles, and further if more than a tenth of the samples lie beyond."""
    known = sorted(samples)
    if len(known) < 4:
        return _NONE
    q1, median, q3 = (known[round(share * (len(known) - 1))] for share in (0.25, 0.5, 0.75))
    room = _FENCE * max(q3 - q1, _FINEST * abs(median))
    excluded = math.ceil(_LARGEST_SHARE * len(known))
    low, high = min(q1 - room, known[excluded]), max(q3 + room, known[-1 - excluded])
    if low <= known[0] and known[-1] <= high:
        return _NONE
    inside = [value for value in known if low <= value <= high]
    if known[-1] - known[0] <= _LEAST_GAIN * max(inside[-1] - inside[0], room / _FENCE):
        return _NONE
    below = [value for value in known if value < low]
    above = [value for value in known if value > high]
    parts = ((above, "above"), (below, "below"))
    texts = [_outlier_text(some, where, median) for some, where in parts if some]
    return Outliers(low, high, tuple(texts))


def _outlier_text(values: Sequence[float], where: str, median: float) -> str:
    """'2 samples above the scale: 12.30 µs to 45.60 µs', in the unit of the median."""
    ends = dict.fromkeys(time_text(1e3 * value, 1e3 * median) for value in (values[0], values[-1]))
    count = counted(len(values), "sample")
    return f"{count} {where} the scale: {' to '.join(ends)}"
