"""A whole run with rows from a script: what reaches the screen, the report and the file, and how a
run ends that does not end well."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from backend_facts import planning_facts
from deepbench.errors import Terminated, UsageError
from deepbench.report import FormatError
from deepbench.results import ResultError, read, schema
from deepbench.runner.worker_process import SessionError
from example_rows import HELLO, make_ceiling, with_named_ceilings
from scripted_run import (
    THREE,
    Answer,
    ScriptedRows,
    ScriptedRun,
    crashed_worker,
    row_without_candidate,
    run_scripted,
    unsupported_row,
)

# ---- a run that goes well ---------------------------------------------------------------------


def test_everything_is_in_its_place(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    source = ScriptedRows()
    status, out, err = run_scripted(source, *THREE, "-o", str(path), "--samples", "5")
    assert status == 0
    assert source.ended == "closed"
    assert source.lines[1].endswith("n=32 k=64 trans_a=n trans_b=n precision=float ; position=1")
    assert out.count("\n") == 5
    first, *_, last = err.splitlines()
    assert first.startswith("deepbench: gemm float on Example CPU (cpu, onednn 3.2.0, 2 threads): ")
    assert "3 rows, about" in first
    assert "3 rows: 3 ok; geometric mean 81.0 % of the roofline" in last
    assert last.endswith(f"rows are in {path}")
    result = read(path)
    assert [row.position for row in result.rows] == [0, 1, 2]
    assert result.context["options"] == {"samples": "5"}
    assert result.context["set"] is None
    assert result.context["command"] == [*THREE, "-o", str(path), "--samples", "5"]
    members = set(schema.schema_document()["$defs"]["context"]["properties"])
    assert members - {"ranks", "workload"} == set(result.context)  # one process, and no model
    assert "\x1b" not in out + err
    assert "\r" not in out + err


def test_a_share_that_changes_after_its_row_was_printed_is_named(tmp_path: Path) -> None:
    def answer_with_ceiling(tflops: float) -> Answer:
        def answer(row: dict[str, Any]) -> dict[str, Any]:
            run.run._write_ceiling(json.dumps(make_ceiling("arithmetic", tflops)))
            run.run._write_ceiling(json.dumps(make_ceiling("bandwidth", 1e6)))
            run.run._write_ceiling(json.dumps(make_ceiling("latency", 1.0)))
            # 1 TFLOP/s with the median of all example rows
            return with_named_ceilings({**row, "work": {**row["work"], "flops": 1e8}})

        return answer

    path = tmp_path / "a.jsonl"
    answers = {0: answer_with_ceiling(2.0), 1: answer_with_ceiling(4.0)}
    run = ScriptedRun(ScriptedRows(answers), *THREE[:2], "n=16,32", "k=64", "-o", str(path))
    assert run.end() == 0
    mean, change = run.err.getvalue().splitlines()[-2:]
    assert "geometric mean 25.0 % of the roofline" in mean
    assert change == (
        "deepbench: a ceiling was raised or measured again after rows were printed, which changed "
        "their share of the roofline: gemm m=64 n=16 k=64 trans_a=n trans_b=n precision=float "
        f"(from 50.0 % to 25.0 %); 'deepbench show {path}' prints the new shares"
    )


def test_the_first_line_says_how_long_it_will_take() -> None:
    """In seconds that depend on the machine's load; more where more candidates are measured."""
    expected_s = []
    for algorithm in ("default", "exhaustive"):
        _, _, err = run_scripted(ScriptedRows(), *THREE, "--algorithm", algorithm, "--no-ceilings")
        said = re.search(r"3 rows, about (\d+) s", err)
        assert said is not None
        expected_s.append(int(said[1]))
    assert expected_s[0] < expected_s[1]


