"""Three crashes in a row of one operation through one library end its rows, and no other's: by a
script, and through the command line with a backend that crashes."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from deepbench.results import read, schema
from deepbench.runner.worker_exit import WorkerFailure
from example_rows import HELLO, members, without_times
from fake_plugin import build_fake_backend
from scripted_run import Answer, ScriptedRows, crashed_worker, run_scripted, unsupported_row

TEN = ("gemm", "m=64", "n=" + ",".join(str(n) for n in range(10, 20)), "k=64")
REASON = "not run after three crashes in a row: " + ", ".join(
    f"row {position} crashed: SIGSEGV" for position in (2, 3, 4)
)


def hung_worker(row: dict[str, Any]) -> WorkerFailure:
    return WorkerFailure("failed", "no answer within 9 s", cause="hung")


def killed_worker(row: dict[str, Any]) -> WorkerFailure:
    return WorkerFailure("out_of_memory", "killed", cause="killed")


def stopped_worker(row: dict[str, Any]) -> WorkerFailure:
    return WorkerFailure("failed", "the worker's answer is not a row: hello", cause="stopped")


def device_lost_row(row: dict[str, Any]) -> dict[str, Any]:
    return without_times(row, "device_lost", "an illegal address")


def failed_row(row: dict[str, Any]) -> dict[str, Any]:
    return without_times(row, "failed", "no such kernel")


def measured_positions(source: ScriptedRows) -> list[int]:
    """The positions that a worker was given."""
    return [int(line.rpartition("position=")[2]) for line in source.lines]


def with_libraries(source: ScriptedRows, *names: str) -> ScriptedRows:
    source.hello = {**HELLO, "libraries": {name: {"version": "1"} for name in names}}
    return source


def test_three_crashes_in_a_row_end_it(tmp_path: Path) -> None:
    source = ScriptedRows({2: crashed_worker, 3: crashed_worker, 4: crashed_worker})
    file = tmp_path / "rows.jsonl"
    status, out, err = run_scripted(source, *TEN, "-o", str(file))
    assert status == 1
    assert measured_positions(source) == [0, 1, 2, 3, 4]
    rows = members(read(file).rows)
    assert [row["position"] for row in rows] == list(range(10))
    assert [row["status"] for row in rows] == ["ok"] * 2 + ["failed"] * 8
    assert {row["reason"] for row in rows[5:]} == {REASON}
    assert [row["observed"] for row in rows[4:6]] == [{"worker": "crashed"}, {"worker": "skipped"}]
    assert out.count(f"failed: {REASON}\n") == 5
    assert err.count("gemm through onednn reached the restart limit: its remaining rows") == 1
    assert "10 rows: 2 ok, 8 failed" in err


@pytest.mark.parametrize(
    ("answers", "given_up"),
    [
        (
            [crashed_worker, crashed_worker, failed_row, crashed_worker, crashed_worker],
            False,
        ),  # an answer, though not a good one
        ([crashed_worker, crashed_worker, lambda row: row, crashed_worker, crashed_worker], False),
        (
            [crashed_worker, hung_worker, crashed_worker, killed_worker, crashed_worker],
            True,
        ),  # neither tells anything about the library
        ([crashed_worker, crashed_worker, unsupported_row, crashed_worker], True),
        ([device_lost_row, crashed_worker, device_lost_row], True),
        ([stopped_worker, crashed_worker, stopped_worker], True),
        (
            [hung_worker, hung_worker, hung_worker, killed_worker, killed_worker, killed_worker],
            False,
        ),
    ],
)
def test_what_is_in_a_row(answers: list[Answer], given_up: bool) -> None:
    source = ScriptedRows(dict(enumerate(answers)))
    _, _, err = run_scripted(source, *TEN)
    assert (9 not in measured_positions(source)) == given_up
    assert ("reached the restart limit" in err) == given_up


def test_other_libraries_and_unsupported_rows_go_on() -> None:
    source = with_libraries(
        ScriptedRows({2: crashed_worker, 3: crashed_worker, 4: crashed_worker, 6: unsupported_row}),
        "one",
        "other",
    )
    source.able = {5: "other", 8: "other"}
    _, out, err = run_scripted(source, *TEN)
    assert measured_positions(source) == [0, 1, 2, 3, 4, 5, 6, 8]
    assert out.count("unsupported: not here") == 1
    assert "gemm through the backend's choice of one, other reached the restart limit" in err


def test_rows_of_which_nothing_can_be_asked_are_in_a_row_too() -> None:
    class RowsWithoutSupportAnswer(ScriptedRows):
        def supports(self, line: str, position: int, limit_s: float) -> bool | None:
            if self.answers.get(position) is crashed_worker:
                return None
            return super().supports(line, position, limit_s)

    apart = RowsWithoutSupportAnswer(dict.fromkeys((1, 3, 5, 7), crashed_worker))
    _, _, err = run_scripted(apart, *TEN)
    assert "restart limit" not in err
    together = RowsWithoutSupportAnswer(dict.fromkeys((2, 3, 4, 6), crashed_worker))
    _, _, err = run_scripted(together, *TEN)
    assert "gemm reached the restart limit" in err
    assert measured_positions(together) == [0, 1, 2, 3, 4, 5, 7, 8, 9]


def test_the_library_that_was_asked_for_is_the_one() -> None:
    source = with_libraries(
        ScriptedRows({2: crashed_worker, 3: crashed_worker, 4: crashed_worker}), "one", "other"
    )
    _, _, err = run_scripted(source, *TEN, "--library", "other")
    assert "gemm through other reached the restart limit" in err
    assert measured_positions(source) == [0, 1, 2, 3, 4]


def test_a_backend_without_libraries_is_given_up_as_it_is() -> None:
    source = with_libraries(ScriptedRows({2: crashed_worker, 3: crashed_worker, 4: crashed_worker}))
    _, _, err = run_scripted(source, *TEN)
    assert "warning: gemm reached the restart limit" in err


def test_nothing_is_announced_of_the_last_rows() -> None:
    source = ScriptedRows({7: crashed_worker, 8: crashed_worker, 9: crashed_worker})
    _, _, err = run_scripted(source, *TEN)
    assert "restart limit" not in err
    assert source.checks == 2  # after two crashes: of no use after the last


@pytest.mark.parametrize("ended_at", [3, 4, 5, 7])
def test_a_resumed_run_gives_up_where_a_whole_one_does(tmp_path: Path, ended_at: int) -> None:
    crashes = {2: crashed_worker, 3: crashed_worker, 4: crashed_worker}
    whole, file = tmp_path / "whole.jsonl", tmp_path / "rows.jsonl"
    run_scripted(ScriptedRows(crashes), *TEN, "-o", str(whole))
    lines = whole.read_text().splitlines(keepends=True)
    file.write_text("".join(lines[: 1 + ended_at]))
    source = ScriptedRows(crashes)
    run_scripted(source, *TEN, "-o", str(file), "--resume")
    assert measured_positions(source) == list(range(ended_at, 5))
    assert members(read(file).rows) == members(read(whole).rows)


def test_rows_that_were_not_run_are_valid(tmp_path: Path) -> None:
    run_scripted(
        ScriptedRows(dict.fromkeys(range(3), crashed_worker)), *TEN, "-o", str(tmp_path / "a")
    )
    for row in members(read(tmp_path / "a").rows):
        schema.check_row(row)


# ---- with a worker that does crash ---------------------------------------------------------------


def test_a_backend_that_crashes(tmp_path: Path) -> None:
    plugin = build_fake_backend(tmp_path / "libdeepbench_fake.so")
    suite, file = tmp_path / "suite.txt", tmp_path / "rows.jsonl"
    suite.write_text(
        "".join(f"gemm m={m} n=8 k=40\n" for m in range(8, 16)) + "memory kind=copy bytes=4096\n"
    )
    script = (
        "libraries one other\nwhen m=9 crash prepare\nwhen m=10 abort time_batch\n"
        "when m=11 exit prepare 7\nwhen m=13 fail plan unsupported not 13"
    )
    done = subprocess.run(
        [sys.executable, "-m", "deepbench", "run", str(suite), "--backend", str(plugin),
         "--samples", "2", "-o", str(file)],
        capture_output=True, text=True, timeout=600,
        env=os.environ | {"DEEPBENCH_FAKE_SCRIPT": script},
    )  # fmt: skip
    assert done.returncode == 1
    assert (
        "gemm through the backend's choice of one, other reached the restart limit" in done.stderr
    )
    statuses = [row["status"] for row in members(read(file).rows)]
    assert statuses == ["ok"] + ["failed"] * 4 + ["unsupported", "failed", "failed", "ok"]
    crashes = f"row 1 crashed: {signal.SIGSEGV.name}, row 2 aborted: SIGABRT, row 3 ended with exit"
    assert members(read(file).rows)[4]["reason"] == (
        f"not run after three crashes in a row: {crashes} status 7"
    )
