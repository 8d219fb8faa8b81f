"""The time of a model: the sum of its calls' times. The part that a run has not measured is
estimated from its bytes and FLOPs, as the least time that the measured ceilings allow."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from deepbench.errors import printable_line
from deepbench.json_types import JsonObject
from deepbench.results.chains import ChainLine
from deepbench.results.row import ABOVE_CEILING, Row
from deepbench.workload.operators import COLLECTIVES
from deepbench.workload.passes import Item, Pass
from deepbench.workload.record import Workload, workload_of

Regime = tuple[str, str]  # cache and power

NEEDED_COVERAGE = 0.95  # share of the time that must be measured for a total
KNEE_SHARE = 0.9  # of the best throughput
_MEMORY = "memory"
_S = 1e9  # nanoseconds


@dataclass(frozen=True)
class KnownCeilings:
    """The ceilings of a run's rows in one regime."""

    tflops: Mapping[str, float]  # by precision
    gbps: Mapping[str, float]  # by memory level
    latency_ns: float = 0.0  # the time of the smallest product

    @property
    def memory(self) -> tuple[str, float] | None:
        """The level whose bandwidth estimates assume: the memory, else the slowest measured."""
        if _MEMORY in self.gbps:
            return _MEMORY, self.gbps[_MEMORY]
        return min(self.gbps.items(), key=lambda one: one[1], default=None)

    def estimate_ns(self, item: Item) -> float | None:
        """The least time of one call; None if a ceiling that it needs is unknown. None
        for collectives too: no ceiling is measured of the connections between devices, which limit
        them."""
        if item.op in COLLECTIVES:
            return None
        memory, tflops = self.memory, self.tflops.get(item.precision)
        if memory is None or (item.flops and not tflops):
            return None
        arithmetic_ns = item.flops / tflops / 1e3 if tflops else 0.0
        return max(item.bytes / memory[1], arithmetic_ns, self.latency_ns)


@dataclass(frozen=True)
class ItemTime:
    """The time of all calls of an item."""

    item: Item
    row: Row | None  # the row that measured one call
    reason: str  # the reason why it is not measured; '' if it is
    estimate_ns: float | None  # if it is not measured; None: it cannot be estimated

    @property
    def measured_ns(self) -> float:
        return self.item.count * (self.row.statistics.median_ns or 0.0) if self.row else 0.0

    @property
    def known_ns(self) -> float:
        return self.measured_ns + (self.estimate_ns or 0.0)

    @property
    def share_roofline(self) -> float | None:
        return self.row.bound.share_roofline if self.row else None


@dataclass(frozen=True)
class Times:
    """Times of several items together."""

    times: tuple[ItemTime, ...]

    @cached_property
    def measured_ns(self) -> float:
        return math.fsum(one.measured_ns for one in self.times)

    @cached_property
    def known_ns(self) -> float:
        """The measured time and the estimated time."""
        return math.fsum(one.known_ns for one in self.times)

    @property
    def calls(self) -> int:
        return sum(one.item.count for one in self.times)

    @property
    def measured_flops(self) -> float:
        return math.fsum(one.item.count * one.item.flops for one in self.times if one.row)

    @property
    def measured_bytes(self) -> float:
        return math.fsum(one.item.count * one.item.bytes for one in self.times if one.row)

    @property
    def tflops(self) -> float | None:
        return self.measured_flops / self.measured_ns / 1e3 if self.measured_ns else None

    @property
    def gbps(self) -> float | None:
        return self.measured_bytes / self.measured_ns if self.measured_ns else None

    @property
    def share_roofline(self) -> float | None:
        """The least time that the ceilings allow over the time, of the rows that have a share and
        are not above their ceiling."""
        known = [
            (one.measured_ns, part)
            for one in self.times
            if (part := one.share_roofline) and part <= ABOVE_CEILING
        ]
        whole_ns = math.fsum(time_ns for time_ns, _ in known)
        least_ns = math.fsum(time_ns * part for time_ns, part in known)
        return least_ns / whole_ns if whole_ns else None

    @property
    def above_ceiling(self) -> int:
        """How many kernels are above their ceiling, which is therefore too low."""
        return len({
            one.item.problem for one in self.times if (one.share_roofline or 0.0) > ABOVE_CEILING
        })  # fmt: skip

    @property
    def energy_j(self) -> float | None:
        """The energy of the measured calls; None if a row has none."""
        found = [
            one.item.count * energy_j
            for one in self.times
            if one.row and (energy_j := one.row.energy_j) is not None
        ]
        return math.fsum(found) if found and len(found) == self._measured else None

    @property
    def _measured(self) -> int:
        return sum(one.row is not None for one in self.times)

    def grouped(self, key: Callable[[Item], str]) -> dict[str, Times]:
        """The times by a key of their items, the longest first."""
        groups: dict[str, list[ItemTime]] = {}
        for one in self.times:
            groups.setdefault(key(one.item), []).append(one)
        made = {name: Times(tuple(group)) for name, group in groups.items()}
        return dict(sorted(made.items(), key=lambda pair: -pair[1].known_ns))


