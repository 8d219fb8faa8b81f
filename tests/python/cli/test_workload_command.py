"""deepbench workload: lists, runs, what follows the rows, and one line for each mistake."""

from __future__ import annotations

import io
import itertools
import json
import re
from pathlib import Path
from typing import Any

import pytest

from command_line import run_command
from deepbench.cli import command
from deepbench.cli.options import OPTIONS, run_options
from deepbench.errors import UsageError
from deepbench.problems.problem_arguments import operation_choices
from deepbench.results import ResultError
from deepbench.runner.progress import Screen
from deepbench.runner.run import Run
from deepbench.workload import model_file
from deepbench.workload.request import parse_request
from deepbench.workload.source import workload_selection
from example_rows import without_times
from model_files import LAYER, model_text
from scripted_run import ScriptedRows, crashed_worker

NORM = {"name": '"norm"', "kind": '"norm"', "op": '"other"', "elements": '"100 * tokens"'}
SUM = {"name": '"sum"', "kind": '"collective"', "op": '"all_reduce"', "elements": '"tokens"'}
SECOND = LAYER | {"name": '"two"', "count": 3}
OTHER = LAYER | {"name": '"other"', "out": 32}


@pytest.fixture
def mine(tmp_path: Path) -> Path:
    path = tmp_path / "mine.toml"
    path.write_text(model_text([LAYER, SECOND, OTHER, NORM]))
    return path


def run_workload(
    source: ScriptedRows, *words: str, price: float | None = None, has_ranks: bool = False
) -> tuple[int, str, str]:
    """The status, the report and the messages of a run with scripted rows."""
    out, err = io.StringIO(), io.StringIO()
    line = command.parse_arguments(list(words), OPTIONS)
    selection = workload_selection(parse_request(line.words), has_ranks, price)
    screen = Screen(out, err)
    status = Run(selection, run_options(line), ["workload", *words], source, screen).run()
    return status, out.getvalue(), err.getvalue()


# ---- lists --------------------------------------------------------------------------------------


def test_the_models_are_listed(capsys: pytest.CaptureFixture[str]) -> None:
    status, out, _ = run_command(capsys, "workload", "--format", "json")
    assert status == 0
    listed = {one["workload"]: one for one in json.loads(out)}
    assert list(listed) == model_file.available()
    assert listed["resnet50"]["parameters"] == "batch=1 image=224"
    assert listed["resnet50"]["per"] == "image"
    assert listed["resnet50"]["GFLOP"] == pytest.approx(8.178, abs=0.001)
    _, out, _ = run_command(capsys, "workload")
    assert out.splitlines()[-1].startswith("GFLOP are those of the first phase ")


def test_the_calls_of_a_model_are_listed(capsys: pytest.CaptureFixture[str], mine: Path) -> None:
    status, out, _ = run_command(capsys, "workload", str(mine), "--list", "--format", "json")
    assert status == 0
    calls = [(one["layer"], one["kind"], one["count"], one["problem"]) for one in json.loads(out)]
    product = "gemm m={} n=64 k=64 trans_a=t trans_b=n precision=float"
    assert calls == [
        ("one", "product", 1, product.format(128)),
        ("two", "product", 3, product.format(128)),
        ("other", "product", 1, product.format(32)),
        ("norm", "norm", 1, "not measured: other"),
    ]


def test_a_list_has_sums(capsys: pytest.CaptureFixture[str], mine: Path) -> None:
    _, out, _ = run_command(capsys, "workload", str(mine), "batch=4,8", "half", "--list")
    assert "batch=4: 6 calls, 5 of them measured" in out
    assert "batch=8: 6 calls, 5 of them measured" in out
    assert "measured with 0.008913 GFLOP and 0.0004301 of 0.0004557 GB; " in out  # a norm: 25.6 kB
    assert "precision=half" in out


