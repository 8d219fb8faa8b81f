"""The comparison of our declarations with NVIDIA's headers finds what it is for. The comparison
itself needs those headers: tests/declarations/compare.py, which .ci/run calls."""

from __future__ import annotations

import importlib.util
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

from source_tree import ROOT

FOLDER = ROOT / "tests/declarations"


def load_compare_script() -> ModuleType:
    spec = importlib.util.spec_from_file_location("compare", FOLDER / "compare.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["compare"] = module  # dataclasses look there
    spec.loader.exec_module(module)
    return module


compare = load_compare_script()


def test_no_declaration_is_overlooked() -> None:
    for path in sorted(compare.OURS.glob("*.hpp")):
        if path.stem == "function_table":
            continue
        declared = compare.read_declarations(path)
        text = path.read_text(encoding="utf-8")
        assert len(declared.functions) == len(re.findall(r"\bX\(", text)), path.name
        assert path.stem in compare.HEADERS, path.name
        assert len(set(declared.enumerators)) == len(declared.enumerators), path.name


CALLS = [
    ("int (*)(int*, size_t)", "int(int*, size_t)", True),
    ("E (*)(void**, const char*)", "F(void**, char*)", True),
    ("int (*)(struct A*)", "int(struct Other*)", True),
    ("int (*)(int*)", "int(size_t*)", False),
    ("int (*)(int)", "int(unsigned)", False),
    ("int (*)(int)", "int(int, int)", False),
    ("int (*)(float)", "int(double)", False),
    ("void (*)()", "int()", False),
    ("int (*)(Small)", "int(Large)", False),
    ("int (*)(void*)", "int(int)", False),
]


@pytest.mark.skipif(
    not shutil.which(os.environ.get("CXX", "g++")), reason="there is no C++ compiler"
)
def test_calls_that_differ_are_told_from_those_that_do_not(tmp_path: Path) -> None:
    lines = [
        '#include "compatible.hpp"',
        "enum E : int { a }; enum F { b };",
        "struct Small { char x; }; struct Large { char x[9]; };",
    ]
    lines += [
        f"static_assert(declarations::same_call<{ours}, std::add_pointer_t<{theirs}>> == {same:d});"
        for ours, theirs, same in CALLS
    ]
    source = tmp_path / "calls.cpp"
    source.write_text("\n".join([*lines, ""]), encoding="utf-8")
    command = [os.environ.get("CXX", "g++"), "-std=c++17", "-fsyntax-only", f"-I{FOLDER}"]
    done = subprocess.run([*command, source], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
