"""A backend outside the source tree, toy.cpp, takes part in all that the package's backends do."""

from __future__ import annotations

import json
import re
import subprocess
from pathlib import Path

import pytest

import command_line
from deepbench import _core
from required_tools import require_program

SOURCE = Path(__file__).parent / "backend/toy.cpp"
SMALL = ("gemm", "m=16", "n=16", "k=16", "--no-ceilings", "--samples", "5")


@pytest.fixture(scope="module")
def toy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The backend, built with nothing but the headers of the installed package."""
    compiler = require_program("g++", "c++")
    library = tmp_path_factory.mktemp("toy") / "libdeepbench_toy.so"
    headers = Path(_core.package_directory()) / "include"
    subprocess.run(
        [compiler, "-O2", "-std=c++17", "-Wall", "-Wextra", "-Werror", "-shared", "-fPIC",
         f"-I{headers}", SOURCE, "-o", library],
        check=True,
    )  # fmt: skip
    return library


def deepbench(plugin: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return command_line.deepbench(*arguments, DEEPBENCH_BACKEND_PATH=str(plugin))


def test_auto_takes_the_backend_of_the_highest_priority(toy: Path) -> None:
    done = deepbench(toy, *SMALL, "--format", "json")
    assert done.returncode == 0, done.stderr
    (row,) = json.loads(done.stdout)["rows"]
    assert row["backend"] == "toy"
    assert row["verification"]["status"] == "passed"


def test_a_row_that_names_no_precision_has_the_default_of_the_backend(toy: Path) -> None:
    (row,) = json.loads(deepbench(toy, *SMALL, "--format", "json").stdout)["rows"]
    assert row["attributes"]["precision"] == "tf32"
    named = deepbench(toy, *SMALL, "precision=float")
    assert named.returncode == 1
    assert "unsupported: the toy supports only precision=tf32, not float" in named.stdout


def test_the_first_line_names_the_default_library_and_the_device(toy: Path) -> None:
    done = deepbench(toy, *SMALL)
    assert " on toy accelerator (toy, loops 1.0): 1 row" in done.stderr


def test_the_time_left_is_estimated_from_the_rates_of_the_backend(toy: Path) -> None:
    """The toy claims 1 MFLOP/s: a call of one MFLOP takes a second, and a row several calls."""
    rows = ("gemm", "m=64", "n=64,128", "k=128", "--no-ceilings", "--samples", "5")
    done = deepbench(toy, *rows)
    estimate = re.search(r": 2 rows, about (\d+) s", done.stderr)
    assert estimate, done.stderr
    assert 10 <= int(estimate[1]) <= 60


def test_env_lists_the_backend_with_its_library(toy: Path) -> None:
    text = deepbench(toy, "env").stdout
    assert "toy accelerator" in text
    assert re.search(r"library loops", text)


@pytest.mark.parametrize(
    ("arguments", "status", "message"),
    [
        (["gemm", "m=1", "n=1", "k=1", "--backend", "toi"], 2,
         "no backend is called 'toi' (did you mean 'toy'?); there are auto toy cpu"),
        ([*SMALL, "--backend", "TPU"], 2, "there is no such backend; write --backend toy"),
        ([*SMALL, "--npu"], 2, "did you mean '--backend toy'?"),
        ([*SMALL, "npu"], 2, "'npu' is not understood; write deepbench gemm"),
        ([*SMALL, "--device", "toy:1"], 2, "selects the kind of device: --backend toy --device 1"),
        ([*SMALL, "--device", "1"], 2, "backend toy has no device 1; it has 1 device"),
        ([*SMALL, "--library", "fast"], 2, "backend toy knows no library 'fast'; it knows loops"),
        (["memory", "kind=read", "bytes=4096"], 1, "unsupported: the toy supports only gemm"),
    ],
)  # fmt: skip
def test_bad_input_has_a_clear_error(
    toy: Path, arguments: list[str], status: int, message: str
) -> None:
    done = deepbench(toy, *arguments)
    assert done.returncode == status
    assert message in done.stdout + done.stderr