def test_a_list_names_what_is_unverified(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    path = tmp_path / "mine.toml"
    path.write_text('unverified = "the vocabulary"\n' + model_text())
    _, out, _ = run_command(capsys, "workload", str(path), "--list")
    assert "unverified: the vocabulary" in out


# ---- mistakes -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        (("resnet5",), "there is no workload 'resnet5' (did you mean 'resnet50'?)"),
        (("./absent.toml",), "./absent.toml: there is no such file"),
        (("resnet50", "batch=0"), "resnet50: batch=0: must be a number from 1 to"),
        (("resnet50", "seq=8"), "resnet50 has no parameter 'seq'"),
        (("resnet50", "phase=decode"), "resnet50 has no phase 'decode'"),
        (("resnet50", "--list", "--quick"), "--quick is for a run; with --list, nothing runs"),
        (("--quick",), "--quick is for a run; without a name, nothing runs"),
        (("--format", "legacy"), "--format legacy is for a run"),
        (("resnet50", "--price", "0"), "--price '0': must be a number above 0"),
        (("resnet50", "--price", "nan"), "--price 'nan': must be a number above 0"),
        (("resnet50", "--corrected"), "there is no option '--corrected' here"),
        (("resnet50", "-o", "out.csv"), "rows are kept as JSON lines"),
        (("resnet50", "--list", "--chain"), "--chain is for a run; with --list, nothing runs"),
        (("resnet50", "phase=train", "--chain"), "--chain cannot be combined with phase=train"),
        (("resnet50", "--chain", "--cache", "cold"), "--chain cannot be combined with --cache"),
        (
            ("resnet50", "--chain", "--algorithm", "best"),
            "--chain cannot be combined with --algorithm",
        ),
        (("resnet50", "--chain", "--once"), "--chain cannot be combined with --once"),
        (("resnet50", "--chain", "--soak", "9"), "--chain cannot be combined with --soak"),
        (("resnet50", "--chain", "--ranks", "2"), "--chain cannot be combined with several ranks"),
    ],
)
def test_mistakes(capsys: pytest.CaptureFixture[str], words: tuple[str, ...], reason: str) -> None:
    expect_error(capsys, ("workload", *words), reason)


@pytest.mark.parametrize(
    ("words", "meant"),
    [
        (("resnet50", "batch=4"), "'deepbench workload resnet50 batch=4'"),
        (("ResNet50",), "'deepbench workload resnet50'"),
        (("mine.toml", "--list"), "'deepbench workload mine.toml --list'"),
        (("models",), "'workload'"),
    ],
)
def test_a_model_without_its_command(
    capsys: pytest.CaptureFixture[str], words: tuple[str, ...], meant: str
) -> None:
    expect_error(capsys, words, f"did you mean {meant}?")


def expect_error(capsys: pytest.CaptureFixture[str], words: tuple[str, ...], reason: str) -> None:
    status, out, err = run_command(capsys, *words)
    assert (status, out) == (2, "")
    assert err.startswith("deepbench: error: ")
    assert reason in err
    assert err.count("\n") == 1


