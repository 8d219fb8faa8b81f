"""Rows that are measured in several visits: what is asked of the workers, what reaches the file and
the screen, and what is left of a run that ends early."""

from __future__ import annotations

import json
import math
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from deepbench.errors import Terminated, UsageError
from deepbench.results import ResultError, read
from fake_plugin import build_fake_backend
from scripted_run import (
    THREE,
    Answer,
    ScriptedRows,
    crashed_worker,
    run_scripted,
    times_as_long,
    unsupported_row,
)

THREE_VISITS = (*THREE, "--visits", "3")


def lines_of(path: Path, kind: str) -> list[dict[str, Any]]:
    lines = map(json.loads, path.read_text().splitlines())
    return [line for line in lines if line["type"] == kind]


def visit_places(path: Path) -> list[tuple[int, int]]:
    return [(line["row"]["position"], line["visit"]) for line in lines_of(path, "visit")]


def test_visits_without_rows_need_no_worker() -> None:
    source = ScriptedRows(dict.fromkeys(range(3), crashed_worker))
    run_scripted(source, *THREE_VISITS)
    assert source.renewals == 0


def test_every_row_is_visited_by_three_workers_and_becomes_one_row(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    source = ScriptedRows({(1, 2): times_as_long(1.02), (1, 3): times_as_long(1.01)})
    status, out, err = run_scripted(source, *THREE_VISITS, "-o", str(path))
    assert status == 0
    assert source.renewals == 2
    places = visit_places(path)
    assert places[:3] == [(0, 1), (1, 1), (2, 1)]  # the first visit keeps the order
    assert sorted(places) == [(row, visit) for row in range(3) for visit in (1, 2, 3)]
    rows = read(path).rows
    assert [row.position for row in rows] == [0, 1, 2]
    assert [line["position"] for line in lines_of(path, "row")] == [0, 1, 2]
    visits = rows[1].statistics.visits
    assert visits is not None
    assert visits.count == 3
    first = visits.medians_ns[0]
    assert rows[1].statistics.median_ns == pytest.approx(first * math.pow(1.02 * 1.01, 1 / 3))
    assert "3 visits" in out
    assert "3 rows: 3 ok" in err
    assert read(path).context["options"] == {"visits": "3"}


def test_later_visits_measure_the_algorithm_of_the_first_in_other_orders() -> None:
    def selected(row: dict[str, Any]) -> dict[str, Any]:
        return {**row, "algorithm": {**row["algorithm"], "mode": "best", "candidate": "tile 4"}}

    many = (
        "gemm",
        "m=64",
        f"n={','.join(str(8 * i) for i in range(1, 17))}",
        "k=64",
        "--visits",
        "3",
        "--algorithm",
        "best",
    )
    source = ScriptedRows({(0, 1): selected})
    assert run_scripted(source, *many)[0] == 0
    lines = [line for line in source.lines if line.partition("position=")[2].split()[0] == "0"]
    assert "visit=" not in lines[0]
    assert lines[1].endswith(' visit=2 algorithm="tile 4"')
    orders = [
        [line.partition("position=")[2].split()[0] for line in source.lines if visit in line]
        for visit in (" visit=2 ", " visit=3 ")
    ]
    assert sorted(orders[0]) == sorted(orders[1])
    assert orders[0] != orders[1]


@pytest.mark.parametrize("answer", [unsupported_row, crashed_worker])
def test_a_row_whose_first_visit_fails_has_no_others(tmp_path: Path, answer: Answer) -> None:
    path = tmp_path / "a.jsonl"
    source = ScriptedRows({1: answer})
    run_scripted(source, *THREE_VISITS, "-o", str(path))
    assert [place for place in visit_places(path) if place[0] == 1] == []
    assert sum(" position=1" in line for line in source.lines) == 1
    assert read(path).rows[1].status in ("unsupported", "failed")


def test_a_visit_that_fails_is_named_and_costs_no_other(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    status, out, _ = run_scripted(
        ScriptedRows({(1, 2): crashed_worker}), *THREE_VISITS, "-o", str(path)
    )
    assert status == 0
    row = read(path).rows[1]
    assert row.status == "ok"
    assert row.statistics.visits is not None
    assert row.statistics.visits.count == 2
    assert list(row.notes[-2:]) == [
        "2 of 3 visits",
        "visit 2 of 3 failed: the worker crashed: SIGSEGV",
    ]
    assert "2 of 3 visits" in out


@pytest.mark.parametrize("status", ["incorrect", "mistrusted"])
def test_a_visit_that_is_wrong_is_the_row(tmp_path: Path, status: str) -> None:
    path = tmp_path / "a.jsonl"
    wrong = times_as_long(1, status=status, reason="element 3 is 1, expected 2", rates=None)
    code, _, _ = run_scripted(ScriptedRows({(1, 2): wrong}), *THREE_VISITS, "-o", str(path))
    assert code == 1
    row = read(path).rows[1]
    assert row.status == status
    assert row.reason == "element 3 is 1, expected 2"
    assert (1, 3) not in visit_places(path)


def visit_counts(path: Path) -> dict[int, int]:
    """How many visits each row of a file was combined from, and that it says so."""
    counts = {}
    for row in read(path).rows:
        made = sum(position == row.position for position, _ in visit_places(path))
        assert (f"{made} of 3 visits" in row.notes) == (made < 3)
        counts[row.position] = made
    return counts


@pytest.mark.parametrize("stopped_at", [(1, 1), (2, 2), (0, 3)])
def test_a_run_that_ends_early_keeps_its_visits_and_is_resumed(
    tmp_path: Path, stopped_at: tuple[int, int]
) -> None:
    path = tmp_path / "a.jsonl"
    with pytest.raises(Terminated):
        run_scripted(ScriptedRows({stopped_at: Terminated(15)}), *THREE_VISITS, "-o", str(path))
    made = len(visit_places(path))
    assert 3 * (stopped_at[1] - 1) <= made < 3 * stopped_at[1]
    assert sum(visit_counts(path).values()) == made
    assert lines_of(path, "row") == []
    source = ScriptedRows()
    assert run_scripted(source, *THREE_VISITS, "-o", str(path), "--resume")[0] == 0
    assert len(source.lines) == 9 - made
    assert visit_counts(path) == {0: 3, 1: 3, 2: 3}
    assert len(lines_of(path, "row")) == 3


def test_another_number_of_visits_is_another_run(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    run_scripted(ScriptedRows(), *THREE_VISITS, "-o", str(path))
    with pytest.raises(ResultError, match="option visits was 3, now it is 2"):
        run_scripted(ScriptedRows(), *THREE, "--visits", "2", "-o", str(path), "--resume")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--visits", "0"), "--visits"),
        (("--visits", "10"), "--visits"),
        (("--visits", "2", "--once"), "--once makes one call: leave out --visits"),
        (("--visits", "2", "--ranks", "2"), "cannot be combined with rows on several devices"),
    ],
)
def test_what_cannot_be_visited_is_refused(arguments: tuple[str, ...], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        run_scripted(ScriptedRows(), *THREE, *arguments)


def test_thinning_keeps_the_visits_of_missing_rows_alone(tmp_path: Path) -> None:
    path, thin = tmp_path / "a.jsonl", tmp_path / "b.jsonl"
    run_scripted(ScriptedRows(), *THREE_VISITS, "-o", str(path))
    lines = path.read_text().splitlines()
    row = next(line for line in lines if json.loads(line).get("position") == 1)
    path.write_text("\n".join(line for line in lines if line != row) + "\n")
    command = [sys.executable, "-m", "deepbench", "show", str(path), "--thin", "2", "-o", str(thin)]
    subprocess.run(command, check=True)
    assert {position for position, _ in visit_places(thin)} == {1}
    assert [row.time_ns for row in read(thin).rows] == [row.time_ns for row in read(path).rows]


def damaged(change: Callable[[dict[str, Any]], object]) -> Callable[[Path], None]:
    def damage(path: Path) -> None:
        lines = path.read_text().splitlines()
        visit = json.loads(lines[1])
        change(visit)
        kept = [line for line in lines if '"type": "visit"' not in line and '"row"' not in line]
        path.write_text("\n".join([*kept, json.dumps(visit)]) + "\n")

    return damage


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (damaged(lambda visit: visit.pop("row")), "the line has no 'row'"),
        (damaged(lambda visit: visit.update(visit=0)), "visit is 0"),
        (damaged(lambda visit: visit["row"].update(status="failed")), "status is not ok"),
        (damaged(lambda visit: visit["row"].update(statistics=None)), "median_ns is missing"),
        (damaged(lambda visit: visit["row"]["algorithm"].update(candidate="a\ngemm m=1 n=1 k=1\n")),
         r"row.algorithm.candidate is .*, which does not match"),
    ],
)  # fmt: skip
def test_a_damaged_visit_is_refused(
    tmp_path: Path, damage: Callable[[Path], None], message: str
) -> None:
    path = tmp_path / "a.jsonl"
    run_scripted(ScriptedRows(), *THREE_VISITS, "-o", str(path))
    damage(path)
    with pytest.raises(ResultError, match=message):
        read(path)


def test_the_visits_of_real_workers(tmp_path: Path) -> None:
    backend = build_fake_backend(tmp_path / "libdeepbench_fake.so")
    path = tmp_path / "a.jsonl"
    command = [
        sys.executable, "-m", "deepbench", "gemm", "m=8", "n=8,16,24", "k=8", "--visits", "3",
        "--backend", str(backend), "--no-ceilings", "-o", str(path),
    ]  # fmt: skip
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert len(visit_places(path)) == 9
    rows = read(path).rows
    assert [row.statistics.visits.count for row in rows if row.statistics.visits] == [3, 3, 3]
    shown = subprocess.run(
        [sys.executable, "-m", "deepbench", "show", str(path)],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert "3 visits" in shown.stdout


def test_a_set_is_visited_three_times_and_a_problem_once(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    source = ScriptedRows()
    run_scripted(source, "gemm", "inference-device", "-o", str(path))
    assert source.renewals == 2
    result = read(path)
    assert result.context["options"]["visits"] == "3"
    assert {row.statistics.visits.count for row in result.rows if row.statistics.visits} == {3}
    alone = ScriptedRows()
    run_scripted(alone, *THREE)
    assert alone.renewals == 0
