"""Pairs of visits by scripted workers: their order and number, what files keep, and failures."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from deepbench.ab.side import Setup
from deepbench.errors import UsageError
from deepbench.results import read
from deepbench.results.row import MAX_WAITED_SHARE
from deepbench.runner.worker_process import SessionError
from scripted_pairs import LoggedRows, run_pairs
from scripted_run import (
    THREE,
    Answer,
    ScriptedRows,
    crashed_worker,
    times_as_long,
    unchanged_row,
    unsupported_row,
)

ONE = ("gemm", "m=64", "n=16", "k=64")
TWO = ("gemm", "m=64", "n=16,32", "k=64")


def every_visit(position: int, *factors: float) -> dict[int | tuple[int, int], Answer]:
    """The answers of a row whose visits take so many times as long."""
    return {(position, number): times_as_long(factor) for number, factor in enumerate(factors, 1)}


def test_both_workers_of_a_pair_are_new_and_who_begins_alternates() -> None:
    """Both workers end before a new one starts: where its memory lies then depends on the order of
    starting alone, which alternates."""
    log: list[str] = []
    run_pairs([LoggedRows("A", log), LoggedRows("B", log)], *ONE, pairs=4)
    assert log == [
        "start A", "start B", "A0", "B0", "end A", "end B",
        "start B", "start A", "B0", "A0", "end A", "end B",
        "start A", "start B", "A0", "B0", "end A", "end B",
        "start B", "start A", "B0", "A0",
    ]  # fmt: skip


def test_a_worker_has_a_device_with_memory_of_its_own_to_itself() -> None:
    """Each worker of a pair measures all rows before the other starts, also for a second time."""
    log: list[str] = []
    sources = [LoggedRows("A", log), LoggedRows("B", log, {(0, 2): mistrusted_at_first()})]
    for source in sources:
        source.hello["device"] = {**source.hello["device"], "shares_host_memory": 0}
    result, _ = run_pairs(sources, *TWO, pairs=3)
    assert log[:4] == ["start A", "end A", "start B", "end B"]  # which device it is
    assert log[4:12] == ["start A", "A0", "A1", "end A", "start B", "B0", "B1", "end B"]
    assert sorted(log[12:20]) == sorted(log[4:12])
    assert [word for word in log[12:20] if " " in word] == ["start B", "end B", "start A", "end A"]
    assert log[20:26] == ["start A", "A0", "end A", "start B", "B0", "end B"]
    assert [len(row.pairs) for row in result.rows] == [3, 3]


def test_who_begins_alternates_from_row_to_row() -> None:
    log: list[str] = []
    run_pairs([LoggedRows("A", log), LoggedRows("B", log)], *THREE, pairs=2)
    assert log[2:8] == ["A0", "B0", "B1", "A1", "A2", "B2"]
    second = log[12:]
    assert {"".join(second[i : i + 2]) for i in (0, 2, 4)} == {"B0A0", "A1B1", "B2A2"}


def test_pairs_that_repeat_are_six() -> None:
    result, _ = run_pairs([ScriptedRows(), ScriptedRows({0: times_as_long(1.02)})], *ONE)
    assert result.pairs == 6
    (row,) = result.rows
    assert (row.verdict, result.is_different) == ("slower", True)
    assert row.test is not None
    assert row.test.ratio == pytest.approx(1.02)


def test_pairs_that_repeat_less_are_more() -> None:
    """Six pairs with a deviation of 0.44 % ask for eight, and those with one of 2 % for 22."""
    less = every_visit(0, *(1.004, 0.996) * 11)
    result, _ = run_pairs([ScriptedRows(), ScriptedRows(less)], *ONE)
    assert (result.pairs, result.rows[0].verdict) == (8, "same")
    assert not result.is_different
    two_per_cent = every_visit(0, *(1.02, 0.98) * 11)
    result, _ = run_pairs([ScriptedRows(), ScriptedRows(two_per_cent)], *ONE)
    assert (result.pairs, result.rows[0].verdict) == (22, "unresolved")
    assert not result.is_different


def test_drift_that_both_sides_meet_is_no_difference() -> None:
    drift = every_visit(0, 1.0, 1.1, 1.2, 1.3, 1.2, 1.1)
    result, _ = run_pairs([ScriptedRows(drift), ScriptedRows(drift)], *ONE)
    assert (result.pairs, result.rows[0].verdict) == (6, "same")


def test_means_of_families_are_tested_by_pairs() -> None:
    rows = ("gemm", "m=64", "n=16", "k=64", "precision=float,half")
    opposite = {**every_visit(0, 1.02, 0.98, 1.02, 0.98), **every_visit(1, 0.98, 1.02, 0.98, 1.02)}
    result, _ = run_pairs([ScriptedRows(), ScriptedRows(opposite)], *rows, pairs=4)
    assert [mean.name for mean in result.families] == ["gemm float", "gemm half"]
    assert result.families[0].test.deviation > 0.02
    assert result.mean is not None
    assert result.mean.test.deviation < 1e-3  # what is slow in one row is fast in the other


def test_files_of_both_sides_hold_all_visits_and_rows(tmp_path: Path) -> None:
    setups = [
        Setup("A", {}, tmp_path / "x_a.jsonl"),
        Setup("B", {"OMP_NUM_THREADS": "1", "API_KEY": "7"}, tmp_path / "x_b.jsonl"),
    ]
    sources = [ScriptedRows(), ScriptedRows({0: times_as_long(1.1)})]
    run_pairs(sources, *THREE, pairs=2, setups=setups)
    a, b = (read(tmp_path / name) for name in ("x_a.jsonl", "x_b.jsonl"))
    assert [len(file.visits) for file in (a, b)] == [6, 6]
    assert [row.status for row in (*a.stored_rows, *b.stored_rows)] == ["ok"] * 6
    assert b.stored_rows[0].statistics.median_ns == pytest.approx(110_000)
    assert a.context["side"] == {"letter": "A", "variables": {}}
    assert b.context["side"]["variables"] == {"OMP_NUM_THREADS": "1", "API_KEY": "(redacted)"}
    assert b.context["host"]["environment"]["OMP_NUM_THREADS"] == "1"
    assert "OMP_NUM_THREADS" not in a.context["host"]["environment"]


def test_a_row_that_one_side_cannot_run_differs_and_is_not_tried_again() -> None:
    broken = ScriptedRows({1: unsupported_row})
    result, _ = run_pairs([ScriptedRows(), broken], *THREE, pairs=3)
    assert [row.failed_in for row in result.rows] == [None, "B", None]
    assert result.is_different
    assert [row.a.position for row in result.one_sided] == [1]
    assert sum(line.startswith("gemm m=64 n=32") for line in broken.lines) == 1


def test_a_run_without_a_row_on_one_side_ends_after_its_first_pair() -> None:
    broken = ScriptedRows({0: unsupported_row})
    result, _ = run_pairs([broken, ScriptedRows()], *ONE)
    assert result.pairs == 1
    assert result.rows[0].failed_in == "A"


def test_a_later_visit_that_fails_costs_its_pair_alone() -> None:
    result, _ = run_pairs([ScriptedRows(), ScriptedRows({(0, 3): crashed_worker})], *ONE, pairs=6)
    assert (len(result.rows[0].pairs), result.rows[0].verdict) == (5, "same")


def test_a_row_whose_later_visits_all_fail_has_one_pair() -> None:
    crashes = {(0, number): crashed_worker for number in range(2, 7)}
    result, _ = run_pairs([ScriptedRows(), ScriptedRows(crashes)], *ONE)
    assert (result.pairs, len(result.rows[0].pairs)) == (6, 1)
    assert (result.rows[0].verdict, result.is_different) == ("unresolved", False)


def test_a_later_visit_that_is_wrong_is_the_row() -> None:
    wrong: Answer = lambda row: {**row, "status": "incorrect", "reason": "sums"}  # noqa: E731
    result, _ = run_pairs([ScriptedRows({(0, 2): wrong}), ScriptedRows()], *ONE, pairs=4)
    assert result.rows[0].failed_in == "A"
    assert result.is_different
    assert result.pairs == 2


def mistrusted_row(row: dict[str, Any]) -> dict[str, Any]:
    return {**row, "status": "mistrusted", "reason": "clocks"}


def mistrusted_at_first() -> Answer:
    """An answer that is mistrusted once."""
    answers = iter([mistrusted_row])
    return lambda row: next(answers, unchanged_row)(row)


@pytest.mark.parametrize("number", [1, 2])
def test_a_mistrusted_visit_is_made_again(number: int) -> None:
    scripted = ScriptedRows({(0, number): mistrusted_at_first()})
    result, _ = run_pairs([scripted, ScriptedRows()], *ONE, pairs=4)
    assert len(scripted.lines) == 5
    assert (len(result.rows[0].pairs), result.rows[0].verdict) == (4, "same")


def test_a_visit_that_stays_mistrusted_costs_its_pair_alone() -> None:
    result, _ = run_pairs([ScriptedRows({(0, 2): mistrusted_row}), ScriptedRows()], *ONE, pairs=6)
    assert (len(result.rows[0].pairs), result.rows[0].verdict) == (5, "same")
    assert not result.is_different


@pytest.mark.parametrize("visits", [[1], [2, 3, 4]])
def test_a_row_that_is_mistrusted_on_one_side_is_not_resolved(visits: list[int]) -> None:
    mistrusted = ScriptedRows({(1, number): mistrusted_row for number in visits})
    result, _ = run_pairs([ScriptedRows(), mistrusted], *THREE, pairs=4)
    assert [row.verdict for row in result.rows] == ["same", "unresolved", "same"]
    assert not result.is_different


def test_a_disturbed_pair_is_made_again_and_the_quieter_one_counts() -> None:
    attempts: list[str] = []

    def disturbed_at_first(row: dict[str, Any]) -> dict[str, Any]:
        attempts.append("made")
        share = 2 * MAX_WAITED_SHARE if len(attempts) == 1 else 0.0
        factor = 3.0 if len(attempts) == 1 else 1.0
        changed = times_as_long(factor)(row)
        return {**changed, "statistics": {**changed["statistics"], "waited_share": share}}

    result, _ = run_pairs(
        [ScriptedRows(), ScriptedRows({(0, 2): disturbed_at_first})], *ONE, pairs=2
    )
    assert len(attempts) == 2
    assert [b / a for a, b in result.rows[0].pairs] == [1.0, 1.0]
    assert result.rows[0].disturbed == 0


def test_a_warning_of_both_sides_is_said_once() -> None:
    """Two workers read the load at different moments."""
    sources = [ScriptedRows(), ScriptedRows()]
    for source, load in zip(sources, ("7.5", "7.9"), strict=True):
        busy = f"other work runs on this machine (load average {load} on 2 processors)"
        source.hello["warnings"] = ["OMP_PROC_BIND is not set", busy]
        source.hello["warnings"].append(f"cublas (/libraries/{load}) was made for CUDA 12")
    sources[1].hello["warnings"].append("8 threads on 2 physical cores")
    _, said = run_pairs(sources, *ONE, pairs=1)
    assert re.findall("warning: (.*)", said) == [
        "OMP_PROC_BIND is not set",
        "other work runs on this machine (load average 7.5 on 2 processors)",
        "cublas (/libraries/7.5) was made for CUDA 12",
        "cublas (/libraries/7.9) was made for CUDA 12",
        "8 threads on 2 physical cores",
    ]


def test_other_devices_and_backends_are_refused() -> None:
    other = ScriptedRows()
    other.hello["device"] = {**other.hello["device"], "uuid": "GPU-2"}
    with pytest.raises(UsageError, match="A and B have different devices, Example CPU and Exam"):
        run_pairs([ScriptedRows(), other], *ONE)
    other = ScriptedRows()
    other.hello["backend"] = {**other.hello["backend"], "name": "cuda"}
    with pytest.raises(UsageError, match="different backends, cpu and cuda"):
        run_pairs([ScriptedRows(), other], *ONE)
    assert other.ended == "killed"


def test_a_worker_that_cannot_start_again_names_its_side() -> None:
    gone = SessionError("gave up after 3 attempts to start a new worker: no device", 1)
    with pytest.raises(SessionError, match=r"^B \(X=1\): gave up after 3 attempts") as caught:
        run_pairs([ScriptedRows(), ScriptedRows({(0, 2): gone})], *ONE, pairs=3)
    assert caught.value.exit_status == 1


def test_libraries_are_compared_by_their_builds() -> None:
    other = ScriptedRows()
    other.hello["libraries"] = {"onednn": {"version": "3.5.0", "path": "/b/libdnnl.so.3"}}
    result, _ = run_pairs([ScriptedRows(), other], *ONE, pairs=2)
    assert [(one.name, one.is_same) for one in result.libraries] == [("onednn", False)]
    result, _ = run_pairs([ScriptedRows(), ScriptedRows()], *ONE, pairs=2)
    assert [(one.name, one.is_same) for one in result.libraries] == [("onednn", True)]
