"""Tests kernels that fail on a real device: the row states the failure, and the run continues.

The kernels are tests/gpu/broken_backend.cpp, built with the C++ tests; DEEPBENCH_TEST_PLUGINS
names the folder.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import deepbench

pytestmark = [pytest.mark.gpu, pytest.mark.slow]

FAULTS = ("healthy", "illegal_address", "trap", "hang", "out_of_memory", "no_capture")


@pytest.fixture(scope="module")
def broken_backend() -> str:
    folder = os.environ.get("DEEPBENCH_TEST_PLUGINS")
    if not folder:
        pytest.skip("DEEPBENCH_TEST_PLUGINS names no folder with libdeepbench_broken.so")
    return str(Path(folder) / "libdeepbench_broken.so")


def run_faults(
    broken_backend: str, file: Path, *faults: str
) -> tuple[int, list[dict[str, Any]], str]:
    """Exit status, rows and messages of a run with the faults."""
    sizes = ",".join(str(4 * (FAULTS.index(fault) + 1)) for fault in faults)
    command = [
        sys.executable,
        "-m",
        "deepbench",
        "memory",
        "kind=write",
        f"bytes={sizes}",
        "--backend",
        broken_backend,
        "--no-verify",
        "--time-limit",
        "1",
        "--hang-limit",
        "15",
        "-o",
        str(file),
        "--format",
        "json",
    ]
    kernels = Path(str(deepbench.__file__)).parent / "deepbench_cuda"
    environment = {**os.environ, "DEEPBENCH_CUDA_KERNELS": str(kernels)}
    done = subprocess.run(command, capture_output=True, text=True, timeout=240, env=environment)
    lines = [json.loads(line) for line in file.read_text().splitlines()]
    rows = [line for line in lines if line["type"] == "row"]
    return done.returncode, rows, done.stderr


def test_each_fault_costs_its_own_row_alone(broken_backend: str, tmp_path: Path) -> None:
    faults = ("healthy", "illegal_address", "healthy", "trap", "healthy", "hang", "healthy",
              "out_of_memory", "healthy", "no_capture")  # fmt: skip
    status, rows, messages = run_faults(broken_backend, tmp_path / "rows.jsonl", *faults)
    seen = [(fault, row["status"], row["reason"]) for fault, row in zip(faults, rows, strict=True)]
    assert len(rows) == len(faults), messages
    assert all(status == "ok" for fault, status, _ in seen if fault == "healthy"), seen
    by_fault = {fault: (status, str(reason)) for fault, status, reason in seen}
    assert by_fault["illegal_address"][0] == "device_lost", seen
    assert "llegal" in by_fault["illegal_address"][1], seen
    assert by_fault["trap"][0] == "device_lost", seen
    assert by_fault["hang"][0] == "failed", seen
    assert by_fault["out_of_memory"][0] == "out_of_memory", seen
    assert by_fault["no_capture"][0] == "ok", seen
    assert rows[9]["regime"]["launch"] == "stream"
    assert status == 1
