"""oneCCL's sums, which it makes without mpirun: two ranks on this machine.

DEEPBENCH_TEST_ONECCL names the folder that it is installed in (lib/libccl.so.1); otherwise the one
beside this Python is taken.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from collective_suite import check_rows, write_suite
from deepbench.results import read
from example_rows import members

LIMIT_S = 600


@pytest.fixture
def library_folder() -> Path:
    """The folder that contains oneCCL's library."""
    place = Path(os.environ.get("DEEPBENCH_TEST_ONECCL") or sys.prefix) / "lib"
    if not (place / "libccl.so.1").exists():
        pytest.skip(
            "oneCCL is not installed here: pip install 'oneccl-cpu<2021.17' 'impi-rt<2021.19'"
        )
    return place


def run_sums(library_folder: Path, file: Path, *words: str) -> subprocess.CompletedProcess[str]:
    return run_deepbench(library_folder, "all_reduce", *words, "-o", str(file))


def run_deepbench(library_folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "deepbench", *words, "--ranks", "2", "--samples", "3",
               "--time-limit", "1"]  # fmt: skip
    environment = os.environ | {"DEEPBENCH_CPU_LIBRARY_PATH": str(library_folder)}
    return subprocess.run(command, capture_output=True, text=True, timeout=LIMIT_S, env=environment)


def test_sums_are_exact(library_folder: Path, tmp_path: Path) -> None:
    file = tmp_path / "rows.jsonl"
    done = run_sums(
        library_folder,
        file,
        "elements=30001",
        "precision=float,half,bfloat16",
        "in_place=no,yes",
        "--library",
        "oneccl",
    )
    assert done.returncode == 0, done.stderr
    rows = members(read(file).rows)
    assert len(rows) == 6
    for row in rows:
        assert row["status"] == "ok", row["reason"]
        assert row["verification"]["status"] == "passed"
        assert row["library"].startswith("oneccl 20")


def test_every_collective_is_exact(library_folder: Path, tmp_path: Path) -> None:
    file = tmp_path / "rows.jsonl"
    suite = str(write_suite(tmp_path, "bfloat16"))
    done = run_deepbench(library_folder, "run", suite, "-o", str(file), "--library", "oneccl")
    assert done.returncode == 0, done.stderr
    check_rows(members(read(file).rows), "oneccl")


# "exhaustive" is "best" without a limit of time, which a busy machine would reach.
def test_it_is_tried_beside_the_ring(library_folder: Path, tmp_path: Path) -> None:
    file = tmp_path / "rows.jsonl"
    done = run_sums(library_folder, file, "elements=1000", "--algorithm", "exhaustive")
    assert done.returncode == 0, done.stderr
    [row] = members(read(file).rows)
    assert row["algorithm"]["candidates"] == 3, row["notes"]
    assert not any("left out" in note for note in row["notes"]), row["notes"]
