"""The example backend as its author would build and run it, and how plugins of others are found."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path

import pytest

from command_line import deepbench
from deepbench import _core
from required_tools import require_program
from source_tree import ROOT

PACKAGE = Path(_core.package_directory())
PROBLEM = ("gemm", "m=64", "n=64", "k=64", "--samples", "10")


@pytest.fixture(scope="module")
def plain_backend(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The example, built as strictly as C11 can be."""
    compiler = require_program("gcc", "cc")
    library = tmp_path_factory.mktemp("example") / "libdeepbench_plain.so"
    subprocess.run(
        [compiler, "-O2", "-std=c11", "-Wall", "-Wextra", "-Werror", "-pedantic", "-shared",
         "-fPIC", "-I", str(PACKAGE / "include"), str(ROOT / "examples/plain_backend.c"),
         "-o", str(library)],
        check=True,
    )  # fmt: skip
    return library


def test_the_example_measures_what_is_verified(plain_backend: Path) -> None:
    done = deepbench(*PROBLEM, "trans_a=n,t", "trans_b=n,t", "--backend", str(plain_backend),
                     "--format", "json")  # fmt: skip
    assert done.returncode == 0, done.stderr
    rows = json.loads(done.stdout)["rows"]
    assert [row["verification"]["status"] for row in rows] == ["passed"] * 4
    assert {row["algorithm"]["name"] for row in rows} == {"three loops"}
    assert all(row["statistics"]["n"] == 10 for row in rows)


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        (["memory"], "this backend supports only gemm"),
        ([*PROBLEM, "precision=half"], "this backend supports only precision=float"),
        ([*PROBLEM, "--cache", "cold"], "this backend supports only cache=hot"),
        (["gemm", "m=5124", "n=9124", "k=2560"], "the problem is too large for three plain loops"),
    ],
)
def test_what_the_example_cannot_do_has_a_reason(
    plain_backend: Path, arguments: list[str], reason: str
) -> None:
    done = deepbench(*arguments, "--backend", str(plain_backend))
    assert done.returncode == 1
    assert f"unsupported: {reason}" in done.stdout


def test_the_example_is_found_by_its_name(plain_backend: Path) -> None:
    for place in (plain_backend, plain_backend.parent):
        done = deepbench(*PROBLEM, "--backend", "plain", DEEPBENCH_BACKEND_PATH=str(place))
        assert done.returncode == 0, done.stderr
        assert "warning" not in done.stderr


def test_a_file_with_another_name_is_a_warning(plain_backend: Path, tmp_path: Path) -> None:
    other = tmp_path / "plain.so"
    shutil.copy(plain_backend, other)
    rule = f"DEEPBENCH_BACKEND_PATH: {other}: a backend's file must be called libdeepbench_NAME.so"
    done = deepbench(*PROBLEM, "--backend", "plain", DEEPBENCH_BACKEND_PATH=str(other))
    assert done.returncode == 2
    assert done.stderr.endswith(f"{rule}\n")
    done = deepbench(
        *PROBLEM, "--backend", str(other), DEEPBENCH_BACKEND_PATH=str(other)
    )  # a path may have any name
    assert done.returncode == 0
    assert f"deepbench: warning: {rule}\n" in done.stderr
    assert f"warning: {rule}\n" in deepbench("env", DEEPBENCH_BACKEND_PATH=str(other)).stdout


def test_the_tool_without_python_says_how_it_is_used() -> None:
    tool = deepbench("env").stdout.partition("  deepbench_run: ")[2].splitlines()[0]
    for flag in ("--help", "-h"):
        done = subprocess.run([tool, flag], capture_output=True, text=True, timeout=600)
        assert (done.returncode, done.stderr) == (0, "")
        assert done.stdout.startswith("usage: deepbench_run BACKEND")
    done = subprocess.run([tool], capture_output=True, text=True, timeout=600)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("usage: deepbench_run BACKEND")
