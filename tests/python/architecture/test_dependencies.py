"""Dependencies as a test: every declared dependency is used and every used one is
declared, neither C++ folders nor Python modules depend on one another in a circle, and there is one
writer of rows and one measuring loop."""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path

import pytest

from source_tree import (
    CORE,
    ROOT,
    c_sources,
    code_without_comments,
    imported_module,
    includes,
    python_sources,
)

if sys.version_info >= (3, 11):
    import tomllib
else:
    tomllib = pytest.importorskip("tomli")

# What a distribution is imported as, where that is another name.
MODULES = {"vl-convert-python": "vl_convert", "xlsxwriter": "xlsxwriter"}
# Distributions with libraries that are opened at run time, and a word of their files by which the
# sources look for them.
OPENED_AT_RUN_TIME = {
    "scipy-openblas32": "scipy_openblas32",
    "mkl": "libmkl_rt",
    "mpich": "libmpi",
    "cuda-toolkit": "libcudart",
    "nvidia-cudnn-cu12": "libcudnn",
    "nvidia-cudnn-cu13": "libcudnn",
    "nvidia-nccl-cu12": "libnccl",
    "nvidia-nccl-cu13": "libnccl",
}
TOOLS_OF_TESTS = {"pytest", "ruff", "mypy"}  # run, not imported
IMPORTED_BY_A_PROGRAM = {"cuda-pathfinder"}  # which a test starts


def project_table() -> Mapping[str, object]:
    table: Mapping[str, object] = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    return table


def distribution_names(requirements: Iterable[str]) -> set[str]:
    """Distributions of requirement lines, in lower case, without versions and extras."""
    return {re.split(r"[\[<>=!~; ]", line, maxsplit=1)[0].lower() for line in requirements}


def imported_modules(folder: str) -> set[str]:
    """Top-level names of all modules that the Python files of a folder import."""
    found: set[str] = set()
    for path in python_sources(folder):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Import):
                found |= {alias.name.partition(".")[0] for alias in node.names}
            elif isinstance(node, ast.ImportFrom) and not node.level and node.module:
                found.add(node.module.partition(".")[0])
    return found


def module_of(distribution: str) -> str:
    return MODULES.get(distribution, distribution.replace("-", "_"))


def declared_for_users() -> set[str]:
    table = project_table()
    extras = table["optional-dependencies"]
    assert isinstance(extras, dict)
    lines = [
        line for name, extra in extras.items() if name not in ("test", "docs") for line in extra
    ]
    dependencies = table["dependencies"]
    assert isinstance(dependencies, list)
    return distribution_names([*dependencies, *lines])


def test_every_import_of_the_package_is_declared() -> None:
    used = imported_modules("python/deepbench") - set(sys.stdlib_module_names) - {"deepbench"}
    declared = {module_of(name) for name in declared_for_users()}
    assert used <= declared, used - declared


def test_every_declared_dependency_is_used() -> None:
    used = imported_modules("python/deepbench")
    sources = "".join(
        path.read_text(encoding="utf-8") for path in (*c_sources("src"), *python_sources("python"))
    )
    for name in declared_for_users():
        word = OPENED_AT_RUN_TIME.get(name)
        assert word in sources if word else module_of(name) in used, name


def test_every_dependency_of_the_tests_is_used() -> None:
    extras = project_table()["optional-dependencies"]
    assert isinstance(extras, dict)
    used = imported_modules("tests") | imported_modules("python/deepbench")
    for name in distribution_names(extras["test"]) - TOOLS_OF_TESTS - set(OPENED_AT_RUN_TIME):
        assert module_of(name) in used or name in IMPORTED_BY_A_PROGRAM, name


def test_every_dependency_of_the_documentation_is_used() -> None:
    extras = project_table()["optional-dependencies"]
    assert isinstance(extras, dict)
    configuration = (ROOT / "docs/conf.py").read_text(encoding="utf-8")
    for name in distribution_names(extras["docs"]) - {"sphinx", "pybind11"}:
        assert name.replace("-", "_") in configuration, name


def find_circle(edges: Mapping[str, set[str]]) -> list[str]:
    """Names that lead back to the first of them, or nothing."""
    done: set[str] = set()

    def visit(name: str, path: list[str]) -> list[str]:
        if name in path:
            return [*path[path.index(name) :], name]
        if name in done:
            return []
        for other in sorted(edges.get(name, ())):
            if found := visit(other, [*path, name]):
                return found
        done.add(name)
        return []

    for name in sorted(edges):
        if found := visit(name, []):
            return found
    return []


