"""What a verdict makes of rows that do not compare, of counts, soaks, and other settings."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection
from pathlib import Path
from typing import Any

import pytest

from deepbench.accept.counters import ERROR_COUNTS, counts_of
from deepbench.accept.families import chosen_rows
from deepbench.accept.gaps import WORDS
from deepbench.accept.measurement import Measured, MeasuredRow
from deepbench.accept.reference import Reference, read_reference
from deepbench.accept.verdict import Machine, Outcome, Verdict, decide
from deepbench.errors import UsageError
from deepbench.results import Row
from example_rows import make_context, make_gemm, make_memory, row_of_members, without_times

GOOD_COUNTS = {"corrected memory errors": 1, "throttling events": 0}
# Identities of machines: of two for users, and of one for root.
USERS, ROOTS = ("os-" + 16 * "0", "os-" + 16 * "1"), "dmi-" + 16 * "0"
Change = Callable[[dict[str, Any]], dict[str, Any]]


def write_file(path: Path, *rows: dict[str, Any], **context: Any) -> str:
    lines = [make_context(rows=len(rows), **context), *rows]
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    return str(path)


def soak_of(*times_ns: float, throttled: int = 0) -> Row:
    parts = [
        {"calls": 10, "elapsed_ns": 10 * time_ns, "clock_mhz": None, "batches": 10,
         "throttled": throttled, "power_capped": 0}
        for time_ns in times_ns
    ]  # fmt: skip
    return row_of_members(make_gemm(soak=parts))


def verdict_on(
    reference: Reference,
    change: Change = lambda row: row,
    facts: dict[str, Any] | None = None,
    after: dict[str, int | None] | None = None,
    soak: Row | None = None,
    version: str = "0.1.0",
    without: Collection[str] = (),
) -> Verdict:
    """The verdict on a machine that measures the reference's rows, changed."""
    choice = chosen_rows(reference, 60, 1)
    measured = Measured(soaks=[soak or soak_of(*[1e5] * 20)])
    for family, rows in choice.items():
        for one in rows:
            size = one.entry.attributes.get("m")
            members = make_memory() if size is None else make_gemm(m=int(size))
            row = MeasuredRow(row_of_members(change(members)))
            measured.rows[family.name, one.key, 0] = row
    device = {**reference.device, "shares_host_memory": 1, **(facts or {})}
    counts = {0: after if after is not None else GOOD_COUNTS}
    machine = Machine({0: device}, {0: GOOD_COUNTS}, counts, version)
    return decide(reference, choice, machine, measured, without)


def missing_from(verdict: Verdict) -> list[str]:
    return [gap.text for gap in verdict.missing]


@pytest.fixture
def reference(tmp_path: Path) -> Reference:
    """Rows of five devices that differ by little; the families are compute alone."""
    rows = [make_gemm(0, m=64), make_gemm(1, m=128)]
    names = []
    for number in range(5):
        device = {**make_context()["device"], "uuid": f"GPU-{number}", "driver": "580"}
        names.append(write_file(tmp_path / f"{number}.jsonl", *rows, device=device))
    return read_reference(names)


OTHERS_MISSING = [
    *(f"{name}: the reference has no rows of it"
      for name in ("memory", "cache", "sustained clocks")),
    "energy: there is no counter of it on device 0 that this user can read",
]  # fmt: skip
OTHER_FAMILIES = ("memory", "cache", "sustained_clocks", "energy")


def test_only_what_is_missing_is_named(reference: Reference) -> None:
    verdict = verdict_on(reference)
    assert verdict.outcome is Outcome.INCOMPLETE
    assert missing_from(verdict) == OTHERS_MISSING
    assert not verdict.alarms


def test_what_the_user_does_without_prevents_no_pass(reference: Reference) -> None:
    verdict = verdict_on(reference, after={}, without=(*OTHER_FAMILIES, "errors", "throttling"))
    assert verdict.outcome is Outcome.PASS
    assert [gap.word for gap in verdict.excused] == [*OTHER_FAMILIES, "errors", "throttling"]
    most = verdict_on(reference, after={}, without=(*OTHER_FAMILIES, "errors"))
    assert missing_from(most) == ["neither backend nor system tells the count of throttling events"]


