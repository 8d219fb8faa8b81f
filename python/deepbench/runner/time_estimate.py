"""Estimates how long the remaining rows of a run take.

Every row has an expected duration, computed from its operation, precision, FLOPs and bytes and from
facts of the backend. Finished rows correct it by the mean ratio of measured to expected durations,
in which rows of similar size, operation and precision weigh most. Ceilings are estimated
separately: the first row of a precision or of a memory level measures them, whatever its size.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from deepbench.json_types import JsonObject

_NO_FACTS: JsonObject = {}
_SELECTION_FACTOR = {"best": 2.5, "exhaustive": 25.0}  # measured on an H200
_MIN_CALLS = 2.5  # calls of a row whose first call exceeds the time limit
_LOAD_S, _ENERGY_S = 2.5, 2.2  # seconds that --power sustained and --energy add to a row
# Precisions whose elements have half the bytes of float and take as long to verify.
_NARROW = frozenset({"half", "bfloat16"})
_SPANS_S = 0.02  # total of the timed spans of a row, if the device does not state it
_SPAN_SHARE_OF_VISITS = 0.5  # of them, if a row has several visits (RunOptions::for_measuring)


@dataclass(frozen=True)
class Speeds:
    """The speeds that a device is assumed to reach until rows are measured."""

    flops_per_s: Mapping[str, float]  # by operation, or by operation and precision
    bytes_per_s: float
    calls: float  # number of calls in a row whose calls are long
    verification_s_per_byte: float
    # of a collective of float, on the processors of one rank
    collective_verification_s_per_byte: float
    row_limit_s: float
    ceiling_s: float

    per_thread: bool  # the rates are those of one host thread, and threads add up
    # verification_s_per_byte of operations whose references take another time
    verification_s_per_byte_of: Mapping[str, float]

    @classmethod
    def from_estimates(cls, estimates: JsonObject) -> Speeds:
        """The speeds that the backend's facts `estimate.*` (plugin.h) state, by their names without
        that prefix. A missing fact takes the value of a host thread."""
        rates = _by_operation(estimates, "flops_per_s.")
        verification = _by_operation(estimates, "verification_s_per_byte.")
        figures = {
            name: _positive_number_or_zero(estimates, name) or value
            for name, value in _FALLBACK.items()
        }
        per_thread = _positive_number_or_zero(estimates, "per_thread") == 1
        return cls(rates, per_thread=per_thread, verification_s_per_byte_of=verification, **figures)

    def arithmetic_s(self, work: Work) -> float:
        """The expected seconds of one call's arithmetic."""
        rates = self.flops_per_s
        rate = rates.get(f"{work.op} {work.precision}") or rates.get(work.op)
        return work.flops / (rate or max(rates.values(), default=_FALLBACK_FLOPS_PER_S))


_FALLBACK_FLOPS_PER_S = 5e10
_FALLBACK = {
    "bytes_per_s": 2.5e9,
    "calls": 8.0,
    "verification_s_per_byte": 1e-9,
    "collective_verification_s_per_byte": 1e-8,
    "row_limit_s": 10.0,
    "ceiling_s": 1.0,
}


@dataclass(frozen=True)
class Work:
    """The facts of a row that its duration depends on."""

    op: str
    precision: str
    flops: float
    bytes: float
    cold: bool = False
    is_collective: bool = False
    sustained: bool = False  # the device is loaded before the samples