def test_circles_are_found() -> None:
    assert find_circle({"a": {"b"}, "b": {"c"}, "c": {"b"}}) == ["b", "c", "b"]
    assert find_circle({"a": {"b", "c"}, "b": {"c"}, "c": set()}) == []


def folders_included(root: Path) -> dict[str, set[str]]:
    """For each folder in a folder of the core, the others whose headers its files include."""
    edges: dict[str, set[str]] = {}
    for path in c_sources(root.relative_to(ROOT).as_posix()):
        folder = path.relative_to(root).parts[0]
        for header in includes(path):
            place = CORE.parent / header
            if header.startswith("deepbench/") and root in place.parents[1:]:
                other = place.relative_to(root).parts[0]
                edges.setdefault(folder, set()).update({other} - {folder})
    return edges


def test_folders_of_the_core_include_one_another_in_no_circle() -> None:
    edges = folders_included(CORE)
    # The registry names each operation, and the core includes the header of precisions.
    edges.pop("ops", None)
    assert not find_circle(edges), find_circle(edges)


def test_folders_of_a_run_include_one_another_in_no_circle() -> None:
    """A fleet wraps a row from outside: run/fleet includes run/row, and not the reverse."""
    edges = folders_included(CORE / "run")
    assert "row" in edges["fleet"]
    assert not find_circle(edges), find_circle(edges)


def test_headers_include_one_another_in_no_circle() -> None:
    edges: dict[str, set[str]] = {}
    for path in c_sources("src"):
        for header in includes(path):
            roots = (path.parent, *(ROOT / "src" / part for part in ("cpp", "cpu", "cuda")))
            for other in (root / header for root in roots):
                if other.is_file():
                    name = path.relative_to(ROOT).as_posix()
                    edges.setdefault(name, set()).add(other.resolve().relative_to(ROOT).as_posix())
                    break
    assert not find_circle(edges), find_circle(edges)


def test_modules_import_one_another_in_no_circle() -> None:
    """Counts the imports that run when a module is loaded, and not those within functions."""
    package = ROOT / "python"
    modules = {
        ".".join(path.relative_to(package).with_suffix("").parts).removesuffix(".__init__"): path
        for path in python_sources("python/deepbench")
        if path.suffix == ".py"
    }
    edges: dict[str, set[str]] = {}
    for name, path in modules.items():
        found: set[str] = set()
        for node in ast.parse(path.read_text(encoding="utf-8")).body:
            if isinstance(node, ast.Import):
                found |= {alias.name for alias in node.names}
            elif isinstance(node, ast.ImportFrom):
                base = imported_module(path, node)
                for alias in node.names:
                    inner = f"{base}.{alias.name}"
                    found.add(inner if inner in modules else base)
        edges[name] = (found & set(modules)) - {name}
    assert not find_circle(edges), find_circle(edges)


# ---- one writer of rows -----------------------------------------------------------------------

# Functions that write JSON with Python's writer. None of them writes a row: the core does.
WRITERS_OF_JSON = {
    "cli/env.py main",
    "cli/list_command.py _render_table",
    "report/ab/json.py render_json",
    "report/comparison/json.py render_json",
    "report/json.py JsonFormat.begin",  # the context
    "report/json.py JsonFormat.end",  # the totals of a workload
    "report/json.py _escaped",  # letters within the text of a row
    "report/overview/page_data.py _json_text",
    "report/overview/vega.py _drawable",
    "results/schema_check.py shortened_json",
    "results/strict_json.py _object_without_duplicates",
    "results/writer.py ResultWriter.write_context",
    "runner/plan.py digest",
    "worker/protocol.py",
    "worker/protocol.py _measuring_message",
    "worker/protocol.py _send_error",
}