def test_what_the_user_does_without_raises_alarms_where_it_is_measured(
    reference: Reference,
) -> None:
    """A machine that tells its errors fails by them, whoever does without."""
    rises = {**GOOD_COUNTS, "corrected memory errors": 2}
    verdict = verdict_on(
        reference, slowed(1.1), after=rises, without=("compute", "errors", *OTHER_FAMILIES)
    )
    assert verdict.outcome is Outcome.FAIL
    assert [alarm.split()[0] for alarm in verdict.alarms] == ["compute", "corrected"]


def test_another_driver_cannot_be_done_without(reference: Reference) -> None:
    verdict = verdict_on(reference, facts={"driver": "590"}, without=WORDS)
    assert missing_from(verdict) == ["driver is 590, in the reference 580"]


def test_a_spread_can_be_done_without(tmp_path: Path) -> None:
    one_machine = read_reference([write_file(tmp_path / "a.jsonl", make_gemm(m=64))])
    assert "no reference spread of compute" in " ".join(missing_from(verdict_on(one_machine)))
    without = verdict_on(one_machine, without=(*OTHER_FAMILIES, "spread"))
    assert without.outcome is Outcome.PASS
    assert without.excused[-1].word == "spread"


def test_a_device_of_the_reference_is_named(reference: Reference) -> None:
    verdict = verdict_on(reference, facts={"uuid": "GPU-3"})
    assert verdict.notes == ("device 0 is one of those that made the reference",)


@pytest.mark.parametrize(
    ("machine", "note"),
    [
        (USERS[0], "is one of those"),
        (USERS[1], None),
        (ROOTS, "may be one of those"),
        (None, "may be one of those"),
    ],
)
def test_a_machine_that_cannot_be_told_from_the_references_is_noted(
    tmp_path: Path, machine: str | None, note: str | None
) -> None:
    """Root knows another identity of a machine than the user who made the reference."""
    file = write_file(tmp_path / "a.jsonl", make_gemm(m=64), host={"machine": USERS[0]})
    notes = verdict_on(read_reference([file]), facts={"uuid": machine}).notes
    assert len(notes) == (note is not None)
    assert all(one.startswith(f"device 0 {note} that made the reference") for one in notes)


def slowed(factor: float) -> Change:
    def change(row: dict[str, Any]) -> dict[str, Any]:
        for name in ("median_ns", "low_ns", "high_ns"):
            row["statistics"][name] *= factor
        return row

    return change


def noisy(row: dict[str, Any]) -> dict[str, Any]:
    """Its median is known to 20 %."""
    statistics = row["statistics"]
    statistics.update(low_ns=0.8 * statistics["median_ns"], high_ns=1.2 * statistics["median_ns"])
    return row


def test_rows_that_repeat_too_badly_for_a_plain_tolerance_are_unclear(tmp_path: Path) -> None:
    one_machine = read_reference([write_file(tmp_path / "a.jsonl", make_gemm(m=64))])

    def verdict_of(factor: float) -> Verdict:
        return verdict_on(one_machine, lambda row: noisy(slowed(factor)(row)), without=WORDS)

    def compute(verdict: Verdict) -> str:
        return next(one.verdict for one in verdict.judgments if one.family.word == "compute")

    assert [compute(verdict_of(factor)) for factor in (0.8, 1.0, 1.08, 1.5)] == [
        "within", "unclear", "unclear", "alarm",
    ]  # fmt: skip
    assert verdict_of(0.8).outcome is Outcome.PASS
    assert verdict_of(1.08).outcome is Outcome.INCOMPLETE
    [gap] = missing_from(verdict_of(1.0))
    assert gap == (
        "compute of device 0: its rows repeat too badly to tell: -20.0 to +20.0 % of the "
        "reference's time, with a tolerance of 5.0 %"
    )


def test_a_spread_of_devices_contains_how_well_rows_repeat(reference: Reference) -> None:
    assert verdict_on(reference, lambda row: noisy(slowed(1.05)(row))).outcome is Outcome.FAIL
    assert not verdict_on(reference, noisy).alarms