@dataclass(frozen=True)
class Expectation:
    """The expected duration of rows before any is measured."""

    speeds: Speeds = Speeds({}, per_thread=False, verification_s_per_byte_of={}, **_FALLBACK)
    threads: int = 1  # number of threads, each of which reaches `speeds`
    contention: float = 1.0  # factor by which other work on the host is assumed to slow rows down
    ranks: int = 0
    visits: int = 1
    limit_s: float = 10.0
    warm_up_s: float = 0.4  # the duration of a row with the shortest calls
    verify: bool = True
    ceilings: bool = True
    selection_factor: float = 1.0
    levels: tuple[tuple[float, str], ...] = ()  # caches as (bytes, name), ascending

    @classmethod
    def from_context(
        cls, context: JsonObject, options: Mapping[str, str], estimates: JsonObject = _NO_FACTS
    ) -> Expectation:
        """The expectation for rows with these options on the device and host of a context.
        `estimates` holds the backend's facts, as for Speeds.of."""
        device = context.get("device") or {}
        speeds = Speeds.from_estimates(estimates)
        limit_s = (
            float(options.get("time_limit", 0))
            or _positive_number_or_zero(device, "row_limit_ns") / 1e9
        )
        visits = int(options.get("visits", "1"))  # the samples of a row are divided among them
        calls = float(options.get("soak", "0")) or speeds.calls
        speeds = replace(speeds, calls=calls / visits)
        limit_s = (limit_s or speeds.row_limit_s) / visits
        spans_s = (_positive_number_or_zero(device, "min_total_ns") / 1e9 or _SPANS_S) / visits
        spans_s *= _SPAN_SHARE_OF_VISITS if visits > 1 else 1.0
        warm_up_s = min(2.0 * spans_s + _SPANS_S, 1.5 * limit_s)
        warm_up_s += _ENERGY_S if options.get("energy") == "yes" else 0.0
        return cls(
            speeds=speeds,
            threads=max(1, int(_positive_number_or_zero(context, "threads")))
            if speeds.per_thread
            else 1,
            contention=_slowdown_by_other_work(context.get("host") or {})
            if speeds.per_thread
            else 1.0,
            ranks=int(_positive_number_or_zero(context.get("ranks") or {}, "count"))
            or _device_count(options),
            visits=visits,
            limit_s=limit_s,
            warm_up_s=warm_up_s,
            verify=options.get("verify") != "no",
            ceilings=options.get("ceilings") != "no",
            selection_factor=_SELECTION_FACTOR.get(options.get("algorithm", ""), 1.0),
            levels=tuple(_cache_levels(device)),
        )

    def row_s(self, work: Work, slower: float = 1.0) -> float:
        """The expected seconds of a row without its ceilings, if calls take `slower` times the
        expected time. The time limit of a row bounds the result."""
        if work.is_collective and self.ranks == 0:
            return 0.0  # unsupported: there is no other rank
        slower *= self.contention
        call_s = self.call_s(work)
        least_s = _MIN_CALLS * call_s
        calls_s = max(min(self.limit_s, self.speeds.calls * call_s), least_s)
        most_s = self.warm_up_s + self.limit_s + slower * least_s
        measuring_s = min(slower * (self.warm_up_s + calls_s), most_s)
        measuring_s += _LOAD_S if work.sustained else 0.0
        return self.selection_factor * measuring_s + slower * self._verifying_s(work)

    def ceilings_of(self, work: Work) -> set[str]:
        """The ceilings with which a row is compared."""
        if not self.ceilings or work.is_collective:
            return set()
        arithmetic = {f"arithmetic {work.precision}"} if work.flops else set()
        return arithmetic | {f"bandwidth {self._level(work)}"}

    @property
    def ceiling_s(self) -> float:
        return self.speeds.ceiling_s * self.contention

    def call_s(self, work: Work) -> float:
        """The expected seconds of one call on a machine without other work."""
        speeds = self.speeds
        return (speeds.arithmetic_s(work) + work.bytes / speeds.bytes_per_s) / self.threads

    def _verifying_s(self, work: Work) -> float:
        if work.is_collective:
            s_per_byte = self.speeds.collective_verification_s_per_byte
            s_per_byte *= 2.0 if work.precision in _NARROW else 1.0
            s_per_byte *= (1.0 + self.visits) / 2.0  # later visits verify half as much
            if self.speeds.per_thread:  # ranks that compute on processors share those of the host
                s_per_byte *= self.ranks
        else:
            speeds = self.speeds
            s_per_byte = speeds.verification_s_per_byte_of.get(
                work.op, speeds.verification_s_per_byte
            )
        return work.bytes * s_per_byte if self.verify else 0.0

    def _level(self, work: Work) -> str:
        """The memory level whose bandwidth bounds the row, as in run/ceilings/ceilings.cpp."""
        fitting = [name for size, name in self.levels if work.bytes <= size]
        return fitting[0] if fitting and not work.cold else "memory"


