"""What is noise: a row is faster or slower only where nothing else explains its ratio.

Three things must hold: the interval of the ratio leaves out 1, at a level that makes one false call
among all rows rare; the ratio is further from 1 than runs of one machine lie apart; and the same
holds if the clocks of the device were equal.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from deepbench.results.algorithm_choice import same_algorithm

from .ratios import Interval, Ratio, ratio
from .regimes import differences
from .result_set import Entry, Value

FASTER, SLOWER, NOISE, UNKNOWN, PUBLISHED, DOUBTED = (
    "faster", "slower", "noise", "unknown", "published", "doubted",
)  # fmt: skip

# Medians of repeated runs lie within 3 % of each other on a quiet machine: docs/results/log/cpu.md.
NOISE_FLOOR = 0.03
_FALSE_CALLS = 0.05  # the chance of one or more among all rows of which nothing changed
_FEWEST = 10  # rows, from which on the drift between two runs can be told
_MAD_TO_SIGMA = 1.4826
# The MAD of n normal values is off by 1.16 / sqrt(n) of itself; with 1.64 times that added it is
# too small once in twenty times.
_SPREAD_ERROR = 1.64 * 1.16
_TWO_SIDED = 1.96  # the quantile that intervals were made with


@dataclass(frozen=True)
class ComparedRow:
    """Two rows that belong together."""

    base: Entry
    other: Entry
    ratio: Ratio | None  # None: one of them has no time
    noise: float  # how far from 1 a ratio must be, as a share
    verdict: str
    clocks: float = 0.0  # by how much the logarithm of the ratio would change at equal clocks
    explained_by_clock: bool = False  # no change only because the clocks differed

    @property
    def counts(self) -> bool:
        """Whether the ratio enters means."""
        return self.ratio is not None and self.verdict != DOUBTED

    @property
    def broken(self) -> bool:
        """Right before, wrong or lost now; what a library has no kernel for is neither. Published
        figures were not verified: none was known to be right."""
        good = self.base.status == "ok" and not (self.base.published or self.other.published)
        return good and self.other.status not in ("ok", "unsupported")

    @property
    def fixed(self) -> bool:
        """Wrong or lost before, right now."""
        ours = not (self.base.published or self.other.published)
        return ours and self.base.status not in ("ok", "unsupported") and self.other.status == "ok"

    @property
    def other_attributes(self) -> Mapping[str, Value]:
        """Attributes of the other row that differ from the base's."""
        base, other = self.base.attributes, self.other.attributes
        return {name: value for name, value in other.items() if base.get(name) != value}

    @property
    def same_algorithm(self) -> bool | None:
        """Whether one library ran the same algorithm for one problem; None where that cannot be
        told."""
        base, other = self.base.choice, self.other.choice
        alike = base.library == other.library and not self.other_attributes
        return same_algorithm(base, other) if alike else None

    @property
    def clock_change(self) -> float | None:
        """By how much the device's clock differed, as the logarithm of other over base."""
        base, other = self.base, self.other
        if base.device != other.device or not base.clock_mhz or not other.clock_mhz:
            return None
        return math.log(other.clock_mhz / base.clock_mhz)


def judge(
    pairs: Sequence[tuple[Entry, Entry]], noise: float | None, any_clock: bool = False
) -> list[ComparedRow]:
    """Verdicts on all rows. `noise` is the share that was asked for; None: 3 %, or more where runs
    of one setup lie further apart. `any_clock`: other clocks explain nothing."""
    factor = sidak_factor(len(pairs))
    drift = {} if noise is not None else _drift_by_family(pairs, factor)
    floor = NOISE_FLOOR if noise is None else noise
    judged = []
    for base, other in pairs:
        own = max(floor, drift.get(_family(base), 0.0) if _repeats(base, other) else 0.0)
        one = ComparedRow(base, other, ratio(base, other), own, UNKNOWN)
        judged.append(_judge(one, factor, 0.0 if any_clock else one.clock_change or 0.0))
    return judged


def decide(one: Ratio, noise: float, factor: float, clocks: float = 0.0) -> str:
    """faster, slower, noise, or unknown where there is no interval. `clocks` is how much the
    logarithm of the ratio would change at equal clocks."""
    if one.interval is None:
        return UNKNOWN
    wide = one.interval.scaled(factor)
    low, high = _limits(math.log(one.value), wide, clocks)
    least = math.log1p(noise)
    if low > 0 and math.log(one.value) + min(clocks, 0.0) > least:
        return SLOWER
    if high < 0 and math.log(one.value) + max(clocks, 0.0) < -least:
        return FASTER
    return NOISE


def sidak_factor(count: int) -> float:
    """By how much intervals must be wider than 95 % so that `count` of them, of rows that did not
    change, all hold with the probability with which one should (Sidak)."""
    share = -math.expm1(math.log1p(-_FALSE_CALLS) / max(count, 1))
    return statistics.NormalDist().inv_cdf(1 - share / 2) / _TWO_SIDED


def _judge(one: ComparedRow, factor: float, clocks: float) -> ComparedRow:
    explained_by_clock = False
    if one.base.doubt or one.other.doubt:
        verdict = DOUBTED
    elif one.base.published or one.other.published:
        verdict = PUBLISHED
    elif one.ratio is None:
        verdict = UNKNOWN
    else:
        verdict = decide(one.ratio, one.noise, factor, clocks)
        explained_by_clock = verdict == NOISE and decide(one.ratio, one.noise, factor) != NOISE
    return replace(one, verdict=verdict, clocks=clocks, explained_by_clock=explained_by_clock)


def _limits(center: float, wide: Interval, clocks: float) -> tuple[float, float]:
    return center - wide.below + min(clocks, 0.0), center + wide.above + max(clocks, 0.0)


def _family(entry: Entry) -> object:
    return entry.op, entry.phase, entry.attributes.get("precision")


def _repeats(base: Entry, other: Entry) -> bool:
    """Whether nothing that one would compare differs, so that only the machine's mood does."""

    def setup(entry: Entry) -> tuple[str | None, ...]:
        return entry.problem, entry.backend, entry.device, entry.library, entry.algorithm

    return setup(base) == setup(other) and not differences(base, other)


def _drift_by_family(pairs: Sequence[tuple[Entry, Entry]], factor: float) -> dict[object, float]:
    """How far apart two runs of the same setup lie, by family, at the level of all verdicts: the
    spread of their ratios around the family's middle, which a minority of changed rows, or a change
    of all of them alike, does not move."""
    logarithms: dict[object, list[float]] = {}
    for base, other in pairs:
        one = ratio(base, other) if _repeats(base, other) else None
        if one is not None:
            logarithms.setdefault(_family(base), []).append(math.log(one.value))
    drifts = {}
    for family, values in logarithms.items():
        if len(values) >= _FEWEST:
            middle = statistics.median(values)
            mad = statistics.median([abs(value - middle) for value in values])
            sigma = _MAD_TO_SIGMA * mad * (1 + _SPREAD_ERROR / math.sqrt(len(values)))
            drifts[family] = math.expm1(sigma * _TWO_SIDED * factor)
    return drifts
