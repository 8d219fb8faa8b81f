"""Collectives over two NVIDIA devices through NCCL: one process for each device, and one for both;
and what one device alone is told."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from collective_suite import COLLECTIVES, check_rows, write_suite
from rank_processes import QUICK, deepbench, rows_of

pytestmark = [pytest.mark.gpu, pytest.mark.slow]


@pytest.mark.parametrize(("library", "local_ranks"), [("nccl", 1), ("nccl_single", 2)])
def test_every_collective_is_exact_on_every_device(
    tmp_path: Path, two_devices: None, library: str, local_ranks: int
) -> None:
    file = tmp_path / "rows.jsonl"
    suite = str(write_suite(tmp_path, "float", "half", "bfloat16"))
    done = deepbench("run", suite, "--devices", "2", "--library", library,
                     "-o", str(file), *QUICK)  # fmt: skip
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr
    rows = rows_of(file)
    check_rows(rows, library, local_ranks)
    launch = "stream" if library == "nccl_single" else "graph"
    assert {row["regime"]["launch"] for row in rows} == {launch}


def test_a_cold_broadcast_takes_copies(tmp_path: Path, two_devices: None) -> None:
    file = tmp_path / "rows.jsonl"
    done = deepbench("broadcast", "elements=70000", "--devices", "2", "--cache", "cold", "-o",
                     str(file), *QUICK)  # fmt: skip
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr
    [row] = rows_of(file)
    assert row["regime"]["copies"] > 1
    assert row["verification"]["status"] == "passed"


@pytest.mark.parametrize("operation", COLLECTIVES)
def test_one_device_alone_is_told_how_to_be_several(operation: str) -> None:
    done = deepbench(operation, "elements=3000", "--format", "json", *QUICK)
    assert done.returncode == 1, done.stdout + done.stderr
    [row] = json.loads(done.stdout)["rows"]
    assert row["status"] == "unsupported"
    assert row["reason"].startswith(f"{operation} needs at least two ranks: --devices 2")