def test_rows_explain_and_do_not_decide(reference: Reference) -> None:
    def one_slow_row(row: dict[str, Any]) -> dict[str, Any]:
        return slowed(1.05 if row["attributes"]["m"] == 64 else 1.0)(row)

    assert not verdict_on(reference, one_slow_row).alarms
    [alarm] = verdict_on(reference, slowed(1.05)).alarms
    assert alarm.startswith("compute of device 0: 5.0 % slower than the reference, beyond 3.0 %")


def test_a_faster_machine_is_noted(reference: Reference) -> None:
    verdict = verdict_on(reference, slowed(0.9))
    assert verdict.outcome is Outcome.INCOMPLETE
    assert verdict.notes[-1] == "compute of device 0: 10.0 % faster than the reference"


def changed(**members: Any) -> Change:
    return lambda row: {**row, **members}


def disturbed(row: dict[str, Any]) -> dict[str, Any]:
    row["statistics"]["waited_share"] = 0.5
    return row


def cold(row: dict[str, Any]) -> dict[str, Any]:
    row["regime"] |= {"cache": "cold", "cold": "flush"}
    return row


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (changed(library="onednn 3.3.0"), "ran in onednn 3.3.0, in the reference in onednn 3.2.0"),
        (disturbed, "was disturbed by other work on this machine"),
        (cold, "cache is cold by flush; in the reference cache is hot"),
        (lambda row: without_times(row, "unsupported", "no kernel"), "is unsupported: no kernel"),
        (
            changed(status="mistrusted", reason="the clock is off"),
            "is mistrusted: the clock is off",
        ),
    ],
)
def test_rows_that_do_not_compare_are_missing(
    reference: Reference, change: Change, reason: str
) -> None:
    verdict = verdict_on(reference, change)
    assert verdict.outcome is Outcome.INCOMPLETE
    gap = missing_from(verdict)[0]
    assert reason in gap
    assert gap.endswith("; and 1 more row")
    assert "no row of the reference was judged" in missing_from(verdict)
    anything = verdict_on(reference, change, without=WORDS)
    assert anything.outcome is Outcome.INCOMPLETE
    assert gap in missing_from(anything)


def test_devices_without_a_counter_of_energy_are_named(reference: Reference) -> None:
    machine = Machine({0: {"energy": 1}, 1: {}, 2: {"energy": 0}}, {}, {}, "0.1.0")
    verdict = decide(reference, chosen_rows(reference, 60, 3), machine, Measured())
    gap = "energy: there is no counter of it on devices 1, 2 that this user can read"
    assert gap in missing_from(verdict)


def test_a_verdict_that_rests_on_no_row_is_no_pass(tmp_path: Path) -> None:
    """The only family of the reference is energy, which the machine does not count."""
    energy = [{"name": "energy", "value": 1.0, "unit": "J", "better": "lower"}]
    row = make_memory(metrics=energy, regime={**make_memory()["regime"], "power": "sustained"})
    choice = chosen_rows(read_reference([write_file(tmp_path / "a.jsonl", row)]), 60, 1)
    assert [family.name for family, rows in choice.items() if rows] == ["energy"]
    verdict = verdict_on(read_reference([str(tmp_path / "a.jsonl")]), without=WORDS)
    assert missing_from(verdict) == ["no row of the reference was judged"]


def test_a_reference_that_does_not_compute_has_no_soak(tmp_path: Path) -> None:
    """Who does without all that computes does without the soak."""
    reference = read_reference([write_file(tmp_path / "a.jsonl", make_memory())])
    soak = "soak: the reference has no row that computes"
    rest = ("compute", "memory", "cache", "energy", "spread")
    assert soak in missing_from(verdict_on(reference, without=rest))
    both = verdict_on(reference, without=(*rest, "sustained_clocks"))
    assert both.outcome is Outcome.PASS
    assert soak in [gap.text for gap in both.excused]


def test_failed_rows_are_alarms(reference: Reference) -> None:
    verdict = verdict_on(reference, lambda row: without_times(row, "failed", "it crashed"))
    assert verdict.outcome is Outcome.FAIL
    assert verdict.alarms[0].endswith("is failed: it crashed")
    assert missing_from(verdict) == OTHERS_MISSING


