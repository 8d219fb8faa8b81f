"""A disk that fills up during a run ends it with a line and a status; what was measured is kept
in whole lines, and --resume measures the rest once there is room."""

from __future__ import annotations

import os
import resource
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from deepbench.results import read
from example_rows import members

SIZES = ",".join(str(m) for m in range(8, 28))


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of 20 KiB."""
    folder = tmp_path / "disk"
    folder.mkdir()
    mount = shutil.which("mount")
    command = [mount or "mount", "-t", "tmpfs", "-o", "size=20k", "deepbench-test", str(folder)]
    if mount is None or subprocess.run(command, capture_output=True).returncode:
        pytest.skip("no file system may be mounted here")
    yield folder
    subprocess.run(["umount", str(folder)], check=True)


def run_with_file_limit(
    plugin: Path, file: Path, *more: str, limit: int = resource.RLIM_INFINITY
) -> subprocess.CompletedProcess[str]:
    """Twenty rows, into a file that may have `limit` bytes."""
    hard = resource.getrlimit(resource.RLIMIT_FSIZE)[1]
    return subprocess.run(
        [sys.executable, "-m", "deepbench", "gemm", f"m={SIZES}", "n=8", "k=40", "--samples", "2",
         "--backend", str(plugin), "-o", str(file), *more],
        capture_output=True, text=True, timeout=600, env=os.environ,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (limit, hard)),
    )  # fmt: skip


def check_write_error(done: subprocess.CompletedProcess[str], file: Path, what: str) -> None:
    assert done.returncode == 1
    assert "Traceback" not in done.stderr
    *_, summary, error = done.stderr.splitlines()
    assert error == f"deepbench: error: {file}: {what}; every row written before is kept"
    rows = len(read(file).rows)
    assert 0 < rows < 20
    assert f"{rows} of 20 rows: {rows} ok" in summary
    assert summary.endswith(f"rows are in {file}; --resume continues it")
    assert file.read_bytes().endswith(b"}\n")
    assert not read(file).torn


def check_all_rows_written(file: Path, kept: bytes) -> None:
    assert file.read_bytes().startswith(kept)
    rows = members(read(file).rows)
    assert [row["position"] for row in rows] == list(range(20))
    assert {row["status"] for row in rows} == {"ok"}


def test_a_limit_on_files(plugin: Path, tmp_path: Path) -> None:
    file = tmp_path / "rows.jsonl"
    done = run_with_file_limit(plugin, file, limit=24_000)
    check_write_error(done, file, "may not grow further (ulimit -f)")
    kept = file.read_bytes()
    again = run_with_file_limit(plugin, file, "--resume", limit=24_000)
    assert again.returncode == 1
    assert file.read_bytes() == kept
    assert run_with_file_limit(plugin, file, "--resume").returncode == 0
    check_all_rows_written(file, kept)


def test_a_full_disk(plugin: Path, small_disk: Path) -> None:
    file = small_disk / "rows.jsonl"
    check_write_error(run_with_file_limit(plugin, file), file, "the disk is full")
    kept = file.read_bytes()
    subprocess.run(["mount", "-o", "remount,size=1m", str(small_disk)], check=True)
    assert run_with_file_limit(plugin, file, "--resume").returncode == 0
    check_all_rows_written(file, kept)


def test_a_disk_that_is_full_from_the_start(plugin: Path, tmp_path: Path) -> None:
    file = tmp_path / "rows.jsonl"
    done = run_with_file_limit(plugin, file, limit=100)
    assert done.returncode == 2
    assert done.stdout == ""
    assert f"deepbench: error: {file}: may not grow further" in done.stderr
    assert not file.exists()


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no /dev/full here")
def test_a_report_that_finds_no_room(plugin: Path, tmp_path: Path) -> None:
    file = tmp_path / "rows.jsonl"
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(
            [sys.executable, "-m", "deepbench", "gemm", "m=8,9", "n=8", "k=40", "--samples", "2",
             "--backend", str(plugin), "-o", str(file)],
            stdout=full, stderr=subprocess.PIPE, text=True, timeout=600, check=False,
        )  # fmt: skip
    assert done.returncode == 1
    assert "No space left on device, writing to standard output" in done.stderr.splitlines()[-1]
    assert "Traceback" not in done.stderr
    assert len(read(file).rows) == 1  # kept before it was shown