def test_ceilings_can_be_left_out(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    assert run_scripted(ScriptedRows(), *THREE, "--no-ceilings", "-o", str(path))[0] == 0
    assert read(path).context["options"] == {"ceilings": "no"}


def test_one_problem_says_which() -> None:
    _, _, err = run_scripted(ScriptedRows(), "gemm", "m=64", "n=16", "k=64")
    assert err.startswith("deepbench: gemm m=64 n=16 k=64 trans_a=n trans_b=n precision=float on ")
    assert "1 row\n" in err


@pytest.mark.parametrize(
    "words", [("memory", "kind=copy", "bytes=4096"), ("all_reduce", "elements=9")]
)
def test_what_goes_through_no_library_names_none(words: tuple[str, ...]) -> None:
    _, _, err = run_scripted(ScriptedRows(), *words)
    assert " on Example CPU (cpu, 2 threads): 1 row" in err


def test_long_run_names_the_short_one() -> None:
    _, _, err = run_scripted(ScriptedRows(), "gemm", "--format", "json")
    assert err.splitlines()[0].endswith("; try --quick")
    _, _, err = run_scripted(ScriptedRows(), "gemm", "--quick", "--format", "json")
    assert "try --quick" not in err


def test_backend_decides_the_precision() -> None:
    source = ScriptedRows()
    source.hello = {**HELLO, "backend": {"name": "cuda"}, "planning": planning_facts("cuda")}
    run_scripted(source, "gemm", "inference", "--quick")
    assert all("precision=int8" in line for line in source.lines)


def test_warnings_are_said_and_kept(tmp_path: Path) -> None:
    source = ScriptedRows()
    source.hello = {**HELLO, "warnings": ["the governor is powersave"]}
    _, out, err = run_scripted(source, *THREE, "-o", str(tmp_path / "a"))
    assert "deepbench: warning: the governor is powersave\n" in err
    assert "warning" not in out
    assert read(tmp_path / "a").context["warnings"] == ["the governor is powersave"]


def test_json_on_standard_output_is_json_alone() -> None:
    _, out, _ = run_scripted(ScriptedRows(), *THREE, "--format", "json")
    assert len(json.loads(out)["rows"]) == 3


# ---- exit status ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("answers", "status", "said"),
    [
        ({1: unsupported_row}, 0, "3 rows: 2 ok, 1 unsupported"),
        ({1: crashed_worker}, 1, "3 rows: 2 ok, 1 failed"),
        ({1: lambda row: {**row, "status": "incorrect"}}, 1, "2 ok, 1 incorrect"),
        ({1: lambda row: {**row, "status": "mistrusted"}}, 1, "2 ok, 1 mistrusted"),
    ],
)
def test_exit_status(answers: dict[int, Answer], status: int, said: str) -> None:
    ended, _, err = run_scripted(ScriptedRows(answers), *THREE)
    assert ended == status
    assert said in err


