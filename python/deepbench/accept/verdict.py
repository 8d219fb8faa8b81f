"""Decides whether a machine is accepted: FAIL with an alarm, PASS only where nothing is missing,
and INCOMPLETE otherwise. A family decides by its geometric mean; its rows explain."""

from __future__ import annotations

import math
import statistics
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum

from deepbench.accept.counters import ERROR_COUNTS, Counts
from deepbench.accept.families import (
    DEVICE_LINKS,
    ENERGY,
    FAMILIES,
    SUSTAINED_CLOCKS,
    Choice,
    Family,
    hardest_row,
)
from deepbench.accept.gaps import ERRORS, SPREAD, THROTTLING, Gap, missing_and_excused
from deepbench.accept.measurement import Measured, MeasuredRow
from deepbench.accept.reference import Reference, ReferenceRow, describe_ground
from deepbench.accept.tolerance import Tolerance, tolerance
from deepbench.compare.ratios import Interval, ratio
from deepbench.compare.regimes import describe_regime, differences
from deepbench.compare.result_set import printable, to_entry
from deepbench.errors import counted
from deepbench.json_types import JsonObject
from deepbench.references import FEWEST_DEVICES, kind_of_identity
from deepbench.results.fleet import FleetSummary
from deepbench.results.row import Row
from deepbench.results.soak import first_and_last_tenth_of, whole_of

# Share of a soak's batches; if more are throttled, heat or a hardware limit is the cause.
_THROTTLED_SHARE = 0.01
_EXACT = Interval(0.0, 0.0)
_WRONG = ("incorrect", "failed", "device_lost")  # statuses that a good machine does not have


class Outcome(Enum):
    """The verdicts, with the exit status of each."""

    PASS = 0
    FAIL = 1
    INCOMPLETE = 3


@dataclass(frozen=True)
class Pair:
    """A row of the reference, and its result here."""

    reference: ReferenceRow
    measured: MeasuredRow | None
    # Logarithm of the value here over the reference's; None: it does not count.
    log_ratio: float | None
    reason: str | None  # the reason why it does not count
    interval: Interval = _EXACT  # interval of log_ratio, from the intervals of both rows

    @property
    def is_wrong(self) -> bool:
        """Whether the row alone is an alarm."""
        return self.measured is not None and self.measured.status in _WRONG


@dataclass(frozen=True)
class Judgment:
    """One family on one device."""

    family: Family
    device: int | None  # None: all devices together
    pairs: tuple[Pair, ...]
    tolerance: Tolerance

    @property
    def log_ratios(self) -> list[float]:
        return [pair.log_ratio for pair in self.pairs if pair.log_ratio is not None]

    @property
    def log_mean(self) -> float | None:
        ratios = self.log_ratios
        return statistics.fmean(ratios) if ratios else None

    @property
    def log_limits(self) -> tuple[float, float]:
        """The limits of the mean that follow from the intervals of its rows. A tolerance that
        follows from the spread of devices includes how far rows repeat, so that the mean then
        counts as it is."""
        mean = self.log_mean or 0.0
        if self.tolerance.spread is not None:
            return mean, mean
        known = [pair.interval for pair in self.pairs if pair.log_ratio is not None]
        count = max(1, len(known))
        below = math.hypot(*(one.below for one in known)) / count
        return mean - below, mean + math.hypot(*(one.above for one in known)) / count

    @property
    def is_alarm(self) -> bool:
        return self.log_mean is not None and self.log_limits[0] > self.tolerance.log_limit

    @property
    def is_unclear(self) -> bool:
        """Whether the tolerance lies within the confidence interval of the mean, so that the rows
        neither show nor exclude a regression."""
        low, high = self.log_limits
        return self.log_mean is not None and low <= self.tolerance.log_limit < high

    @property
    def verdict(self) -> str:
        if self.log_mean is None:
            return "missing"
        return "alarm" if self.is_alarm else "unclear" if self.is_unclear else "within"

    @property
    def title(self) -> str:
        return self.family.name + ("" if self.device is None else f" of device {self.device}")