@dataclass(frozen=True)
class PassTotals:
    """The time of a pass in one regime."""

    workload: Workload
    what: Pass
    regime: Regime | None  # None: no row was measured
    all: Times
    ceilings: KnownCeilings
    chain: ChainLine | None = None  # its measured kernels, timed as one call

    @property
    def chain_share(self) -> float | None:
        """The time of the chain over the sum of its kernels; None where it has other calls than
        the rows."""
        if self.chain is None or self.chain.median_ns is None:
            return None
        calls = sum(one.item.count for one in self.all.times if one.row)
        is_same = calls == self.chain.members["calls"]
        return self.chain.median_ns / self.all.measured_ns if is_same else None

    @property
    def unmeasured(self) -> list[ItemTime]:
        """The items that are not measured, the longest first, preceded by those that cannot be
        estimated."""
        found = [one for one in self.all.times if one.row is None]
        return sorted(found, key=lambda one: -math.inf if one.estimate_ns is None
                      else -one.estimate_ns)  # fmt: skip

    @property
    def has_failures(self) -> bool:
        """Whether a kernel that has an operation was not measured."""
        return any(one.item.problem is not None for one in self.unmeasured)

    @property
    def coverage(self) -> float | None:
        """The measured share of the time; None if a part cannot be estimated."""
        if not self.all.known_ns or any(one.estimate_ns is None for one in self.unmeasured):
            return None
        return self.all.measured_ns / self.all.known_ns

    @property
    def is_complete(self) -> bool:
        """Whether enough is measured for a total."""
        return (self.coverage or 0.0) >= NEEDED_COVERAGE

    @property
    def time_ns(self) -> float:
        """The total, or else the time of the measured kernels."""
        return self.all.known_ns if self.is_complete else self.all.measured_ns

    @property
    def unit_ns(self) -> float:
        """The time for one unit of batch."""
        return self.time_ns / self.what.batch

    @property
    def units_per_s(self) -> float | None:
        """The units per second; None without a total."""
        return self.what.batch / self.time_ns * _S if self.is_complete else None

    @property
    def cost_per_million(self) -> float | None:
        """The price of the devices for the time of a million units; None without a total."""
        price = self.workload.price
        if price is None or not self.is_complete:
            return None
        devices = self.what.values.get("tp", 1)
        return 1e6 * self.unit_ns / _S / 3600 * price * devices


