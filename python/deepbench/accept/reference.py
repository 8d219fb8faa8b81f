"""The reference of an acceptance: the rows of one or more result files of one kind of device, with
the time of each device."""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

from deepbench.compare.result_set import Entry, inputs, printable, to_entry
from deepbench.errors import UsageError, in_quotes
from deepbench.json_types import JsonObject
from deepbench.problems.problem_arguments import operation, operation_name
from deepbench.references import (
    FamilySpread,
    kind_of_device,
    kind_of_identity,
    processor_identity,
)
from deepbench.references.lookup import open_results
from deepbench.results import ResultFile, Row
from deepbench.results.fleet import counted_ranks

RESTED, SUSTAINED = "rested", "sustained"
_SMALLEST = 1e-9  # smallest time or energy that counts, so that quotients stay finite
# Options of a run that do not change what a row measures, or that a row states itself.
_FREE_OPTIONS = frozenset({
    "time_limit", "visits", "samples", "energy", "ceilings", "verify", "device", "devices",
    "ranks", "cache", "power", "seed", "verify_seed",
})  # fmt: skip


# Facts of a device that change its times. The number of threads is not among them: each row states
# it, and `--threads` sets it.
SETTINGS = (
    "driver", "power_limit_w", "most_clock_mhz", "most_memory_clock_mhz", "ecc", "mig",
    "multiprocessors", "isa",
)  # fmt: skip


@dataclass(frozen=True)
class ReferenceRow:
    """One problem in one regime, and its time on each device of the reference."""

    entry: Entry  # row of the device that the reference names first
    kind: str | None  # the kind of transfer of an operation that moves bytes
    fits_cache: bool | None
    power: str
    options: tuple[tuple[str, str], ...]  # options of its run, which a new measurement repeats
    ranks: int | None  # of a collective; otherwise None
    times_ns: dict[object, float] = field(default_factory=dict)  # by device
    energies_j: dict[object, float] = field(default_factory=dict)

    @property
    def request(self) -> object:
        """The key of what a new measurement requests."""
        return self.entry.problem, self.power, self.options, self.ranks

    @property
    def key(self) -> object:
        """The key of rows that have a common mean: what was requested, and what ran."""
        return self.request, self.entry.library, self.entry.threads, self.entry.launch

    @property
    def time_ns(self) -> float:
        """The geometric mean over the devices."""
        return statistics.geometric_mean(self.times_ns.values())

    @property
    def energy_j(self) -> float | None:
        known = self.energies_j.values()
        return statistics.geometric_mean(known) if known else None

    @property
    def rate(self) -> float:
        """Useful work per time."""
        return (self.entry.flops or 0.0) / self.time_ns


@dataclass(frozen=True)
class Reference:
    """All rows of a reference with which a machine can be compared."""

    name: str
    rows: tuple[ReferenceRow, ...]
    contexts: tuple[JsonObject, ...]

    @cached_property
    def device(self) -> JsonObject:
        return _member(self.contexts[0], "device")

    @cached_property
    def device_identities(self) -> frozenset[object]:
        """The identities of its devices."""
        return frozenset(device for row in self.rows for device in row.times_ns)

    @property
    def device_kind(self) -> str:
        return printable(kind_of_device(self.device) or "an unnamed device")


def read_reference(words: Sequence[str]) -> Reference:
    """The reference that result files, folders of them, or names of references form together.
    Raises UserError."""
    names = [name for word in words for name in file_names(word)]
    files = [open_results(name) for name in names]
    _require_one_kind(files)
    _require_one_identity(files)
    rows = _rows_of(files)
    if not rows:
        raise UsageError(
            f"{in_quotes(','.join(words))}: has no row that an acceptance can measure again: one "
            "that is ok and undisturbed, with the default algorithm and a hot cache"
            + _disturbed_text(files)
        )
    contexts = tuple(file.context for file in files)
    return Reference(printable(", ".join(words)), rows, contexts)


