"""Separates changes from noise: a row is faster or slower only if nothing else explains its ratio.

A change must meet three conditions. The interval of the ratio excludes 1, at a 5 % family-wise
error rate over all rows (Šidák). The ratio is further from 1 than repeated runs on one machine
differ. Both conditions also hold after a correction for the device clock.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import compress

from deepbench.results.algorithm_choice import same_algorithm
from deepbench.results.makers import quickly_made

from .ratios import Interval, Ratio, ratio
from .regimes import differences
from .result_set import Entry, Value

FASTER, SLOWER, SAME, UNSURE, PUBLISHED, INCONSISTENT, DISTURBED = (
    "faster", "slower", "same", "unsure", "published", "inconsistent", "disturbed",
)  # fmt: skip

# Medians of repeated runs on a quiet machine differ by up to 3 %: docs/results/log/cpu.md.
NOISE_FLOOR = 0.03
# Family-wise error rate: the probability of any false verdict if nothing changed.
_FALSE_CALLS = 0.05
_FEWEST = 10  # the fewest rows from which the drift between two runs is estimated
_MAD_TO_SIGMA = 1.4826
# The relative standard error of the MAD of n normal values is 1.16 / sqrt(n). Adding 1.64 standard
# errors makes the estimate too small in only 5 % of cases.
_SPREAD_ERROR = 1.64 * 1.16
_TWO_SIDED = 1.96  # the normal quantile of the 95 % intervals


@quickly_made
@dataclass(frozen=True, slots=True)
class ComparedRow:
    """A pair of rows and its verdict."""

    base: Entry
    other: Entry
    ratio: Ratio | None  # None: a row has no time
    noise: float  # how far from 1 a ratio must be, as a fraction
    verdict: str
    clocks: float = 0.0  # by how much the logarithm of the ratio would change at equal clocks
    explained_by_clock: bool = False  # the verdict is "same" only because the clocks differ

    @property
    def count(self) -> int | None:
        """How often the baseline makes the call, or else the other side. The count is the same for
        both sides, so that their sums include the same calls."""
        return self.other.count if self.base.count is None else self.base.count

    @property
    def calls(self) -> int:
        return self.count or 1

    @property
    def is_in_means(self) -> bool:
        """Whether means include the ratio."""
        return self.ratio is not None and self.verdict not in (INCONSISTENT, DISTURBED)

    @property
    def is_broken(self) -> bool:
        """The base row is verified, and the other one is wrong or has no result. An unsupported row
        is not broken, and neither is a published figure, since its result was never verified."""
        verified = self.base.status == "ok" and not (self.base.published or self.other.published)
        return verified and self.other.status not in ("ok", "unsupported")

    @property
    def is_fixed(self) -> bool:
        """The base row is wrong or has no result, and the other one is verified."""
        measured = not (self.base.published or self.other.published)
        return (
            measured and self.base.status not in ("ok", "unsupported") and self.other.status == "ok"
        )

    @property
    def other_attributes(self) -> Mapping[str, Value]:
        """Attributes of the other row that differ from the base's."""
        base, other = self.base.attributes, self.other.attributes
        if base == other:
            return {}
        return {name: value for name, value in other.items() if base.get(name) != value}

    @property
    def same_algorithm(self) -> bool | None:
        """Whether the same library ran the same algorithm for the same problem; None if unknown."""
        base, other = self.base.choice, self.other.choice
        alike = base.library == other.library and not self.other_attributes
        return same_algorithm(base, other) if alike else None

    @property
    def clock_change(self) -> float | None:
        """The logarithm of the other row's device clock over the base's; None if it is unknown or
        the devices differ."""
        base, other = self.base, self.other
        if base.device != other.device or not base.clock_mhz or not other.clock_mhz:
            return None
        return math.log(other.clock_mhz / base.clock_mhz)


