"""Every operation of the CPU from the command line to a verified row, in one file.

Needs oneDNN, and is skipped where it cannot be used.
"""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from command_line import deepbench
from deepbench.results import read
from example_rows import members

CONV = "w=14 h=10 c=16 n=2 k=8 s=3 r=3 pad_w=1 pad_h=1"
RNN = "hidden=32 batch=3 timesteps=7"
SPARSE = ("sparse_gemm", "m=8", "n=8", "k=8", "sparsity=0.5")
SUITE = f"""\
gemm m=64 n=32 k=48
conv {CONV} stride_w=2
conv {CONV} phase=bwd_data
conv {CONV} phase=bwd_filter layout=nhwc
conv w=9 h=9 d=9 c=4 n=2 k=6 s=3 r=3 t=3 groups=2
rnn cell=vanilla {RNN} mode=inference
rnn cell=lstm {RNN}
rnn cell=gru {RNN} phase=bwd
rnn cell=gru_reset_before {RNN} phase=bwd
sparse_gemm m=96 n=24 k=64 sparsity=0.9
sparse_gemm m=96 n=1 k=64 sparsity=0.5
"""
MEASURED = ("ok", "mistrusted")
FAST = ("--backend", "cpu", "--samples", "3", "--time-limit", "0.5")


@cache
def onednn_reason() -> str | None:
    """Why oneDNN cannot be used here, or None."""
    for backend in json.loads(deepbench("env", "--format", "json").stdout)["backends"]:
        if backend["name"] == "cpu":
            known = (backend["libraries"] or {}).get("onednn") or {"reason": "not known"}
            return backend["reason"] or known.get("reason")
    return "this deepbench has no CPU backend"


@pytest.fixture(autouse=True)
def onednn() -> None:
    if onednn_reason():
        pytest.skip(f"no oneDNN: {onednn_reason()}")


@pytest.fixture
def suite_of_operations(tmp_path: Path) -> Path:
    path = tmp_path / "small.txt"
    path.write_text(SUITE)
    return path


def run_suite(suite_of_operations: Path, *arguments: str) -> list[dict[str, Any]]:
    """Rows that were measured: on a busy machine a time may rightly be mistrusted."""
    file = suite_of_operations.with_suffix(".jsonl")
    done = deepbench(
        "run", str(suite_of_operations), *FAST, "-o", str(file), "--overwrite", *arguments
    )
    rows = sorted(members(read(file).rows), key=lambda row: int(row["position"]))
    wrong = [(row["problem"], row["reason"]) for row in rows if row["status"] not in MEASURED]
    assert done.returncode in (0, 1), done.stderr
    assert not wrong, wrong
    return rows


def test_every_operation_is_verified(suite_of_operations: Path) -> None:
    rows = run_suite(suite_of_operations)
    assert len(rows) == len(SUITE.splitlines())
    assert {row["verification"]["status"] for row in rows} == {"passed"}
    assert all(row["verification"]["checked"] > 0 for row in rows)
    assert all(row["rates"]["tflops"] > 0 for row in rows if row["status"] == "ok")
    sparse = {metric["name"] for metric in rows[-1]["metrics"]}
    assert {"dense_time", "speedup", "nnz"} <= sparse


def test_all_operations_of_a_set_are_one_file(tmp_path: Path) -> None:
    file = tmp_path / "all.jsonl"
    done = deepbench("all", "inference-device", "--quick", *FAST, "--no-ceilings", "-o", str(file))
    assert done.returncode in (0, 1), done.stderr
    result = read(file)
    assert result.context["set"] == "inference_device"
    assert result.context["threads"] == 1
    assert len(result.rows) == result.context["rows"]
    assert {row["op"] for row in members(result.rows)} == {"gemm", "conv", "rnn", "sparse_gemm"}
    assert {row["verification"]["status"] for row in members(result.rows)} == {"passed"}


def test_every_operation_has_a_best(suite_of_operations: Path) -> None:
    for row in run_suite(suite_of_operations, "--algorithm", "best", "--no-ceilings"):
        assert row["algorithm"]["candidates"] >= 1
        assert row["algorithm"]["default_name"]


def test_every_operation_can_be_cold(suite_of_operations: Path) -> None:
    for row in run_suite(suite_of_operations, "--cache", "cold", "--no-ceilings"):
        assert row["regime"]["cache"] == "cold"
        assert row["regime"]["copies"] >= 2 or row["regime"]["cold"] == "flush"


