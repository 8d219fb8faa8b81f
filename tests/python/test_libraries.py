"""The folders in which NVIDIA's libraries are searched, and the choice of `auto` where a device
cannot be used. The tests need neither libraries nor a device."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from command_line import WAITING
from deepbench import libraries
from deepbench.libraries import export_library_path, library_path_variable
from deepbench.nvidia_packages import cuda_folders
from fake_plugin import build_fake_backend

VARIABLE = library_path_variable("cuda")


def make_library(folder: Path, name: str) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / name).touch()
    return folder


def test_folders_of_both_layouts_in_the_order_of_pythons_path(tmp_path: Path) -> None:
    first, second = tmp_path / "first", tmp_path / "second"
    cu13 = make_library(second / "nvidia/cu13/lib", "libcudart.so.13")
    cudnn = make_library(second / "nvidia/cudnn/lib", "libcudnn.so.9")
    cublas = make_library(first / "nvidia/cublas/lib", "libcublasLt.so.12")
    make_library(first / "nvidia/curand/lib", "libcurand.so.10")  # nothing of ours
    make_library(first / "nvidia/cuda_runtime/include", "libcudart.so.12")
    path = [str(first), str(second), str(tmp_path / "absent"), str(first)]
    assert cuda_folders(path, {}) == [cublas, cu13, cudnn]


def test_conda_comes_after_packages(tmp_path: Path) -> None:
    package = make_library(tmp_path / "site/nvidia/cu13/lib", "libnvrtc.so.13")
    conda = make_library(tmp_path / "conda/lib", "libcudart.so.12")
    variables = {"CONDA_PREFIX": str(tmp_path / "conda")}
    assert cuda_folders([str(tmp_path / "site")], variables) == [package, conda]
    assert cuda_folders([], {"CONDA_PREFIX": str(tmp_path / "absent")}) == []
    assert cuda_folders([], {"CONDA_PREFIX": ""}) == []


def test_folders_that_cannot_be_named_or_read(tmp_path: Path) -> None:
    make_library(tmp_path / "a:b/nvidia/cu13/lib", "libcudart.so.13")
    make_library(tmp_path / "stubs/nvidia/cu13/lib", "libcudart_static.a")
    (tmp_path / "file").touch()
    here = [str(tmp_path / "a:b"), str(tmp_path / "stubs"), str(tmp_path / "file"), "\0"]
    assert cuda_folders(here, {}) == []


def test_what_lies_beside_the_backend_needs_no_telling(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    make_library(tmp_path / "nvidia/cu13/lib", "libcudart.so.13")
    monkeypatch.setattr(sys, "path", [str(tmp_path)])
    monkeypatch.setattr(libraries, "_SITE_PACKAGES", tmp_path)
    variables: dict[str, str] = {}
    export_library_path("cuda", variables)
    assert variables == {}


@pytest.mark.parametrize(
    ("backend", "told"),
    [("auto", True), ("cuda", True), ("/x/libdeepbench_cuda.so", True), ("cpu", False),
     ("/x/libdeepbench_cpu.so", False)],
)  # fmt: skip
def test_only_the_cuda_backend_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, backend: str, told: bool
) -> None:
    folder = make_library(tmp_path / "nvidia/cu13/lib", "libcudart.so.13")
    monkeypatch.setattr(sys, "path", [str(tmp_path)])
    variables: dict[str, str] = {}
    export_library_path(backend, variables)
    assert variables == ({VARIABLE: str(folder)} if told else {})


def test_what_the_user_has_set_stays() -> None:
    for value in ("/mine", ""):
        variables = {VARIABLE: value}
        export_library_path("cuda", variables)
        assert variables == {VARIABLE: value}


# ---- auto ---------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def fake_cuda_backend(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The fake backend under the name of CUDA's."""
    return build_fake_backend(tmp_path_factory.mktemp("plugins") / "libdeepbench_cuda.so")


def run_gemm(plugin: Path, script: str, *words: str) -> subprocess.CompletedProcess[str]:
    variables = {"DEEPBENCH_BACKEND_PATH": str(plugin), "DEEPBENCH_FAKE_SCRIPT": script}
    return subprocess.run(
        [sys.executable, "-m", "deepbench", "gemm", "m=8", "n=8", "k=8", *words],
        capture_output=True, text=True, timeout=600, env={**os.environ, **variables},
    )  # fmt: skip


def test_auto_stops_at_a_device_whose_libraries_are_missing(fake_cuda_backend: Path) -> None:
    cure = "cudart was not found: pip install nvidia-cuda-runtime-cu12"
    done = run_gemm(fake_cuda_backend, f"fail device_count unsupported {cure}")
    assert (done.returncode, done.stdout) == (2, "")
    assert (
        done.stderr.removeprefix(WAITING)
        == f"deepbench: error: cuda: {cure}; or take --backend cpu\n"
    )


def test_auto_takes_a_device_that_answers(fake_cuda_backend: Path) -> None:
    done = run_gemm(fake_cuda_backend, "devices 1", "--samples", "3", "--format", "json")
    assert '"backend": {"name": "fake"' in done.stdout, done.stderr


def test_devices_are_counted_from_0(fake_cuda_backend: Path) -> None:
    done = run_gemm(fake_cuda_backend, "devices 2", "--device", "2")
    assert (done.returncode, done.stdout) == (2, "")
    assert (
        done.stderr.removeprefix(WAITING)
        == "deepbench: error: backend fake has no device 2; it has 2 devices\n"
    )


def test_a_backend_without_devices_says_why_and_what_helps(fake_cuda_backend: Path) -> None:
    cure = "libcuda.so.1 was not found, install NVIDIA's driver"
    done = run_gemm(
        fake_cuda_backend, f"devices 0\nlibraries\nabsent driver {cure}", "--backend", "cuda"
    )
    assert (done.returncode, done.stdout) == (2, "")
    assert (
        done.stderr.removeprefix(WAITING)
        == f"deepbench: error: backend fake has no device here: {cure}\n"
    )


def test_env_lists_devices_and_libraries(fake_cuda_backend: Path) -> None:
    script = (
        "devices 2\nlibraries one\nabsent two not installed: pip install two\n"
        f"emit describe library.one.found_by {VARIABLE}\n"
        "emit describe warning.mixed libraries of CUDA 12 and 13"
    )
    variables = {"DEEPBENCH_BACKEND_PATH": str(fake_cuda_backend), "DEEPBENCH_FAKE_SCRIPT": script}
    variables = {**os.environ, **variables}
    variables.pop(VARIABLE, None)
    command = [sys.executable, "-m", "deepbench", "env"]
    text = subprocess.run(command, capture_output=True, text=True, env=variables).stdout
    for part in (
        "  device 0\n", "  device 1\n", "  library two: absent: not installed: pip install two\n",
        "/fake/libone.so  (among Python's packages or conda's)\n",
        "  warning: libraries of CUDA 12 and 13\n",
    ):  # fmt: skip
        assert part in text
    variables[VARIABLE] = "/mine"
    text = subprocess.run(command, capture_output=True, text=True, env=variables).stdout
    assert f"/fake/libone.so  ({VARIABLE})\n" in text