def test_lost_row_is_recorded_and_the_sweep_goes_on(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    _, out, _ = run_scripted(ScriptedRows({1: crashed_worker}), *THREE, "-o", str(path))
    row = read(path).rows[1]
    assert row.status == "failed"
    assert row.reason == "the worker crashed: SIGSEGV"
    assert row.problem == "gemm m=64 n=32 k=64 trans_a=n trans_b=n precision=float"
    assert row.attributes["n"] == 32
    assert row.work.flops == 2 * 64 * 32 * 64
    assert "failed: the worker crashed: SIGSEGV" in out
    assert len(read(path).rows) == 3


# ---- a run that is ended ----------------------------------------------------------------------


@pytest.mark.parametrize("error", [KeyboardInterrupt(), Terminated(), SessionError("gave up", 1)])
@pytest.mark.parametrize("name", ["table", "json"])
def test_rows_so_far_are_kept(tmp_path: Path, error: BaseException, name: str) -> None:
    path = tmp_path / "a.jsonl"
    one = ScriptedRun(ScriptedRows({2: error}), *THREE, "-o", str(path), "--format", name)
    with pytest.raises(type(error)):
        one.end()
    assert one.source.ended == "killed"
    assert len(read(path).rows) == 2
    assert "2 of 3 rows: 2 ok" in one.err.getvalue()
    assert "--resume continues it" in one.err.getvalue()
    if name == "json":
        assert len(json.loads(one.out.getvalue())["rows"]) == 2


def test_a_run_that_ended_before_its_first_row_promises_none(tmp_path: Path) -> None:
    one = ScriptedRun(
        ScriptedRows({0: KeyboardInterrupt()}), *THREE, "-o", str(tmp_path / "a.jsonl")
    )
    with pytest.raises(KeyboardInterrupt):
        one.end()
    assert "interrupted, 0 of 3 rows; " in one.err.getvalue()
    assert "--resume continues it" in one.err.getvalue()
    assert "rows are in" not in one.err.getvalue()


def test_nobody_reads_the_report(monkeypatch: pytest.MonkeyPatch) -> None:
    one = ScriptedRun(ScriptedRows(), *THREE)
    monkeypatch.setattr(one.out, "write", raise_broken_pipe)
    with pytest.raises(BrokenPipeError):
        one.end()
    assert one.source.ended == "killed"
    assert "1 of 3 rows: 1 ok" in one.err.getvalue()


@pytest.mark.parametrize("name", ["table", "json"])
def test_a_file_is_reader_enough(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    path = tmp_path / "a.jsonl"
    one = ScriptedRun(ScriptedRows(), *THREE, "-o", str(path), "--format", name)
    monkeypatch.setattr(one.out, "write", raise_broken_pipe)
    assert one.end() == 0
    assert one.source.ended == "closed"
    assert len(read(path).rows) == 3
    assert "3 rows: 3 ok" in one.err.getvalue()


@pytest.mark.parametrize("damage", [Path.unlink, lambda path: path.write_text("another")])
def test_a_file_that_was_changed_is_not_said_to_have_rows(
    tmp_path: Path, damage: Callable[[Path], object]
) -> None:
    path = tmp_path / "a.jsonl"

    def damage_file(row: dict[str, Any]) -> dict[str, Any]:
        damage(path)
        return row

    one = ScriptedRun(ScriptedRows({1: damage_file}), *THREE, "-o", str(path))
    with pytest.raises(ResultError, match="while the run wrote it"):
        one.end()
    said = one.err.getvalue()
    assert "1 of 3 rows: 1 ok" in said
    assert "rows are in" not in said
    assert "--resume" not in said


def test_a_file_that_is_removed_before_the_end_is_not_said_to_have_rows(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    one = ScriptedRun(ScriptedRows(), *THREE, "-o", str(path))
    report = one.out.write

    def write(text: str) -> int:
        if len(read(path).rows) == 3:
            path.unlink()
        return report(text)

    one.out.write = write  # type: ignore[method-assign]
    with pytest.raises(ResultError, match="was removed or replaced while the run wrote it"):
        one.end()
    assert "3 rows: 3 ok" in one.err.getvalue()
    assert "rows are in" not in one.err.getvalue()


def raise_broken_pipe(text: str) -> int:
    raise BrokenPipeError


# ---- rows that cannot run ---------------------------------------------------------------------

NONE = dict.fromkeys(range(3), unsupported_row)
NAMED = (*THREE, "--algorithm", "quik")


def test_what_is_unsupported_as_a_whole_is_one_line() -> None:
    status, out, err = run_scripted(ScriptedRows(NONE), *THREE)
    assert status == 1
    assert out == "gemm: all 3 rows unsupported: not here; pip install it\n"
    assert err == ""


def test_what_is_unsupported_as_a_whole_is_kept_all_the_same(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    status, _, err = run_scripted(ScriptedRows(NONE), *THREE, "-o", str(path))
    assert status == 1
    assert err.startswith("deepbench: 3 rows: 3 unsupported; ")
    assert len(read(path).rows) == 3


def test_one_row_that_can_run_is_enough_to_begin() -> None:
    source = ScriptedRows({0: unsupported_row})
    _, _, err = run_scripted(source, *THREE)
    assert err.startswith("deepbench: gemm float on ")
    assert (source.checks, len(source.lines)) == (0, 3)


def test_candidate_that_no_row_has_is_bad_usage(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    source = ScriptedRows({**NONE, 1: row_without_candidate})
    with pytest.raises(UsageError, match="--algorithm 'quik': there is no candidate") as caught:
        run_scripted(source, *NAMED, "-o", str(path))
    assert caught.value.exit_status == 2
    assert (len(source.lines), source.ended) == (3, "killed")  # each is refused, and none measured
    assert not path.exists()


def test_candidate_that_some_rows_have_is_run() -> None:
    status, out, err = run_scripted(
        ScriptedRows({0: row_without_candidate, 2: row_without_candidate}), *NAMED
    )
    assert status == 1
    assert "3 rows: 1 ok, 2 invalid" in err
    assert out.count("invalid: there is no candidate 'quik'") == 2


def test_backend_that_cannot_be_had_leaves_no_file(tmp_path: Path) -> None:
    class RowsThatCannotStart(ScriptedRows):
        def start(self) -> dict[str, Any]:
            raise SessionError("no device", 2)

    one = ScriptedRun(RowsThatCannotStart(), *THREE, "-o", str(tmp_path / "a.jsonl"))
    with pytest.raises(SessionError):
        one.end()
    assert not (tmp_path / "a.jsonl").exists()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((*THREE, "--energy"), "--energy: the backend cpu cannot measure energy"),
    ],
)
def test_what_only_the_backend_can_refuse(arguments: Sequence[str], message: str) -> None:
    one = ScriptedRun(ScriptedRows(), *arguments)
    with pytest.raises(Exception, match=message):
        one.end()
    assert one.source.ended == "killed"
    assert one.source.lines == []


def test_mistakes_show_before_anything_starts() -> None:
    class RowsThatMustNotStart(ScriptedRows):
        def start(self) -> dict[str, Any]:
            raise AssertionError

    with pytest.raises(UsageError, match="gemm needs k="):
        run_scripted(RowsThatMustNotStart(), "gemm", "m=1", "n=2")
    with pytest.raises(
        FormatError, match="--format legacy prints gemm conv rnn sparse_gemm, not memory"
    ):
        run_scripted(RowsThatMustNotStart(), "memory", "--format", "legacy")


# ---- resuming ---------------------------------------------------------------------------------


def test_resumed_run_is_as_if_it_had_not_ended(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    with pytest.raises(KeyboardInterrupt):
        run_scripted(ScriptedRows({1: KeyboardInterrupt()}), *THREE, "-o", str(path))
    source = ScriptedRows()
    status, out, err = run_scripted(source, *THREE, "-o", str(path), "--resume", "--format", "csv")
    assert status == 0
    assert len(source.lines) == 2
    assert out.count("\r\n") == 4
    assert "has 1 of 3 rows" in err
    assert [row.position for row in read(path).rows] == [0, 1, 2]
    whole, _, _ = run_scripted(ScriptedRows(), *THREE, "-o", str(path), "--resume")
    assert whole == 0


def test_resuming_fills_holes_and_cuts_a_torn_line(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    run_scripted(ScriptedRows(), *THREE, "-o", str(path))
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(lines[0] + lines[2] + lines[3][:100])
    source = ScriptedRows()
    _, _, err = run_scripted(source, *THREE, "-o", str(path), "--resume")
    assert "warning" in err
    assert [line[-1] for line in source.lines] == ["0", "2"]
    assert sorted(row.position for row in read(path).rows) == [0, 1, 2]


def test_resuming_another_run_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    run_scripted(ScriptedRows(), *THREE, "-o", str(path))
    before = path.read_bytes()
    for changed in (("gemm", "m=64", "n=16,32,49", "k=64"), (*THREE, "--samples", "3")):
        with pytest.raises(ResultError, match=r"--resume with another run: .*file is of: gemm"):
            run_scripted(ScriptedRows(), *changed, "-o", str(path), "--resume")
    assert path.read_bytes() == before


def test_a_refused_resumption_prints_no_report(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    run_scripted(ScriptedRows(), *THREE, "-o", str(path))
    changed = (*THREE, "--samples", "3", "--format", "json", "-o", str(path), "--resume")
    one = ScriptedRun(ScriptedRows(), *changed)
    with pytest.raises(ResultError):
        one.end()
    assert (one.out.getvalue(), one.err.getvalue()) == ("", "")


def test_what_failed_is_measured_again_if_asked(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    run_scripted(ScriptedRows({0: crashed_worker, 2: unsupported_row}), *THREE, "-o", str(path))
    source = ScriptedRows()
    status, _, _ = run_scripted(source, *THREE, "-o", str(path), "--resume")
    assert (status, source.lines) == (1, [])
    status, _, err = run_scripted(source, *THREE, "-o", str(path), "--resume", "--retry")
    assert status == 0
    assert [line[-1] for line in source.lines] == ["0"]
    assert "has 3 of 3 rows; 1 failed and will be measured again" in err
    assert [row.status for row in read(path).rows] == ["ok", "ok", "unsupported"]
    assert [row.position for row in read(path).rows] == [0, 1, 2]
    with pytest.raises(UsageError, match="--retry needs --resume"):
        run_scripted(source, *THREE, "-o", str(path), "--retry")


def test_resuming_what_does_not_exist_begins_it(tmp_path: Path) -> None:
    status, _, _ = run_scripted(ScriptedRows(), *THREE, "-o", str(tmp_path / "a"), "--resume")
    assert status == 0
    assert len(read(tmp_path / "a").rows) == 3
