"""Other work on the processors of a row: what the row records, what is made again, and that neither
decides how a run ends."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from deepbench.cli import main
from deepbench.results import read
from scripted_run import THREE, Answer, ScriptedRows, run_scripted

THREE_VISITS = (*THREE, "--visits", "3")


def waiting(share: float, **members: Any) -> Answer:
    """A row whose threads waited for that share of the time."""

    def answer(row: dict[str, Any]) -> dict[str, Any]:
        return {**row, "statistics": {**row["statistics"], "waited_share": share}, **members}

    return answer


def in_turn(*answers: Answer) -> Answer:
    """Another answer each time."""
    left = iter(answers)
    return lambda row: next(left)(row)


def shares(path: Path) -> list[float]:
    return [row.statistics.waited_share or 0 for row in read(path).rows]


@pytest.fixture
def neighbor() -> Iterator[int]:
    """A process that computes without pause; returns its processor."""
    processor = min(os.sched_getaffinity(0))
    words = f"import os\nos.sched_setaffinity(0, [{processor}])\nwhile True: pass"
    with subprocess.Popen([sys.executable, "-c", words]) as process:
        yield processor
        process.kill()


@pytest.mark.skipif(
    not Path("/proc/thread-self/schedstat").exists(), reason="this system does not count waits"
)
def test_a_row_that_shares_its_processor_is_disturbed(tmp_path: Path, neighbor: int) -> None:
    path = tmp_path / "a.jsonl"
    command = [
        sys.executable, "-m", "deepbench", "gemm", "m=512", "n=512", "k=512", "--backend", "cpu",
        "--threads", "1", "--no-ceilings", "-o", str(path),
    ]  # fmt: skip
    # Without the variables that a backend of an earlier test has set for libraries in this process.
    variables = dict(os.environ)
    done = subprocess.run(
        command, capture_output=True, text=True, check=False, env=variables,
        preexec_fn=lambda: os.sched_setaffinity(0, [neighbor]),
    )  # fmt: skip
    assert done.returncode == 0, (done.stderr, path.read_text())
    assert read(path).rows[0].statistics.is_disturbed
    assert "disturbed" in done.stdout


def test_a_disturbed_visit_is_made_once_more(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    source = ScriptedRows({(1, 2): in_turn(waiting(0.6), waiting(0.0))})
    assert run_scripted(source, *THREE_VISITS, "-o", str(path))[0] == 0
    assert source.renewals == 3  # the visit is made again by a further worker
    assert len(source.lines) == 10
    assert " visit=2 " in source.lines[-1]
    assert shares(path) == [0, 0, 0]
    assert len(read(path).visits) == 10


def test_a_visit_that_stays_disturbed_labels_its_row(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    source = ScriptedRows({(1, 2): waiting(0.6)})
    status, out, _ = run_scripted(source, *THREE_VISITS, "-o", str(path))
    assert status == 0
    assert len(source.lines) == 10
    assert shares(path) == [0, 0.6, 0]
    assert "disturbed" in out


def test_a_repetition_that_fails_leaves_the_visit(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    failed = waiting(0.0, status="failed", reason="gone", rates=None, statistics=None)
    source = ScriptedRows({(1, 3): in_turn(waiting(0.6), failed)})
    assert run_scripted(source, *THREE_VISITS, "-o", str(path))[0] == 0
    assert shares(path) == [0, 0.6, 0]


def test_a_first_visit_that_selected_is_not_made_again() -> None:
    def selected(row: dict[str, Any]) -> dict[str, Any]:
        return waiting(0.6)({**row, "algorithm": {**row["algorithm"], "mode": "best"}})

    source = ScriptedRows({(0, 1): selected})
    run_scripted(source, *THREE_VISITS, "--algorithm", "best")
    assert len(source.lines) == 9


@pytest.mark.parametrize("visits", [(), ("--visits", "3")])
def test_retry_measures_disturbed_rows_again(tmp_path: Path, visits: tuple[str, ...]) -> None:
    path = tmp_path / "a.jsonl"
    run_scripted(ScriptedRows({1: waiting(0.6)}), *THREE, *visits, "-o", str(path))
    source = ScriptedRows()
    run_scripted(source, *THREE, *visits, "-o", str(path), "--resume")
    assert source.lines == []
    _, _, err = run_scripted(source, *THREE, *visits, "-o", str(path), "--resume", "--retry")
    assert "has 3 of 3 rows" in err
    assert "; 1 disturbed and will be measured again" in err
    assert {line.partition("position=")[2].split()[0] for line in source.lines} == {"1"}
    assert shares(path) == [0, 0, 0]


def test_two_runs_beside_a_neighbor_find_no_row_faster(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The neighbor makes one row of each run four times as long."""

    def slow(row: dict[str, Any]) -> dict[str, Any]:
        longer = {
            name: 4 * value if name.endswith("_ns") else value
            for name, value in row["statistics"].items()
        }
        samples = [4 * sample for sample in row["samples_ns"]]
        return waiting(0.5)({**row, "statistics": longer, "samples_ns": samples})

    files = [tmp_path / "a.jsonl", tmp_path / "b.jsonl"]
    for path, answers in zip(files, ({0: slow}, {2: slow}), strict=True):
        run_scripted(ScriptedRows(answers), *THREE, "-o", str(path))
    assert main(["compare", *map(str, files)]) == 0
    out = capsys.readouterr().out
    assert "3 rows compared: 1 same, 2 disturbed" in out
    assert "no regressions" in out
