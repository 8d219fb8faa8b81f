"""The history of runs: what a run leaves there, what cannot be kept or read, and the commands that
read it."""

from __future__ import annotations

import json
import os
import resource
import subprocess
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from command_line import DEEPBENCH, TIMEOUT_S, deepbench, run_command
from deepbench import history
from deepbench.errors import Terminated
from deepbench.results import read
from deepbench.results.file_lock import try_lock
from deepbench.results.reader import read_through
from example_rows import make_ceiling, make_context, make_gemm
from scripted_run import THREE, ScriptedRows, run_scripted

PROBLEM = "gemm m=1760 n=16 k=1760 trans_a=n trans_b=t precision=float"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of an empty history."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    return tmp_path / "deepbench/history"


def keep_run(day: int, *lines: dict[str, Any], plan: str = "same", **context: Any) -> None:
    """Keeps a run of this day, of one product unless other lines are given."""
    keeper = history.RunKeeper(pytest.fail)
    started = f"2026-01-{day:02}T12:00:00Z"
    keeper.begin(make_context(started=started, rows=1, plan=plan, command=["gemm"], **context))
    for line in lines or (make_gemm(),):
        keeper.add(json.dumps(line))
    keeper.close()


def slower_gemm(factor: float, **changes: Any) -> dict[str, Any]:
    row = make_gemm(**changes)
    for name in ("median_ns", "low_ns", "high_ns", "q1_ns", "q3_ns"):
        row["statistics"][name] *= factor
    return row


# ---- keeping -----------------------------------------------------------------------------------


def run_gemm(plugin: Path, *more: str, state: Path, **variables: str) -> Any:
    return deepbench(
        "gemm", "m=8,16", "n=8", "k=8", "--samples", "2", "--backend", plugin, *more,
        XDG_STATE_HOME=str(state), **variables,
    )  # fmt: skip


def test_a_run_is_kept_with_its_rows(plugin: Path, tmp_path: Path) -> None:
    done = run_gemm(plugin, "-o", str(tmp_path / "mine.jsonl"), state=tmp_path)
    assert done.returncode == 0, done.stderr
    (path,) = (tmp_path / "deepbench/history").iterdir()
    kept, mine = read(path), read(tmp_path / "mine.jsonl")
    assert [row.statistics for row in kept.rows] == [row.statistics for row in mine.rows]
    assert [row.bound for row in kept.rows] == [row.bound for row in mine.rows]
    assert kept.context == mine.context
    assert (path.parent.stat().st_mode & 0o777) == 0o700


def test_a_resumed_run_is_kept_whole(plugin: Path, tmp_path: Path) -> None:
    mine = tmp_path / "mine.jsonl"
    run_gemm(plugin, "-o", str(mine), "--no-history", state=tmp_path)
    lines = mine.read_text().splitlines(keepends=True)
    last_row = max(i for i, line in enumerate(lines) if line.startswith('{"type": "row"'))
    mine.write_text("".join(lines[:last_row]))
    run_gemm(plugin, "-o", str(mine), "--resume", state=tmp_path)
    (path,) = (tmp_path / "deepbench/history").iterdir()
    assert [row.position for row in read(path).rows] == [0, 1]
    assert len(read(path).ceilings) == len(read(mine).ceilings)


def test_nothing_is_kept_where_it_is_not_wanted(plugin: Path, tmp_path: Path) -> None:
    for more, variables in (
        (["--no-history"], {}),
        ([], {"DEEPBENCH_HISTORY_DIR": ""}),
        ([], {"DEEPBENCH_HISTORY_DIR": "relative"}),
    ):
        done = run_gemm(plugin, *more, state=tmp_path, **variables)
        assert done.returncode == 0
        assert "warning" not in done.stderr
    assert not (tmp_path / "deepbench").exists()


def test_a_history_that_cannot_be_written_is_one_line(plugin: Path, tmp_path: Path) -> None:
    (tmp_path / "deepbench").write_text("a file")
    done = run_gemm(plugin, state=tmp_path)
    assert done.returncode == 0
    (warning,) = [line for line in done.stderr.splitlines() if "history" in line]
    assert warning.startswith("deepbench: warning: the history does not keep this run: ")
    assert f"{tmp_path / 'deepbench'}" in warning
    assert "2 rows: 2 ok" in done.stderr