def writers_of_json(source: str) -> set[str]:
    """The functions of a module that call json.dump or json.dumps, by their names within it; '' is
    the module itself."""
    found: set[str] = set()

    def visit(node: ast.AST, names: tuple[str, ...]) -> None:
        for child in ast.iter_child_nodes(node):
            if isinstance(child, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
                visit(child, (*names, child.name))
                continue
            is_json = isinstance(child, ast.Attribute) and ast.unparse(child.value) == "json"
            if is_json and child.attr in ("dump", "dumps", "JSONEncoder"):
                found.add(".".join(names))
            if isinstance(child, ast.ImportFrom) and (child.module, child.level) == ("json", 0):
                found.add(".".join(names))
            visit(child, names)

    visit(ast.parse(source), ())
    return found


def test_python_writes_no_row() -> None:
    package = ROOT / "python/deepbench"
    found = {
        f"{path.relative_to(package).as_posix()} {writer}".rstrip()
        for path in python_sources("python/deepbench")
        for writer in writers_of_json(path.read_text(encoding="utf-8"))
    }
    assert found == WRITERS_OF_JSON


def test_a_new_writer_of_json_is_found() -> None:
    source = "import json\nclass A:\n    def b(self, row):\n        return json.dumps({**row})\n"
    assert writers_of_json(source) == {"A.b"}
    assert writers_of_json("from json import dumps\n") == {""}
    assert writers_of_json("import json\nx = json.loads('1')\n") == set()


def test_one_source_of_the_core_writes_rows() -> None:
    writers = [
        path.relative_to(ROOT).as_posix()
        for path in c_sources("src")
        if 'member("type", "row")' in path.read_text(encoding="utf-8")
    ]
    assert writers == ["src/cpp/deepbench/run/row/row.cpp"]


# ---- one measuring loop -----------------------------------------------------------------------

# A call of the slot of the ABI, and calls of a kernel, which is the core's class around it.
SLOT_CALL = r"\btable\w*(?:\(\))?\s*(?:->|\.)\s*time_batch\s*[(,]"
KERNEL_CALL = r"(?:->|\.)\s*time_batch\s*\("
SLOT_CALLER = "src/cpp/deepbench/run/backend/backend.cpp"
# The header passes a call of the slot on to a backend's class. A timed kernel makes the batches
# that the measuring loop asks for, and the reference makes one call.
KERNEL_CALLERS = [
    "src/cpp/deepbench/plugin.hpp",
    "src/cpp/deepbench/run/row/timed_kernel.cpp",
    "src/cpp/deepbench/run/row/verify.cpp",
]


def files_that_call(pattern: str) -> list[str]:
    """The sources with such a call, once for each call."""
    return [
        path.relative_to(ROOT).as_posix()
        for path in c_sources("src")
        for _ in re.finditer(pattern, code_without_comments(path))
    ]


def loop_bodies(code: str) -> list[str]:
    """The bodies of all for and while loops."""
    found = []
    for loop in re.finditer(r"\b(?:for|while)\s*\(", code):
        end = end_of_bracket(code, loop.end() - 1, "()")
        start = len(code) - len(code[end:].lstrip())
        is_block = code[start : start + 1] == "{"
        found.append(
            code[start : end_of_bracket(code, start, "{}") if is_block else code.find(";", start)]
        )
    return found


def end_of_bracket(code: str, start: int, brackets: str) -> int:
    """The position behind the bracket that closes the one at `start`."""
    depth = 0
    for position in range(start, len(code)):
        depth += (code[position] == brackets[0]) - (code[position] == brackets[1])
        if depth == 0:
            return position + 1
    return len(code)


def test_batches_are_timed_in_one_place() -> None:
    assert files_that_call(SLOT_CALL) == [SLOT_CALLER]
    assert [one for one in files_that_call(KERNEL_CALL) if one != SLOT_CALLER] == KERNEL_CALLERS


def test_no_loop_calls_time_batch() -> None:
    """The measuring loop in src/cpp/deepbench/measure asks a trial for each batch."""
    wrong = [
        path.relative_to(ROOT).as_posix()
        for path in c_sources("src")
        for body in loop_bodies(code_without_comments(path))
        if re.search(KERNEL_CALL, body)
    ]
    assert not wrong


def test_a_second_measuring_loop_is_found() -> None:
    for code in (
        "while (n < 9) { if (n) { kernel.time_batch(n); } }",
        "for (int i = 0; i < 9; ++i) all.push_back(kernel->time_batch(1));",
    ):
        assert any(re.search(KERNEL_CALL, body) for body in loop_bodies(code))
    assert not any(
        re.search(KERNEL_CALL, body)
        for body in loop_bodies("for (;;) { f(); } kernel.time_batch(1);")
    )
