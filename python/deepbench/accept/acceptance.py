"""One acceptance from its beginning to its verdict."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from deepbench.accept.counters import Counts, counts_of
from deepbench.accept.families import Choice, chosen_rows, every_row, have_energy
from deepbench.accept.measurement import Measured, Place, device_facts, measure
from deepbench.accept.reference import Reference
from deepbench.accept.verdict import Machine, Verdict, decide
from deepbench.compare.result_set import printable
from deepbench.errors import UsageError
from deepbench.json_types import JsonObject
from deepbench.references import kind_of_device
from deepbench.runner.environment import machine_identity
from deepbench.runner.progress import Screen
from deepbench.runner.worker_process import SessionError

_SOAK_SHARE = 0.25  # of the minutes


@dataclass(frozen=True)
class Request:
    """The request of a command."""

    minutes: float
    backend: str
    devices: tuple[int, ...] | None  # None: all
    folder: Path | None  # for the result files, for which it is created
    without: frozenset[str]  # words of gaps.WORDS that a pass does not require
    command: tuple[str, ...]


@dataclass(frozen=True)
class Acceptance:
    """The verdict on a machine, with the measurements."""

    reference: Reference
    devices: Mapping[int, JsonObject]  # facts by device
    measured: Measured
    verdict: Verdict


def accept(reference: Reference, request: Request, screen: Screen) -> Acceptance:
    """Measures the machine. Raises UserError, before anything is measured, for a device of another
    kind than the reference's."""
    hellos = _hellos(request)
    facts = {device: _facts(hello) for device, hello in hellos.items()}
    _require_same_kind(reference, facts)
    seconds = 60 * request.minutes
    choice = chosen_rows(reference, (1 - _SOAK_SHARE) * seconds, len(facts))
    _require_rows(reference, choice)
    before = {device: counts_of(one) for device, one in facts.items()}
    energy = have_energy(facts.values())
    place = Place(request.backend, tuple(facts), energy, request.folder, request.command)
    if request.folder is not None:
        request.folder.mkdir()
    measured = measure(choice, place, _SOAK_SHARE * seconds, screen)
    machine = Machine(
        facts,
        before,
        _counts_now(request.backend, tuple(facts), measured),
        str(hellos[next(iter(hellos))].get("version") or ""),
    )
    verdict = decide(reference, choice, machine, measured, request.without)
    return Acceptance(reference, facts, measured, verdict)


def _hellos(request: Request) -> dict[int, JsonObject]:
    """The hello message of each device that is to be accepted. Raises SessionError."""
    if request.devices is not None:
        return {device: device_facts(request.backend, device) for device in request.devices}
    first = device_facts(request.backend, 0)
    others = range(1, int(first.get("device_count") or 1))
    return {0: first, **{device: device_facts(request.backend, device) for device in others}}


def _facts(hello: JsonObject) -> JsonObject:
    """The facts of the device. A processor's serial number is the identity of the machine."""
    facts = hello.get("device")
    if not isinstance(facts, Mapping):
        return {}
    return {"uuid": machine_identity(), **facts} if facts.get("shares_host_memory") else facts


def _counts_now(backend: str, devices: Sequence[int], measured: Measured) -> dict[int, Counts]:
    """The counts after the measurements, as far as the devices still answer."""
    try:
        return {device: counts_of(_facts(device_facts(backend, device))) for device in devices}
    except SessionError as error:
        measured.lost = measured.lost or str(error)
        return {}


def _require_same_kind(reference: Reference, facts: Mapping[int, JsonObject]) -> None:
    for device, one in facts.items():
        kind = printable(kind_of_device(one) or "an unnamed device")
        if kind != reference.device_kind:
            raise UsageError(
                f"--against: device {device} is {kind}, and the reference is of "
                f"{reference.device_kind}: a machine is accepted against devices of its own kind"
            )


def _require_rows(reference: Reference, choice: Choice) -> None:
    if not every_row(choice):
        raise UsageError(
            f"--against: {reference.name} has no products, transfers of memory, or operations of "
            "as many devices as there are here"
        )
