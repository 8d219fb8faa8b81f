"""A new operation is new files and two lines: axpy, added to a copy of the source tree."""

from __future__ import annotations

import filecmp
import json
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from source_copy import ROOT, SourceCopy, build, copy_sources, insert_lines

pytestmark = pytest.mark.slow

FILES = Path(__file__).parent / "axpy"
# The lines that are added to files of the tree: the line that each comes before, and itself.
LINES = {
    "src/cpp/deepbench/ops/all_ops.hpp": ("OPERATION(memory)", r"  OPERATION(axpy)   \\"[:-1]),
    "src/cpu/routes.hpp": ("ROUTE(memory,", r"  ROUTE(axpy, loop, kChoosable)   \\"[:-1]),
}


@pytest.fixture(scope="module")
def copy(tmp_path_factory: pytest.TempPathFactory) -> SourceCopy:
    tree = tmp_path_factory.mktemp("operation") / "tree"
    copy_sources(tree)
    shutil.copytree(FILES, tree, dirs_exist_ok=True)
    insert_lines(tree, LINES)
    return build(tree, backends=["cpu"])


def source_files(folder: Path) -> set[Path]:
    files = (path for path in folder.rglob("*") if path.is_file())
    return {path.relative_to(folder) for path in files if "__pycache__" not in path.parts}


def added_lines(tree: Path, name: Path) -> int:
    """How many lines a file has more than the original, all of whose lines it still has."""
    old = (ROOT / name).read_text(encoding="utf-8").splitlines()
    new = iter((tree / name).read_text(encoding="utf-8").splitlines())
    assert all(line in new for line in old), name
    return len((tree / name).read_text(encoding="utf-8").splitlines()) - len(old)


def test_two_lines_are_edited(copy: SourceCopy, capsys: pytest.CaptureFixture[str]) -> None:
    files = source_files(copy.tree)
    new = {name for name in files if not (ROOT / name).exists()}
    common = sorted(files - new)
    _, edited, unreadable = filecmp.cmpfiles(ROOT, copy.tree, common, shallow=False)
    with capsys.disabled():
        lines = [f"{name} +{added_lines(copy.tree, Path(name))} line" for name in edited]
        print(f"\nedited files: {', '.join(lines)}\nnew files:")
        for name in sorted(new):
            print(f"  {name}: {len((copy.tree / name).read_text().splitlines())} lines")
    assert not unreadable
    assert {str(name): added_lines(copy.tree, Path(name)) for name in edited} == dict.fromkeys(
        LINES, 1
    )
    assert new == source_files(FILES)


def test_the_architecture_holds(copy: SourceCopy) -> None:
    """The layout test asks for the files that every operation has."""
    layout = str(copy.tree / "tests/python/architecture/test_layout.py")
    done = copy.run(
        "-m", "pytest", "-q", "-p", "no:cacheprovider", f"--rootdir={copy.tree}", layout
    )
    assert done.returncode == 0, done.stdout