@dataclass(frozen=True)
class CountChange:
    """A count before and after the measurements; None: unknown."""

    device: int
    what: str
    before: int | None
    after: int | None


@dataclass(frozen=True)
class Verdict:
    """The outcome, and everything that it is based on."""

    alarms: tuple[str, ...]
    missing: tuple[Gap, ...]
    excused: tuple[Gap, ...]  # gaps that --without excuses
    notes: tuple[str, ...]
    judgments: tuple[Judgment, ...]
    counts: tuple[CountChange, ...]

    @property
    def outcome(self) -> Outcome:
        if self.alarms:
            return Outcome.FAIL
        return Outcome.INCOMPLETE if self.missing else Outcome.PASS


@dataclass(frozen=True)
class Machine:
    """The devices that are accepted, as their backend describes them before and after the
    measurements."""

    before: Mapping[int, JsonObject]  # facts by device
    counts_before: Mapping[int, Counts]
    counts_after: Mapping[int, Counts]
    version: str


def decide(
    reference: Reference,
    choice: Choice,
    machine: Machine,
    measured: Measured,
    without: Collection[str] = (),
) -> Verdict:
    """The verdict if the user excuses what these words name (gaps.WORDS)."""
    judgments = tuple(_judgments(reference, choice, machine, measured))
    counts = tuple(_count_changes(machine))
    soak_alarms, soak_gaps = _soak_findings(choice, judgments, measured)
    alarms = [
        *([f"a device is lost: {printable(measured.lost)}"] if measured.lost else []),
        *_wrong_rows(measured),
        *(_alarm_text(one) for one in judgments if one.is_alarm),
        *soak_alarms,
        *(
            f"{one.what} of device {one.device} rose from {one.before} to {one.after}"
            for one in counts
            if one.before is not None and one.after is not None and one.after > one.before
        ),
    ]
    gaps = [
        *(Gap(printable(reason)) for reason in measured.refused),
        *_missing_families(judgments, machine),
        *_nothing_judged(judgments),
        *_missing_spreads(judgments, without),
        *soak_gaps,
        *_unknown_counts(counts),
        *map(Gap, _other_ground(reference, machine)),
    ]
    missing, excused = missing_and_excused(gaps, without)
    return Verdict(
        tuple(dict.fromkeys(alarms)),
        missing,
        excused,
        (*_own_devices(reference, machine), *_notes(judgments, measured)),
        judgments,
        counts,
    )


# ---- families -----------------------------------------------------------------------------------


def _judgments(
    reference: Reference, choice: Choice, machine: Machine, measured: Measured
) -> Iterator[Judgment]:
    devices = tuple(machine.before)
    for family in FAMILIES:
        rows = choice[family]
        allowed = tolerance(family.spread(rows), len(FAMILIES) * len(devices))
        for device in (None,) if family is DEVICE_LINKS else devices:
            pairs = tuple(_pair(family, row, measured.row(family, row, device)) for row in rows)
            yield Judgment(family, device, pairs, allowed)


def _pair(family: Family, row: ReferenceRow, measured: MeasuredRow | None) -> Pair:
    reason = _why_not_comparable(row, measured)
    value = measured.value(family) if measured and reason is None else None
    of_reference = family.value(row)
    if value and of_reference and math.isfinite(value):
        interval = _interval(family, row, measured)
        return Pair(row, measured, math.log(value / of_reference), None, interval)
    return Pair(row, measured, None, reason or f"{row.entry.problem} has no {family.name}")


def _interval(family: Family, row: ReferenceRow, measured: MeasuredRow | None) -> Interval:
    """The interval of the ratio of two times. Energy and the ranks of a fleet have no interval, and
    count as they are."""
    if measured is None or measured.rank is not None or family is ENERGY:
        return _EXACT
    found = ratio(row.entry, to_entry(measured.row, row.entry.inputs))
    return _EXACT if found is None else found.interval or _EXACT


