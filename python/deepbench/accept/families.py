"""The seven families of an acceptance, and the rows of a reference that are chosen for each.

Each family is one thing that can be wrong with a machine, and its rows are those that show it best:
the fastest products for the clock, the largest transfers for the width of a connection. Rows of
nearly that rank precede them if enough devices measured them to show how devices differ.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice

from deepbench.accept.reference import RESTED, SUSTAINED, Reference, ReferenceRow, spread_of
from deepbench.json_types import JsonObject
from deepbench.references import FEWEST_DEVICES, FamilySpread

_HOST_KINDS = ("h2d", "d2h")  # transfers between host and device
_MEMORY_KINDS = ("read", "write", "copy")  # transfers within a device
_LONGEST_CALL_NS = 5e8  # a longer call would take more than a row's time
_NEARLY = 0.8  # of a row's rank, with which one of enough devices precedes it
_MOST_PER_GROUP = 3  # rows of one precision, or of one kind of transfer
_MOST_SETS = 100  # of devices, each of which is compared with those of all rows of a group
_REST_ROW_S, _SUSTAINED_ROW_S = 2.5, 6.0  # approximate duration of a row


@dataclass(frozen=True)
class Family:
    """The common properties of the rows of a family, and the machines that have such rows."""

    name: str
    has: Callable[[ReferenceRow], bool]
    group_of: Callable[[ReferenceRow], object]  # a few rows of each group are chosen
    rank_of: Callable[[ReferenceRow], float]  # the rows with the highest rank are chosen
    # Whether it applies to a device with these facts, among this many devices.
    applies: Callable[[JsonObject, int], bool]
    value: Callable[[ReferenceRow], float | None] = lambda row: row.time_ns
    by_device: Callable[[ReferenceRow], Mapping[object, float]] = lambda row: row.times_ns
    weight: int = 1  # number of rows per group, as a multiple of that of other families
    # Whether each device is measured alone: simultaneous transfers of several devices would share
    # the host's memory, and a fleet states the energy of one device only.
    is_alone: bool = False

    @property
    def word(self) -> str:
        """The name of the family as a word of --without."""
        return self.name.replace(" ", "_")

    def rows(self, reference: Reference, per_group: int) -> tuple[ReferenceRow, ...]:
        """The first few rows of each group by their rank, among those that can judge a device if
        the group has any."""
        ranked = sorted(filter(self.has, reference.rows), key=self.rank_of, reverse=True)
        most = self.weight * per_group
        return tuple(
            row
            for group in self._groups(ranked)
            for row in (self._judging(group, most) or group)[:most]
        )

    def _judging(self, group: Sequence[ReferenceRow], most: int) -> list[ReferenceRow]:
        """The rows that the same devices measured, enough to judge another one, of nearly the rank
        of those that they precede: as many rows as are needed, and then as many devices as
        possible. At most `most` rows."""
        ranks = [self.rank_of(row) for row in group]
        measured_by = [frozenset(self.by_device(row)) for row in group]
        found: dict[frozenset[object], list[ReferenceRow]] = {}
        for devices in _commonest(one for one in measured_by if len(one) >= FEWEST_DEVICES):
            shared = (index for index, one in enumerate(measured_by) if devices <= one)
            nearly_best = (
                group[index]
                for index, better in zip(shared, ranks, strict=False)
                if ranks[index] >= _NEARLY * better
            )
            found[devices] = list(islice(nearly_best, most))
        best = max(found, key=lambda one: (len(found[one]), len(one)), default=None)
        return [] if best is None else found[best]

    def spread(self, rows: Sequence[ReferenceRow]) -> FamilySpread | None:
        """How the devices that measured all rows differ. If these are too few, the mean over the
        rows of the spread of their group, as if a device deviated in the same way in all groups,
        which is the largest spread that the family can have."""
        whole = spread_of(map(self.by_device, rows))
        if whole is not None and whole.devices >= FEWEST_DEVICES:
            return whole
        deviation, fewest = 0.0, math.inf
        for group in self._groups(rows):
            spread = spread_of(map(self.by_device, group))
            if spread is None:
                return whole
            deviation += len(group) / len(rows) * spread.log_sd
            fewest = min(fewest, spread.devices)
        return FamilySpread(int(fewest), deviation) if rows else None

    def _groups(self, rows: Iterable[ReferenceRow]) -> Iterable[list[ReferenceRow]]:
        """The rows by their group, in their order."""
        groups: dict[object, list[ReferenceRow]] = {}
        for row in rows:
            groups.setdefault(self.group_of(row), []).append(row)
        return groups.values()


def _commonest(sets: Iterable[frozenset[object]]) -> list[frozenset[object]]:
    """The different sets in their order. Of more than _MOST_SETS those that occur most often."""
    counts = Counter(sets)
    kept = {one for one, _ in counts.most_common(_MOST_SETS)}
    return [one for one in counts if one in kept]


def _always(device: JsonObject, count: int) -> bool:
    return True


def _has_arithmetic(row: ReferenceRow, power: str) -> bool:
    return bool(row.entry.flops) and row.power == power and row.ranks is None


def _moves_bytes(row: ReferenceRow, kinds: Sequence[str]) -> bool:
    no_work = not row.entry.flops and row.ranks is None
    return no_work and row.power == RESTED and row.kind in kinds


def _bytes(row: ReferenceRow) -> float:
    return row.entry.bytes or 0.0


def _precision(row: ReferenceRow) -> object:
    return row.entry.attributes.get("precision")


# Twice as many rows, since single products at the power limit differ more between good devices.
COMPUTE = Family(
    "compute",
    lambda row: _has_arithmetic(row, RESTED), _precision, lambda row: row.rate, _always,
    weight=2,
)  # fmt: skip
MEMORY = Family(
    "memory",
    lambda row: _moves_bytes(row, _MEMORY_KINDS) and not row.fits_cache,
    lambda row: row.kind, _bytes, _always,
)  # fmt: skip
CACHE = Family(
    "cache",
    lambda row: _moves_bytes(row, _MEMORY_KINDS) and bool(row.fits_cache),
    lambda row: row.kind, _bytes, _always,
)  # fmt: skip
HOST_LINKS = Family(
    "host links",
    lambda row: _moves_bytes(row, _HOST_KINDS),
    lambda row: row.kind, _bytes,
    lambda device, count: not device.get("shares_host_memory"),
    is_alone=True,
)  # fmt: skip
DEVICE_LINKS = Family(
    "links between devices",
    lambda row: row.ranks is not None,
    lambda row: (row.entry.op, row.ranks), _bytes,
    lambda device, count: count > 1,
)  # fmt: skip
SUSTAINED_CLOCKS = Family(
    "sustained clocks",
    lambda row: _has_arithmetic(row, SUSTAINED), _precision, lambda row: row.rate, _always,
)  # fmt: skip
ENERGY = Family(
    "energy",
    lambda row: bool(row.energies_j) and row.ranks is None,
    _precision, lambda row: row.rate, _always,
    lambda row: row.energy_j, lambda row: row.energies_j,
    is_alone=True,
)  # fmt: skip


def have_energy(devices: Iterable[JsonObject]) -> bool:
    """Whether all devices have a counter of energy. `devices` are the facts of each device."""
    return all(facts.get("energy") for facts in devices)


FAMILIES = (COMPUTE, MEMORY, CACHE, HOST_LINKS, DEVICE_LINKS, SUSTAINED_CLOCKS, ENERGY)

Choice = Mapping[Family, tuple[ReferenceRow, ...]]


def chosen_rows(reference: Reference, seconds: float, devices: int) -> Choice:
    """The rows of each family, as many as the seconds permit, at least one per group. For links
    between devices, the reference's rows with as many devices as there are here."""
    rows = [row for row in reference.rows if row.time_ns <= _LONGEST_CALL_NS]
    usable = Reference(
        reference.name,
        tuple(row for row in rows if row.ranks in (None, devices)),
        reference.contexts,
    )
    for per_group in range(_MOST_PER_GROUP, 0, -1):
        choice = {family: family.rows(usable, per_group) for family in FAMILIES}
        if _estimated_s(choice, devices) <= seconds:
            break
    return choice


def every_row(choice: Choice) -> tuple[ReferenceRow, ...]:
    """The rows of all families, each once."""
    return tuple({id(row): row for rows in choice.values() for row in rows}.values())


def _estimated_s(choice: Choice, devices: int) -> float:
    """The estimated seconds of the rows that all devices measure at the same time, and of those
    that each device measures alone."""
    in_turn = every_row({family: rows for family, rows in choice.items() if family.is_alone})
    return _rows_s(every_row(choice)) + (devices - 1) * _rows_s(in_turn)


def _rows_s(rows: Iterable[ReferenceRow]) -> float:
    return sum(_SUSTAINED_ROW_S if row.power == SUSTAINED else _REST_ROW_S for row in rows)


def hardest_row(choice: Choice) -> ReferenceRow | None:
    """The row with the highest rate, for the soak."""
    computing = choice[SUSTAINED_CLOCKS] or choice[COMPUTE]
    return max(computing, key=lambda row: row.rate, default=None)
