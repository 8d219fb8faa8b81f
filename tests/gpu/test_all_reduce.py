"""Sums over NVIDIA devices through NCCL: one process for each device, one for all of them, and what
is said where ranks share a device, are too many, or die."""

from __future__ import annotations

import json
import signal
import subprocess
import time
from pathlib import Path
from typing import Any

import pytest

from cuda_devices import cuda_backend, device_count
from deepbench.results import read
from rank_processes import QUICK, RankProcesses, deepbench, rows_of
from required_tools import require_program

pytestmark = [pytest.mark.gpu, pytest.mark.slow]

SIZES = (1, 1000, 1_000_003)
IN_ALL_PRECISIONS = ("all_reduce", "elements=" + ",".join(map(str, SIZES)),
                     "precision=float,half,bfloat16", "in_place=no,yes")  # fmt: skip
LOST_S = 12.0  # 10 s, as the docs promise, and the end of processes with a device


def run_ok(file: Path, *words: str) -> list[dict[str, Any]]:
    """The rows of a run that ends well."""
    done = deepbench(*words, "-o", str(file), *QUICK)
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr
    return rows_of(file)


def check_sums(rows: list[dict[str, Any]], library: str, outputs: int) -> None:
    launch = "stream" if library == "nccl_single" else "graph"
    for row in rows:
        assert row["status"] == "ok", row["reason"]
        assert row["verification"]["status"] == "passed"
        assert row["verification"]["checked"] == row["attributes"]["elements"] * outputs
        assert row["library"].startswith(f"{library} ")
        assert row["regime"]["ranks"] == 2
        assert row["regime"]["launch"] == launch, row["notes"]
        metrics = {metric["name"]: metric["value"] for metric in row["metrics"]}
        assert metrics["busbw"] == pytest.approx(metrics["algbw"])  # of two ranks
        assert row["bound"] is None or row["bound"].get("by") is None


def test_a_process_for_each_device(tmp_path: Path, two_devices: None) -> None:
    file = tmp_path / "rows.jsonl"
    rows = run_ok(file, *IN_ALL_PRECISIONS, "--devices", "2")
    assert len(rows) == len(SIZES) * 6
    check_sums(rows, "nccl", 1)
    for row in rows:
        metrics = {metric["name"]: metric["value"] for metric in row["metrics"]}
        assert 0 < metrics["call_p50"] <= metrics["call_p99"]
    context = read(file).context
    assert context["ranks"]["count"] == 2
    assert context["options"]["devices"] == "0,1"


def test_one_process_for_all_devices(tmp_path: Path, two_devices: None) -> None:
    rows = run_ok(tmp_path / "rows.jsonl", *IN_ALL_PRECISIONS, "--devices", "2",
               "--library", "nccl_single")  # fmt: skip
    assert len(rows) == len(SIZES) * 6
    check_sums(rows, "nccl_single", 2)


def test_devices_in_an_order_of_ones_own_and_the_best_way(
    tmp_path: Path, two_devices: None
) -> None:
    file = tmp_path / "rows.jsonl"
    [row] = run_ok(file, "all_reduce", "elements=70000", "--devices", "1,0", "--algorithm", "best")
    assert row["device"]["index"] == 1
    assert row["verification"]["status"] == "passed"
    [row] = run_ok(tmp_path / "cold.jsonl", "all_reduce", "elements=70000", "--devices", "2",
                "--cache", "cold")  # fmt: skip
    assert row["regime"]["copies"] > 1
    assert row["verification"]["status"] == "passed"


def test_ranks_that_others_started_take_their_own_device(tmp_path: Path, two_devices: None) -> None:
    ranks = RankProcesses(2)
    file = tmp_path / "rows.jsonl"
    for rank in (0, 1):
        ranks.start(rank, "all_reduce", "elements=3000", "-o", str(file), *QUICK,
                    LOCAL_WORLD_SIZE="2")  # fmt: skip
    (status, _, err), (other_status, _, _) = ranks.wait_for_all()
    assert (status, other_status) == (0, 0), err
    check_sums(rows_of(file), "nccl", 1)


# ---- what is refused -----------------------------------------------------------------------------


def refusal_message(*words: str) -> str:
    done = deepbench("all_reduce", "elements=3000", "--format", "json", *words, *QUICK)
    assert done.returncode == 1, done.stdout + done.stderr
    [row] = json.loads(done.stdout)["rows"]
    assert row["status"] == "unsupported"
    return str(row["reason"])


def test_one_device_alone_is_told_how_to_be_several() -> None:
    assert "--devices 2" in refusal_message()


def test_two_ranks_on_one_device() -> None:
    reason = refusal_message("--ranks", "2", "--device", "0")
    assert "ranks 0 and 1 share device 0" in reason
    assert "needs a separate device" in reason


