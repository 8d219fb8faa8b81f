"""The architecture as a test: who may include what, what may be called where, how files look.

Reads only the sources; src/cpp/DESIGN.md says why. A change that breaks a rule on purpose changes
the rule here, in the same commit.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from source_tree import (
    C_SUFFIXES,
    CORE,
    ROOT,
    c_sources,
    code_without_comments,
    imported_module,
    includes,
    pattern_matches,
    python_sources,
    relative_name,
    sources,
)

OPS = CORE / "ops"
# Every folder of src/ with a CMakeLists.txt but the core's is a backend.
BACKENDS = sorted(
    path.parent.name
    for path in (ROOT / "src").glob("*/CMakeLists.txt")
    if path.parent.name != "cpp"
)
BACKEND_FOLDERS = tuple(f"src/{name}/" for name in BACKENDS)
# Operations that share one folder, whose files are written once for all of them.
FAMILIES = {
    "collective": {
        "all_reduce",
        "all_gather",
        "reduce_scatter",
        "all_to_all",
        "broadcast",
        "send_recv",
    }
}
VAGUE_NAMES = {"common", "util", "utils", "misc", "helper", "helpers"}


# ---- who may include what -------------------------------------------------------------------

# For files below a folder (the longest match counts): what of ours they may include.
SEAM = (
    r"deepbench/plugin(_\w+)?\.hp?p?",
    r"deepbench/fill\.h",
    # Header-only.
    r"deepbench/core/(affinity|input_array|physical_cores|precision|start_thread)\.hpp",
    r"deepbench/lookup\.h",
)
BACKEND = (*SEAM, r"deepbench/backend/\w+\.hpp", r"deepbench/ops/(?!.*reference)(\w+)/\w+\.hpp")
MAY_INCLUDE = {
    "src/cpp/deepbench/plugin.h": (),
    "src/cpp/deepbench/fill.h": (),
    "src/cpp/deepbench/lookup.h": (),
    **{
        f"src/cpp/deepbench/plugin_{name}.h": (r"deepbench/plugin\.h",)
        for name in ("chain", "collective", "energy", "forward_state")
    },
    "src/cpp/deepbench/plugin.hpp": (r"deepbench/plugin(_\w+)?\.h",),
    "src/cpp/deepbench/deepbench.hpp": (r"deepbench/(core|group|measure|run)/.*",),
    "src/cpp/deepbench/backend": BACKEND,
    "src/cpp/deepbench/core": (r"deepbench/core/.*", r"deepbench/fill\.h"),
    "src/cpp/deepbench/measure": (r"deepbench/(core|measure)/.*",),
    "src/cpp/deepbench/group": (r"deepbench/(core|group)/.*",),
    "src/cpp/deepbench/ops": (r"deepbench/(core|ops)/.*", r"deepbench/(fill|lookup)\.h"),
    "src/cpp/deepbench/run": (
        r"deepbench/(core|group|measure|run)/.*",
        r"deepbench/(plugin(_\w+)?\.h|fill\.h)",
    ),
    # Ranks may meet by the MPI that the CPU backend measures.
    "src/cpp/deepbench/run/session": (
        r"deepbench/(core|group|measure|run)/.*",
        r"deepbench/(plugin(_\w+)?\.h|fill\.h)",
        r"deepbench/backend/mpi_library\.hpp",
    ),
    # A row knows neither the fleet that wraps it nor the session that asks for it.
    "src/cpp/deepbench/run/row": (
        r"deepbench/(core|group|measure)/.*",
        r"deepbench/run/(backend|ceilings|row)/.*",
        r"deepbench/(plugin(_\w+)?\.h|fill\.h)",
    ),
    # The statistics that comparisons share with the core are its own.
    "src/cpp/python": (
        r"deepbench/(core|group|run)/.*",
        r"deepbench/measure/visit_variance\.hpp",
        r"bindings\.hpp",
    ),
    "src/cpp/tools": (r"deepbench/(core|group|run)/.*", r"deepbench/deepbench\.hpp"),
    **{f"src/{name}": (*BACKEND, r"(?!deepbench/).*") for name in BACKENDS},
    "tests/plugins": (r"deepbench/(plugin(_\w+)?|fill)\.h", r"(?!deepbench/).*"),
    "third_party/nvidia": (r"\w+\.hpp",),
}


def rule_for(path: Path) -> tuple[str, ...] | None:
    places = [place for place in MAY_INCLUDE if f"{relative_name(path)}/".startswith(f"{place}/")]
    return MAY_INCLUDE[max(places, key=len)] if places else None


def is_project_header(include: str) -> bool:
    """Neither the standard library's nor the system's nor a vendor's."""
    return include.startswith("deepbench/") or include.endswith(".hpp")


