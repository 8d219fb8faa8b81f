"""The ratio of two medians, and its confidence interval.

Each median has an interval. That of several visits stands on the row. Of one visit, it is on each
side the wider of two: the interval from order statistics, which the row carries, and Student's
interval around the median with the row's standard error, which takes correlated samples into
account. The intervals of the two medians are combined as those of a difference of logarithms
(method of variance estimates recovery, Zou and Donner 2008): half widths add in quadrature,
separately on each side. Those of two rows of several visits are combined by their variances and
degrees of freedom (Welch), because half widths of few degrees of freedom add up to too much.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache

from .result_set import Entry, Spread

_FEW = 6  # with fewer samples, their range covers the median in less than 95 % of cases


@dataclass(frozen=True, slots=True)
class Interval:
    """95 % limits of a logarithm, as distances below and above it."""

    below: float
    above: float

    def scaled(self, factor: float) -> Interval:
        return Interval(self.below * factor, self.above * factor)


@dataclass(frozen=True, slots=True)
class Ratio:
    """The time of one row over the time of another."""

    value: float
    interval: Interval | None  # None where the uncertainty of a row is unknown

    @property
    def low(self) -> float | None:
        return None if self.interval is None else self.value * math.exp(-self.interval.below)

    @property
    def high(self) -> float | None:
        return None if self.interval is None else self.value * math.exp(self.interval.above)


def ratio(base: Entry, other: Entry) -> Ratio | None:
    """The time of `other` over the time of `base`; None where either has no time."""
    if not base.time_ns or not other.time_ns:
        return None
    value = other.time_ns / base.time_ns
    of_visits = _interval_of_visits(base.spread, other.spread)
    return Ratio(
        value,
        of_visits or _interval_of_difference(median_interval(other), median_interval(base)),
    )


def geometric_mean(ratios: list[Ratio]) -> Ratio:
    """The geometric mean of independent ratios; it has no interval if any of them has none."""
    n = len(ratios)
    value = math.exp(math.fsum(math.log(one.value) for one in ratios) / n)
    if any(one.interval is None for one in ratios):
        return Ratio(value, None)
    known = [one.interval for one in ratios if one.interval is not None]
    below = math.sqrt(math.fsum(one.below**2 for one in known)) / n
    above = math.sqrt(math.fsum(one.above**2 for one in known)) / n
    return Ratio(value, Interval(below, above))


def median_interval(entry: Entry) -> Interval | None:
    """The interval of a row's median, as distances of logarithms."""
    spread, time_ns = entry.spread, entry.time_ns
    if spread is None or not time_ns or spread.n < 2:
        return None
    low, high = min(spread.low_ns, time_ns), max(spread.high_ns, time_ns)
    if spread.degrees_of_freedom is not None:
        return Interval(math.log(time_ns / low), math.log(high / time_ns))
    quantile = _student_quantile(spread.n - 1)
    error = quantile * (spread.error or 0.0)
    if spread.n < _FEW:  # so few samples do not allow an estimate of the MAD either
        error = max(error, quantile * spread.stdev_ns / math.sqrt(spread.n) / time_ns)
    if spread.error is None:  # the samples drift: the quartiles bound the median
        low, high = min(low, spread.q1_ns), max(high, spread.q3_ns)
    around = math.log1p(min(error, 1e6))
    return Interval(max(math.log(time_ns / low), around), max(math.log(high / time_ns), around))


def _interval_of_visits(base: Spread | None, other: Spread | None) -> Interval | None:
    """The interval of a difference of two logarithms whose variances have few degrees of freedom;
    None unless both rows have several visits."""
    variances, weights = [], []
    for spread in (base, other):
        if spread is None or spread.degrees_of_freedom is None or spread.error is None:
            return None
        variances.append(spread.error**2)
        weights.append(spread.error**4 / spread.degrees_of_freedom)
    if not sum(variances):
        return Interval(0.0, 0.0)
    from deepbench import _core

    degrees = sum(variances) ** 2 / sum(weights) if sum(weights) else math.inf
    half = _core.student_quantile(degrees) * math.sqrt(sum(variances))
    return Interval(half, half)


def _interval_of_difference(plus: Interval | None, minus: Interval | None) -> Interval | None:
    if plus is None or minus is None:
        return None
    return Interval(math.hypot(plus.below, minus.above), math.hypot(plus.above, minus.below))


@lru_cache(maxsize=1 << 10)
def _student_quantile(degrees: int) -> float:
    """Student's 97.5 % quantile, which the core finds by iteration. Many rows have the same number
    of samples."""
    from deepbench import _core

    return _core.student_quantile(degrees)
