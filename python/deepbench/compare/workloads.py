"""Compares the models that two result sets measure: the time of each pass that both have."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

from deepbench.workload.passes import Item, Pass
from deepbench.workload.record import Workload
from deepbench.workload.totals import ItemTime, PassTotals, Times

from .regimes import differences
from .result_set import Entry, ResultSet

_PRECISION = "precision"

Kernel = tuple[ItemTime, ItemTime]  # the same item on both sides


@dataclass(frozen=True)
class PassPair:
    """A pass of the baseline, and the same pass of the other result set."""

    base: PassTotals
    other: PassTotals
    kernels: tuple[Kernel, ...]  # kernels that both sides have measured
    is_knee: bool  # whether the baseline's knee is this pass

    @cached_property
    def is_total(self) -> bool:
        """Whether both sides have a total of the same work. Otherwise the kernels that both have
        measured are compared."""
        return self.base.is_complete and self.other.is_complete and self._have_same_work

    @property
    def _have_same_work(self) -> bool:
        """Whether both list the same layers, which another version of the model may not."""
        works = [
            {name: math.fsum(one.item.count * one.item.flops for one in times.times)
             for name, times in side.all.grouped(lambda item: item.layer).items()}
            for side in (self.base, self.other)
        ]  # fmt: skip
        return works[0].keys() == works[1].keys() and all(
            math.isclose(flops, works[1][name]) for name, flops in works[0].items()
        )

    @property
    def base_ns(self) -> float:
        return self.base.time_ns if self.is_total else self._measured[0].measured_ns

    @property
    def other_ns(self) -> float:
        return self.other.time_ns if self.is_total else self._measured[1].measured_ns

    @property
    def disturbed(self) -> int:
        """How many of the kernels other work disturbed, on a side."""
        return sum(
            any(side.row is not None and side.row.statistics.is_disturbed for side in kernel)
            for kernel in self.kernels
        )

    @property
    def ratio(self) -> float:
        return self.other_ns / self.base_ns

    @property
    def kinds(self) -> dict[str, tuple[Times, Times]]:
        """The times of each kind of layer on both sides, the longest of the baseline first."""
        first, second = (side.all.grouped(_kind) for side in (self.base, self.other))
        none = Times(())
        return {
            name: (first.get(name, none), second.get(name, none)) for name in {**first, **second}
        }

    @cached_property
    def _measured(self) -> tuple[Times, Times]:
        return Times(tuple(a for a, _ in self.kernels)), Times(tuple(b for _, b in self.kernels))


@dataclass(frozen=True)
class WorkloadComparison:
    """The model of the baseline and that of another result set."""

    base: Workload
    other: Workload
    pairs: tuple[PassPair, ...]
    only_base: tuple[Pass, ...]  # passes without a partner
    only_other: tuple[Pass, ...]
    apart: tuple[str, ...]  # conditions, as in regimes.ACROSS, that prevent a comparison of passes

    @property
    def is_same_model(self) -> bool:
        return _model(self.base) == _model(self.other)

    @property
    def not_measured(self) -> list[Pass]:
        """Passes of both of which no kernel is measured on both sides."""
        paired = [one.base.what.values for one in self.pairs]
        return [
            one
            for one in self.base.passes
            if one not in self.only_base and one.values not in paired
        ]

    @property
    def shown(self) -> PassPair | None:
        """The pass of which details are shown: the baseline's knee, else the first."""
        return next((one for one in self.pairs if one.is_knee), next(iter(self.pairs), None))


def compare_workloads(
    base: ResultSet, other: ResultSet, across: Collection[str] = ()
) -> WorkloadComparison | None:
    """None if one of them is not the result of a model."""
    if base.workload is None or other.workload is None:
        return None
    pairs: list[PassPair] = []
    apart: dict[str, None] = {}
    if _model(base.workload) == _model(other.workload):
        for totals in base.totals:
            for one in totals.passes:
                found = _partner(one, base, other, across, apart)
                if found is not None:
                    partner, kernels = found
                    pairs.append(PassPair(one, partner, kernels, one is totals.knee))
    return WorkloadComparison(
        base.workload,
        other.workload,
        tuple(pairs),
        _without_partner(base.workload, other.workload),
        _without_partner(other.workload, base.workload),
        () if pairs else tuple(apart),
    )


def _model(workload: Workload) -> tuple[str, str, str]:
    return workload.name, workload.title, workload.phase


def _kind(item: Item) -> str:
    return item.kind


def _without_partner(these: Workload, those: Workload) -> tuple[Pass, ...]:
    known = [one.values for one in those.passes]
    return tuple(one for one in these.passes if one.values not in known)


def _partner(
    one: PassTotals,
    base: ResultSet,
    other: ResultSet,
    across: Collection[str],
    apart: dict[str, None],
) -> tuple[PassTotals, tuple[Kernel, ...]] | None:
    """The same pass of the other side in a comparable regime, if possible in the same regime, and
    the kernels that both sides have measured. Adds to `apart` the conditions that prevent a
    comparison of others."""
    same_values = [
        candidate
        for totals in other.totals
        for candidate in totals.passes
        if candidate.what.values == one.what.values
    ]
    for candidate in sorted(same_values, key=lambda found: found.regime != one.regime):
        kernels = tuple(
            kernel
            for kernel in _kernels(one, candidate)
            if all(entry.time_ns for entry in _entries(kernel, base, other))
        )
        words = _conditions(kernels, base, other, across)
        if kernels and not words:
            return candidate, kernels
        apart.update(dict.fromkeys(words))
    return None


def _kernels(one: PassTotals, other: PassTotals) -> Iterator[Kernel]:
    """The items that both have measured. The n-th item of a layer belongs to the n-th of the layer
    with this name."""
    there = {key: time for key, time in _numbered(other.all.times) if time.row is not None}
    for key, time in _numbered(one.all.times):
        if time.row is not None and key in there and _is_same_call(time.item, there[key].item):
            yield time, there[key]


def _numbered(times: Sequence[ItemTime]) -> Iterator[tuple[tuple[str, int], ItemTime]]:
    seen: dict[str, int] = {}
    for one in times:
        number = seen.get(one.item.layer, 0)
        seen[one.item.layer] = number + 1
        yield (one.item.layer, number), one


def _is_same_call(one: Item, other: Item) -> bool:
    return one.count == other.count and math.isclose(one.flops, other.flops)


def _conditions(
    kernels: Sequence[Kernel], base: ResultSet, other: ResultSet, across: Collection[str]
) -> list[str]:
    """The conditions in which the measurements of the kernels differ, except those that may
    differ."""
    words: dict[str, None] = {}
    for a, b in kernels:
        if a.item.precision != b.item.precision and _PRECISION not in across:
            words[_PRECISION] = None
        words.update(dict.fromkeys(differences(*_entries((a, b), base, other), across)))
    return list(words)


def _entries(kernel: Kernel, base: ResultSet, other: ResultSet) -> tuple[Entry, Entry]:
    """The checked rows of a kernel."""
    a, b = (one.row.position if one.row else 0 for one in kernel)
    return base.by_position[a], other.by_position[b]
