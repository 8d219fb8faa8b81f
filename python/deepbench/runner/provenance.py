"""The origin of a result: the revision and the binaries of this build, the builds of the vendors'
libraries, and the compiled code of earlier runs."""

from __future__ import annotations

import hashlib
import json
import os
import stat
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from deepbench.cache_folder import cache_folder, is_private
from deepbench.json_types import JsonObject
from deepbench.runner.build_id import build_id

_DIGEST_BYTES = 20
_MOST_SOURCE_BYTES = 64 << 20
_REVISION = "revision.json"  # beside the bindings; src/cpp/python/record_revision.cmake writes it


def build_facts(backend: JsonObject) -> dict[str, Any]:
    """The revision of the sources, each of deepbench's binaries with its build ID, and the digest
    of the sources that the backend compiles while it runs. `backend` is that of a hello message."""
    from deepbench import _core

    bindings = Path(_core.__file__)
    paths = {
        "bindings": str(bindings),
        "core": str(bindings.with_name("libdeepbench.so")),
        "backend": backend.get("path"),
    }
    binaries = {
        name: {"path": path, "build_id": build_id(path)} for name, path in paths.items() if path
    }
    facts = {**recorded_revision(bindings.with_name(_REVISION)), "binaries": binaries}
    if folder := backend.get("kernel_sources"):
        facts["kernel_sources"] = {"path": folder, "digest": _digest_of_files(Path(folder))}
    return facts


def with_build_ids(libraries: JsonObject | None) -> dict[str, Any]:
    """The libraries of a hello message, those of a file with the build ID that it has."""
    found = {}
    for name, facts in (libraries or {}).items():
        identity = build_id(facts.get("path"))
        found[name] = {**facts, "build_id": identity} if identity else facts
    return found


def compile_caches(variables: Mapping[str, str] = os.environ) -> dict[str, Any]:
    """The caches of compiled code when the run starts: that of deepbench's kernels, and that of
    NVIDIA's driver. A full cache saves the first rows the compilation. None: there is none."""
    folder = cache_folder()
    return {
        "kernels": _folder_facts(_unless_unsafe(folder / "kernels") if folder else None),
        "driver": _folder_facts(_driver_cache(variables)),
    }


def recorded_revision(file: Path) -> dict[str, Any]:
    """The commit of the sources, and whether they had been changed since, as the build recorded
    them; both None if the sources were not a git tree."""
    try:
        recorded = json.loads(file.read_text(encoding="utf-8"))
        return {key: recorded[key] for key in ("revision", "modified")}
    except (OSError, ValueError, KeyError, TypeError):
        return {"revision": None, "modified": None}


def _digest_of_files(folder: Path) -> str | None:
    """The digest of the names and contents of a folder's files; None if they cannot be read or are
    too large for sources."""
    digest = hashlib.blake2b(digest_size=_DIGEST_BYTES)
    try:
        files = sorted(path for path in folder.iterdir() if path.is_file())
        if not files or sum(path.stat().st_size for path in files) > _MOST_SOURCE_BYTES:
            return None
        for path in files:
            size = path.stat().st_size
            digest.update(f"{path.name}\0{size}\0".encode())
            with path.open("rb") as file:  # whose size counts: one of /proc may never end
                digest.update(file.read(size))
    except (OSError, ValueError):
        return None
    return digest.hexdigest()


def _unless_unsafe(folder: Path) -> Path | None:
    """The folder; None if others can change it or it is a link, in which case it is not used."""
    try:
        facts = folder.lstat()
    except OSError:
        return folder  # deepbench makes it
    return folder if is_private(facts) and stat.S_ISDIR(facts.st_mode) else None


def _driver_cache(variables: Mapping[str, str]) -> Path | None:
    if variables.get("CUDA_CACHE_DISABLE") == "1":
        return None
    if chosen := variables.get("CUDA_CACHE_PATH"):
        return Path(chosen)
    home = variables.get("HOME")
    return Path(home) / ".nv/ComputeCache" if home else None


def _folder_facts(folder: Path | None) -> dict[str, Any] | None:
    if folder is None:
        return None
    sizes = list(_file_sizes(folder))
    return {"path": str(folder), "files": len(sizes), "bytes": sum(sizes)}


def _file_sizes(folder: Path) -> Iterator[int]:
    for parent, _, names in os.walk(folder):  # without the folders that cannot be read
        for name in names:
            try:
                yield (Path(parent) / name).lstat().st_size
            except OSError:
                continue  # removed meanwhile
