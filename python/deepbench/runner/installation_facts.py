"""The facts of this installation: its folders, its build, the host, every backend with its devices
and libraries, and warnings."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from deepbench import installation, libraries
from deepbench.runner import environment
from deepbench.runner.build_id import build_id
from deepbench.runner.inspection import inspect_backend
from deepbench.runner.provenance import build_facts, compile_caches, with_build_ids

_SHOWN = ("reason", "devices", "libraries", "environment", "warnings")


def installation_facts() -> dict[str, Any]:
    """The facts as members of a JSON object."""
    from deepbench import _core

    warnings: list[str] = []
    paths = libraries.plugin_paths(warnings.append)
    host = environment.host_context()
    backends = [
        {"name": name, "path": path, "build_id": build_id(path), **_shown_facts(facts)}
        for name, path in _core.backends(paths)
        for facts in [inspect_backend(path)]
    ]
    for backend in backends:
        backend["libraries"] = with_build_ids(backend["libraries"])
    warnings += _core.search_warnings()
    package = Path(_core.package_directory())
    return {
        "version": _core.version,
        "package": str(package),
        "cmake_dir": str(cmake_dir()),
        "include_dir": str(package / "include"),
        "deepbench_run": str(package / "bin" / "deepbench_run"),
        "build": build_facts({}),
        "compile_caches": compile_caches(),
        "host": host,
        "backends": backends,
        "warnings": [*warnings, *installation.warnings(), *environment.host_warnings(host)],
    }


def cmake_dir() -> Path:
    """The folder of the CMake package."""
    from deepbench import _core

    return Path(_core.package_directory()) / "lib" / "cmake" / "deepbench"


def _shown_facts(facts: Mapping[str, Any]) -> dict[str, Any]:
    return {key: facts.get(key) for key in _SHOWN}