@pytest.mark.parametrize(
    ("facts", "version", "difference"),
    [
        ({"driver": "590"}, "0.1.0", "driver is 590, in the reference 580"),
        ({}, "9.0", "deepbench is 9.0, in the reference 0.1.0"),
    ],
)
def test_other_settings_prevent_a_pass(
    reference: Reference, facts: dict[str, Any], version: str, difference: str
) -> None:
    assert difference in missing_from(verdict_on(reference, facts=facts, version=version))


def test_threads_are_those_of_rows(tmp_path: Path) -> None:
    """The default number of this machine says nothing about rows of --threads."""
    device = {**make_context()["device"], "threads": 1}
    regime = {**make_gemm()["regime"], "threads": 1}
    options = {"threads": "1"}
    of_one = read_reference([
        write_file(tmp_path / "a.jsonl", make_gemm(m=64, regime=regime), device=device,
                   options=options)
    ])  # fmt: skip
    assert of_one.rows[0].options == (("threads", "1"),)
    alike = verdict_on(of_one, changed(regime=regime), facts={"threads": 2}, without=WORDS)
    assert alike.outcome is Outcome.PASS
    gap, _ = verdict_on(of_one, without=("energy", "spread", *OTHER_FAMILIES)).missing
    assert gap.text.endswith("threads is 2; in the reference threads is 1")


def test_counts_that_rise_are_alarms(reference: Reference) -> None:
    verdict = verdict_on(reference, after={**GOOD_COUNTS, "throttling events": 2})
    assert verdict.alarms == ("throttling events of device 0 rose from 0 to 2",)


def test_counts_that_are_unknown_are_missing(reference: Reference) -> None:
    verdict = verdict_on(reference, after={})
    assert missing_from(verdict)[-2:] == [
        "neither backend nor system tells the count of corrected memory errors",
        "neither backend nor system tells the count of throttling events",
    ]


@pytest.mark.parametrize(
    ("soak", "alarm"),
    [
        (soak_of(*[1e5] * 10, *[1.2e5] * 10), "soak: its end is 20.0 % slower than its beginning"),
        (soak_of(*[1e5] * 20, throttled=5), "soak: 50.0 % of its batches were throttled"),
    ],
)
def test_soaks_raise_alarms(reference: Reference, soak: Row, alarm: str) -> None:
    assert verdict_on(reference, soak=soak).alarms == (alarm,)


def test_counts_of_the_host(tmp_path: Path) -> None:
    for number, count in enumerate((2, 3)):
        folder = tmp_path / f"sys/devices/system/edac/mc/mc{number}"
        folder.mkdir(parents=True)
        (folder / "ce_count").write_text(f"{count}\n")
    folder = tmp_path / "sys/devices/system/cpu/cpu0/thermal_throttle"
    folder.mkdir(parents=True)
    for name, text in (("core_throttle_count", "1"), ("package_throttle_count", "4"),
                       ("core_throttle_max_time_ms", "9")):  # fmt: skip
        (folder / name).write_text(text)
    counts = counts_of({"shares_host_memory": 1}, tmp_path)
    assert counts["throttling events"] == 5
    assert counts["corrected memory errors"] == 5
    assert counts["uncorrected memory errors"] is None
    assert counts_of({"throttle_events": 4}, tmp_path)["throttling events"] == 4
    assert counts_of({"throttled_ns": 7, "ecc_corrected_errors": 1}) == {
        "corrected memory errors": 1,
        "uncorrected memory errors": None,
        "time of throttling (ns)": 7,
    }
    both = counts_of({"throttled_ns": 7, "throttle_events": 4})
    assert (both["time of throttling (ns)"], both["throttling events"]) == (7, 4)
    assert set(counts_of({})) == {*ERROR_COUNTS, "throttling events"}


# ---- references -----------------------------------------------------------------------------


def test_rows_that_nothing_can_be_held_against_are_left_out(tmp_path: Path) -> None:
    unknown = {**make_gemm(5), "problem": "gemm m=64 shape=round"}
    cells = [make_gemm(0, m=64), disturbed(make_gemm(1)), cold(make_gemm(2)), unknown,
             without_times(make_gemm(3), "failed", "x"), make_memory(4)]  # fmt: skip
    found = read_reference([write_file(tmp_path / "a.jsonl", *cells)])
    assert [row.entry.position for row in found.rows] == [0, 4]