def test_the_cpp_test_of_the_operation_passes(copy: SourceCopy) -> None:
    compiler = shutil.which("g++") or shutil.which("c++")
    if compiler is None or not Path("/usr/include/doctest/doctest.h").exists():
        pytest.skip("doctest or a C++ compiler is not installed")
    program = copy.tree.parent / "axpy_tests"
    sources = [copy.tree / "tests/cpp" / name for name in ("main.cpp", "ops/axpy.cpp")]
    subprocess.run(
        [compiler, "-std=c++17", "-Wall", "-Wextra", "-Werror", "-I", copy.tree / "src/cpp",
         *sources, "-L", copy.package, "-ldeepbench", f"-Wl,-rpath,{copy.package}", "-o", program],
        check=True,
    )  # fmt: skip
    done = subprocess.run([program], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stdout
    assert re.search(r"test cases: +3 \| +3 passed", done.stdout), done.stdout


def test_lists_and_help_have_the_operation(copy: SourceCopy) -> None:
    listed = copy.deepbench("list").stdout
    (line,) = (line for line in listed.splitlines() if "axpy" in line)
    assert line.split()[:4] == ["training", "axpy", "3", "3"]
    for command in (["help", "axpy"], ["axpy", "--help"]):
        text = copy.deepbench(*command).stdout
        assert "scaled sum of two vectors, y = a x + y" in text
        assert "elements of each vector" in text
        assert "float half bfloat16" in text
    assert "axpy" in copy.deepbench("--help").stdout


def test_a_problem_is_measured_and_verified(copy: SourceCopy) -> None:
    done = copy.deepbench("axpy", "n=1,1000,70000", "--cache", "both", "--samples", "5",
                          "--no-ceilings", "--format", "json")  # fmt: skip
    assert done.returncode == 0, done.stderr
    rows = json.loads(done.stdout)["rows"]
    assert [row["verification"]["status"] for row in rows] == ["passed"] * 6
    assert {row["attributes"]["precision"] for row in rows} == {"float"}
    assert rows[0]["work"] == {"flops": 2, "bytes": 12}


@pytest.mark.parametrize("inputs", ["zeros", "ones"])
def test_constant_inputs_are_verified(copy: SourceCopy, inputs: str) -> None:
    done = copy.deepbench("axpy", "n=1000", "--inputs", inputs, "--samples", "5", "--no-ceilings")
    assert done.returncode == 0, done.stdout + done.stderr


def test_a_suite_is_run_reported_and_compared(copy: SourceCopy) -> None:
    files = [str(copy.tree.parent / f"{name}.jsonl") for name in ("first", "second")]
    suite = str(copy.tree / "python/deepbench/suites/training/axpy.txt")
    for command, file in zip((["axpy", "training"], ["run", suite]), files, strict=True):
        done = copy.deepbench(*command, "--samples", "5", "--no-ceilings", "-o", file)
        assert done.returncode == 0, done.stderr
        assert "3 rows: 3 ok" in done.stderr
    page = copy.tree.parent / "page.html"
    done = copy.deepbench("report", files[0], "-o", str(page))
    assert done.returncode == 0, done.stderr
    assert "axpy" in page.read_text(encoding="utf-8")
    done = copy.deepbench("compare", *files)
    assert "B against A: 3 rows compared" in done.stdout, done.stdout + done.stderr
    shown = copy.deepbench("show", files[0]).stdout
    assert "4194304" in shown


@pytest.mark.parametrize(
    ("arguments", "status", "message"),
    [
        (["axpy", "n=0"], 2, "n=0: must be at least 1"),
        (["axpy", "m=8"], 2, "axpy has no attribute 'm'; it has n precision"),
        (["axpy", "n=8", "precision=int8"], 2,
         "precision=int8: must be one of float half bfloat16"),
        (["axpy", "n=4611686018427387904"], 2,
         "the size of x and y in bytes does not fit 64 bits"),
        (["axpy", "n=8", "precision=half"], 1,
         "unsupported: the loop computes axpy in precision=float only"),
        (["haxpy", "n=8"], 2, "did you mean 'axpy precision=half'"),
        (["axpi", "n=8"], 2, "did you mean 'axpy'"),
    ],
)  # fmt: skip
def test_bad_input_has_a_clear_error(
    copy: SourceCopy, arguments: list[str], status: int, message: str
) -> None:
    done = copy.deepbench(*arguments)
    assert done.returncode == status
    assert message in done.stdout + done.stderr


def test_a_build_of_an_unknown_backend_ends_with_the_known_ones(tmp_path: Path) -> None:
    if (cmake := shutil.which("cmake")) is None:
        pytest.skip("cmake is not installed")
    command = [cmake, "-S", ROOT, "-B", tmp_path, "-DDEEPBENCH_BACKENDS=cpu;npu"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert done.returncode != 0
    message = " ".join(done.stderr.split())
    assert "DEEPBENCH_BACKENDS: no backend is called 'npu'; there are cpu" in message
