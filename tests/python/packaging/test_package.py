"""The installed package: its files, what its binaries need and reveal, and its use from C++."""

from __future__ import annotations

import importlib.metadata
import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import deepbench
from deepbench import _core
from deepbench.installation import DISTRIBUTION
from deepbench.runner.provenance import build_facts
from required_tools import require_program
from source_tree import ROOT

# Native files lie beside _core, also where an editable install leaves the Python files in the tree.
PACKAGE = Path(_core.__file__).parent
SYSTEM_LIBRARIES = re.compile(
    r"lib(c|m|dl|rt|pthread|stdc\+\+|gcc_s|atomic)\.so\.\d+|ld-linux.*\.so\.\d+|libdeepbench\.so"
)


def built_binaries() -> list[Path]:
    """The binaries that the build produces, without the vendor's library that the package also
    contains."""
    ours = [Path(_core.__file__), *PACKAGE.glob("libdeepbench*.so"), PACKAGE / "bin/deepbench_run"]
    return sorted(ours)


def output_of(*command: str | Path, **keywords: object) -> str:
    """Standard output of a command that must succeed."""
    done = subprocess.run(
        command, check=False, capture_output=True, text=True, timeout=600, **keywords
    )
    assert done.returncode == 0, f"{command}: {done.stdout}{done.stderr}"
    return done.stdout


def test_native_files_are_beside_core() -> None:
    assert {path.name for path in built_binaries()} >= {
        "libdeepbench.so",
        "libdeepbench_cpu.so",
        "libdeepbench_cuda.so",
        "deepbench_run",
    }
    assert os.access(PACKAGE / "bin/deepbench_run", os.X_OK)


def test_every_header_is_installed() -> None:
    source = ROOT / "src/cpp"
    headers = {path.relative_to(source) for path in source.glob("deepbench/**/*.h*")}
    include = PACKAGE / "include"
    assert {path.relative_to(include) for path in include.glob("deepbench/**/*.h*")} == headers
    assert Path("deepbench/plugin.h") in headers


def test_our_kernels_and_what_they_include_are_beside_the_cuda_backend() -> None:
    kernels = ROOT / "src/cuda/kernels"
    sources = {path.name for kind in ("*.cu", "*.h") for path in kernels.glob(kind)}
    assert {path.name for path in (PACKAGE / "deepbench_cuda").iterdir()} == {
        *sources,
        "fill.h",
        "lookup.h",
    }
    assert "operand.cu" in sources


def test_what_a_report_is_made_of_is_installed() -> None:
    source, package = ROOT / "python/deepbench", Path(deepbench.__file__).parent
    parts = [path for folder in ("page", "charts") for path in
             (source / "report/overview" / folder).iterdir()]  # fmt: skip
    assert len(parts) > 10
    for path in parts:
        assert (package / path.relative_to(source)).read_bytes() == path.read_bytes()


def test_licences_are_installed() -> None:
    files = importlib.metadata.files(DISTRIBUTION) or []
    assert {path.name for path in files if path.parts[0].endswith(".dist-info")} >= {
        "LICENSE",
        "NOTICE",
    }


def test_a_bundled_library_comes_with_its_licences() -> None:
    bundled = (PACKAGE / "libdnnl.so.3").exists()
    licences = PACKAGE / "licenses/onednn"
    present = {path.name for path in licences.glob("*")} if licences.exists() else set()
    assert present == ({"LICENSE", "THIRD-PARTY-PROGRAMS"} if bundled else set())


def test_eigen_is_compiled_in_with_its_licence() -> None:
    backend = (PACKAGE / "libdeepbench_cpu.so").read_bytes()
    licence = PACKAGE / "licenses/eigen/MPL-2.0.txt"
    assert licence.exists() == (b"built without Eigen" not in backend)


def test_versions_agree() -> None:
    version = importlib.metadata.version(DISTRIBUTION)
    assert version == _core.version
    assert f'version = "{version}"' in (ROOT / "pyproject.toml").read_text()
    config = PACKAGE / "lib/cmake/deepbench/deepbenchConfigVersion.cmake"
    assert f'"{version}"' in config.read_text()


def test_the_build_recorded_its_revision() -> None:
    recorded = json.loads((PACKAGE / "revision.json").read_text())
    assert set(recorded) == {"revision", "modified"}
    assert (recorded["revision"] is None) == (recorded["modified"] is None)
    facts = build_facts({})
    assert {key: facts[key] for key in recorded} == recorded
    assert all(Path(binary["path"]).exists() for binary in facts["binaries"].values())


@pytest.mark.parametrize("binary", built_binaries(), ids=lambda path: path.name)
def test_binaries_need_only_the_system_and_each_other(binary: Path) -> None:
    dynamic = output_of(require_program("readelf"), "--dynamic", "--wide", binary)
    needed = re.findall(r"\(NEEDED\).*\[(.+)\]", dynamic)
    assert [name for name in needed if not SYSTEM_LIBRARIES.fullmatch(name)] == []
    expected = "$ORIGIN/.." if binary.parent.name == "bin" else "$ORIGIN"
    assert re.findall(r"\((?:RUNPATH|RPATH)\).*\[(.+)\]", dynamic) == [expected]


@pytest.mark.parametrize("binary", built_binaries(), ids=lambda path: path.name)
def test_binaries_do_not_name_the_folder_they_were_built_in(binary: Path) -> None:
    text = binary.read_bytes()
    for folder in (str(ROOT), "pip-build-env", "/site-packages/", "/src/cpp/"):
        assert folder.encode() not in text


@pytest.mark.parametrize(
    ("name", "markers"),
    [
        ("libdeepbench_cpu.so", {"deepbench_region_begin", "deepbench_region_end"}),
        ("libdeepbench_cuda.so", set()),  # it marks regions with NVTX
    ],
)
def test_a_backend_shows_its_table_and_the_markers_of_regions(name: str, markers: set[str]) -> None:
    symbols = output_of(require_program("nm"), "--dynamic", "--defined-only", PACKAGE / name)
    shown = {line.split()[-1] for line in symbols.splitlines()}
    assert shown == {"deepbench_plugin", *markers}


@pytest.mark.slow
def test_a_cpp_program_finds_the_package_and_runs_a_gemm(tmp_path: Path) -> None:
    cmake = require_program("cmake")
    place = output_of(sys.executable, "-m", "deepbench", "env", "--cmake-dir").strip()
    assert (Path(place) / "deepbenchConfig.cmake").exists()
    generator = ("-G", "Ninja") if shutil.which("ninja") else ()
    where = ("-S", ROOT / "tests/embed", "-B", tmp_path, f"-Ddeepbench_DIR={place}")
    output_of(cmake, *where, *generator)
    output_of(cmake, "--build", tmp_path)
    row = output_of(tmp_path / "embed", "gemm m=64 n=48 k=80 precision=float")
    assert re.search(r"^gemm m=64 n=48 k=80 .*: [0-9.]+ us, verification passed$", row, re.M), row
