"""A copy of the source tree with further files, built and ready to be run."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import sysconfig
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PARTS = ("CMakeLists.txt", "pyproject.toml", "docs", "python", "src", "tests", "third_party",
         "benchmarks", "tools")  # fmt: skip
NOT_SOURCES = shutil.ignore_patterns("__pycache__", "*.so", "*.pyc", "bin", "include", "licenses")
BUILD_LIMIT_S = 540
RUN_LIMIT_S = 120


@dataclass(frozen=True)
class SourceCopy:
    tree: Path  # the sources
    package: Path  # what was made of them
    python: Path  # an interpreter that imports this package and no other deepbench

    def run(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        """Runs `python ARGUMENTS`."""
        return subprocess.run(
            [self.python, *arguments],
            capture_output=True, text=True, timeout=RUN_LIMIT_S, cwd=self.tree.parent,
        )  # fmt: skip

    def deepbench(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        return self.run("-m", "deepbench", *arguments)


def copy_sources(tree: Path) -> None:
    tree.mkdir()
    for part in PARTS:
        source = ROOT / part
        if source.is_dir():
            shutil.copytree(source, tree / part, ignore=NOT_SOURCES, symlinks=True)
        else:
            shutil.copy(source, tree / part)


def append_lines(tree: Path, lines: Mapping[str, str]) -> None:
    """Adds a line at the end of each file."""
    for name, line in lines.items():
        with (tree / name).open("a", encoding="utf-8") as file:
            file.write(f"{line}\n")


def build(tree: Path, backends: Iterable[str]) -> SourceCopy:
    """Builds the package of a copy with some of its backends."""
    pytest.importorskip("pybind11", reason="pybind11, which _core is built with, is not installed")
    import pybind11

    if (cmake := shutil.which("cmake")) is None:
        pytest.skip("cmake is not installed")
    folder = tree.parent / "build"
    variables = {**os.environ, **compiler_cache(tree.parent)}
    configure = [
        cmake, "-S", tree, "-B", folder, *(["-G", "Ninja"] if shutil.which("ninja") else []),
        "-DSKBUILD=ON",  # lays the files out as in the installed package
        f"-DDEEPBENCH_BACKENDS={';'.join(backends)}", "-DCMAKE_BUILD_TYPE=Debug",
        "-DCMAKE_CXX_FLAGS_DEBUG=-O0",  # without debugging information, which takes time too
        f"-DPython_EXECUTABLE={sys.executable}", f"-Dpybind11_DIR={pybind11.get_cmake_dir()}",
    ]  # fmt: skip
    for command in (configure, [cmake, "--build", folder, "--parallel", "2"]):
        done = subprocess.run(
            command, capture_output=True, text=True, timeout=BUILD_LIMIT_S, env=variables
        )
        assert done.returncode == 0, done.stdout[-5000:] + done.stderr[-5000:]
    shutil.copytree(tree / "python/deepbench", folder / "deepbench", dirs_exist_ok=True)
    return SourceCopy(tree, folder / "deepbench", interpreter(tree.parent / "python", folder))


def compiler_cache(base: Path) -> dict[str, str]:
    """Variables by which the builds of copies in different folders share objects through ccache."""
    if shutil.which("ccache") is None:
        return {}
    return {
        "CMAKE_CXX_COMPILER_LAUNCHER": "ccache",
        "CCACHE_BASEDIR": str(base),
        "CCACHE_NOHASHDIR": "1",
        "CCACHE_DEPEND": "1",
        "CCACHE_SLOPPINESS": "pch_defines,time_macros",
    }


def interpreter(place: Path, packages: Path) -> Path:
    """An interpreter that finds `packages` in front of those of this one. A .pth file does not
    read the .pth files of the folders that it names, by which an editable deepbench would come
    first."""
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", place], check=True)
    (site_packages,) = place.glob("lib/python*/site-packages")
    folders = dict.fromkeys(
        [str(packages), *(sysconfig.get_path(p) for p in ("purelib", "platlib"))]
    )
    (site_packages / "copy.pth").write_text("".join(f"{folder}\n" for folder in folders))
    return place / "bin/python"
