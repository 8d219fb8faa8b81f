"""NVIDIA's libraries missing one by one or broken, on a machine with a device: what can still run
does, and one line says what cannot."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import command_line
import deepbench as deepbench_package
from deepbench.libraries import library_path_variable

pytestmark = pytest.mark.gpu

CUDA_LIBRARY_PATH = library_path_variable("cuda")

FILES = {
    "cudart": "libcudart", "nvrtc": "libnvrtc", "nvjitlink": "libnvJitLink",
    "cublaslt": "libcublasLt", "cublas": "libcublas", "cudnn": "libcudnn",
    "cusparse": "libcusparse", "nccl": "libnccl",
}  # fmt: skip
GEMM = ("gemm", "m=64", "n=32", "k=64", "precision=half", "--samples", "3")


@pytest.fixture(scope="module")
def package_copy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the package, away from the libraries that lie beside the installed one."""
    site = tmp_path_factory.mktemp("site")
    package = Path(deepbench_package.__file__ or "").parent
    shutil.copytree(package, site / "deepbench", ignore=shutil.ignore_patterns("__pycache__"))
    return site


def deepbench(
    package_copy: Path, folder: Path, *arguments: str
) -> subprocess.CompletedProcess[str]:
    variables = {CUDA_LIBRARY_PATH: str(folder), "PYTHONPATH": str(package_copy)}
    return command_line.deepbench(*arguments, **variables)


def cuda_backend_of(facts: str) -> dict[str, Any]:
    (libraries_found,) = [each for each in json.loads(facts)["backends"] if each["name"] == "cuda"]
    return dict(libraries_found)


@pytest.fixture(scope="module")
def libraries_found() -> dict[str, dict[str, Any]]:
    """The libraries as they are without any of these tests' doing."""
    command = [sys.executable, "-m", "deepbench", "env", "--format", "json"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=True)
    return dict(cuda_backend_of(done.stdout)["libraries"])


def link_all_but(libraries_found: dict[str, dict[str, Any]], folder: Path, without: str) -> Path:
    """A folder with links to every library but one, and to what lies beside them."""
    for facts in libraries_found.values():
        if not facts.get("path"):
            continue
        for file in Path(facts["path"]).parent.glob("lib*.so*"):
            missing = file.name.startswith(f"{FILES.get(without, without)}.so")
            if not missing and not (folder / file.name).exists():
                (folder / file.name).symlink_to(file)
    return folder


def test_env_lists_every_library(libraries_found: dict[str, dict[str, Any]]) -> None:
    usable = {name for name, facts in libraries_found.items() if not facts.get("reason")}
    assert {"cudart", "nvrtc", "cublaslt", "cublas"} <= usable
    own = {"builtin", "peer", "skinny", "skinny_mma", "persistent"}  # kernels of ours
    assert all(libraries_found[name]["path"] == "built in" for name in own)
    for name in usable - own:
        assert Path(libraries_found[name]["path"]).is_file()
        assert libraries_found[name]["version"]
        assert libraries_found[name]["found_by"]


def test_env_lists_every_device() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "deepbench", "env", "--format", "json"],
        capture_output=True, text=True, timeout=120, check=True,
    )  # fmt: skip
    for device in cuda_backend_of(done.stdout)["devices"]:
        assert device["name"]
        assert device["compute_capability"]
        assert device["last_level_cache_bytes"] > 1 << 20
        assert device["memory_bytes"] > 1 << 30


@pytest.mark.parametrize("name", FILES)
def test_one_is_missing(
    package_copy: Path, libraries_found: dict[str, dict[str, Any]], tmp_path: Path, name: str
) -> None:
    """The system's loader may still find the missing library elsewhere; the row then states that
    place."""
    folder = link_all_but(libraries_found, tmp_path, name)
    env = deepbench(package_copy, folder, "env", "--format", "json")
    assert env.returncode == 0, env.stderr
    facts = cuda_backend_of(env.stdout)["libraries"].get(name) or {
        "reason": cuda_backend_of(env.stdout)["reason"]
    }
    assert facts.get("reason") or facts["found_by"] != CUDA_LIBRARY_PATH
    done = deepbench(package_copy, folder, *GEMM)
    assert "Traceback" not in done.stderr
    if not facts.get("reason") or name in ("cudnn", "cusparse", "nccl", "cublas"):
        assert done.returncode == 0, done.stdout + done.stderr
        return
    assert done.returncode in (1, 2)
    assert FILES[name] in done.stdout + done.stderr


@pytest.mark.parametrize("content", [b"", b"not a library at all"])
def test_a_broken_one_comes_first(package_copy: Path, tmp_path: Path, content: bytes) -> None:
    """A broken library does not crash the worker: deepbench finds the library elsewhere, or the row
    states why it cannot run."""
    for major in (12, 13):
        (tmp_path / f"libcublasLt.so.{major}").write_bytes(content)
        (tmp_path / f"libcudart.so.{major}").write_bytes(content)
    env = deepbench(package_copy, tmp_path, "env")
    assert env.returncode == 0
    done = deepbench(package_copy, tmp_path, *GEMM)
    assert done.returncode in (0, 1, 2)
    assert "Traceback" not in done.stderr


def test_an_empty_folder_leaves_the_loaders_own_search(package_copy: Path, tmp_path: Path) -> None:
    done = deepbench(package_copy, tmp_path, *GEMM)
    assert "Traceback" not in done.stderr
    if done.returncode == 2:
        assert done.stderr.count("\n") <= 2
        assert "pip install" in done.stderr
