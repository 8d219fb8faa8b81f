"""A copy of the source tree with further files, built and ready to be run."""

from __future__ import annotations

import filecmp
import os
import shutil
import subprocess
import sys
import sysconfig
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
OPERATION = ROOT / "tests/extending/axpy"  # each file has the path that it takes in the tree
BACKEND = ROOT / "tests/extending/backend"  # becomes a folder of src/
# The lines that the operation adds at the end of files of the tree. The backend adds none.
LINES = {
    "src/cpp/deepbench/ops/ops.def": "OPERATION(axpy)",
    "src/cpu/routes.def": "ROUTE(axpy, loop, kChoosable)",
}
PARTS = ("CMakeLists.txt", "pyproject.toml", "docs", "python", "src", "tests", "third_party",
         "benchmarks", "tools")  # fmt: skip
NOT_SOURCES = shutil.ignore_patterns("__pycache__", "*.so", "*.pyc", "bin", "include", "licenses")
BUILD_LIMIT_S = 1800
RUN_LIMIT_S = 600


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

    def without_backend(self, name: str) -> SourceCopy:
        """The same package without one of its backends."""
        folder = self.tree.parent / f"without_{name}"
        shutil.copytree(
            self.package, folder / "deepbench", symlinks=True,
            ignore=shutil.ignore_patterns(f"libdeepbench_{name}.so"),
        )  # fmt: skip
        return SourceCopy(self.tree, folder / "deepbench", interpreter(folder / "python", folder))


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


def source_files(folder: Path) -> set[Path]:
    files = (path for path in folder.rglob("*") if path.is_file())
    return {path.relative_to(folder) for path in files if "__pycache__" not in path.parts}


def changed_files(tree: Path) -> tuple[set[Path], set[Path]]:
    """The files of a copy that the original lacks, and those that differ from it."""
    files = source_files(tree)
    new = {name for name in files if not (ROOT / name).exists()}
    _, edited, unreadable = filecmp.cmpfiles(ROOT, tree, sorted(files - new), shallow=False)
    assert not unreadable
    return new, {Path(name) for name in edited}


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


def build_cpp_tests(copy: SourceCopy, sources: Sequence[Path]) -> Path:
    """A program of C++ tests that is linked with the core of a copy."""
    compiler = shutil.which("g++") or shutil.which("c++")
    if compiler is None or not Path("/usr/include/doctest/doctest.h").exists():
        pytest.skip("doctest or a C++ compiler is not installed")
    folder = copy.tree.parent / "cpp_tests"
    folder.mkdir()
    variables = compiler_cache(copy.tree.parent)
    launcher = variables.pop("CMAKE_CXX_COMPILER_LAUNCHER", None)
    objects = [folder / f"{source.parent.name}_{source.stem}.o" for source in sources]

    def compile_source(source: Path, target: Path) -> None:
        subprocess.run(
            [*([launcher] if launcher else []), compiler, "-std=c++17", "-O0", "-Wall", "-Wextra",
             "-Werror", "-ffp-contract=off", "-I", copy.tree / "src/cpp", "-c", source,
             "-o", target],
            check=True, env={**os.environ, **variables}, timeout=BUILD_LIMIT_S,
        )  # fmt: skip

    with ThreadPoolExecutor(2) as pool:
        list(pool.map(compile_source, sources, objects))
    program = folder / "tests"
    subprocess.run(
        [compiler, *objects, "-L", copy.package, "-ldeepbench", "-pthread",
         f"-Wl,-rpath,{copy.package}", "-o", program],
        check=True,
    )  # fmt: skip
    return program


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
