"""A new operation is new files and two lines: axpy, added to a copy of the source tree."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from source_copy import (
    LINES,
    OPERATION,
    ROOT,
    SourceCopy,
    build_cpp_tests,
    changed_files,
    source_files,
)

pytestmark = pytest.mark.slow


def count_added_lines(tree: Path, name: Path) -> int:
    """How many lines a file has more than the original, all of whose lines it still has."""
    old = (ROOT / name).read_text(encoding="utf-8").splitlines()
    new = iter((tree / name).read_text(encoding="utf-8").splitlines())
    assert all(line in new for line in old), name
    return len((tree / name).read_text(encoding="utf-8").splitlines()) - len(old)


def test_two_lines_are_edited(copy: SourceCopy, capsys: pytest.CaptureFixture[str]) -> None:
    new, edited = changed_files(copy.tree)
    new = {name for name in new if not name.is_relative_to("src/toy")}
    with capsys.disabled():
        lines = [f"{name} +{count_added_lines(copy.tree, name)} line" for name in sorted(edited)]
        print(f"\nedited files: {', '.join(lines)}\nnew files:")
        for name in sorted(new):
            print(f"  {name}: {len((copy.tree / name).read_text().splitlines())} lines")
    assert {str(name): count_added_lines(copy.tree, name) for name in edited} == dict.fromkeys(
        LINES, 1
    )
    assert new == source_files(OPERATION)


@pytest.mark.parametrize(
    "tests",
    [
        ["tests/python/architecture/test_layout.py"],  # asks for the files of every operation
        ["tests/python/cli/test_golden_outputs.py", "-k", "list_sets"],
        ["tests/python/problems/test_suites.py"],  # a set that the original has not
        ["tests/python/cli/test_command_line.py", "-k", "list"],
    ],
    ids=["architecture", "golden list", "suites", "command line"],
)
def test_tests_of_the_tree_pass(copy: SourceCopy, tests: list[str]) -> None:
    file, *options = tests
    done = copy.run(
        "-m", "pytest", "-q", "-p", "no:cacheprovider", f"--rootdir={copy.tree}",
        str(copy.tree / file), *options,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout


def test_the_cpp_tests_of_the_core_and_of_the_operation_pass(copy: SourceCopy) -> None:
    folder = copy.tree / "tests/cpp"
    program = build_cpp_tests(
        copy, [folder / "main.cpp", folder / "ops/axpy.cpp", *sorted(folder.glob("core/*.cpp"))]
    )
    for selection, least in (("*ops/axpy.cpp", 3), ("*core/*", 30)):
        done = subprocess.run(
            [program, f"--source-file={selection}"], capture_output=True, text=True, timeout=600
        )
        assert done.returncode == 0, done.stdout
        passed = re.search(r"test cases: +(\d+) \| +\1 passed", done.stdout)
        assert passed, done.stdout
        assert int(passed[1]) >= least


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
         "unsupported: the loop does not compute axpy in half; float works here"),
        (["axpy", "n=8", "--library", "ring"], 1,
         "ring does not support axpy in this backend; its library is loop"),
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
    done = subprocess.run(command, capture_output=True, text=True, timeout=600)
    assert done.returncode != 0
    message = " ".join(done.stderr.split())
    assert "DEEPBENCH_BACKENDS: no backend is called 'npu'; there are cpu" in message
