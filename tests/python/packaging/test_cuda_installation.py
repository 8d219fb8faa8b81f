"""NVIDIA's real libraries as the CUDA backend finds them; no device is needed.

DEEPBENCH_TEST_CUDA_LIBRARIES names their folders, separated by colons; without it nothing is tested
here. What the loader chooses among several is tested with stand-ins, tests/cpp/cuda/loader.cpp.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from deepbench.nvidia_packages import cuda_folders

FOLDERS = [
    Path(folder)
    for folder in os.environ.get("DEEPBENCH_TEST_CUDA_LIBRARIES", "").split(":")
    if folder
]
FILES = {
    "cudart": "libcudart.so.", "nvrtc": "libnvrtc.so.", "nvjitlink": "libnvJitLink.so.",
    "cublaslt": "libcublasLt.so.", "cublas": "libcublas.so.", "cudnn": "libcudnn.so.",
    "cusparse": "libcusparse.so.", "nccl": "libnccl.so.",
}  # fmt: skip

pytestmark = pytest.mark.skipif(
    not FOLDERS, reason="DEEPBENCH_TEST_CUDA_LIBRARIES names no folders of NVIDIA's libraries"
)


def cuda_facts_with_folders(*folders: Path) -> dict[str, Any]:
    """The facts of the CUDA backend that `env` prints when it searches these folders."""
    environment = {**os.environ, "DEEPBENCH_CUDA_LIBRARY_PATH": ":".join(map(str, folders))}
    command = [sys.executable, "-m", "deepbench", "env", "--format", "json"]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    found = [one for one in json.loads(done.stdout)["backends"] if one["name"] == "cuda"]
    assert len(found) == 1
    return dict(found[0])


def link_all_but(folder: Path, without: str = "") -> Path:
    """A folder of links to all the libraries, but for those whose names begin with `without`."""
    folder.mkdir()
    for source in FOLDERS:
        for file in source.glob("lib*.so*"):
            if not (without and file.name.startswith(without)):
                (folder / file.name).symlink_to(file)
    return folder


def test_every_library_is_found_with_version_and_real_path(tmp_path: Path) -> None:
    libraries = cuda_facts_with_folders(link_all_but(tmp_path / "links"))["libraries"]
    real = {folder.resolve() for folder in FOLDERS}
    for name in FILES:
        assert libraries[name].get("version"), (name, libraries[name])
        assert Path(libraries[name]["path"]).parent in real, name


@pytest.mark.parametrize("missing", FILES)
def test_one_missing_library_is_one_reason_with_its_cure(tmp_path: Path, missing: str) -> None:
    folder = link_all_but(tmp_path / "links", without=FILES[missing])
    libraries = cuda_facts_with_folders(folder)["libraries"]
    if "path" in libraries[missing]:  # this machine has another one
        assert libraries[missing]["found_by"] != "DEEPBENCH_CUDA_LIBRARY_PATH"
        return
    assert libraries[missing]["reason"].startswith(FILES[missing])
    assert "was not found; pip install " in libraries[missing]["reason"]
    for name in set(FILES) - {missing}:
        assert libraries[name].get("version"), (name, libraries[name])


def test_a_broken_library_is_named_and_the_others_are_used(tmp_path: Path) -> None:
    folder = link_all_but(tmp_path / "links", without=FILES["cublaslt"])
    name = next(file.name for one in FOLDERS for file in one.glob("libcublasLt.so.*"))
    (folder / name).write_text("no library")
    libraries = cuda_facts_with_folders(folder)["libraries"]
    reason = libraries["cublaslt"].get("reason")
    if reason is not None:  # unless this machine has another one
        assert reason.startswith(str(folder / name))
    assert libraries["cudart"]["version"]


def test_a_folder_of_stubs_first_is_passed_over(tmp_path: Path) -> None:
    stubs = tmp_path / "lib64/stubs"
    stubs.mkdir(parents=True)
    cudart = next(file for one in FOLDERS for file in one.glob("libcudart.so.*"))
    for name in ("libcuda.so.1", "libnvidia-ml.so.1", cudart.name):
        (stubs / name).write_bytes(cudart.read_bytes())
    libraries = cuda_facts_with_folders(stubs, *FOLDERS)["libraries"]
    assert libraries["cudart"]["path"] == str(cudart.resolve())
    driver = libraries["driver"]
    assert str(stubs) not in driver.get("path", "")
    if "reason" in driver:
        assert f"{stubs}/libcuda.so.1 is the toolkit's stub" in driver["reason"]
        assert "\n" not in driver["reason"]


@pytest.mark.parametrize("name", ["cudart", "nvrtc", "nvJitLink", "cublasLt", "cudnn", "nccl"])
def test_wheels_are_looked_for_where_cuda_pathfinder_finds_them(name: str) -> None:
    pytest.importorskip("cuda.pathfinder")
    packages = FOLDERS[0].parents[2]
    if not all(folder.is_relative_to(packages / "nvidia") for folder in FOLDERS):
        pytest.skip("the folders are not those of wheels")
    code = (
        f"import site; site.getsitepackages = lambda: [{str(packages)!r}]\n"
        "from cuda.pathfinder import load_nvidia_dynamic_lib\n"
        f"print(load_nvidia_dynamic_lib({name!r}).abs_path)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=600
    )
    assert Path(done.stdout.strip()).parent in cuda_folders([str(packages)], {})
