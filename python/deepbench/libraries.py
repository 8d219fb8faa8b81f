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
from collections.abc import Callable, Iterator, Mapping, MutableMapping
from pathlib import Path

ENTRY_POINT_GROUP = "deepbench.backends"
CUDA_LIBRARY_PATH = "DEEPBENCH_CUDA_LIBRARY_PATH"

_CUDA_PLUGIN = "libdeepbench_cuda.so"
# The libraries that the CUDA backend loads. A folder counts if it has one of them.
_CUDA_LIBRARIES = tuple(
    f"lib{name}.so."
    for name in ("cudart", "nvrtc", "nvJitLink", "cublasLt", "cublas", "cudnn", "cusparse", "nccl")
)
_SITE_PACKAGES = Path(__file__).parents[1]  # the backend searches this folder itself


def plugin_paths(warn: Callable[[str], object] = lambda text: None) -> list[str]:
    """The plugins of other packages, which the native module tries first."""
    return list(dict.fromkeys(_entry_point_plugins(warn)))


def export_library_path(backend: str, variables: MutableMapping[str, str] = os.environ) -> None:
    """Sets the environment variable that tells `backend` the library folders of Python packages.
    Called before the backend is loaded. A variable that the user has set stays unchanged."""
    may_be_cuda = backend in ("auto", "cuda") or Path(backend).name == _CUDA_PLUGIN
    if not may_be_cuda or CUDA_LIBRARY_PATH in variables:
        return
    folders = cuda_folders(sys.path, variables)
    if not all(folder.is_relative_to(_SITE_PACKAGES) for folder in folders):
        variables[CUDA_LIBRARY_PATH] = ":".join(map(str, folders))


def cuda_folders(python_path: list[str], variables: Mapping[str, str]) -> list[Path]:
    """The folders with CUDA libraries, in order: those of NVIDIA's Python packages in either layout
    (nvidia/cu13/lib, nvidia/cublas/lib) on Python's path, then conda's. The backend itself searches
    its own folder, the folders of the system's loader, and toolkits. An empty entry of Python's
    path means the working directory and is skipped, since packages are not installed there.

    cuda.pathfinder knows these folders too, but it finds a library by loading it and prefers the
    newest one whatever the driver; the backend chooses among all versions.
    """
    places = [folder for entry in python_path if entry for folder in _package_folders(entry)]
    if variables.get("CONDA_PREFIX"):
        places.append(Path(variables["CONDA_PREFIX"], "lib"))
    found = (place for place in places if ":" not in str(place) and _has_library(place))
    return list(dict.fromkeys(found))


def _package_folders(entry: str) -> list[Path]:
    try:
        return sorted(Path(entry).absolute().glob("nvidia/*/lib"))
    except (OSError, ValueError):
        return []


def _has_library(folder: Path) -> bool:
    try:
        return any(entry.name.startswith(_CUDA_LIBRARIES) for entry in os.scandir(folder))
    except (OSError, ValueError):  # ValueError: NUL in the name
        return False


def _entry_point_plugins(warn: Callable[[str], object]) -> Iterator[str]:
    from importlib.metadata import entry_points  # 20 ms

    for entry in sorted(entry_points(group=ENTRY_POINT_GROUP), key=lambda entry: entry.name):
        try:
            found = entry.load()
            path = os.fspath(found() if callable(found) else found)
        except Exception as error:  # the code of another package may raise anything
            warn(f"the backend {entry.name!r} ({entry.value}) cannot be found: {error!r}")
            continue
        unusable = _reason_to_skip(Path(path))
        if unusable:
            warn(f"the backend {entry.name!r} ({entry.value}): {path}: {unusable}")
        else:
            yield path


def _reason_to_skip(place: Path) -> str:
    """Why the native module must not load a path; empty if it may."""
    if not place.is_absolute():
        return "the path is relative; it would be looked for in the working directory"
    if not place.exists():
        return "no such file or folder"
    if place.is_file() and not re.fullmatch(r"libdeepbench_.+\.so", place.name):
        return "a backend's file must be called libdeepbench_NAME.so"
    return ""