def test_a_full_disk_ends_the_keeping_and_no_run(plugin: Path, tmp_path: Path) -> None:
    """A limit of the size of files stands for the disk: the run writes no other file."""
    limit = (4096, resource.getrlimit(resource.RLIMIT_FSIZE)[1])
    done = subprocess.run(
        [*DEEPBENCH, "gemm", "m=8,16,24,32", "n=8", "k=8", "--samples", "2",
         "--backend", str(plugin)],
        capture_output=True, text=True, timeout=TIMEOUT_S,
        env={**os.environ, "XDG_STATE_HOME": str(tmp_path)},
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, limit),
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert done.stderr.count("the history does not keep this run") == 1
    assert "4 rows: 4 ok" in done.stderr
    for path in (tmp_path / "deepbench/history").iterdir():
        assert not read(path).torn


def test_the_oldest_runs_make_room(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(history, "MOST_RUNS", 3)
    for day in range(1, 6):
        keep_run(day)
    assert [path.name[:8] for path in sorted(folder.iterdir())] == [
        "20260103", "20260104", "20260105",
    ]  # fmt: skip
    monkeypatch.setattr(history, "MOST_BYTES", 1)
    keep_run(6)
    assert [path.name[:8] for path in folder.iterdir()] == ["20260106"]


def test_a_run_that_is_being_written_makes_no_room(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    keep_run(1)
    keep_run(2)
    first = min(folder.iterdir())
    monkeypatch.setattr(history, "MOST_RUNS", 1)
    with first.open("rb") as file:
        assert try_lock(file.fileno())
        keep_run(3)
    assert sorted(path.name[:8] for path in folder.iterdir()) == ["20260101", "20260103"]


def test_only_files_that_the_history_named_make_room(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    folder.mkdir(parents=True)
    others = [folder / name for name in ("0.jsonl", "mine.jsonl", "20260101T120000Z-copy.jsonl")]
    for path in others:
        path.write_text(f"{json.dumps(make_context(plan='same'))}\n{json.dumps(make_gemm())}\n")
    monkeypatch.setattr(history, "MOST_BYTES", 1)
    for day in (1, 2):
        keep_run(day)
    assert all(path.exists() for path in others)
    assert len(list(folder.iterdir())) == 4
    _, out, _ = run_command(capsys, "history", "--format", "json")
    assert [run["started"] for run in json.loads(out)] == ["2026-01-02T12:00:00Z"]


def test_files_that_are_gone_do_not_end_the_keeping(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder.mkdir(parents=True)
    dangling = folder / "20260101T110000Z-1-1.jsonl"
    dangling.symlink_to(folder / "gone")
    keep_run(1)
    listed = history._paths(folder)
    removed = folder / "20260101T100000Z-1-1.jsonl"  # by another run, once it was listed
    monkeypatch.setattr(history, "_paths", lambda _: [removed, *listed])
    monkeypatch.setattr(history, "MOST_RUNS", 2)
    keep_run(2)
    assert not dangling.is_symlink()
    assert sorted(path.name[:8] for path in folder.iterdir()) == ["20260101", "20260102"]


def test_a_first_row_that_cannot_be_written_leaves_no_file(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    said: list[str] = []
    keeper = history.RunKeeper(said.append)
    keeper.begin(make_context(rows=1))
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    (path,) = folder.iterdir()
    resource.setrlimit(resource.RLIMIT_FSIZE, (path.stat().st_size, limits[1]))
    try:
        keeper.add(json.dumps(make_gemm()))
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    keeper.close()
    assert len(said) == 1
    assert list(folder.iterdir()) == []


def test_rows_of_visits_are_kept_once_they_are_complete_or_the_run_ends_early(
    folder: Path,
) -> None:
    visits = (*THREE, "--visits", "3")
    run_scripted(ScriptedRows(), *visits)
    with pytest.raises(Terminated):
        run_scripted(ScriptedRows({(1, 2): Terminated(15)}), *visits)
    complete, interrupted = (read(run.path) for run in reversed(list(history.runs())))
    assert [row.position for row in complete.rows] == [0, 1, 2]
    assert [row.position for row in interrupted.rows] == [0, 1, 2]
    assert "1 of 3 visits" in interrupted.rows[1].notes
    assert complete.visits == interrupted.visits == ()


def test_a_row_keeps_a_part_of_its_samples(folder: Path) -> None:
    keep_run(1, make_gemm(samples_ns=[float(n) for n in range(100)], samples_kept="all"))
    (path,) = folder.iterdir()
    (row,) = read(path).rows
    assert (len(row.samples_ns), row.samples_kept) == (20, "thinned")


def test_runs_of_one_second_have_files_of_their_own(folder: Path) -> None:
    keep_run(1)
    keep_run(1, slower_gemm(2.0))
    assert [read(path).rows[0].time_ns for path in sorted(folder.iterdir())] == [1e5, 2e5]


def test_a_run_without_a_row_leaves_no_file(folder: Path) -> None:
    keep_run(1, make_ceiling("arithmetic", 1.0))
    assert list(folder.iterdir()) == []


# ---- reading -----------------------------------------------------------------------------------


def test_runs_are_listed(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    keep_run(1)
    keep_run(2, make_gemm(), make_gemm(1, n=32))
    status, out, _ = run_command(capsys, "history", "--format", "json")
    assert status == 0
    first, second = json.loads(out)
    assert (first["run"], first["started"], first["rows"]) == (1, "2026-01-02T12:00:00Z", 2)
    assert (second["run"], second["rows"], second["command"]) == (2, 1, "gemm")
    assert second["device"] == "Example CPU"
    assert Path(first["file"]).parent == folder
    status, out, _ = run_command(capsys, "history", "show", "1")
    assert status == 0
    assert "100.0 " in out
    status, out, _ = run_command(capsys, "history", "show", "1", "--format", "json")
    assert status == 0
    assert [row["position"] for row in json.loads(out)["rows"]] == [0, 1]


def test_a_run_without_a_whole_row_is_not_the_last_one(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Such as one that runs, or that was killed."""
    keep_run(1)
    context, row = json.dumps(make_context(rows=1)), json.dumps(make_gemm())
    (folder / "20260102T120000Z-1-1.jsonl").write_text(f"{context}\n")
    (folder / "20260103T120000Z-1-1.jsonl").write_text(f"{context}\n{row[:99]}")
    assert history.last_run().path.name.startswith("20260101")
    _, out, err = run_command(capsys, "history", "--format", "json")
    assert [(run["run"], run["rows"]) for run in json.loads(out)] == [(1, 1)]
    assert err == ""


def test_a_list_reads_files_through_their_first_row(folder: Path) -> None:
    keep_run(1, make_ceiling("arithmetic", 1.0), make_gemm(), make_gemm(1, n=32))
    (path,) = folder.iterdir()
    lines = read_through(path, history._is_row)
    assert [json.loads(line)["type"] for line in lines] == ["context", "ceiling", "row"]
    assert [run.path for run in history.runs()] == [path]


def test_unreadable_files_are_named_and_left_alone(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    keep_run(1)
    (folder / "20260102T120000Z-1-1.jsonl").write_text("nonsense\n")
    newer = json.dumps({**make_context(), "schema": 99, "version": "9.9"})
    (folder / "20260103T120000Z-1-1.jsonl").write_text(f"{newer}\n")
    (folder / "20260104T120000Z-1-1.jsonl").write_text("")
    os.mkfifo(folder / "20260105T120000Z-1-1.jsonl")
    status, out, err = run_command(capsys, "history", "--format", "csv")
    assert status == 0
    assert len(out.splitlines()) == 2
    assert err.count("a run is left out: ") == 4
    assert "has schema 99" in err
    assert len(list(folder.iterdir())) == 5
    assert run_command(capsys, "show", "last")[0] == 0


def test_the_last_run_against_the_one_before(
    folder: Path, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    keep_run(1)
    keep_run(2, slower_gemm(9.0), plan="another")
    keep_run(3, slower_gemm(1.5))
    status, out, _ = run_command(capsys, "compare", "last")
    assert status == 1
    assert "1.500 times faster" in out
    mine = tmp_path / "mine.jsonl"
    mine.write_bytes(min(folder.iterdir()).read_bytes())
    status, out, _ = run_command(capsys, "compare", "last", str(mine))
    assert status == 0
    assert "1.500 times faster" in out


@pytest.mark.parametrize(
    "other",
    [
        {"options": {"samples": "5"}},
        {"backend": {"name": "cuda"}},
        {"device": {"index": 0, "name": "Another CPU"}},
        {"threads": 1},
        {"ranks": {"count": 2}},
    ],
)
def test_the_last_run_is_compared_with_one_that_measured_the_same(
    other: dict[str, Any], folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    keep_run(1)
    keep_run(2, slower_gemm(9.0), **other)
    keep_run(3, slower_gemm(1.5))
    assert "1.500 times faster" in run_command(capsys, "compare", "last")[1]


def test_a_file_named_last_takes_precedence(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any
) -> None:
    keep_run(1)
    monkeypatch.chdir(tmp_path)
    rows = [make_context(rows=1), slower_gemm(3.0)]
    Path("last").write_text("".join(json.dumps(row) + "\n" for row in rows))
    _, out, _ = run_command(capsys, "show", "last", "--format", "csv")
    assert "300000" in out


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("history",), "the history has no run"),
        (("history", "show", "1"), "the history has no run"),
        (("history", "show", "x"), "must be a number, from 1"),
        (("history", "show", "0"), "must be a number, from 1"),
        (("history", "plot", *PROBLEM.split(), "--format", "csv"), "has no --format csv"),
        (("history", "--format", "html"), "--format html is for 'history plot' alone"),
        (("history", "frobnicate"), "write 'deepbench history'"),
        (("history", "plot", "gemm", "m=0"), "history plot: "),
        (("compare", "last"), "the history has no run"),
        (("show", "last"), "the history has no run"),
    ],
)
def test_an_empty_history_and_bad_words_are_one_line(
    words: tuple[str, ...], said: str, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    status, out, err = run_command(capsys, *words)
    assert (status, out, err.count("\n")) == (2, "", 1)
    assert said in err


def test_a_folder_whose_name_is_too_long_has_no_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("DEEPBENCH_HISTORY_DIR", str(tmp_path / ("a" * 300)))
    status, out, err = run_command(capsys, "history")
    assert (status, out, err.count("\n")) == (2, "", 1)
    assert "the history has no run" in err


def test_a_run_alone_has_none_before_it(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    keep_run(1)
    status, _, err = run_command(capsys, "compare", "last")
    assert status == 2
    assert "no earlier run of the same problems" in err
    status, _, err = run_command(capsys, "history", "show", "2")
    assert "it has 1 to 1" in err


def test_a_problem_over_time(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    keep_run(1, slower_gemm(2.0, library="onednn 3.1.0"))
    keep_run(2, slower_gemm(1.9, library="onednn 3.1.0"))
    keep_run(3, slower_gemm(5.0, device={"index": 0, "name": "Another CPU"}))
    regime = make_gemm()["regime"]
    keep_run(4, slower_gemm(6.0, regime={**regime, "threads": 1}))
    keep_run(5, slower_gemm(7.0, regime={**regime, "ranks": 2}))
    keep_run(6, make_gemm(), make_gemm(1, n=32))
    status, out, _ = run_command(capsys, "history", "plot", *PROBLEM.split())
    lines = out.splitlines()
    assert status == 0
    assert lines[0].startswith(f"{PROBLEM}: Example CPU, onednn, default, hot, rested, 2 threads")
    assert lines[1] == "left out: 3 of another device, library, algorithm, regime, threads or ranks"
    plotted = [line for line in lines if "|" in line]
    assert "* onednn 3.1.0" in plotted[0]
    assert plotted[-1].endswith("onednn 3.2.0 *")
    assert "2026-01-01" in out
    table = [line for line in lines if line.startswith("2026-01-0")]
    assert len(table) == 3
    assert "100.0" in table[-1]
    status, _, err = run_command(capsys, "history", "plot", "gemm", "m=7", "n=7", "k=7")
    assert status == 2
    assert "no time of" in err


def test_a_problem_over_time_as_a_page(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    keep_run(1, slower_gemm(2.0, library="onednn 3.1.0"))
    keep_run(2, slower_gemm(1.9, library="onednn 3.1.0"))
    keep_run(3, make_gemm(library="onednn <3.2>"))
    status, page, _ = run_command(capsys, "history", "plot", *PROBLEM.split(), "--format", "html")
    assert status == 0
    svg = ElementTree.fromstring(page[page.index("<svg") : page.index("</svg>") + len("</svg>")])
    heights = [float(circle.attrib["cy"]) for circle in svg.iter("circle")]
    assert heights[0] < heights[1] < heights[2]  # the slowest run is on top
    texts = [text.text for text in svg.iter("text")]
    assert [text for text in texts if text and "onednn" in text] == [
        "onednn 3.1.0", "onednn <3.2>",
    ]  # fmt: skip
    dashed = [line for line in svg.iter("line") if "stroke-dasharray" in line.attrib]
    assert len(dashed) == 2
    assert {"2026-01-01", "2026-01-03"} <= set(texts)
    assert page.count("2026-01-02T12:00:00Z") == 2  # in the plot and in the table
    status, text, _ = run_command(
        capsys, "history", "plot", *PROBLEM.split(), "--format", "markdown"
    )
    assert status == 0
    assert "| 2026-01-02T12:00:00Z |" in text
    assert "* onednn 3.1.0" in text


def test_a_single_run_has_a_page(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    keep_run(1, make_gemm(statistics={"median_ns": 1e5, "n": 1}))
    status, page, _ = run_command(capsys, "history", "plot", *PROBLEM.split(), "--format", "html")
    assert status == 0
    assert page.count("<circle") == 1