def test_every_operation_can_be_called_once(suite_of_operations: Path) -> None:
    file = suite_of_operations.with_suffix(".jsonl")
    words = ("--backend", "cpu", "--once", "-o", str(file), "--overwrite")
    done = deepbench("run", str(suite_of_operations), *words)
    assert done.returncode == 0, done.stderr
    assert "one call" in done.stdout
    for row in members(read(file).rows):
        assert row["statistics"]["n"] == 1
        assert row["verification"]["status"] == "skipped"


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("conv", *CONV.split(), "groups=3"), "groups=3 does not divide c=16"),
        (("conv", *CONV.split(), "stride_w=0"), "stride_w=0"),
        (("conv", "w=2", "h=2", "c=1", "n=1", "k=1", "s=3", "r=3"), "the output is empty"),
        (("rnn", "cell=lstm", "hidden=0", "batch=1", "timesteps=1"), "hidden=0"),
        (("rnn", "cell=lstm", "hidden=8", "batch=0", "timesteps=1"), "batch=0"),
        (("rnn", "cell=elman", *RNN.split()), "cell=elman"),
        (("rnn", "cell=gru", *RNN.split(), "mode=inference", "phase=bwd"), "mode=inference"),
        (("conv", *CONV.split(), "layout=nhcw"), "did you mean 'nchw'"),
        (("conv", *CONV.split(), "phase=sideways"), "must be one of fwd bwd_data bwd_filter"),
        (("conv", *CONV.split(), "--constant", "x"), "may be constant; it has w"),
        (("rnn", "cell=lstm", "hidden=-1", "batch=1", "timesteps=1"), "hidden=-1"),
        (("rnn", "cell=lstm", "hidden=1", "batch=1", "timesteps=99999999"), "at most 10000000"),
        (("sparse_gemm", "m=8", "n=8", "k=8", "sparsity=nan"), "sparsity=nan is not a number"),
        (("sparse_gemm", "m=3000000000", "n=1", "k=1", "sparsity=0.5"), "32-bit indices"),
        (("all", "m=3"), "'all' runs sets"),
        (("all", "sometimes"), "neither a set, a precision nor KEY=VALUE"),
        (("sparse_gemm", "m=8", "n=8", "k=8", "sparsity=1"), "sparsity=1"),
        (("sparse_gemm", "m=8", "n=8", "k=8", "sparsity=-0.1"), "sparsity=-0.1"),
    ],
)
def test_nonsense_is_one_line(words: tuple[str, ...], message: str) -> None:
    done = deepbench(*words, "--backend", "cpu")
    assert done.returncode == 2
    assert done.stderr.count("\n") == 1
    assert message in done.stderr


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("conv", *CONV.split(), "--algorithm", "nhwc:+1"), "no candidate 'nhwc:+1'"),
        (("conv", *CONV.split(), "--library", "onedn"), "did you mean 'onednn'"),
        (("rnn", "cell=lstm", *RNN.split(), "--algorithm", "lstm"), "no candidate 'lstm'"),
        ((*SPARSE, "--algorithm", "q"), "it has product"),
    ],
)
def test_names_that_the_backend_lacks_are_a_mistake(words: tuple[str, ...], message: str) -> None:
    done = deepbench(*words, "--backend", "cpu")
    assert done.returncode == 2
    last = done.stderr.splitlines()[-1]  # it may have said that it waits for the backend
    assert last.startswith("deepbench: error: ")
    assert message in last


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        (("conv", *CONV.split(), "precision=int8", "phase=bwd_data"), "no gradients of 8-bit"),
        (("conv", *CONV.split(), "--library", "ring"), "ring does not support conv"),
        (("rnn", "cell=lstm", *RNN.split(), "phase=bwd_data"), "both gradients in one call"),
        (("rnn", "cell=lstm", *RNN.split(), "precision=int8"), "mode=inference"),
        ((*SPARSE, "precision=half"), "supports float, but not half"),
    ],
)
def test_what_libraries_lack_is_unsupported(words: tuple[str, ...], reason: str) -> None:
    done = deepbench(*words, "--backend", "cpu", "--format", "json")
    (row,) = json.loads(done.stdout)["rows"]
    assert row["status"] == "unsupported"
    assert reason in row["reason"]


@pytest.mark.parametrize(
    "words",
    [
        ("rnn", "cell=gru", "hidden=5000", "batch=10000000", "timesteps=10000000", "phase=bwd"),
        ("conv", "w=20000", "h=20000", "c=512", "n=512", "k=512", "s=3", "r=3"),
        ("rnn", "cell=lstm", "hidden=100000", "batch=4096", "timesteps=1000"),
        ("sparse_gemm", "m=40000", "n=4000000", "k=40000", "sparsity=0.99"),
    ],
)
def test_too_large_is_said_before_anything_is_taken(words: tuple[str, ...]) -> None:
    done = deepbench(*words, "--backend", "cpu", "--format", "json")
    assert done.returncode == 1
    row = json.loads(done.stdout)["rows"][0]
    assert row["status"] == "out_of_memory"
    assert "GiB" in row["reason"]