class Estimate:
    """The remaining time of a run with these rows, in their order.

    A remaining row is assumed to be slower than expected by the mean ratio of measured to expected
    time over finished rows. A finished row weighs half for each doubling by which its expected time
    differs. Three means build on one another: the mean over all rows starts with two rows of ratio
    1; the mean over rows of the same operation starts with one row of the first mean; the mean over
    rows of the same operation and precision starts with one row of the second mean.
    """

    _PRIOR_ROWS = (2.0, 1.0, 1.0)  # assumed rows at the start of each mean
    _MAX_RATIO = 30.0  # a higher ratio tells more about an incident than about later rows
    _FIRST_ROW_WEIGHT = 0.1  # the first row of an operation also loads its library
    _OVERRUN_FACTOR = 1.0  # an overdue row is assumed to need as long again as it has taken

    def __init__(
        self,
        rows: Sequence[Work],
        expectation: Expectation,
        known_ceilings: Collection[str] = (),
    ) -> None:
        """`known_ceilings`: those that need not be measured, named as by ceilings_of()."""
        self._rows, self._expectation = list(rows), expectation
        self._kinds = [_RowClass.of(work, expectation.row_s(work)) for work in rows]
        ceilings = [expectation.ceilings_of(work) for work in rows]
        self._has_ceilings, self._new_ceilings = (
            [*map(bool, ceilings)],
            _count_first_occurrences(ceilings, known_ceilings),
        )
        self._ceiling_s = _WeightedMean(1.0, expectation.ceiling_s)
        self._remeasure_s = _WeightedMean(1.0, 0.0)  # measuring a known ceiling again, per row
        self._ratios: dict[
            _RowClass, _WeightedMean
        ] = {}  # ratios of measured to expected times of finished rows
        self._operations: set[str] = set()  # operations of finished rows
        self._next = 0
        self._cached_remaining: tuple[float, float] | None = (
            None  # seconds of the next row, and of all rows after it
        )

    def record_row_time(
        self, seconds: float, ceilings_s: float = 0.0, has_time: bool = True
    ) -> None:
        """Records the duration of the next row, including its ceilings. A row without a time
        (unsupported, crashed, skipped) tells nothing about other operations."""
        kind = self._kinds[self._next]
        if self._new_ceilings[self._next]:
            self._ceiling_s.add(ceilings_s, self._new_ceilings[self._next])
        elif self._has_ceilings[self._next]:
            self._remeasure_s.add(ceilings_s, 1.0)
        expected_s = self._expectation.row_s(self._rows[self._next])
        if expected_s > 0:
            weight = 1.0 if kind.op in self._operations else self._FIRST_ROW_WEIGHT
            self._operations.add(kind.op)
            ratio = min(self._MAX_RATIO, max(0.0, seconds - ceilings_s) / expected_s)
            seen = self._ratios.setdefault(replace(kind, has_time=has_time), _WeightedMean())
            seen.add(ratio * weight, weight)
        self._next += 1
        self._cached_remaining = None

    def skip_row(self) -> None:
        """Omits the next row, which is not measured."""
        self._next += 1
        self._cached_remaining = None

    def remaining_s(self, into_row_s: float = 0.0) -> float:
        """The seconds that all remaining rows take. The next row has run for `into_row_s`."""
        if self._next == len(self._rows):
            return 0.0
        this_s, later_s = self._cached_remaining = (
            self._cached_remaining or self._predict_remaining()
        )
        return max(this_s - into_row_s, self._OVERRUN_FACTOR * into_row_s) + later_s

    def _predict_remaining(self) -> tuple[float, float]:
        """Predicts the next row and all later ones. This takes milliseconds for a whole set, so
        that it is done at most once between two rows."""
        slower = {kind: self._time_ratio_of_class(kind) for kind in set(self._kinds[self._next :])}
        left = []
        for index in range(self._next, len(self._rows)):
            row_s = self._expectation.row_s(self._rows[index], slower[self._kinds[index]])
            if self._new_ceilings[index]:
                row_s += self._new_ceilings[index] * self._ceiling_s.value
            elif self._has_ceilings[index]:
                row_s += self._remeasure_s.value
            left.append(row_s)
        return left[0], sum(left[1:])

    def _time_ratio_of_class(self, kind: _RowClass) -> float:
        ratio = 1.0
        for likeness, rows in zip(_LIKENESSES, self._PRIOR_ROWS, strict=True):
            mean = _WeightedMean(rows, rows * ratio)
            for other, seen in self._ratios.items():
                if other.similarity(kind) >= likeness:
                    nearness = math.pow(0.5, abs(other.octave - kind.octave))
                    mean.add(nearness * seen.total, nearness * seen.weight)
            ratio = mean.value
        return ratio