def _why_not_comparable(row: ReferenceRow, measured: MeasuredRow | None) -> str | None:
    problem = row.entry.problem
    if measured is None:
        return f"{problem} was not measured"
    if measured.status != "ok":
        return f"{problem} is {measured.status}: {printable(measured.row.reason or 'no reason')}"
    here = to_entry(measured.row, row.entry.inputs)
    if here.library != row.entry.library:
        return f"{problem} ran in {here.library}, in the reference in {row.entry.library}"
    if measured.is_mismatched:
        return f"{problem} ran by another algorithm than on most devices"
    if words := differences(row.entry, here):
        other = describe_regime(row.entry, words)
        return f"{problem}: {describe_regime(here, words)}; in the reference {other}"
    if here.is_disturbed:
        return f"{problem} was disturbed by other work on this machine"
    return None


def _alarm_text(one: Judgment) -> str:
    mean = one.log_mean or 0.0
    worst = max((pair for pair in one.pairs if pair.log_ratio is not None),
                key=lambda pair: pair.log_ratio or 0.0)  # fmt: skip
    what = "more energy" if one.family.name == "energy" else "slower"
    return (
        f"{one.title}: {100 * math.expm1(mean):.1f} % {what} than the reference, beyond "
        f"{100 * one.tolerance.share:.1f} % (most of all {worst.reference.entry.problem}, "
        f"{100 * math.expm1(worst.log_ratio or 0.0):.1f} %)"
    )


def _unclear_text(one: Judgment) -> str:
    low, high = (round(100 * math.expm1(limit), 1) for limit in one.log_limits)
    return (
        f"{one.title}: its rows repeat too badly to tell: {low:+.1f} to {high:+.1f} % of the "
        f"reference's time, with a tolerance of {100 * one.tolerance.share:.1f} %"
    )


def _nothing_judged(judgments: Sequence[Judgment]) -> Iterator[Gap]:
    """A verdict that is based on no row is no pass, whatever the user excuses."""
    pairs = [pair for one in judgments for pair in one.pairs]
    if not any(pair.is_wrong or pair.log_ratio is not None for pair in pairs):
        yield Gap("no row of the reference was judged")


def _missing_families(judgments: Sequence[Judgment], machine: Machine) -> Iterator[Gap]:
    """A family that the reference or the machine lacks can be excused. A row that does not count
    has no word: it was disturbed, or ran otherwise than in the reference, which can be put
    right."""
    count = len(machine.before)
    facts = next(iter(machine.before.values()))
    uncounted = [str(device) for device, one in machine.before.items() if not one.get("energy")]
    for one in judgments:
        if one.family is ENERGY and uncounted:
            devices = f"device{'s' * (len(uncounted) > 1)} {', '.join(uncounted)}"
            lack = f"energy: there is no counter of it on {devices} that this user can read"
            yield Gap(lack, ENERGY.word)
            continue
        if not one.pairs and one.family.applies(facts, count):
            yield Gap(f"{one.family.name}: the reference has no rows of it", one.family.word)
        gaps = [pair.reason for pair in one.pairs if pair.reason and not pair.is_wrong]
        if one.is_unclear:
            yield Gap(_unclear_text(one))
        if gaps:
            others = len(gaps) - 1
            more = f"; and {counted(others, 'more row')}" if others else ""
            yield Gap(f"{one.title}: {gaps[0]}{more}")


def _missing_spreads(judgments: Sequence[Judgment], without: Collection[str]) -> Iterator[Gap]:
    """Lists counted families without a spread. A family that is excused needs no spread either."""
    names = dict.fromkeys(
        one.family.name
        for one in judgments
        if one.pairs and one.tolerance.spread is None and one.family.word not in without
    )
    if names:
        yield Gap(
            f"no reference spread of {', '.join(names)}: fewer than {FEWEST_DEVICES} devices of "
            "the reference measured all rows of a precision or kind, so that the tolerance is a "
            "plain percentage",
            SPREAD,
        )


def _wrong_rows(measured: Measured) -> Iterator[str]:
    for row in measured.every_row:
        # A lost device is reported separately.
        if row.status in _WRONG and row.status != "device_lost":
            problem, reason = printable(row.problem or ""), printable(row.reason or "no reason")
            yield f"{problem} is {row.status}: {reason}"


# ---- soak, counts, ground -----------------------------------------------------------------------


