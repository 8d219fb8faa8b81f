"""The architecture as a test, continued: every declared dependency is used and every used one is
declared, and neither C++ folders nor Python modules depend on one another in a circle."""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path

import pytest

from test_layout import CORE, ROOT, absolute, c_sources, includes, python_sources

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


def project() -> Mapping[str, object]:
    table: Mapping[str, object] = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    return table


def names(requirements: Iterable[str]) -> set[str]:
    """Distributions of requirement lines, in lower case, without versions and extras."""
    return {re.split(r"[\[<>=!~; ]", line, maxsplit=1)[0].lower() for line in requirements}


def imported(folder: str) -> set[str]:
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
    table = project()
    extras = table["optional-dependencies"]
    assert isinstance(extras, dict)
    lines = [
        line for name, extra in extras.items() if name not in ("test", "docs") for line in extra
    ]
    dependencies = table["dependencies"]
    assert isinstance(dependencies, list)
    return names([*dependencies, *lines])


def test_every_import_of_the_package_is_declared() -> None:
    used = imported("python/deepbench") - set(sys.stdlib_module_names) - {"deepbench"}
    declared = {module_of(name) for name in declared_for_users()}
    assert used <= declared, used - declared


def test_every_declared_dependency_is_used() -> None:
    used = imported("python/deepbench")
    sources = "".join(
        path.read_text(encoding="utf-8") for path in (*c_sources("src"), *python_sources("python"))
    )
    for name in declared_for_users():
        word = OPENED_AT_RUN_TIME.get(name)
        assert word in sources if word else module_of(name) in used, name


def test_every_dependency_of_the_tests_is_used() -> None:
    extras = project()["optional-dependencies"]
    assert isinstance(extras, dict)
    used = imported("tests") | imported("python/deepbench")
    for name in names(extras["test"]) - TOOLS_OF_TESTS - set(OPENED_AT_RUN_TIME):
        assert module_of(name) in used or name in IMPORTED_BY_A_PROGRAM, name


def test_every_dependency_of_the_documentation_is_used() -> None:
    extras = project()["optional-dependencies"]
    assert isinstance(extras, dict)
    configuration = (ROOT / "docs/conf.py").read_text(encoding="utf-8")
    for name in names(extras["docs"]) - {"sphinx", "pybind11"}:
        assert name.replace("-", "_") in configuration, name


def circle(edges: Mapping[str, set[str]]) -> list[str]:
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
    assert circle({"a": {"b"}, "b": {"c"}, "c": {"b"}}) == ["b", "c", "b"]
    assert circle({"a": {"b", "c"}, "b": {"c"}, "c": set()}) == []


def folder_of(header: str) -> str | None:
    """The folder of the core, such as `run`, that a header lies in; None for what lies in none."""
    parts = Path(header).parts
    return parts[1] if parts[0] == "deepbench" and len(parts) > 2 else None


def test_folders_of_the_core_include_one_another_in_no_circle() -> None:
    edges: dict[str, set[str]] = {}
    for path in c_sources("src/cpp/deepbench"):
        folder = path.relative_to(CORE).parts[0]
        others = {folder_of(header) for header in includes(path)} - {folder, None}
        edges.setdefault(folder, set()).update(other for other in others if other)
    # The registry names each operation, and the core includes the header of precisions.
    edges.pop("ops", None)
    assert not circle(edges), circle(edges)


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
    assert not circle(edges), circle(edges)


def test_modules_import_one_another_in_no_circle() -> None:
    """As they are loaded: what a function imports when it is called is not counted."""
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
                base = absolute(path, node)
                for alias in node.names:
                    inner = f"{base}.{alias.name}"
                    found.add(inner if inner in modules else base)
        edges[name] = (found & set(modules)) - {name}
    assert not circle(edges), circle(edges)
