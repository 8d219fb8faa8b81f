"""The statistics of pairs: Student's paired t-test on logarithms of ratios, how many pairs find a
difference of 1 %, and Holm's rule for many rows.

The pair is the unit: two workers, one of each environment, measure a row one after the other, so
that what is slow for both cancels in their ratio.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache

from deepbench.student import student_quantile, two_sided_probability

ALPHA = 0.01  # how often a row without a difference counts as different
# How often any row of a run without a difference counts as different. The goal is 5 %, but the
# number of pairs follows from the deviation of the same pairs, which adds up to a fifth.
ALPHA_OF_ALL = 0.04
POWER = 0.95  # the probability with which enough pairs find the difference
DIFFERENCE = 0.01  # the relative difference that a run should find
LEAST_PAIRS, MOST_PAIRS = 6, 22
_EXACT = 1e-12  # smaller deviations of logarithms are rounding errors


@dataclass(frozen=True)
class PairedTest:
    """The statistics of the pairs of a row, or of the mean of several rows."""

    pairs: int
    mean: float  # mean of the logarithms of B's time over A's
    deviation: float  # standard deviation between pairs

    @classmethod
    def of(cls, logarithms: Sequence[float]) -> PairedTest | None:
        """The test of the pairs' logarithms of ratios; None for fewer than two pairs."""
        if len(logarithms) < 2:
            return None
        return cls(len(logarithms), statistics.fmean(logarithms), statistics.stdev(logarithms))

    @property
    def ratio(self) -> float:
        """The geometric mean of B's time over A's."""
        return math.exp(self.mean)

    @property
    def probability(self) -> float:
        """How often pairs without a difference are at least as far from 1 by chance."""
        if self.deviation < _EXACT:
            return 0.0 if abs(self.mean) > _EXACT else 1.0
        return two_sided_probability(abs(self.mean) / self._error, self.pairs - 1)

    @property
    def interval(self) -> tuple[float, float]:
        """The limits of the ratio, which leave 1 out if and only if the row is different."""
        half = student_quantile(1 - ALPHA / 2, self.pairs - 1) * self._error
        return math.exp(self.mean - half), math.exp(self.mean + half)

    @property
    def is_different(self) -> bool:
        return self.probability <= ALPHA

    @property
    def resolution(self) -> float:
        """The relative difference that this many pairs find with the probability POWER."""
        return math.expm1(_standard_errors(self.pairs) * self._error)

    @property
    def can_resolve(self) -> bool:
        return self.resolution <= DIFFERENCE

    @property
    def _error(self) -> float:
        return self.deviation / math.sqrt(self.pairs)


def logarithms(pairs: Iterable[tuple[float, float]]) -> list[float]:
    """The logarithms of B's time over A's, from the times of pairs."""
    return [math.log(b / a) for a, b in pairs]


def pairs_needed(deviation: float) -> int:
    """How many pairs of this deviation find DIFFERENCE; MOST_PAIRS if more would be needed. The
    number is even, so that either environment begins half of the pairs."""
    for pairs in range(LEAST_PAIRS, MOST_PAIRS, 2):
        if PairedTest(pairs, 0.0, deviation).can_resolve:
            return pairs
    return MOST_PAIRS


def pairs_wanted(tests: Iterable[PairedTest | None]) -> int:
    """The number of pairs that all rows need together, after the pairs of these tests; LEAST_PAIRS
    if no row has enough pairs for a test."""
    needed = (pairs_needed(test.deviation) for test in tests if test is not None)
    return max(needed, default=LEAST_PAIRS)


def decisive(probabilities: Sequence[float]) -> set[int]:
    """The indices of the rows that are different by Holm's rule: at most a share ALPHA_OF_ALL of
    the runs without a difference has any."""
    order = sorted(range(len(probabilities)), key=lambda index: probabilities[index])
    found: set[int] = set()
    for rank, index in enumerate(order):
        limit = min(ALPHA, ALPHA_OF_ALL / (len(order) - rank))
        if probabilities[index] > limit:
            break
        found.add(index)
    return found


@cache
def _standard_errors(pairs: int) -> float:
    """The number of standard errors that a difference must have to be found with the probability
    POWER."""
    return student_quantile(1 - ALPHA / 2, pairs - 1) + student_quantile(POWER, pairs - 1)