def _soak_findings(
    choice: Choice, judgments: Sequence[Judgment], measured: Measured
) -> tuple[list[str], list[Gap]]:
    """The faults of the soak, and the gaps in it. A reference without a row that computes has a gap
    of compute as well, so that a pass requires that both families are excused."""
    soaks = [row for row in measured.soaks if row.status == "ok" and whole_of(row.soak)]
    if hardest_row(choice) is None:
        return [], [Gap("soak: the reference has no row that computes", SUSTAINED_CLOCKS.word)]
    if not soaks:
        return [], [Gap("soak: it was not made")]
    allowed = max(one.tolerance.log_limit for one in judgments if one.family is SUSTAINED_CLOCKS)
    alarms: list[str] = []
    gaps: list[Gap] = []
    for row in soaks:
        if row.statistics.is_disturbed:
            gaps.append(Gap("soak: other work on this machine disturbed it"))
        else:
            alarms += _soak_alarms(row, allowed)
    return alarms, gaps


def _soak_alarms(row: Row, allowed: float) -> Iterator[str]:
    whole = whole_of(row.soak)
    first, last = first_and_last_tenth_of(row.soak)
    slower = last.time_per_call_ns / first.time_per_call_ns
    if math.log(slower) > allowed:
        yield f"soak: its end is {100 * (slower - 1):.1f} % slower than its beginning"
    if whole is not None and whole.throttled > _THROTTLED_SHARE:
        yield f"soak: {100 * whole.throttled:.1f} % of its batches were throttled"


def _count_changes(machine: Machine) -> Iterator[CountChange]:
    for device, before in machine.counts_before.items():
        after = machine.counts_after.get(device, {})
        for what, count in before.items():
            yield CountChange(device, what, count, after.get(what))


def _unknown_counts(counts: Sequence[CountChange]) -> Iterator[Gap]:
    unknown = dict.fromkeys(one.what for one in counts if None in (one.before, one.after))
    for word in (ERRORS, THROTTLING):
        of_word = [what for what in unknown if (what in ERROR_COUNTS) == (word == ERRORS)]
        if of_word:
            yield Gap(f"neither backend nor system tells the count of {' or '.join(of_word)}", word)


def _other_ground(reference: Reference, machine: Machine) -> Iterator[str]:
    """Settings and versions in which the machine differs from its reference."""
    for name, values in describe_ground(reference.contexts):
        facts = [{"deepbench": machine.version, **one} for one in machine.before.values()]
        here = {printable(one[name]) for one in facts if one.get(name) is not None}
        if not here <= values:
            there = " or ".join(sorted(values))
            yield f"{name} is {' and '.join(sorted(here))}, in the reference {there}"


def _own_devices(reference: Reference, machine: Machine) -> Iterator[str]:
    known = reference.device_identities - {None}
    kinds = {kind_of_identity(identity) for identity in known}
    for device, facts in machine.before.items():
        uuid = facts.get("uuid")
        identity = None if uuid is None else printable(uuid)
        if identity in known:
            yield f"device {device} is one of those that made the reference"
        elif facts.get("shares_host_memory") and (
            identity is None or kind_of_identity(identity) not in kinds
        ):
            yield (
                f"device {device} may be one of those that made the reference: the identity of its "
                "machine is unknown, or of another kind than theirs (root's or other users')"
            )


def _notes(judgments: Sequence[Judgment], measured: Measured) -> Iterator[str]:
    for one in judgments:
        mean = one.log_mean
        if mean is not None and mean < -one.tolerance.log_limit:
            less = "less energy" if one.family.name == "energy" else "faster"
            yield f"{one.title}: {-100 * math.expm1(mean):.1f} % {less} than the reference"
    throttled = sum(row.statistics.stop == "throttled" for row in measured.every_row)
    if throttled:
        yield f"heat or a hardware limit throttled {throttled} of {len(measured.every_row)} rows"
    fleet = FleetSummary()
    fleet.begin(measured.contexts[0] if measured.contexts else {})
    for row in measured.every_row:
        fleet.add(row)
    yield from fleet.findings()