@dataclass(frozen=True)
class Totals:
    """The passes of a workload in one regime, the smallest batch first."""

    passes: tuple[PassTotals, ...]

    @property
    def is_complete(self) -> bool:
        return all(one.is_complete for one in self.passes)

    def time_ns(self, one: PassTotals) -> float:
        """The total of a pass if every pass has one, or else the time of its measured kernels, so
        that the passes can be compared."""
        return one.time_ns if self.is_complete else one.all.measured_ns

    def share_of_best(self, one: PassTotals) -> float | None:
        """The throughput of a pass over the best; None without the time of all its kernels."""
        if not any(one is other for other in self._comparable):
            return None
        return min(map(self._unit_ns, self._comparable)) / self._unit_ns(one)

    @property
    def knee(self) -> PassTotals | None:
        """The smallest batch with nearly the best throughput, of several that have a total."""
        if len(self._comparable) < 2 or not self.is_complete:
            return None
        shares = ((one, self.share_of_best(one)) for one in self._comparable)
        return next(one for one, share in shares if (share or 0.0) >= KNEE_SHARE)

    @cached_property
    def _comparable(self) -> list[PassTotals]:
        return [one for one in self.passes if self.time_ns(one) and not one.has_failures]

    def _unit_ns(self, one: PassTotals) -> float:
        return self.time_ns(one) / one.what.batch


def totals_of(
    context: JsonObject, rows: Iterable[Row], chains: Sequence[ChainLine] = ()
) -> list[Totals]:
    """The totals of a run's workload in each regime; empty if it has none. The rows have their
    bound. Of several chains of a pass the last one counts."""
    workload = workload_of(context)
    if workload is None:
        return []
    of_regimes: dict[Regime | None, dict[str, Row]] = {}
    failed: dict[str, Row] = {}
    for row in rows:
        if row.problem is None:
            continue
        if row.status == "ok" and row.statistics.median_ns:
            regime = (row.regime.cache or "", row.regime.power or "")
            of_regimes.setdefault(regime, {})[row.problem] = row
        else:
            failed[row.problem] = row
    return [
        Totals(tuple(
            _pass_totals(workload, one, regime, measured, failed, chains)
            for one in workload.passes
        ))
        for regime, measured in (of_regimes or {None: {}}).items()
    ]  # fmt: skip


def _pass_totals(
    workload: Workload,
    what: Pass,
    regime: Regime | None,
    measured: Mapping[str, Row],
    failed: Mapping[str, Row],
    chains: Sequence[ChainLine],
) -> PassTotals:
    ceilings = _known_ceilings(measured.values())
    times = [_item_time(item, measured, failed, ceilings) for item in what.items]
    power = regime[1] if regime else ""
    found = (one for one in reversed(chains) if one.is_of(what.values, power))
    chain = next(found, None)
    return PassTotals(workload, what, regime, Times(tuple(times)), ceilings, chain)


def _item_time(
    item: Item,
    measured: Mapping[str, Row],
    failed: Mapping[str, Row],
    ceilings: KnownCeilings,
) -> ItemTime:
    row = measured.get(item.problem) if item.problem is not None else None
    if row is not None:
        return ItemTime(item, row, "", None)
    if item.problem is None and item.op in COLLECTIVES:
        reason = "needs one rank for each device (--ranks)"
    elif item.problem is None:
        reason = "no operation measures it"
    elif item.problem in failed:
        bad = failed[item.problem]
        why = printable_line(bad.reason or "no reason given")
        reason = f"{bad.status.replace('_', ' ')}: {why}"
    else:
        reason = "not run"
    estimate = ceilings.estimate_ns(item)
    return ItemTime(item, None, reason, None if estimate is None else item.count * estimate)


def _known_ceilings(rows: Collection[Row]) -> KnownCeilings:
    tflops: dict[str, float] = {}
    gbps: dict[str, float] = {}
    for row in rows:
        if row.arithmetic and row.bound.arithmetic_tflops:
            tflops[row.arithmetic] = row.bound.arithmetic_tflops
        if row.bound.memory_gbps:
            gbps[row.bound.level or _MEMORY] = row.bound.memory_gbps
    latencies = [row.bound.latency_ns for row in rows if row.bound.latency_ns]
    return KnownCeilings(tflops, gbps, min(latencies, default=0.0))
