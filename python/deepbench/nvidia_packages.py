"""The folders in which NVIDIA's Python packages and conda install libraries."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from pathlib import Path

# The libraries that the CUDA backend loads. A folder counts if it contains one of them.
_CUDA_LIBRARIES = tuple(
    f"lib{name}.so."
    for name in ("cudart", "nvrtc", "nvJitLink", "cublasLt", "cublas", "cudnn", "cusparse", "nccl")
)


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


# The key is the name of the backend that loads the libraries; the value is a function of Python's
# path and the environment.
FOLDERS_OF_PACKAGES: Mapping[str, Callable[[list[str], Mapping[str, str]], list[Path]]] = {
    "cuda": cuda_folders
}