def file_names(word: str) -> list[str]:
    """The result files below a folder, or else the word itself. Raises UsageError."""
    if not Path(word).is_dir():
        return [word]
    names = sorted(str(path) for path in Path(word).rglob("*.jsonl"))
    if not names:
        raise UsageError(f"{in_quotes(word)}: is a folder without a result file (NAME.jsonl)")
    return names


def spread_of(values: Iterable[Mapping[object, float]]) -> FamilySpread | None:
    """The spread between devices in a family, from the values of its rows by device; None unless
    two devices have measured all of them."""
    rows = list(values)
    devices = sorted(set.intersection(*map(set, rows)), key=repr) if rows else []
    if len(devices) < 2:
        return None
    means = [statistics.fmean(math.log(row[device]) for row in rows) for device in devices]
    return FamilySpread(len(devices), statistics.stdev(means))


def _require_one_kind(files: Sequence[ResultFile]) -> None:
    for file in files:
        if file.rows and all(row.regime.published for row in file.rows):
            raise UsageError(
                f"{in_quotes(str(file.path))}: published figures were measured by other rules; an "
                "acceptance needs a result file of deepbench"
            )
    kinds = dict.fromkeys(
        printable(kind_of_device(_member(file.context, "device"))) for file in files
    )
    if len(kinds) > 1:
        first, second = list(kinds)[:2]
        raise UsageError(
            f"--against: one reference has one kind of device, not {first} and {second}"
        )


def _disturbed_text(files: Sequence[ResultFile]) -> str:
    every = [row for file in files for row in file.rows]
    disturbed = sum(row.statistics.is_disturbed for row in every)
    owner = "its" if len(files) == 1 else "their"
    count = f"other work disturbed {disturbed} of {owner} {len(every)} rows"
    return (
        f"; {count}, which a quiet machine measures again by --resume --retry" if disturbed else ""
    )


def _require_one_identity(files: Sequence[ResultFile]) -> None:
    """Raises UsageError for different kinds of identities: a machine has one identity for root and
    another one for all other users, and some files state none."""
    devices = ((_member(file.context, "device"), file.context) for file in files)
    kinds = {
        kind_of_identity(processor_identity(context))
        for device, context in devices
        if device.get("shares_host_memory") and not device.get("uuid")
    }
    if len(kinds) < 2:
        return
    some, remedy = (
        ("state the identity of their machine", "measure the others again")
        if None in kinds
        else ("tell machines apart by numbers that root alone can read",
              "measure as root everywhere or nowhere")
    )  # fmt: skip
    raise UsageError(
        f"--against: only some of the files {some}, so that one machine could count as two; "
        f"{remedy}"
    )


def _rows_of(files: Sequence[ResultFile]) -> tuple[ReferenceRow, ...]:
    found: dict[object, ReferenceRow] = {}
    for file in files:
        options = _kept_options(file.context)
        if options is None:
            continue
        given = inputs(file.context)
        for row in filter(_is_usable, file.rows):
            entry = to_entry(row, given)
            times_ns = _times_by_device(file.context, row)
            if not times_ns:
                continue
            power = SUSTAINED if entry.power == SUSTAINED else RESTED
            ranks = entry.ranks if operation(entry.op).is_collective else None
            kind, fits = row.attributes.get("kind"), row.regime.fits_cache
            new = ReferenceRow(
                entry, None if kind is None else str(kind), fits, power, options, ranks
            )
            one = found.setdefault(new.key, new)
            for device, time_ns in times_ns.items():
                one.times_ns.setdefault(device, time_ns)
            for device, energy_j in _energies_by_device(file.context, row).items():
                one.energies_j.setdefault(device, energy_j)
    return _of_most_devices(found.values())


def _of_most_devices(rows: Iterable[ReferenceRow]) -> tuple[ReferenceRow, ...]:
    """Keeps one row for each request: the one that most devices ran, since a new measurement runs
    one version of a library."""
    best: dict[object, ReferenceRow] = {}
    for row in rows:
        other = best.setdefault(row.request, row)
        if len(row.times_ns) > len(other.times_ns):
            best[row.request] = row
    return tuple(best.values())


