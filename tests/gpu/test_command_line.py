"""The command line on an NVIDIA device, in processes of their own."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from command_line import WAITING, deepbench
from deepbench.results import read

pytestmark = pytest.mark.gpu

SMALL = ("gemm", "m=512", "n=128", "k=512", "precision=half")
FP8 = ("fp8_e4m3", "fp8_e5m2")


def run_ok(*arguments: str, variables: dict[str, str] | None = None) -> dict[str, Any]:
    """Context and rows of a run that ends well."""
    done = deepbench(*arguments, "--format", "json", **(variables or {}))
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr
    loaded: dict[str, Any] = json.loads(done.stdout)
    return loaded


def worker_answers(*lines: str, options: tuple[str, ...] = ()) -> tuple[dict[str, Any], list[Any]]:
    """Hello and rows of one worker that takes no time for ceilings."""
    done = subprocess.run(
        [sys.executable, "-m", "deepbench.worker", "cuda", "ceilings=no", *options],
        input="".join(f"{line}\n" for line in lines), capture_output=True, text=True, timeout=180,
    )  # fmt: skip
    said = [json.loads(line) for line in done.stdout.splitlines()]
    assert said, done.stderr
    return said[0], [row for row in said[1:] if row["type"] == "row"]


def test_sparse_products_stand_beside_dense_ones() -> None:
    shape = ("m=768", "n=2,40", "k=512", "sparsity=0.9")
    for precision, order in (("float", "col"), ("half", "row")):
        words = (f"precision={precision}", f"order={order}", "--algorithm", "best")
        for row in run_ok("sparse_gemm", *shape, *words, "--cache", "both")["rows"]:
            assert (row["status"], row["verification"]["status"]) == ("ok", "passed"), row["reason"]
            assert row["library"].startswith("cusparse ")
            assert row["algorithm"]["candidates"] > 1
            figures = {metric["name"]: metric["value"] for metric in row["metrics"]}
            assert figures["speedup"] * row["statistics"]["median_ns"] == pytest.approx(
                figures["dense_time"] * 1e3
            )
            assert ("speedup_tf32" in figures) == (precision == "float")


def test_another_process_on_the_device_is_named() -> None:
    alone = run_ok(*SMALL)["context"]
    if "other_processes" not in alone["device"]:
        pytest.skip("NVML does not show the processes of the device here")
    command = [sys.executable, "-m", "deepbench.worker", "cuda"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as other:
        assert other.stdout is not None
        other.stdout.readline()  # it has a context when it says hello
        beside = run_ok(*SMALL)["context"]
        other.kill()
    assert beside["device"]["other_processes"] == alone["device"]["other_processes"] + 1
    assert any("context on this device" in warning for warning in beside["warnings"])


def test_auto_takes_the_gpu_and_verifies() -> None:
    told = run_ok(*SMALL)
    (row,) = told["rows"]
    assert told["context"]["backend"]["name"] == row["backend"] == "cuda"
    assert (row["status"], row["verification"]["status"]) == ("ok", "passed")
    assert (row["regime"]["launch"], row["regime"]["fits_cache"]) == ("graph", True)
    assert row["library"].startswith("cublaslt ")
    assert row["algorithm"]["workspace_bytes"] <= 32 << 20
    assert row["bound"]["arithmetic_tflops"] > 1
    assert row["stages_ns"]["device"] > 0
    assert 0 < row["observed"]["sm_clock_mhz"] < 10000


@pytest.mark.parametrize("library", ["cublaslt", "cublas"])
def test_every_precision(library: str) -> None:
    precisions = ("float", "tf32", "half", "bfloat16", "int8", *FP8)
    lines = [f"gemm m=272 n=48 k=208 precision={name}" for name in precisions]
    lines += [f"{line} trans_a=t trans_b=t" for line in lines]
    hello, rows = worker_answers(*lines, options=(f"library={library}", "samples=5"))
    capability = float(hello["device"]["compute_capability"])
    assert len(rows) == len(lines)
    for row in rows:
        precision = row["attributes"]["precision"]
        if precision in FP8 and (library == "cublas" or capability < 8.9):
            assert row["status"] == "unsupported", row["problem"]
        else:
            assert row["status"] == "ok", f"{row['problem']}: {row['reason']}"
            assert row["verification"]["status"] == "passed"


def test_scales_of_blocks_stand_beside_one_scale() -> None:
    shapes = ("m=1024 n=512 k=1024", "m=4096 n=4096 k=7168", "m=261 n=131 k=640")
    lines = [
        f"gemm {shape} trans_a=t precision=fp8_e4m3 scaling={scaling}"
        for shape in shapes
        for scaling in ("tensor", "block128")
    ]
    hello, rows = worker_answers(*lines, options=("samples=5", "library=cublaslt"))
    is_hopper = float(hello["device"]["compute_capability"]) == 9.0
    assert len(rows) == len(lines)
    for row in rows:
        is_scaled = row["attributes"].get("scaling") == "block128"
        if is_scaled and (not is_hopper or "it needs 12.9" in (row["reason"] or "")):
            assert row["status"] == "unsupported"
            assert "scaling=block128" in row["reason"]
        elif is_hopper:
            assert (row["status"], row["verification"]["status"]) == ("ok", "passed"), row["reason"]
            assert "projections of all" in row["verification"]["scope"]


def test_odd_shapes_in_int8_say_how_they_were_run() -> None:
    """Dimensions that no 8-bit product takes as they are."""
    _, rows = worker_answers(
        *(f"gemm m={m} n={n} k={k} precision=int8 ; constant=a"
          for m, n, k in ((35, 1, 2048), (7, 5, 3), (1, 1, 1), (5124, 700, 2048))),
        options=("samples=5",),
    )  # fmt: skip
    for row in rows:
        assert (row["status"], row["verification"]["status"]) == ("ok", "passed"), row["reason"]
    assert rows[1]["padding"]["dimensions"]


@pytest.mark.parametrize(
    ("library", "shape", "most"),
    [
        ("skinny", "m=512 n=4 k=512 precision=int8", 8),
        ("skinny_mma", "m=512 n=4 k=512 precision=half", 32),
    ],
)
def test_libraries_compete_for_products_with_few_columns(
    library: str, shape: str, most: int
) -> None:
    words = (*shape.split(), "--constant", "a", "--samples", "5")
    (best,) = run_ok("gemm", *words, "--algorithm", "best")["rows"]
    assert best["verification"]["status"] == "passed", best["reason"]
    assert best["algorithm"]["candidates"] > 3
    (own,) = run_ok("gemm", *words, "--library", library)["rows"]
    (named,) = run_ok("gemm", *words, "--algorithm", f"{library}:{own['algorithm']['name']}")[
        "rows"
    ]
    for row in (own, named):
        assert (row["status"], row["verification"]["status"]) == ("ok", "passed"), row["reason"]
        assert row["library"].startswith(f"{library} ")
        assert row["algorithm"]["name"] == own["algorithm"]["name"]
    too_many = shape.replace("n=4", f"n={most + 1}")
    _, rows = worker_answers(f"gemm {too_many}", options=(f"library={library}",))
    assert rows[0]["status"] == "unsupported"
    assert f"at most {most} columns" in rows[0]["reason"]


def test_libraries_compete_for_inference_of_recurrent_layers() -> None:
    layer = ("cell=gru", "hidden=256", "batch=2", "timesteps=40", "mode=inference")
    shape = (*layer, "precision=half", "--samples", "5")
    (own,) = run_ok("rnn", *shape)["rows"]
    assert own["library"].startswith("cudnn ")
    for words in (("--library", "persistent"), ("--algorithm", "persistent:units=2")):
        (row,) = run_ok("rnn", *shape, *words)["rows"]
        assert (row["status"], row["verification"]["status"]) == ("ok", "passed"), row["reason"]
        assert row["library"].startswith("persistent ")
    (best,) = run_ok("rnn", *shape, "--algorithm", "best")["rows"]
    assert best["verification"]["status"] == "passed", best["reason"]
    _, rows = worker_answers(
        f"rnn {' '.join(layer)} precision=float", options=("library=persistent",)
    )
    assert rows[0]["status"] == "unsupported"
    assert "half and bfloat16" in rows[0]["reason"]


CONV = "conv w=14 h=14 c=35 n=3 k=20 s=3 r=3 pad_w=1 pad_h=1"


@pytest.mark.parametrize("library", ["cudnn", "cudnn_legacy"])
def test_convolutions(library: str) -> None:
    precisions = ("float", "tf32", "half", "bfloat16")
    phases = ("fwd", "bwd_data", "bwd_filter")
    lines = [f"{CONV} phase={phase} precision={name}" for phase in phases for name in precisions]
    lines.append(f"{CONV} precision=int8")
    _, rows = worker_answers(*lines, options=(f"library={library}", "samples=5"))
    for row in rows:
        assert (row["status"], row["verification"]["status"]) == ("ok", "passed"), row["reason"]
        precision = row["attributes"]["precision"]
        assert row["library"].startswith(f"{library} ")
        assert row["algorithm"]["name"].startswith("nchw: " if precision == "float" else "nhwc: ")
        assert row["algorithm"]["planning_ns"] > 0
        dimensions = {"half": (40, 24), "bfloat16": (40, 24), "int8": (64, 32)}.get(precision)
        padded = row["padding"]["dimensions"] if dimensions else {}
        assert (padded.get("c"), padded.get("k")) == (dimensions or (None, None))


def test_best_of_a_convolution() -> None:
    _, rows = worker_answers(f"{CONV} precision=half", options=("algorithm=best",))
    (row,) = rows
    assert (row["status"], row["verification"]["status"]) == ("ok", "passed"), row["reason"]
    assert row["algorithm"]["candidates"] > 3
    assert row["statistics"]["median_ns"] < 1.1 * row["algorithm"]["default_ns"]


def test_gradients_in_8_bits_are_refused() -> None:
    _, rows = worker_answers(f"{CONV} phase=bwd_data precision=int8")
    assert rows[0]["status"] == "unsupported"
    assert "does not support gradients" in rows[0]["reason"]


ATTENTION = "attention batch=2 heads=8 kv_heads=2 seq_q=512 seq_kv=512 dim=64 phase=bwd"


@pytest.mark.parametrize(
    ("library", "precisions"),
    [("cudnn", ("half", "bfloat16")), ("unfused", ("float", "tf32", "half", "bfloat16"))],
)
def test_gradients_of_attention(library: str, precisions: tuple[str, ...]) -> None:
    """Every output is verified, also with cold operands, each copy with the forward results."""
    lines = [
        f"{ATTENTION} mask={mask} precision={name} ; cache={cache}"
        for mask in ("none", "top_left", "bottom_right")
        for name in precisions
        for cache in ("hot", "cold")
    ]
    _, rows = worker_answers(*lines, options=(f"library={library}", "samples=5"))
    assert len(rows) == len(lines)
    for row in rows:
        assert (row["status"], row["verification"]["status"]) == ("ok", "passed"), row["reason"]
        assert row["library"].startswith(f"{library} ")


def test_best_of_gradients_of_attention() -> None:
    line = f"{ATTENTION} mask=top_left precision=bfloat16"
    _, rows = worker_answers(line, options=("library=cudnn", "algorithm=best"))
    (row,) = rows
    assert (row["status"], row["verification"]["status"]) == ("ok", "passed"), row["reason"]
    assert row["algorithm"]["candidates"] > 1


@pytest.mark.parametrize(
    "line",
    ["norm kind=layer rows=200 columns=1024 phase=training precision=half",
     "attention batch=2 heads=4 seq_q=128 seq_kv=128 dim=64 mask=top_left precision=half"],
)  # fmt: skip
def test_an_engine_that_cudnn_does_not_have_is_invalid(line: str) -> None:
    """The message names the engines that it has, each of which can be asked for."""
    _, (row,) = worker_answers(line, options=("library=cudnn", "algorithm=eng999"))
    assert row["status"] == "invalid"
    assert "has no candidate 'eng999' for this problem" in row["reason"]
    named = re.search(r"; it has (eng\S+)", row["reason"])
    assert named, row["reason"]
    name = named[1].rstrip(",")
    _, (known,) = worker_answers(line, options=("library=cudnn", f"algorithm={name}", "samples=5"))
    assert (known["status"], known["verification"]["status"]) == ("ok", "passed"), known["reason"]
    assert known["algorithm"]["name"] == name


def test_sinks_have_gradients_without_cudnn() -> None:
    lines = f"{ATTENTION} sink=yes precision=half", f"{ATTENTION} precision=float"
    _, rows = worker_answers(*lines, options=("samples=5",))
    for row in rows:
        assert (row["status"], row["verification"]["status"]) == ("ok", "passed"), row["reason"]
        assert row["library"].startswith("unfused ")


def test_defaults_are_the_originals() -> None:
    """Precisions when nobody names one, and which operand is constant."""
    training = run_ok("gemm", "--quick", "--samples", "1", "--no-verify", "--time-limit", "0.1")
    assert {row["attributes"]["precision"] for row in training["rows"]} == {"half"}
    inference = run_ok("gemm", "inference", "--quick", "--samples", "3", "--algorithm", "best")
    assert {row["attributes"]["precision"] for row in inference["rows"]} == {"int8"}
    converted = [row["conversion"] for row in inference["rows"] if row["conversion"]]
    assert converted
    assert any(each["operand"] == "a" and each["constant"] for each in converted)
    for row in inference["rows"]:
        assert row["algorithm"]["default_ns"] > 0


def test_a_device_that_is_not_there() -> None:
    done = deepbench(*SMALL, "--device", "99")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.removeprefix(WAITING).count("\n") == 1
    assert "has no device 99; it has" in done.stderr


def bus_id_of_row(*arguments: str, variables: dict[str, str] | None = None) -> str:
    told = run_ok(*SMALL, *arguments, variables=variables)
    assert [row["status"] for row in told["rows"]] == ["ok"]
    return str(told["context"]["device"]["pci_bus_id"])


def test_each_of_several_devices_can_be_chosen() -> None:
    told = json.loads(deepbench("env", "--format", "json").stdout)
    devices = next(one["devices"] for one in told["backends"] if one["name"] == "cuda")
    if len(devices) < 2:
        pytest.skip("this machine has one device")
    first, second = bus_id_of_row(), bus_id_of_row("--device", "1")
    assert first != second
    visible = os.environ.get("CUDA_VISIBLE_DEVICES", "0,1").split(",")
    assert bus_id_of_row(variables={"CUDA_VISIBLE_DEVICES": visible[1]}) == second


def test_hidden_devices_are_none_and_that_is_recorded() -> None:
    hidden = {"CUDA_VISIBLE_DEVICES": ""}
    done = deepbench(*SMALL, "--backend", "cuda", **hidden)
    assert done.returncode == 2
    assert "no device" in done.stderr
    told = run_ok("gemm", "m=64", "n=16", "k=64", "--samples", "3", variables=hidden)
    assert told["context"]["backend"]["name"] == "cpu"
    assert "no cuda device" in told["context"]["backend"]["reason"]
    assert told["context"]["host"]["environment"]["CUDA_VISIBLE_DEVICES"] == ""


def test_once_is_one_call() -> None:
    told = run_ok(*SMALL, "--once")
    (row,) = told["rows"]
    assert (row["statistics"]["n"], row["statistics"]["batch"] or 1) == (1, 1)
    assert row["regime"]["launch"] == "isolated"
    assert row["verification"]["status"] == "skipped"


def test_hot_and_cold() -> None:
    told = run_ok(*SMALL, "--cache", "both")
    hot, cold = told["rows"]
    assert (hot["regime"]["cache"], cold["regime"]["cache"]) == ("hot", "cold")
    assert cold["regime"]["cold"] == "rotation"
    assert cold["regime"]["copies"] * 2 * (512 * 512 + 2 * 128 * 512) > 100e6
    assert cold["statistics"]["median_ns"] > hot["statistics"]["median_ns"]


def test_memory() -> None:
    size = 256 << 20
    kinds = ("read", "write", "copy", "h2d", "d2h")
    _, rows = worker_answers(*(f"memory kind={kind} bytes={size}" for kind in kinds))
    assert [row["status"] for row in rows] == ["ok"] * len(kinds), [row["reason"] for row in rows]
    device, host = rows[:3], rows[3:]
    assert min(row["rates"]["gbps"] for row in device) > max(row["rates"]["gbps"] for row in host)


def test_a_run_that_was_cut_off_goes_on(tmp_path: Path) -> None:
    file = tmp_path / "rows.jsonl"
    words = ("gemm", "m=256", "n=16,32,64", "k=256", "--samples", "5", "-o", str(file))
    assert deepbench(*words).returncode == 0
    whole = read(file)
    lines = file.read_bytes().splitlines(keepends=True)
    first, second = [i for i, line in enumerate(lines) if json.loads(line)["type"] == "row"][:2]
    file.write_bytes(b"".join(lines[: first + 1]) + lines[second][:20])
    done = deepbench(*words, "--resume")
    assert done.returncode == 0, done.stderr
    again = read(file)
    assert [row.problem for row in again.rows] == [row.problem for row in whole.rows]
    assert again.rows[0] == whole.rows[0]


def test_in_process_gives_the_same_row() -> None:
    assert run_ok(*SMALL, "--in-process", "--samples", "5")["rows"][0]["status"] == "ok"


def test_too_large_for_the_device_is_one_row() -> None:
    _, rows = worker_answers("gemm m=400000 n=400000 k=64 precision=float", "gemm m=64 n=64 k=64")
    assert [row["status"] for row in rows] == ["out_of_memory", "ok"]
    assert "GiB" in rows[0]["reason"]


def test_the_parent_loads_no_driver() -> None:
    text = (
        "import sys; from deepbench.cli import main; "
        "status = main(['gemm', 'm=64', 'n=64', 'k=64', '--samples', '3']); "
        "print([line for line in open('/proc/self/maps') if 'libcuda' in line or 'cublas' in line],"
        " file=sys.stderr); sys.exit(status)"
    )
    done = subprocess.run([sys.executable, "-c", text], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    assert done.stderr.splitlines()[-1] == "[]"
