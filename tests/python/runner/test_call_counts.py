"""Runs of suites that count their calls: the plan, the rows in the file, and what is printed."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from deepbench.call_counts import ApplicationCalls, CallCounts
from deepbench.cli import command
from deepbench.cli.options import OPTIONS, run_options
from deepbench.problems.selection import select_files
from deepbench.results import ResultError, read
from deepbench.runner.plan import PlannedRow, digest, plan
from example_rows import HELLO
from fake_plugin import build_fake_backend
from golden_runs import deepbench
from scripted_run import ScriptedRows, crashed_worker, run_scripted, unsupported_row

SUITE = """\
gemm m=64 n=16 k=64 count=32 application="qkv"
gemm m=64 n=32 k=64 application="head"
gemm m=64 n=16 k=64 count=4 application="out, last"
gemm m=64 n=16 k=64 count=2
"""
COUNTED: dict[str, Any] = {
    "application": None,
    "count": 38,
    "applications": [{"name": "qkv", "count": 32}, {"name": "out, last", "count": 4}],
}
HEAD = {"application": "head", "count": 1, "applications": [{"name": "head", "count": 1}]}


@pytest.fixture
def suite(tmp_path: Path) -> str:
    return str(suite_file(tmp_path, SUITE))


def suite_file(folder: Path, text: str) -> Path:
    path = folder / "mine.txt"
    path.write_text(text)
    return path


def planned_rows(path: str | Path, *options: str) -> list[PlannedRow]:
    parsed = run_options(command.parse_arguments(options, OPTIONS))
    return plan(select_files([str(path)]), parsed, HELLO)


def rows_in(path: Path) -> list[dict[str, Any]]:
    lines = map(json.loads, path.read_text().splitlines())
    return [line for line in lines if line["type"] == "row"]


def counts_of(row: dict[str, Any]) -> dict[str, Any]:
    return {key: row[key] for key in ("application", "count", "applications")}


# ---- the plan ----------------------------------------------------------------------------------


def test_a_problem_is_planned_once_with_its_counts(suite: str) -> None:
    first, second = planned_rows(suite)
    named = (ApplicationCalls("qkv", 32), ApplicationCalls("out, last", 4))
    assert first.counts == CallCounts(38, named)
    assert (first.position, first.application, first.application_names) == (
        0,
        None,
        "qkv, out, last",
    )
    assert (second.application, second.counts) == (
        "head",
        CallCounts(1, (ApplicationCalls("head", 1),)),
    )


def test_every_regime_has_the_whole_count(suite: str) -> None:
    planned = planned_rows(suite, "--cache", "both")
    assert [row.counts.count for row in planned if row.counts] == [38, 38, 1, 1]


def test_the_worker_does_not_learn_the_counts(suite: str) -> None:
    assert not any("count" in row.line for row in planned_rows(suite))


def test_counts_enter_the_digest_of_the_plan(tmp_path: Path) -> None:
    texts = (
        "gemm m=1 n=2 k=3",
        "gemm m=1 n=2 k=3 count=1",
        "gemm m=1 n=2 k=3 count=2",
        'gemm m=1 n=2 k=3 count=2 application="a"',
        'gemm m=1 n=2 k=3 count=1\ngemm m=1 n=2 k=3 application="a"',
    )
    plans = [planned_rows(suite_file(tmp_path, text)) for text in texts]
    assert len({digest(rows) for rows in plans}) == len(texts)
    assert len({rows[0].problem for rows in plans}) == 1


def test_quick_takes_a_problem_of_each_application_of_a_row(tmp_path: Path) -> None:
    """The third problem has the only calls of `late`, the second has calls of `early` alone."""
    text = """\
