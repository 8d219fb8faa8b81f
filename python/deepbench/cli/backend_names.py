"""Finds the backend for which a word of other programs stands, for suggestions."""

from __future__ import annotations

from functools import cache


def backend_choices() -> list[str]:
    """The names that --backend accepts."""
    return ["auto", *_paths_by_backend()]


def library_names() -> list[str]:
    """The libraries of every backend. Each backend is loaded in a process of its own."""
    from deepbench.runner.inspection import inspect_backend

    found = (inspect_backend(path).get("libraries") or {} for path in _paths_by_backend().values())
    return list(dict.fromkeys(name for libraries in found for name in libraries))


def is_backend(name: str) -> bool:
    return name in _paths_by_backend()


def backend_by_name_or_synonym(word: str) -> str | None:
    """The backend whose name is the word, whatever its capitals, or that states the word among its
    synonyms (plugin.h). To read synonyms, every backend is loaded, in a process of its own."""
    lower = word.lower()
    spelled = next((name for name in _paths_by_backend() if name.lower() == lower), None)
    return spelled or (_backends_by_synonym().get(lower) if word.isalnum() else None)


@cache
def _backends_by_synonym() -> dict[str, str]:
    from deepbench.runner.inspection import inspect_backend

    found: dict[str, str] = {}
    for name, path in _paths_by_backend().items():
        planning = inspect_backend(path).get("planning") or {}
        for word in str(planning.get("synonyms", "")).lower().split():
            found.setdefault(word, name)
    return found


def _paths_by_backend() -> dict[str, str]:
    from deepbench import _core, libraries

    return dict(_core.backends(libraries.plugin_paths()))
