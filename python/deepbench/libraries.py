"""Finds backends and the libraries that they load: plugins of other packages in the entry-point
group `deepbench.backends`, and the folders of NVIDIA's libraries.

The object of such an entry point is the path of a plugin, or a function that returns the path. The
native module itself finds plugins in DEEPBENCH_BACKEND_PATH (files or folders, separated as in
PATH), plugins beside itself, and the libraries of the system's loader.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Callable, Iterable, Iterator, MutableMapping
from importlib.machinery import PathFinder
from pathlib import Path

from deepbench.nvidia_packages import FOLDERS_OF_PACKAGES

ENTRY_POINT_GROUP = "deepbench.backends"

_SITE_PACKAGES = Path(__file__).parents[1]  # a backend searches this folder itself


def plugin_paths(warn: Callable[[str], object] = lambda text: None) -> list[str]:
    """The plugins of other packages, which the native module tries first."""
    return list(dict.fromkeys(_entry_point_plugins(warn)))


def export_library_path(backend: str, variables: MutableMapping[str, str] = os.environ) -> None:
    """Sets the environment variables that tell a backend the library folders of Python packages.
    Called before the backend is loaded. A variable that the user has set stays unchanged."""
    for name, folders_of in FOLDERS_OF_PACKAGES.items():
        may_be_it = backend in ("auto", name) or Path(backend).name == f"libdeepbench_{name}.so"
        if not may_be_it or library_path_variable(name) in variables:
            continue
        folders = folders_of(sys.path, variables)
        if not all(folder.is_relative_to(_SITE_PACKAGES) for folder in folders):
            variables[library_path_variable(name)] = ":".join(map(str, folders))


def library_path_variable(backend: str) -> str:
    """The environment variable that lists library folders of a backend."""
    return f"DEEPBENCH_{backend.upper()}_LIBRARY_PATH"


def _entry_point_plugins(warn: Callable[[str], object]) -> Iterator[str]:
    if not _may_have_entry_points(sys.path, sys.meta_path):
        return
    from importlib.metadata import entry_points

    for entry in sorted(entry_points(group=ENTRY_POINT_GROUP), key=lambda entry: entry.name):
        try:
            found = entry.load()
            path = os.fspath(found() if callable(found) else found)
        except Exception as error:  # the code of another package may raise anything
            warn(f"the backend {entry.name!r} ({entry.value}) cannot be found: {error!r}")
            continue
        unusable = _reason_to_skip_plugin(Path(path))
        if unusable:
            warn(f"the backend {entry.name!r} ({entry.value}): {path}: {unusable}")
        else:
            yield path


def _may_have_entry_points(path: Iterable[object], finders: Iterable[object]) -> bool:
    """Whether a package may have an entry point of the group. Only importlib.metadata can tell for
    certain, but importing it takes a third of a worker's start, and most installations have no such
    package."""
    others = (finder for finder in finders if finder is not PathFinder)
    return any(hasattr(finder, "find_distributions") for finder in others) or any(
        map(_folder_may_have_entry_points, path)
    )


def _folder_may_have_entry_points(folder: object) -> bool:
    """Whether a package at this entry of Python's path may have an entry point of the group. The
    entry may be any object; the answer may be true for anything that is not a folder."""
    if not isinstance(folder, str) or folder.lower().endswith(".egg"):
        return True
    try:
        names = os.listdir(folder or ".")  # noqa: PTH208
    except (FileNotFoundError, PermissionError):
        return False
    except (OSError, ValueError):
        return True
    return any(
        _names_group(os.path.join(folder, name, "entry_points.txt"))  # noqa: PTH118
        for name in names
        if name.lower().endswith((".dist-info", ".egg-info"))
    )


def _names_group(file: str) -> bool:
    try:
        with open(file, "rb") as opened:  # noqa: PTH123
            return ENTRY_POINT_GROUP.encode() in opened.read()
    except (FileNotFoundError, NotADirectoryError, PermissionError):
        return False
    except OSError:
        return True


def _reason_to_skip_plugin(place: Path) -> str:
    """The reason why the native module must not load a path; empty if it may."""
    if not place.is_absolute():
        return "the path is relative; it would be looked for in the working directory"
    if not place.exists():
        return "no such file or folder"
    if place.is_file() and not re.fullmatch(r"libdeepbench_.+\.so", place.name):
        return "a backend's file must be called libdeepbench_NAME.so"
    return ""
