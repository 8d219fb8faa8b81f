"""An acceptance as sections that the formats of a report render."""

from __future__ import annotations

import math
from collections.abc import Iterator

from deepbench.accept.acceptance import Acceptance
from deepbench.accept.families import ENERGY
from deepbench.accept.reference import SETTINGS, describe_ground
from deepbench.accept.verdict import CountChange, Judgment, Outcome, Pair, Verdict
from deepbench.compare.result_set import printable
from deepbench.report.comparison.section import Section, TableRow
from deepbench.report.fields import percent, time_cell
from deepbench.report.fleet import fleet_section
from deepbench.report.soak import soak_section
from deepbench.results.fleet import FleetSummary


def summary_sections(acceptance: Acceptance) -> list[Section]:
    """The verdict with its reasons, and the families."""
    return [_verdict_section(acceptance), *_families_section(acceptance)]


def all_sections(acceptance: Acceptance) -> list[Section]:
    """The summary, and everything that explains it."""
    measured = acceptance.measured
    fleet = FleetSummary()
    fleet.begin(measured.contexts[0] if measured.contexts else {})
    for row in measured.every_row:
        fleet.add(row)
    explaining = (soak_section(measured.soaks), fleet_section(fleet))
    return [
        *summary_sections(acceptance),
        *_rows_section(acceptance),
        *(section for section in explaining if section is not None),
        *_counts_section(acceptance),
        _machine_section(acceptance),
    ]


def _verdict_section(acceptance: Acceptance) -> Section:
    verdict = acceptance.verdict
    outcome = verdict.outcome
    names = dict.fromkeys(str(one.get("name")) for one in acceptance.devices.values())
    count = len(acceptance.devices)
    devices = f"{count} devices, " if count > 1 else ""
    about = f"{devices}{printable(' and '.join(names))}, against {acceptance.reference.name}"
    reasons = [
        *(f"alarm: {text}" for text in verdict.alarms),
        *(f"missing: {gap.text}" for gap in verdict.missing),
        *(f"without: {gap.text}" for gap in verdict.excused),
        *(f"note: {text}" for text in verdict.notes),
    ]
    if outcome is Outcome.PASS:
        reasons.append(_meaning_of_pass(verdict))
    if words := dict.fromkeys(str(gap.word) for gap in verdict.excused):
        about += f", without {', '.join(words)}"
    return Section("", tuple(reasons), lead=(f"{outcome.name}: {about}",))


def _meaning_of_pass(verdict: Verdict) -> str:
    within = "every family that was measured is within its tolerance; "
    if any(one.pairs and one.tolerance.spread is None for one in verdict.judgments):
        return within + "how often a good machine exceeds a plain percentage is unknown"
    return within + (
        "where devices differ normally, one good machine in a hundred exceeds that of a family"
    )


def _families_section(acceptance: Acceptance) -> Iterator[Section]:
    judged = [one for one in acceptance.verdict.judgments if one.pairs]
    if not judged:
        return
    lines = (
        "here/reference: the geometric mean of the rows' times (of energy: joules); an alarm is a "
        "mean above 1 by more than the tolerance; unclear: by the rows' intervals it may be one",
    )
    columns = ("family", "device", "rows", "here/reference", "tolerance", "devices in reference",
               "verdict")  # fmt: skip
    rows = tuple(TableRow(_family_cells(one), "slower" * one.is_alarm) for one in judged)
    yield Section("families", lines, columns, frozenset({0, 6}), rows)


def _family_cells(one: Judgment) -> tuple[str, ...]:
    mean, spread = one.log_mean, one.tolerance.spread
    return (
        one.family.name,
        "all" if one.device is None else str(one.device),
        f"{len(one.log_ratios)} of {len(one.pairs)}",
        "-" if mean is None else f"{math.exp(mean):.4f}",
        f"{percent(one.tolerance.share)} %",
        "no spread" if spread is None else str(spread.devices),
        one.verdict,
    )


def _rows_section(acceptance: Acceptance) -> Iterator[Section]:
    rows = tuple(
        TableRow(_row_cells(one, pair))
        for one in acceptance.verdict.judgments
        for pair in one.pairs
    )
    if rows:
        columns = ("family", "device", "reference", "here", "here/reference", "clocks MHz",
                   "problem", "remark")  # fmt: skip
        about = ("the rows explain a family; none of them decides; clocks: in the reference, here",)
        yield Section("rows", about, columns, frozenset({0, 6, 7}), rows, wraps=True)


def _row_cells(one: Judgment, pair: Pair) -> tuple[str, ...]:
    def text(value: float | None) -> str:
        if value is None:
            return "-"
        return f"{value:.4g} J" if one.family is ENERGY else time_cell(value)

    here = pair.measured.value(one.family) if pair.measured else None
    return (
        one.family.name,
        "all" if one.device is None else str(one.device),
        text(one.family.value(pair.reference)),
        text(here),
        "-" if pair.log_ratio is None else f"{math.exp(pair.log_ratio):.4f}",
        _clocks_text(pair),
        pair.reference.entry.problem,
        pair.reason or "",
    )


def _clocks_text(pair: Pair) -> str:
    """The clock in the reference and here, where both are known."""
    here = pair.measured.clock_mhz if pair.measured else None
    there = pair.reference.entry.clock_mhz
    return f"{there:.0f}, {here:.0f}" if there and here else "-"


def _counts_section(acceptance: Acceptance) -> Iterator[Section]:
    rows = tuple(TableRow(_count_cells(one)) for one in acceptance.verdict.counts)
    if rows:
        columns = ("device", "count", "before", "after")
        yield Section("counts", (), columns, frozenset({1}), rows)


def _count_cells(one: CountChange) -> tuple[str, ...]:
    def text(count: int | None) -> str:
        return "unknown" if count is None else str(count)

    return str(one.device), one.what, text(one.before), text(one.after)


def _machine_section(acceptance: Acceptance) -> Section:
    """The time of each measurement, and the settings of the reference and of each device."""
    contexts = acceptance.measured.contexts
    started = contexts[0].get("started") if contexts else None
    lines = () if started is None else (f"measured from {printable(started)} on",)
    of_reference = dict(describe_ground(acceptance.reference.contexts))
    settings = [name for name in SETTINGS if name in of_reference or any(
        one.get(name) is not None for one in acceptance.devices.values()
    )]  # fmt: skip
    there = (" or ".join(sorted(of_reference.get(name, {"-"}))) for name in settings)
    rows = [TableRow(("reference", acceptance.reference.device_kind, "-", *there))]
    for device, facts in acceptance.devices.items():
        values = (facts.get(name) for name in ("name", "uuid", *settings))
        texts = ("-" if value is None else printable(value) for value in values)
        rows.append(TableRow((str(device), *texts)))
    columns = ("device", "name", "serial number", *settings)
    return Section("devices", lines, columns, frozenset({0, 1, 2}), tuple(rows))