def test_includes_follow_the_direction() -> None:
    wrong = [
        f"{relative_name(path)} includes {include}"
        for path in c_sources("src", "tests/plugins")
        for include in includes(path)
        if is_project_header(include)
        and not any(re.fullmatch(rule, include) for rule in rule_for(path) or ())
    ]
    assert not wrong, "\n".join(wrong)


def test_every_source_folder_has_a_rule() -> None:
    without = [relative_name(path) for path in c_sources("src") if rule_for(path) is None]
    assert not without, without


def test_an_operation_includes_no_other() -> None:
    wrong = []
    for path in c_sources("src/cpp/deepbench/ops"):
        if path.parent == OPS:
            continue
        for include in includes(path):
            other = re.match(r"deepbench/ops/(\w+)/", include)
            if other and other.group(1) != path.parent.name:
                wrong.append(f"{relative_name(path)} includes {include}")
    assert not wrong, wrong


VENDOR = re.compile(
    r"(oneapi/|dnnl|mkl|cblas|lapack|openblas|omp\.h|mpi\.h|cuda|cublas|cudnn|cusparse|nccl|nvml"
    r"|nvrtc|nvjitlink|hip/|roc|Eigen)",
    re.IGNORECASE,
)


def is_own_header(include: str) -> bool:
    return any((ROOT / folder / include).is_file() for folder in BACKEND_FOLDERS)


def test_no_vendor_header_outside_backends() -> None:
    """Tests of a backend may include its own headers, such as those of its folder cudnn/."""
    allowed = (*BACKEND_FOLDERS, "third_party/", "benchmarks/")
    wrong = [
        f"{relative_name(path)} includes {include}"
        for path in c_sources()
        for include in includes(path)
        if VENDOR.match(include) and not relative_name(path).startswith(allowed)
        if not (relative_name(path).startswith("tests/cpp/") and is_own_header(include))
    ]
    assert not wrong, wrong


def test_pybind11_only_in_the_bindings() -> None:
    wrong = [
        relative_name(path)
        for path in c_sources()
        if any(include.startswith(("pybind11", "Python.h")) for include in includes(path))
        and not relative_name(path).startswith("src/cpp/python/")
    ]
    assert not wrong, wrong


def test_clocks_are_read_by_backends_alone() -> None:
    allowed = (*BACKEND_FOLDERS, "tests/", "benchmarks/")
    timers = {  # of the core for bookkeeping, and of the backends' shared headers
        "src/cpp/deepbench/core/stopwatch.hpp",
        "src/cpp/deepbench/core/utc_time.cpp",  # the time of day
        "src/cpp/deepbench/backend/host_timer.hpp",
        "src/cpp/deepbench/backend/kernel_cache.hpp",  # the age of files
    }
    clocks = {"chrono", "ctime", "time.h", "sys/time.h", "x86intrin.h"}
    wrong = [
        f"{relative_name(path)} includes {include}"
        for path in c_sources()
        for include in includes(path)
        if include in clocks
        and not relative_name(path).startswith(allowed)
        and relative_name(path) not in timers
    ]
    calls = pattern_matches(c_sources("src/cpp"), r"\b(clock_gettime|gettimeofday|__rdtscp?)\s*\(")
    assert not wrong + calls, wrong + calls


# ---- what may be called where ---------------------------------------------------------------

LIBRARY = ("src/cpp/deepbench", "src/cpp/python", *BACKEND_FOLDERS)


def test_the_library_neither_exits_nor_prints() -> None:
    pattern = (
        r"\b(exit|_exit|_Exit|quick_exit|abort|printf|fprintf|vprintf|puts|fputs|putchar|perror)"
        r"\s*\(|\bstd::(cout|cerr|clog)\b|\bstd::terminate\s*\("
    )
    wrong = pattern_matches(c_sources(*LIBRARY), pattern)
    assert not wrong, "\n".join(wrong)


