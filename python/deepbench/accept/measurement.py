"""Measures the chosen rows of a reference on the devices of this machine, and soaks the devices."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from deepbench.accept.families import (
    DEVICE_LINKS,
    ENERGY,
    FAMILIES,
    Choice,
    Family,
    hardest_row,
)
from deepbench.accept.reference import RESTED, SUSTAINED, ReferenceRow
from deepbench.json_types import JsonObject
from deepbench.problems.selection import LineSource, Selection
from deepbench.results import Row
from deepbench.results.row import Numbers
from deepbench.runner.progress import Screen
from deepbench.runner.ranks import worker_command
from deepbench.runner.run import Run
from deepbench.runner.run_options import RunOptions
from deepbench.runner.session import Session
from deepbench.runner.worker_process import SessionError

# For three seconds of which a sustained row loads the device.
_ROW_LIMIT_S = {RESTED: "2", SUSTAINED: "6"}
_MOST_SOAK_CALLS, _LEAST_SOAK_S = 10**9, 0.01
_ALONE = tuple(family for family in FAMILIES if family.is_alone)


@dataclass(frozen=True)
class Place:
    """The place and the conditions of an acceptance's measurements."""

    backend: str
    devices: tuple[int, ...]
    has_energy: bool  # whether all devices have a counter of energy
    folder: Path | None  # for the result files; None: they are not kept
    command: tuple[str, ...]


@dataclass(frozen=True)
class MeasuredRow:
    """A row of one device of this machine."""

    row: Row
    rank: int | None = None  # rank in the fleet that measured it; None: the device was alone

    @property
    def status(self) -> str:
        statuses = self.row.ranks.status if self.row.ranks else ()
        if self.rank is None or not statuses:
            return self.row.status
        return statuses[self.rank]

    @property
    def is_mismatched(self) -> bool:
        """Whether the row ran another library or algorithm than most devices of the fleet."""
        return self.row.ranks is not None and self.rank in self.row.ranks.mismatched

    @property
    def time_ns(self) -> float | None:
        ranks, time_ns = self.row.ranks, self.row.time_ns
        return time_ns if ranks is None or self.rank is None else self._of_rank(ranks.median_ns)

    @property
    def clock_mhz(self) -> float | None:
        ranks, clock = self.row.ranks, self.row.observed.get("sm_clock_mhz")
        return clock if ranks is None or self.rank is None else self._of_rank(ranks.clock_mhz)

    def _of_rank(self, values: Numbers) -> float | None:
        return values[self.rank] if self.rank is not None and self.rank < len(values) else None

    def value(self, family: Family) -> float | None:
        return self.row.energy_j if family is ENERGY else self.time_ns


@dataclass
class Measured:
    """The measurements so far."""

    # The key is the family, the key of the reference's row, and the device; None: all devices
    # together.
    rows: dict[tuple[str, object, int | None], MeasuredRow] = field(default_factory=dict)
    soaks: list[Row] = field(default_factory=list)
    contexts: list[JsonObject] = field(default_factory=list)
    refused: list[str] = field(default_factory=list)  # the reasons why rows could not be begun
    lost: str | None = None  # the reason why no further row can be measured

    def row(self, family: Family, row: ReferenceRow, device: int | None) -> MeasuredRow | None:
        return self.rows.get((family.name, row.key, device))

    @property
    def every_row(self) -> list[Row]:
        """Each row once, soaks included."""
        rows = {id(one.row): one.row for one in self.rows.values()}
        return [*rows.values(), *self.soaks]


@dataclass(frozen=True)
class _Batch:
    """Rows that one run measures on one device, or on several at the same time."""

    name: str
    rows: tuple[ReferenceRow, ...]
    families: tuple[Family, ...]  # families for which the rows count
    devices: tuple[int, ...]
    power: str
    options: Mapping[str, str]
    is_collective: bool = False


def device_facts(backend: str, device: int) -> JsonObject:
    """The hello message of a backend for one of its devices. Raises SessionError."""
    session = Session(
        worker_command(backend, [f"device={device}"]), backend=backend, can_restart=False
    )
    try:
        return session.start()
    finally:
        session.close()


def measure(choice: Choice, place: Place, soak_s: float, screen: Screen) -> Measured:
    """Measures all rows, and then loads the devices for `soak_s` seconds. A lost device ends the
    measurement early. Raises UserError if the results cannot be kept."""
    measured = Measured()
    for batch in _batches(choice, place):
        if measured.lost is None:
            _measure_batch(batch, choice, place, screen, measured)
    if measured.lost is None:
        _soak(choice, place, soak_s, screen, measured)
    return measured