def test_no_code_of_a_model_file_runs(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    hostile = "\"__import__('pathlib').Path('owned').touch()\""
    for layer in (LAYER | {"tokens": hostile}, LAYER | {"count": hostile}):
        Path("mine.toml").write_text(model_text([layer]))
        status, _, err = run_command(capsys, "workload", "./mine.toml")
        assert status == 2
        assert "is not arithmetic" in err
    assert not Path("owned").exists()


def test_an_output_may_not_replace_the_model(
    capsys: pytest.CaptureFixture[str], mine: Path
) -> None:
    before = mine.read_text()
    status, _, _ = run_command(capsys, "workload", str(mine), "-o", str(mine), "--overwrite")
    assert status == 2
    assert mine.read_text() == before


def test_too_little_memory_is_said_before_anything_runs(mine: Path) -> None:
    source = ScriptedRows()
    source.hello = {**source.hello, "device": {**source.hello["device"], "memory_bytes": 80_000}}
    needs = "mine batch=4: layer 'one' needs 80.0 KiB for one call, and the device has 78.1 KiB"
    with pytest.raises(UsageError, match=re.escape(needs)):
        run_workload(source, str(mine))
    assert source.lines == []


def test_a_model_of_collectives_alone_needs_ranks(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    path = tmp_path / "mine.toml"
    path.write_text(model_text([SUM]))
    status, _, err = run_command(capsys, "workload", str(path), "tp=2")
    assert status == 2
    assert "none of its calls can be measured in one process" in err


def test_the_devices_of_a_layer_are_the_ranks(
    capsys: pytest.CaptureFixture[str], mine: Path
) -> None:
    status, _, err = run_command(capsys, "workload", str(mine), "tp=2", "--ranks", "3")
    assert status == 2
    assert "tp=2 with 3 ranks: the devices of a layer are its ranks; give tp=1" in err


# ---- runs ---------------------------------------------------------------------------------------


def test_equal_calls_are_one_row(mine: Path, tmp_path: Path) -> None:
    source, file = ScriptedRows(), tmp_path / "rows.jsonl"
    status, out, err = run_workload(source, str(mine), "-o", str(file))
    assert status == 0
    assert len(source.lines) == 2
    first, second = (json.loads(line) for line in file.read_text().splitlines()[1:])
    assert (first["count"], second["count"]) == (4, 1)
    assert first["applications"] == [{"name": "one", "count": 1}, {"name": "two", "count": 3}]
    assert second["applications"] == [{"name": "other", "count": 1}]
    assert "Time of all calls" not in out
    assert "mine prefill batch=4 seq=16 tp=1" in err
    assert "Mine prefill, batch=4 seq=16 tp=1, float, cache hot, power rested:" in out


def test_the_rows_of_an_operation_stand_together() -> None:
    """A table has one header for each operation; the batches remain one after the other."""
    source = ScriptedRows()
    run_workload(source, "resnet50", "batch=1,2", "--quick", "--visits", "1")
    known = set(operation_choices())
    operations = [next(word for word in line.split() if word in known) for line in source.lines]
    together = [op for op, _ in itertools.groupby(operations)]
    assert len(set(operations)) > 3
    assert together == 2 * list(dict.fromkeys(operations))


def test_collectives_are_rows_of_ranks(tmp_path: Path) -> None:
    path = tmp_path / "mine.toml"
    path.write_text(model_text([LAYER, SUM]))
    for has_ranks in (False, True):
        source = ScriptedRows()
        run_workload(source, str(path), has_ranks=has_ranks)
        assert any(line.startswith("all_reduce ") for line in source.lines) is has_ranks


def test_the_block_below_the_rows(mine: Path) -> None:
    """Five calls of 100 us; the norm moves 6400 floats at 25 GB/s."""
    _, out, _ = run_workload(ScriptedRows(), str(mine), price=3.6)
    block = out.partition("Mine prefill")[2]
    assert "time: 501.0 \N{MICRO SIGN}s, 125.3 \N{MICRO SIGN}s per sequence, 7984 sequences/s" in (
        block
    )
    assert "cost: 0.1253 per million sequences, at 3.6 per device and hour" in block
    assert "coverage: 99.8 % of the time is measured" in block
    assert "25.000 GB/s (memory)" in block
    assert "norm 1.024 \N{MICRO SIGN}s" in block
    kinds = [line.split()[0] for line in block.splitlines() if line.startswith(("product", "norm"))]
    assert kinds[:2] == ["product", "norm"]


def test_a_failed_row_is_named_and_there_is_no_total(mine: Path) -> None:
    _, out, _ = run_workload(ScriptedRows({0: crashed_worker}), str(mine), price=3.6)
    block = out.partition("Mine prefill")[2]
    assert "time of the measured kernels: 100.0 \N{MICRO SIGN}s" in block
    assert "of the time is measured; a total needs 95 %" in block
    assert "two, one: failed: the worker crashed: SIGSEGV" in block
    assert "sequences/s" not in block
    assert "cost" not in block


def test_several_batches_have_latency_throughput_and_a_knee(mine: Path) -> None:
    source = ScriptedRows()
    _, out, _ = run_workload(source, str(mine), "batch=1..8")
    assert len(source.lines) == 8
    assert "latency against throughput" in out
    assert "knee: batch=8, the smallest with 90 % of the best throughput" in out
    table = out.partition("knee")[2].splitlines()[2:6]
    assert [line.split()[0] for line in table] == ["1", "2", "4", "8"]
    assert "Mine prefill, batch=8" in out


def test_the_context_keeps_the_expanded_model(mine: Path, tmp_path: Path) -> None:
    file = tmp_path / "rows.jsonl"
    run_workload(ScriptedRows(), str(mine), "batch=2,4", "-o", str(file), price=2.5)
    context = json.loads(file.read_text().splitlines()[0])
    workload = context["workload"]
    assert (workload["name"], workload["phase"], workload["price"]) == ("mine", "prefill", 2.5)
    assert [one["parameters"]["batch"] for one in workload["passes"]] == [2, 4]
    [*_, norm] = workload["passes"][1]["items"]
    assert (norm["layer"], norm["problem"], norm["bytes"]) == ("norm", None, 25_600)
    problems = {json.loads(line)["problem"] for line in file.read_text().splitlines()[1:]}
    named = {item["problem"] for one in workload["passes"] for item in one["items"]}
    assert named - {None} == problems


def test_a_resumed_run_keeps_its_price(mine: Path, tmp_path: Path) -> None:
    words = (str(mine), "-o", str(tmp_path / "rows.jsonl"))
    run_workload(ScriptedRows(), *words, price=2.5)
    assert run_workload(ScriptedRows(), *words, "--resume", price=2.5)[0] == 0
    with pytest.raises(ResultError, match=r"option price was 2\.5, now it is 3\.6"):
        run_workload(ScriptedRows(), *words, "--resume", price=3.6)
    with pytest.raises(ResultError, match=r"option price was 2\.5, now it is not given"):
        run_workload(ScriptedRows(), *words, "--resume")


def test_a_file_prints_the_block_of_its_run(
    capsys: pytest.CaptureFixture[str], mine: Path, tmp_path: Path
) -> None:
    file = str(tmp_path / "rows.jsonl")
    _, out, _ = run_workload(ScriptedRows(), str(mine), "-o", file)
    block = out[out.index("Mine prefill") :]
    status, shown, _ = run_command(capsys, "show", file)
    assert status == 0
    assert shown.endswith(block)
    _, reported, _ = run_command(capsys, "report", file, "--format", "markdown")
    assert "## Mine prefill, batch=4 seq=16 tp=1, float, cache hot, power rested" in reported
    for line in block.splitlines()[1:5]:
        assert line.replace("<", "&lt;") in reported
    _, again, _ = run_workload(ScriptedRows(), str(mine), "-o", file, "--resume")
    assert again.endswith(block)


def test_json_has_every_layer(mine: Path) -> None:
    _, out, _ = run_workload(ScriptedRows(), str(mine), "batch=1,2", "--format", "json")
    document: dict[str, Any] = json.loads(out)
    first, second = document["workload"]
    assert [one["parameters"]["batch"] for one in (first, second)] == [1, 2]
    assert [one["knee"] for one in (first, second)] == [False, True]
    assert {one["name"] for one in first["layers"]} == {"one", "two", "other", "norm"}
    assert first["measured_ns"] == 500_000
    assert first["not_measured"][0]["layer"] == "norm"
    assert first["units_per_s"] == pytest.approx(1e9 / first["time_ns"])


def test_markdown_and_csv(mine: Path) -> None:
    _, out, _ = run_workload(ScriptedRows(), str(mine), "--format", "markdown")
    assert "| kind | calls |" in out
    _, out, _ = run_workload(ScriptedRows(), str(mine), "--format", "csv")
    assert len(out.splitlines()) == 3


def test_both_cache_states_have_totals(mine: Path) -> None:
    def cold(row: dict[str, Any]) -> dict[str, Any]:
        return {**row, "regime": {**row["regime"], "cache": "cold", "cold": "flush"}}

    _, out, _ = run_workload(ScriptedRows({1: cold, 3: cold}), str(mine), "--cache", "both")
    assert "float, cache hot, power rested:" in out
    assert "float, cache cold, power rested:" in out


def test_a_run_without_any_time(mine: Path) -> None:
    answers = dict.fromkeys(range(2), lambda row: without_times(row, "unsupported", "no kernel"))
    status, out, _ = run_workload(ScriptedRows(answers), str(mine))
    assert status == 1
    block = out.partition("Mine prefill")[2].splitlines()
    assert block[1:] == ["no kernel was measured", "one, two, other: unsupported: no kernel"]


def test_quick_keeps_every_layer(mine: Path) -> None:
    source = ScriptedRows()
    run_workload(source, str(mine), "batch=1..8", "--quick")
    assert len(source.lines) == 8