def _kept_options(context: JsonObject) -> tuple[tuple[str, str], ...] | None:
    """The options that a new measurement repeats; None if the rows are soaks or single calls, or
    used another algorithm than the default."""
    options = _member(context, "options")
    if options.keys() & {"algorithm", "soak", "once"}:
        return None
    kept = options.items()
    return tuple(sorted((key, str(value)) for key, value in kept if key not in _FREE_OPTIONS))


def _is_usable(row: Row) -> bool:
    """Whether a machine can be compared with a row, and this version knows its problem."""
    return (
        row.status == "ok"
        and row.regime.published is None
        and row.regime.cache in (None, "hot")
        and row.algorithm.mode in (None, "default")
        and not row.soak
        and not row.statistics.is_disturbed
        and _is_known_problem(row)
    )


def _is_known_problem(row: Row) -> bool:
    from deepbench import _core

    try:
        _core.Problem.parse(row.problem or "")
    except ValueError:
        return False
    return operation_name(row.op or "") is not None


def _times_by_device(context: JsonObject, row: Row) -> dict[object, float]:
    """The time on each device; for a fleet, on every device that counts."""
    if row.devices and not row.regime.ranks:
        return _positive(_first_of_each((one.identity, one.median_ns) for one in row.devices))
    if row.ranks is not None and not row.regime.ranks:
        medians, counted = row.ranks.median_ns, counted_ranks(row.ranks)
        return _positive({_uuid_of_rank(context, rank): medians[rank] for rank in counted})
    return _positive({_device_key(context, row): row.time_ns})


def _energies_by_device(context: JsonObject, row: Row) -> dict[object, float]:
    """The energy of a call on each device; a fleet states that of one device."""
    if row.devices and not row.regime.ranks:
        return _positive(_first_of_each((one.identity, one.energy_j) for one in row.devices))
    return _positive({_device_key(context, row): row.energy_j})


def _first_of_each(values: Iterable[tuple[str, float | None]]) -> dict[object, float | None]:
    """By identity; devices without one are left out."""
    found: dict[object, float | None] = {}
    for identity, value in values:
        if identity:
            found.setdefault(printable(identity), value)
    return found


def _positive(values: Mapping[object, float | None]) -> dict[object, float]:
    """The values that are known and possible."""
    return {
        device: float(value)
        for device, value in values.items()
        if value is not None and _is_positive(value)
    }


def _is_positive(value: float) -> bool:
    """Whether a number of a file is a valid divisor."""
    return _SMALLEST < value < math.inf


def _device_key(context: JsonObject, row: Row) -> object:
    """The identity of the device of a row: its serial number, or the identity of the machine whose
    memory it shares. All devices without an identity count as one device."""
    if row.ranks is not None and not row.regime.ranks:
        return _uuid_of_rank(context, row.ranks.representative or 0)
    return _text_or_none(_member(context, "device").get("uuid") or processor_identity(context))


def _uuid_of_rank(context: JsonObject, rank: int) -> object:
    devices = _member(context, "ranks").get("devices")
    one = devices[rank] if isinstance(devices, list) and rank < len(devices) else None
    return _text_or_none(one.get("uuid")) if isinstance(one, Mapping) else None


def _text_or_none(value: object) -> str | None:
    return None if value is None else printable(value)


def _member(context: JsonObject, name: str) -> JsonObject:
    value = context.get(name)
    return value if isinstance(value, Mapping) else {}


def describe_ground(contexts: Sequence[JsonObject]) -> Iterator[tuple[str, set[str]]]:
    """The settings under which a reference was measured, each with all of its values."""
    for name in SETTINGS:
        told = (_text_or_none(_member(one, "device").get(name)) for one in contexts)
        if known := {value for value in told if value is not None}:
            yield name, known
    versions = {printable(one["version"]) for one in contexts if one.get("version")}
    if versions:
        yield "deepbench", versions