def test_more_ranks_than_device_count() -> None:
    count = device_count()
    reason = refusal_message("--ranks", str(count + 1))
    assert reason.startswith(f"{count + 1} ranks on a machine with {count} device")
    assert f"ranks 0 and {count} share device 0" in reason


def test_more_devices_than_there_are() -> None:
    count = device_count()
    for more in ((), ("--library", "nccl_single")):
        done = deepbench("all_reduce", "elements=3000", "--devices", str(count + 1), *more)
        assert (done.returncode, done.stdout) == (2, "")
        assert f"no device {count}" in done.stderr, done.stderr
        assert "Traceback" not in done.stderr


def test_one_process_is_no_rank() -> None:
    reason = refusal_message("--ranks", "2", "--library", "nccl_single")
    assert "this library drives all devices in one process" in reason


# ---- ranks that die ------------------------------------------------------------------------------


@pytest.mark.parametrize(("victim", "after_s"), [(1, 0.3), (1, 7.0), (0, 7.0)])
def test_a_rank_that_is_killed_ends_the_others(
    tmp_path: Path, two_devices: None, victim: int, after_s: float
) -> None:
    """While communicators are made, and within a sum: NCCL's kernels would wait for ever."""
    ranks = RankProcesses(2)
    file = tmp_path / "rows.jsonl"
    words = ("all_reduce", "elements=64000000", "-o", str(file), "--samples", "100000",
             "--time-limit", "100", "--hang-limit", "1000")  # fmt: skip
    processes = [ranks.start(rank, *words, LOCAL_WORLD_SIZE="2") for rank in (0, 1)]
    while not (file.exists() and file.stat().st_size):
        assert all(process.poll() is None for process in processes)
        signal.sigtimedwait([], 0.05)
    signal.sigtimedwait([], after_s)
    processes[victim].send_signal(signal.SIGKILL)
    begin = time.monotonic()
    ended = ranks.wait_for_all()
    assert time.monotonic() - begin < LOST_S
    assert ended[victim][0] == -signal.SIGKILL
    assert ended[1 - victim][0] in (1, 3), ended[1 - victim]
    assert f"rank {victim} of 2" in "".join(ended[1 - victim][1:])
    if victim != 0:
        [row] = rows_of(file)
        assert row["status"] == "device_lost", row["reason"]


# ---- ranks that fail -----------------------------------------------------------------------------

# NCCL, of which one function fails from a certain call on.
FAILING_NCCL = """
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stddef.h>
typedef int sum(const void*, void*, size_t, int, int, void*, void*);
int ncclAllReduce(const void* in, void* out, size_t n, int type, int how, void* all, void* on) {
  static int calls;
  sum* const real = (sum*)dlsym(RTLD_NEXT, "ncclAllReduce");
  return ++calls >= FAILS_AT ? 1 : real(in, out, n, type, how, all, on);
}
"""


def failing_nccl(folder: Path, fails_at: int) -> Path:
    compiler = require_program("cc", "gcc")
    real = cuda_backend()["libraries"]["nccl"]["path"]
    source = folder / "failing.c"
    source.write_text(FAILING_NCCL)
    subprocess.run(
        [compiler, "-shared", "-fPIC", f"-DFAILS_AT={fails_at}", "-o", str(folder / "libnccl.so.2"),
         str(source), "-Wl,--no-as-needed,-soname,libfailing.so", real, "-ldl",
         f"-Wl,--disable-new-dtags,-rpath,{Path(real).parent}"],
        check=True,
    )  # fmt: skip
    return folder


@pytest.mark.parametrize("fails_at", [2, 6])  # while the first sum is prepared; when it is timed
def test_a_rank_that_fails_in_a_sum_brings_the_others_out(
    tmp_path: Path, two_devices: None, fails_at: int
) -> None:
    """The failing rank does not exit, so that no connection closes while the other rank waits for
    it within NCCL."""
    folder, file, ranks = (
        failing_nccl(tmp_path, fails_at),
        tmp_path / "rows.jsonl",
        RankProcesses(2),
    )
    words = ("all_reduce", "elements=1000", "--library", "nccl", "--hang-limit", "1000", "-o",
             str(file))  # fmt: skip
    begin = time.monotonic()
    ranks.start(0, *words, LOCAL_WORLD_SIZE="2")
    ranks.start(1, *words, LOCAL_WORLD_SIZE="2", DEEPBENCH_CUDA_LIBRARY_PATH=str(folder))
    ended = ranks.wait_for_all()
    assert time.monotonic() - begin < 90, ended
    assert ended[0][0] in (1, 3), ended
    [row] = rows_of(file)
    assert row["status"] == "device_lost", row["reason"]
    assert row["reason"].startswith("rank 1: "), row["reason"]
    assert "ncclAllReduce" in row["reason"]