def test_a_file_of_another_algorithm_is_left_out(tmp_path: Path) -> None:
    best = write_file(tmp_path / "a.jsonl", make_gemm(), options={"algorithm": "best"})
    with pytest.raises(UsageError, match="no row that an acceptance can measure again"):
        read_reference([best])


def test_a_reference_of_a_busy_machine_says_why_it_is_refused(tmp_path: Path) -> None:
    busy = write_file(tmp_path / "a.jsonl", disturbed(make_gemm()))
    with pytest.raises(UsageError, match="other work disturbed 1 of its 1 rows"):
        read_reference([busy])
    with pytest.raises(UsageError, match="other work disturbed 2 of their 2 rows"):
        read_reference([busy, busy])


def test_options_of_a_file_are_repeated(tmp_path: Path) -> None:
    options = {"library": "eigen", "time_limit": "1"}
    found = read_reference([write_file(tmp_path / "a.jsonl", make_gemm(), options=options)])
    assert found.rows[0].options == (("library", "eigen"),)


def test_one_reference_has_one_kind_of_device(tmp_path: Path) -> None:
    first = write_file(tmp_path / "a.jsonl", make_gemm())
    other = write_file(tmp_path / "b.jsonl", make_gemm(), device={"index": 0, "name": "Other"})
    with pytest.raises(UsageError, match="one kind of device, not Example CPU and Other"):
        read_reference([first, other])


def test_processors_are_told_apart_by_their_machines(tmp_path: Path) -> None:
    names = [
        write_file(tmp_path / f"{number}.jsonl", make_gemm(), host={"machine": machine})
        for number, machine in enumerate((*USERS, USERS[1]))
    ]
    [row] = read_reference(names).rows
    assert set(row.times_ns) == set(USERS)


@pytest.mark.parametrize(
    ("other", "reason"),
    [
        (ROOTS, "measure as root everywhere or nowhere"),
        (None, "only some of the files state the identity of their machine"),
        ("os-1", "only some of the files state the identity of their machine"),
        (["os"], "only some of the files state the identity of their machine"),
    ],
)
def test_files_that_may_count_one_machine_twice_are_refused(
    tmp_path: Path, other: object, reason: str
) -> None:
    names = [
        write_file(tmp_path / f"{number}.jsonl", make_gemm(), host={"machine": machine})
        for number, machine in enumerate((USERS[0], other))
    ]
    with pytest.raises(UsageError, match=reason):
        read_reference(names)


@pytest.mark.parametrize("machine", ["os-1", "my machine", f"{ROOTS}0", 1])
def test_another_text_is_no_identity_of_a_machine(tmp_path: Path, machine: object) -> None:
    file = write_file(tmp_path / "a.jsonl", make_gemm(), host={"machine": machine})
    assert read_reference([file]).device_identities == {None}


def test_devices_with_serial_numbers_need_no_identity_of_their_machine(tmp_path: Path) -> None:
    names = []
    for number, machine in enumerate((USERS[0], ROOTS, None)):
        device = {**make_context()["device"], "uuid": f"GPU-{number}"}
        host = {"machine": machine}
        names.append(
            write_file(tmp_path / f"{number}.jsonl", make_gemm(), device=device, host=host)
        )
    assert len(read_reference(names).device_identities) == 3


def test_an_empty_folder_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="is a folder without a result file"):
        read_reference([str(tmp_path)])


def test_impossible_figures_are_left_out(tmp_path: Path) -> None:
    rows = [make_gemm(0, m=64), make_gemm(1, m=128)]
    rows[0]["statistics"]["median_ns"] = 1e-12
    rows[1]["metrics"] = [{"name": "energy", "value": -1.0, "unit": "J", "better": "lower"}]
    device = {**make_context()["device"], "uuid": [1], "driver": {"version": 5}}
    found = read_reference([write_file(tmp_path / "a.jsonl", *rows, device=device)])
    assert [row.entry.position for row in found.rows] == [1]
    assert found.rows[0].energy_j is None
    assert not verdict_on(found).alarms