def _batches(choice: Choice, place: Place) -> Iterator[_Batch]:
    every = place.devices
    energy = {row.key for row in choice[ENERGY]} if place.has_energy else set()
    if len(every) == 1:
        yield from _batches_of(choice, _all_but(DEVICE_LINKS), every, "device", energy)
        return
    yield from _batches_of(choice, _all_but(DEVICE_LINKS, *_ALONE), every, "all_devices")
    for device in every:
        yield from _batches_of(choice, _ALONE, (device,), "device", energy)
    yield from _batches_of(choice, (DEVICE_LINKS,), every, "links", is_collective=True)


def _all_but(*left_out: Family) -> tuple[Family, ...]:
    return tuple(family for family in FAMILIES if family not in left_out)


def _batches_of(
    choice: Choice,
    families: tuple[Family, ...],
    devices: tuple[int, ...],
    name: str,
    with_energy: Collection[object] = (),
    is_collective: bool = False,
) -> Iterator[_Batch]:
    """Groups the rows of some families by the conditions that a run has in common for all of its
    rows. `with_energy` are the keys of rows whose energy is measured."""
    rows = {row.key: row for family in families for row in choice[family]}
    groups: dict[tuple[str, tuple[tuple[str, str], ...], bool], list[ReferenceRow]] = {}
    for key, row in rows.items():
        groups.setdefault((row.power, row.options, key in with_energy), []).append(row)
    for number, ((power, options, energy), of_group) in enumerate(groups.items(), start=1):
        words = {**dict(options), **({"energy": "yes"} if energy else {})}
        place = f"_{devices[0]}" if len(devices) == 1 else ""
        title = f"{name}{place}_{power}_{number}"
        yield _Batch(title, tuple(of_group), families, devices, power, words, is_collective)


def _measure_batch(
    batch: _Batch, choice: Choice, place: Place, screen: Screen, measured: Measured
) -> None:
    for row in _run(batch, {"time_limit": _ROW_LIMIT_S[batch.power]}, place, screen, measured):
        of = batch.rows[row.position]
        for family in batch.families:
            if of in choice[family]:
                for device, one in _by_device(batch, row):
                    measured.rows[family.name, of.key, device] = one


def _by_device(batch: _Batch, row: Row) -> Iterator[tuple[int | None, MeasuredRow]]:
    if batch.is_collective:
        yield None, MeasuredRow(row)
    elif len(batch.devices) == 1:
        yield batch.devices[0], MeasuredRow(row)
    else:
        for rank, device in enumerate(batch.devices):
            yield device, MeasuredRow(row, rank)


def _soak(choice: Choice, place: Place, seconds: float, screen: Screen, measured: Measured) -> None:
    """Loads all devices with the row that has the highest rate."""
    hardest = hardest_row(choice)
    if hardest is None:
        return
    calls = max(1, min(_MOST_SOAK_CALLS, round(seconds * 1e9 / hardest.time_ns)))
    batch = _Batch("soak", (hardest,), (), place.devices, SUSTAINED, dict(hardest.options))
    options = {"soak": str(calls), "time_limit": f"{max(seconds, _LEAST_SOAK_S):g}"}
    measured.soaks += _run(batch, options, place, screen, measured)


def _run(
    batch: _Batch, options: Mapping[str, str], place: Place, screen: Screen, measured: Measured
) -> Sequence[Row]:
    """Runs the rows of a batch, and returns those that were measured before a device was lost."""
    lines = [row.entry.problem for row in batch.rows]
    several = len(batch.devices) > 1
    where = {"devices" if several else "device": ",".join(map(str, batch.devices))}
    run = Run(
        Selection(f"acceptance, {batch.name.replace('_', ' ')}", None, LineSource(lines), False),
        RunOptions(
            backend=place.backend,
            rows={"ceilings": "no", **options, **batch.options, **where},
            caches=("hot",),
            powers=(batch.power,),
            quick=False,
            corrected=False,
            output=place.folder and place.folder / f"{batch.name}.jsonl",
            resume=False,
            overwrite=False,
            format="table",
            hang_limit_s=None,
            in_process=False,
            devices=len(batch.devices) if several else 0,
        ),
        place.command,
        screen=screen.without_report(),
    )
    try:
        run.run()
    except SessionError as error:
        if not run.context:  # for example, a library of the reference is not installed here
            measured.refused.append(str(error))
            return ()
        measured.lost = str(error)
    measured.contexts.append(run.context)
    rows = run.finished_rows
    if measured.lost is None:
        measured.lost = next((row.reason for row in rows if row.status == "device_lost"), None)
    return rows