def imports_of(path: Path) -> Iterator[tuple[str, bool]]:
    """Modules that a Python file imports, and whether it does so when it is imported itself."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    late = {
        id(inner)
        for node in ast.walk(tree)
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda)
        or (isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test))
        for inner in ast.walk(node)
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield alias.name, id(node) not in late
        elif isinstance(node, ast.ImportFrom):
            module = imported_module(path, node)
            yield module, id(node) not in late
            for alias in node.names:  # from deepbench import session
                yield f"{module}.{alias.name}", id(node) not in late


def test_python_measures_no_time() -> None:
    # The workbook has a constant date.
    allowed = {"runner/progress.py", "runner/environment.py", "workbook/writing.py"}
    wrong = [
        f"{relative_name(path)} imports {module}"
        for path in python_sources("python")
        for module, _ in imports_of(path)
        if module.split(".")[0] in {"time", "datetime", "timeit"}
        and f"{path.parent.name}/{path.name}" not in allowed
    ]
    assert not wrong, wrong


READING = ("algorithm_choice", "fleet", "reader", "resume_check", "schema", "schema_check",
           "schema_upgrade", "strict_json", "writer")  # fmt: skip
# What modules that serve all packages must not import.
PACKAGES = {"_core", "cli", "problems", "report", "results", "runner", "suites", "worker",
            "workload"}  # fmt: skip
# For a package, or one module of it: what it must not import.
LAYERS = {
    "compare": {"cli", "report", "runner", "worker"},
    "byte_size": PACKAGES,
    "call_counts": PACKAGES,
    "collective_model": {"_core", "cli", "problems", "report", "runner", "suites", "worker"},
    "marked_text": PACKAGES,
    "json_types": PACKAGES,
    "libraries": PACKAGES,
    "nvidia_packages": PACKAGES,
    "terminal_text": PACKAGES,
    "problems": {"cli", "report", "results", "runner", "worker", "workload"},
    "problems.suite_expansion": {"_core"},
    "problems.suite_reader": {"_core"},
    "redaction": PACKAGES,
    "references": {"_core", "cli", "compare", "problems", "report", "runner", "suites", "worker"},
    "report": {"cli", "runner", "worker"},
    "results": {"cli", "problems", "report", "runner", "suites", "worker", "workload"},
    # Reading needs no native module. A row that comes from elsewhere is written by the core.
    **{f"results.{one}": {"_core"} for one in READING},
    "runner": {"cli"},
    "runner.environment": {"_core", "problems", "report", "results", "suites", "worker"},
    "runner.progress": {"_core", "problems", "report", "results", "suites", "worker"},
    "runner.ranks": {"problems", "report", "results", "runner.session", "suites", "worker"},
    "runner.session": {"problems", "report", "suites"},
    "runner.time_estimate": {"_core", "problems", "report", "results", "suites", "worker"},
    "runner.worker_process": {"_core", "problems", "report", "runner.session", "suites"},
    "student": PACKAGES,
    "suites": {"cli", "report", "results", "runner", "worker"},
    "workload": {"cli", "report", "runner", "worker"},
    "workload.expression": PACKAGES,
    "workload.model_file": PACKAGES - {"workload"},
    "workload.operators": PACKAGES - {"workload"},
    "workload.passes": PACKAGES,
    "traces": {"cli", "compare", "problems", "report", "runner", "suites", "worker", "workbook"},
    "worker": {"cli", "problems", "report", "results", "runner.session", "suites"},
}
# What a single module may import although its package must not. The bound of a row is computed by
# the core alone.
ALLOWED = {"results.ceilings": {"_core"}}


def is_within_package(module: str, package: str) -> bool:
    return f"{module}.".startswith(f"{package}.")


def test_every_layer_exists() -> None:
    package = ROOT / "python/deepbench"
    for layer in {*LAYERS, *(other for others in LAYERS.values() for other in others)}:
        path = package.joinpath(*layer.split("."))
        assert path.is_dir() or path.with_suffix(".py").is_file() or layer == "_core", layer


def test_python_modules_know_only_what_is_below_them() -> None:
    wrong = []
    for path in python_sources("python"):
        this = ".".join(path.relative_to(ROOT / "python/deepbench").with_suffix("").parts)
        layers = [layer for layer in LAYERS if is_within_package(this, layer)]
        others = {other for layer in layers for other in LAYERS[layer]} - ALLOWED.get(this, set())
        forbidden = {f"deepbench.{other}" for other in others}
        wrong += [
            f"{relative_name(path)} imports {module}"
            for module, _ in imports_of(path)
            if any(is_within_package(module, other) for other in forbidden)
        ]
    assert not wrong, "\n".join(sorted(set(wrong)))


# Who makes a line of members instead of leaving it to the core's assembler: rows and ceilings that
# were read, where their lines are of an older schema version, rows of workbooks, rows that the plan
# gives their counts, and chains that get the parameters of their pass.
WRITES_MEMBERS = {"results/member_line.py", "results/row.py"}


def test_rows_are_written_by_the_core() -> None:
    callers = {
        path.relative_to(ROOT / "python/deepbench").as_posix()
        for path in python_sources("python")
        if re.search(r"\bline_of_members\b", path.read_text(encoding="utf-8"))
        and path.suffix == ".py"
    }
    assert callers == WRITES_MEMBERS


def test_slow_packages_are_imported_late() -> None:
    slow = {"numpy", "rich", "cuda", "vl_convert", "importlib.metadata", "openpyxl",
            "xlsxwriter"}  # fmt: skip
    wrong = [
        f"{relative_name(path)} imports {module} at once"
        for path in python_sources("python")
        for module, at_once in imports_of(path)
        if at_once and (module in slow or module.split(".")[0] in slow)
    ]
    assert not wrong, wrong


# ---- how files look -------------------------------------------------------------------------


def operation_folders() -> list[str]:
    return sorted(path.name for path in OPS.iterdir() if path.is_dir())


def operation_names() -> list[str]:
    return sorted(op for name in operation_folders() for op in FAMILIES.get(name, {name}))


def test_every_operation_folder_is_alike() -> None:
    for op in operation_folders():
        files = {path.name for path in (OPS / op).iterdir()}
        assert {f"{op}.hpp", "spec.cpp"} <= files, op
        # Further files are what a reference is made of.
        if files != {f"{op}.hpp", "spec.cpp"}:
            assert {"reference.hpp", "reference.cpp"} <= files, op


def test_every_operation_is_listed_and_documented() -> None:
    listed = re.findall(r"\bOPERATION\((\w+)\)", code_without_comments(OPS / "ops.def"))
    assert sorted(listed) == operation_names()
    pages = {path.stem for path in (ROOT / "docs/reference/operations").glob("*.md")}
    undocumented = set(operation_names()) - pages
    assert not undocumented, "docs/reference/operations has no page of these"
    tested = {path.stem for path in (ROOT / "tests/cpp/ops").glob("*.cpp")}
    tested |= {op for name in tested for op in FAMILIES.get(name, ())}
    untested = set(operation_names()) - tested
    assert not untested, "tests/cpp/ops has no file of these"


def test_backends_name_their_operations_as_the_core_does() -> None:
    for backend in BACKENDS:
        folder = ROOT / "src" / backend / "ops"
        if folder.is_dir():
            found = {path.name for path in folder.iterdir() if path.is_dir()}
            assert found <= {*operation_names(), *operation_folders()}, backend


def test_the_functions_of_routes_are_defined_below_ops() -> None:
    """A library that is absent, as oneDNN can be, takes its functions from the routes too."""
    wrong = []
    for backend in BACKENDS:
        folder = ROOT / "src" / backend
        if not (folder / "routes.def").exists():
            continue
        routes = re.findall(r"ROUTE\((\w+), (\w+), \w+\)", (folder / "routes.def").read_text())
        functions = "|".join(f"{library}_{op}" for op, library in routes)
        others = [
            path for path in c_sources(f"src/{backend}") if folder / "ops" not in path.parents
        ]
        wrong += pattern_matches(others, rf"\b(?:{functions})\s*\(\s*\)\s*{{")
    assert not wrong, wrong


def test_no_vague_names() -> None:
    parts = {Path(part) for path in sources() for part in path.relative_to(ROOT).parts}
    wrong = [part.name for part in parts if part.stem.lower() in VAGUE_NAMES]
    assert not wrong, wrong


def says_what_it_is_for(path: Path) -> bool:
    text = path.read_text(encoding="utf-8")
    if path.suffix in {".py", ".pyi"}:
        return ast.get_docstring(ast.parse(text)) is not None
    if path.suffix in C_SUFFIXES | {".js", ".css"}:
        return text.startswith(("//", "/*"))
    return text.startswith("#")


def test_every_file_begins_with_what_it_is_for() -> None:
    suites = sorted((ROOT / "python/deepbench/suites").rglob("*.txt"))
    silent = [
        relative_name(path) for path in [*sources(), *suites] if not says_what_it_is_for(path)
    ]
    assert not silent, silent


def test_headers_are_included_once() -> None:
    twice = []
    for path in c_sources():
        text = path.read_text(encoding="utf-8")
        if path.suffix == ".hpp" and "\n#pragma once\n" not in text:
            twice.append(relative_name(path))
        if path.suffix == ".h" and not re.search(r"\n#ifndef (\w+_H_)\n#define \1\n", text):
            twice.append(relative_name(path))
    assert not twice, twice


# ---- the rules themselves -------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("exit(1);", True),
        ("// exit(1);", False),
        ('"exit(1)"', False),
        ("/* exit(1);\n */", False),
        ("std::snprintf(b, 1, f);", False),
        ("std::printf(f);", True),
    ],
)
def test_comments_and_texts_do_not_count(tmp_path: Path, text: str, found: bool) -> None:
    file = tmp_path / "x.cpp"
    file.write_text(text)
    assert bool(re.search(r"\b(exit|printf)\s*\(", code_without_comments(file))) == found


def test_the_sources_are_there() -> None:
    assert len(c_sources()) > 50
    assert len(python_sources("python")) > 10


def library_names() -> list[str]:
    routes = (path.read_text(encoding="utf-8") for path in ROOT.glob("src/*/routes.def"))
    route = re.compile(r"^ROUTE\(\w+, (\w+),", re.MULTILINE)
    return sorted({name for text in routes for name in route.findall(text)})


# Names that are words with another meaning as well: a level of the hierarchy, a key of the host's
# facts, options and columns, an algorithm of a collective, reference figures.
ORDINARY_WORDS = {
    "builtin", "cpu", "memory", "peer", "persistent", "reference", "ring", "runtime", "threads",
}  # fmt: skip
# Files, or folders, that may name operations, backends or libraries, each with its reason.
MAY_NAME = {
    "cli/commands.py": "shows examples of commands",
    "cli/run.py": "shows an example of a suite",
    "collective_model.py": "models the algorithms of the collectives",
    "nvidia_packages.py": "knows where NVIDIA's Python packages install libraries",
    "problems/suite_reader.py": "shows an example of a suite",
    "report/legacy/": "prints the original's format, which names the original's operations",
    "runner/context.py": "titles a run by the CUDA version, as result files have it",
    "runner/launcher.py": "decides who starts the ranks before a backend is loaded",
    "runner/run_options.py": "decides how many ranks to start before a backend is loaded",
    "workload/operators.py": "turns the layers of models into problems",
    "traces/": "reads calls of other programs, which name operations and libraries",
    "workbook/": "reads and writes the original's workbooks, which have one sheet per operation",
}


def string_literals_of(path: Path) -> Iterator[str]:
    """The string literals of a Python file except its docstrings."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    documented = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
    docstrings = {
        id(node.body[0].value)
        for node in ast.walk(tree)
        if isinstance(node, documented) and node.body and isinstance(node.body[0], ast.Expr)
    }
    for node in ast.walk(tree):
        is_text = isinstance(node, ast.Constant) and isinstance(node.value, str)
        if is_text and id(node) not in docstrings:
            yield node.value


def test_python_names_no_operation_no_backend_and_no_library() -> None:
    """Operations and backends tell of themselves what Python needs (spec.cpp, plugin.h)."""
    names = {*operation_names(), *BACKENDS, *library_names(), "cudart"} - ORDINARY_WORDS
    assert {"gemm", "cuda", "cublaslt", "onednn"} <= names
    word = re.compile(rf"\b(?:{'|'.join(names)})\b|libdeepbench_(?:{'|'.join(BACKENDS)})")
    found: dict[str, set[str]] = {}
    for path in python_sources("python"):
        if path.suffix == ".py":
            words = {name for text in string_literals_of(path) for name in word.findall(text)}
            if words:
                found[path.relative_to(ROOT / "python/deepbench").as_posix()] = words
    wrong = {name: words for name, words in found.items() if not name.startswith(tuple(MAY_NAME))}
    assert not wrong, wrong
    unused = [place for place in MAY_NAME if not any(name.startswith(place) for name in found)]
    assert not unused, unused
