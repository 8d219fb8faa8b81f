"""A sweep on a backend that breaks on demand: the fake one, compiled here, through the command line
and the real worker. Each fault costs its row and nothing else."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from deepbench.results import ResultFile, read

PLUGINS = Path(__file__).parents[1] / "plugins"
FAULTS = {
    10: ("crash time_batch", "failed", "SIGSEGV"),
    11: ("abort prepare", "failed", "SIGABRT"),
    12: ("hang time_batch", "failed", "no answer within"),
    13: ("killed time_batch", "out_of_memory", "killed (signal 9)"),
    14: ("fail prepare out_of_memory 5 GiB asked", "out_of_memory", "5 GiB asked"),
    15: ("fail time_batch device_lost it fell off", "device_lost", "it fell off"),
    16: ("mutant last_k", "incorrect", "before timing: output "),
    17: ("answer elapsed_ns nan", "failed", "answered nonsense"),
}


@pytest.fixture(scope="module")
def plugin(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The fake backend, built against the installed headers."""
    from deepbench import _core

    compiler = shutil.which("cc") or shutil.which("gcc")
    if compiler is None:
        pytest.skip("there is no C compiler here")
    library = tmp_path_factory.mktemp("plugins") / "libdeepbench_fake.so"
    headers = Path(_core.package_directory()) / "include"
    subprocess.run(
        [compiler, "-std=c11", "-D_GNU_SOURCE", "-O1", "-shared", "-fPIC", f"-I{headers}",
         "-o", str(library), str(PLUGINS / "fake_backend.c"), "-lm"],
        check=True,
    )  # fmt: skip
    return library


def deepbench(
    plugin: Path, script: str, *arguments: str, timeout_s: float = 120
) -> subprocess.CompletedProcess[str]:
    environment = os.environ | {
        "DEEPBENCH_BACKEND_PATH": str(plugin),
        "DEEPBENCH_FAKE_SCRIPT": script,
    }
    return subprocess.run(
        [sys.executable, "-m", "deepbench", *arguments],
        capture_output=True, text=True, timeout=timeout_s, env=environment,
    )  # fmt: skip


def test_every_fault_costs_its_row_alone(plugin: Path, tmp_path: Path) -> None:
    script = "\n".join(f"when m={m} {fault}" for m, (fault, _, _) in FAULTS.items())
    sizes = [9, *FAULTS, 99]
    file = tmp_path / "rows.jsonl"
    done = deepbench(
        plugin, script, "gemm", "m=" + ",".join(map(str, sizes)), "n=8", "k=40",
        "--backend", "fake", "--hang-limit", "3", "-o", str(file),
    )  # fmt: skip
    assert done.returncode == 1
    assert "Traceback" not in done.stderr
    result: ResultFile = read(file)
    assert [row["attributes"]["m"] for row in result.rows] == sizes
    assert result.rows[0]["status"] == result.rows[-1]["status"] == "ok"
    for row, (_, status, reason) in zip(result.rows[1:-1], FAULTS.values(), strict=True):
        assert (row["status"], reason in row["reason"]) == (status, True), row["reason"]


def test_a_crash_in_destroy_does_not_take_the_measured_row_along(
    plugin: Path, tmp_path: Path
) -> None:
    file = tmp_path / "rows.jsonl"
    deepbench(
        plugin, "when m=9 crash destroy",
        "gemm", "m=9", "n=8", "k=40", "--backend", "fake", "-o", str(file),
    )  # fmt: skip
    assert [row["status"] for row in read(file).rows] == ["ok"]


def test_env_outlives_a_backend_that_crashes(plugin: Path) -> None:
    done = deepbench(plugin, "crash describe", "env")
    assert done.returncode == 0
    assert "backend fake" in done.stdout
    assert "cannot be used: the worker cannot start: the worker crashed: SIGSEGV" in done.stdout


def test_a_device_that_cannot_be_described_is_one_line(plugin: Path) -> None:
    for extra in ((), ("--in-process",)):
        done = deepbench(
            plugin, "fail describe_device failed boom",
            "gemm", "m=8", "n=8", "k=8", "--backend", "fake", *extra,
        )  # fmt: skip
        assert done.returncode == 2
        assert done.stderr == "deepbench: error: backend fake: describe_device: boom\n"