gemm m=1 n=2 k=1 application="early" count=2
gemm m=1 n=2 k=2 application="early"
gemm m=1 n=2 k=3 application="early"
gemm m=1 n=2 k=3 application="late"
"""
    path = suite_file(tmp_path, text)
    assert [row.attributes["k"] for row in planned_rows(path, "--quick")] == [1, 3]
    _, out, _ = run_scripted(ScriptedRows(), "run", str(path), "--quick")
    assert "that --quick left out" in out
    _, out, _ = run_scripted(ScriptedRows(), "run", str(path))
    assert "Not in it" not in out


# ---- the file and the screen -------------------------------------------------------------------


def test_rows_have_their_counts(tmp_path: Path, suite: str) -> None:
    path = tmp_path / "a.jsonl"
    status, _, _ = run_scripted(ScriptedRows(), "run", suite, "-o", str(path))
    assert status == 0
    first, second = rows_in(path)
    assert counts_of(first) == COUNTED
    assert list(first)[list(first).index("application") + 1 :][:2] == ["count", "applications"]
    # The scripted worker tells no application; the plan knows it.
    assert (second["count"], second["applications"]) == (HEAD["count"], HEAD["applications"])


@pytest.mark.parametrize("answer", [crashed_worker, unsupported_row])
def test_rows_without_a_time_have_their_counts(tmp_path: Path, suite: str, answer: Any) -> None:
    path = tmp_path / "a.jsonl"
    _, out, _ = run_scripted(ScriptedRows({0: answer}), "run", suite, "-o", str(path))
    assert counts_of(rows_in(path)[0]) == COUNTED
    assert "Not in it: 1 row without a time, of 38 calls." in out


def test_a_worker_cannot_count(tmp_path: Path, suite: str) -> None:
    source = ScriptedRows({0: lambda row: {**row, "count": 5, "applications": []}})
    path = tmp_path / "a.jsonl"
    run_scripted(source, "run", suite, "-o", str(path))
    assert counts_of(rows_in(path)[0]) == COUNTED


def test_rows_of_a_suite_without_counts_have_no_such_keys(tmp_path: Path) -> None:
    suite = suite_file(tmp_path, 'gemm m=1 n=2 k=3 application="a"\n' * 2)
    path = tmp_path / "a.jsonl"
    _, out, _ = run_scripted(without_counts(), "run", str(suite), "-o", str(path))
    assert len(rows_in(path)) == 2
    assert not any({"count", "applications"} & set(row) for row in rows_in(path))
    assert "count" not in out
    assert "Time of all calls" not in out


def without_counts() -> ScriptedRows:
    def answer(row: dict[str, Any]) -> dict[str, Any]:
        return {key: value for key, value in row.items() if key not in ("count", "applications")}

    return ScriptedRows(dict.fromkeys(range(2), answer))


def test_visits_and_the_row_that_they_make_have_the_counts(tmp_path: Path, suite: str) -> None:
    path = tmp_path / "a.jsonl"
    run_scripted(ScriptedRows(), "run", suite, "--visits", "2", "-o", str(path))
    lines = list(map(json.loads, path.read_text().splitlines()))
    visits = [line["row"] for line in lines if line["type"] == "visit"]
    assert sorted(visit["count"] for visit in visits) == [1, 1, 38, 38]
    assert [row["count"] for row in rows_in(path)] == [38, 1]


def test_a_row_that_is_kept_is_not_measured_again(tmp_path: Path, suite: str) -> None:
    path = tmp_path / "a.jsonl"
    run_scripted(ScriptedRows(), "run", suite, "-o", str(path))
    text = path.read_text()
    source = ScriptedRows()
    status, out, _ = run_scripted(source, "run", suite, "-o", str(path), "--resume")
    assert (status, source.lines) == (0, [])
    assert path.read_text() == text
    assert "hot, rested     2     39" in out


def test_resuming_with_other_counts_is_refused(tmp_path: Path, suite: str) -> None:
    path = tmp_path / "a.jsonl"
    run_scripted(ScriptedRows(), "run", suite, "-o", str(path))
    suite_file(tmp_path, SUITE.replace("count=32", "count=33"))
    with pytest.raises(ResultError, match="the remaining problems differ, or their applications"):
        run_scripted(ScriptedRows(), "run", suite, "-o", str(path), "--resume")


def test_a_real_worker_and_its_file(tmp_path: Path) -> None:
    """The totals of scripted times: 38 calls of 2 µs and one of 5 µs."""
    plugin = build_fake_backend(tmp_path / "libdeepbench_fake.so")
    suite_file(tmp_path, SUITE)
    done = deepbench(
        tmp_path, "run", "mine.txt", "--backend", "fake", "-o", "a.jsonl", "--time-limit", "1000",
        "--no-ceilings",
        DEEPBENCH_BACKEND_PATH=str(plugin), DEEPBENCH_FAKE_SCRIPT="time 2000\nwhen n=32 time 5000",
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    first, second = rows_in(tmp_path / "a.jsonl")
    assert (counts_of(first), counts_of(second)) == (COUNTED, HEAD)
    expected = [
        ["regime", "rows", "calls", "time"],
        ["hot,", "rested", "2", "39", "81.00", "µs"],
        ["%", "of", "time", "time", "calls", "rows", "application"],
        ["79.0", "64.00", "µs", "32", "1", "qkv"],
        ["9.9", "8.000", "µs", "4", "1", "out,", "last"],
        ["6.2", "5.000", "µs", "1", "1", "head"],
        ["4.9", "4.000", "µs", "2", "1", "none"],
    ]
    printed = [line.split() for line in done.stdout.splitlines()]
    assert [line for line in printed if line in expected] == expected
    shown = deepbench(tmp_path, "show", "a.jsonl").stdout
    assert shown[shown.index("Time of all") :] == done.stdout[done.stdout.index("Time of all") :]
    assert [row.count for row in read(tmp_path / "a.jsonl").rows] == [38, 1]