_UNLIKE, *_LIKENESSES = range(4)
_ANY, _SAME_OPERATION, _SAME_PRECISION = _LIKENESSES


@dataclass(frozen=True)
class _RowClass:
    """Rows of an operation and precision that are expected to take about the same time."""

    op: str
    precision: str
    octave: float
    has_time: bool = True

    @staticmethod
    def of(work: Work, expected_s: float) -> _RowClass:
        octave = round(2 * math.log2(expected_s)) / 2 if expected_s > 0 else 0.0
        return _RowClass(work.op, work.precision, octave)

    def similarity(self, other: _RowClass) -> int:
        if self.op == other.op and self.precision == other.precision:
            return _SAME_PRECISION
        if not self.has_time:
            return _UNLIKE
        return _SAME_OPERATION if self.op == other.op else _ANY


@dataclass
class _WeightedMean:
    weight: float = 0.0
    total: float = 0.0

    def add(self, total: float, weight: float) -> None:
        self.total += total
        self.weight += weight

    @property
    def value(self) -> float:
        return self.total / self.weight


def _count_first_occurrences(sets: Sequence[set[str]], known: Collection[str]) -> list[int]:
    """For each set, the number of its elements that are not known and that no earlier set has."""
    seen = set(known)
    counts = []
    for one in sets:
        counts.append(len(one - seen))
        seen |= one
    return counts


def _slowdown_by_other_work(host: JsonObject) -> float:
    """The slowdown of rows by other work on the host. On two cores with 1 to 16 other threads, rows
    slowed down by the square root of the relative load."""
    cpus = (
        _positive_number_or_zero(host, "cpus_allowed")
        or _positive_number_or_zero(host, "cpus")
        or 1.0
    )
    return math.sqrt(1.0 + _positive_number_or_zero(host, "load") / cpus)


def _device_count(options: Mapping[str, str]) -> int:
    """The number of devices that the option `devices` lists."""
    named = options.get("devices")
    return named.count(",") + 1 if named else 0


def _cache_levels(device: JsonObject) -> Iterator[tuple[float, str]]:
    """The caches of a device as (bytes, name), ascending."""
    last = _positive_number_or_zero(device, "last_level_cache_bytes")
    for name in ("l1", "l2", "l3"):
        size = _positive_number_or_zero(device, f"cache.{name}_bytes")
        if 0 < size < last:
            yield size, name
    if last > 0:
        yield last, "llc"


def _by_operation(estimates: JsonObject, prefix: str) -> dict[str, float]:
    """The positive facts that begin with a prefix, by what follows: 'gemm' or 'gemm float'."""
    return {
        key.removeprefix(prefix).replace(".", " "): figure
        for key in estimates
        if key.startswith(prefix) and (figure := _positive_number_or_zero(estimates, key))
    }


def _positive_number_or_zero(facts: JsonObject, key: str) -> float:
    """A positive number, or 0 for anything else that a plugin may have reported."""
    value = facts.get(key)
    return float(value) if isinstance(value, int | float) and 0 < value < math.inf else 0.0