def judge(
    pairs: Sequence[tuple[Entry, Entry]], noise: float | None, any_clock: bool = False
) -> list[ComparedRow]:
    """Returns the verdicts on all pairs. `noise` is the fraction that the user gave. If it is None,
    the limit is 3 %, or more where repeated runs of the same setup differ by more. With
    `any_clock`, clock changes are not corrected for."""
    factor = sidak_factor(len(pairs))
    floor = NOISE_FLOOR if noise is None else noise
    rows = [ComparedRow(base, other, ratio(base, other), floor, UNSURE) for base, other in pairs]
    repetitions = [_is_repetition(base, other) for base, other in pairs]
    drift: Mapping[object, float] = {}
    if noise is None:
        drift = _drift_by_family([*compress(rows, repetitions)], factor)
    judged = []
    for one, is_repetition in zip(rows, repetitions, strict=True):
        limit = max(floor, drift.get(_family_key(one.base), 0.0)) if is_repetition else floor
        clocks = 0.0 if any_clock else one.clock_change or 0.0
        judged.append(_judge_row(one, limit, factor, clocks))
    return judged


def decide_verdict(one: Ratio, noise: float, factor: float, clocks: float = 0.0) -> str:
    """Returns 'faster', 'slower', 'same', or 'unsure' if there is no interval. `clocks` is the
    change of the ratio's logarithm at equal clocks."""
    if one.interval is None:
        return UNSURE
    wide = one.interval.scaled(factor)
    low, high = _ratio_limits(math.log(one.value), wide, clocks)
    threshold = math.log1p(noise)
    if low > 0 and math.log(one.value) + min(clocks, 0.0) > threshold:
        return SLOWER
    if high < 0 and math.log(one.value) + max(clocks, 0.0) < -threshold:
        return FASTER
    return SAME


def sidak_factor(count: int) -> float:
    """The factor by which a 95 % interval is widened so that `count` intervals of unchanged rows
    all include 1 with 95 % probability (Šidák)."""
    share = -math.expm1(math.log1p(-_FALSE_CALLS) / max(count, 1))
    return statistics.NormalDist().inv_cdf(1 - share / 2) / _TWO_SIDED


def _judge_row(one: ComparedRow, noise: float, factor: float, clocks: float) -> ComparedRow:
    explained_by_clock = False
    if one.base.doubt or one.other.doubt:
        verdict = INCONSISTENT
    elif one.base.published or one.other.published:
        verdict = PUBLISHED
    elif one.ratio is None:
        verdict = UNSURE
    elif one.base.is_disturbed or one.other.is_disturbed:
        verdict = DISTURBED
    else:
        verdict = decide_verdict(one.ratio, noise, factor, clocks)
        explained_by_clock = (
            clocks != 0 and verdict == SAME and decide_verdict(one.ratio, noise, factor) != SAME
        )
    return ComparedRow(one.base, one.other, one.ratio, noise, verdict, clocks, explained_by_clock)


def _ratio_limits(center: float, wide: Interval, clocks: float) -> tuple[float, float]:
    return center - wide.below + min(clocks, 0.0), center + wide.above + max(clocks, 0.0)


def _family_key(entry: Entry) -> object:
    return entry.op, entry.phase, entry.attributes.get("precision")


def _is_repetition(base: Entry, other: Entry) -> bool:
    """Whether both rows have the same setup and regime, so that they differ only by noise."""

    def setup_of(entry: Entry) -> tuple[str | None, ...]:
        return entry.problem, entry.backend, entry.device, entry.library, entry.algorithm

    return setup_of(base) == setup_of(other) and not differences(base, other)


def _drift_by_family(repetitions: Sequence[ComparedRow], factor: float) -> dict[object, float]:
    """The difference between repeated runs of the same setup, by family, at the family-wise error
    rate of all verdicts. It is the spread of the ratios around the family's median. Neither a
    minority of changed rows nor a change common to all rows moves it."""
    logarithms: dict[object, list[float]] = {}
    for row in repetitions:
        if row.ratio is not None:
            logarithms.setdefault(_family_key(row.base), []).append(math.log(row.ratio.value))
    drifts = {}
    for family, values in logarithms.items():
        if len(values) >= _FEWEST:
            middle = statistics.median(values)
            mad = statistics.median([abs(value - middle) for value in values])
            sigma = _MAD_TO_SIGMA * mad * (1 + _SPREAD_ERROR / math.sqrt(len(values)))
            drifts[family] = math.expm1(sigma * _TWO_SIDED * factor)
    return drifts
