"""Caches texts that take seconds to compute and never change, in the folder of the compiled kernels
(docs/reference/reports.md). An unusable folder or file only costs these seconds. Cache files that
other users own or can write are ignored."""

from __future__ import annotations

import hashlib
import os
import stat
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from deepbench.results import atomic_write
from deepbench.results.atomic_write import WriteError

_LARGEST = 16 << 20  # bytes
_DIGEST = 64  # characters


def cached_text(key: str, make: Callable[[], str]) -> str:
    """Returns the text cached under this key, or computes and caches it."""
    folder = _cache_folder()
    if folder is None:
        return make()
    file = folder / "reports" / hashlib.sha256(key.encode()).hexdigest()
    text = _read_cached(file)
    if text is None:
        text = make()
        _store_text(file, text)
    return text


def _cache_folder() -> Path | None:
    """The folder that also caches kernels (src/cpp/deepbench/backend/kernel_cache.hpp)."""
    chosen = os.environ.get("DEEPBENCH_CACHE_DIR")
    if chosen:
        return Path(chosen) if Path(chosen).is_absolute() else None
    for variable, below in (("XDG_CACHE_HOME", "deepbench"), ("HOME", ".cache/deepbench")):
        base = Path(os.environ.get(variable) or "")
        if base.is_absolute():
            return base / below
    return None


def _read_cached(file: Path) -> str | None:
    """The text of a complete file that only this user can write."""
    try:
        if not (_is_private(file.parent) and _is_private(file)):
            return None
        data = file.read_bytes()[:_LARGEST]
        digest, text = data[:_DIGEST], data[_DIGEST:]
        return text.decode() if digest == _digest(text) else None
    except (OSError, ValueError):
        return None


def _is_private(path: Path) -> bool:
    facts = path.lstat()
    private = facts.st_uid == os.getuid() and not facts.st_mode & (stat.S_IWGRP | stat.S_IWOTH)
    return private and not stat.S_ISLNK(facts.st_mode)


def _store_text(file: Path, text: str) -> None:
    data = text.encode()
    with suppress(OSError, ValueError, WriteError):
        file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        atomic_write.write(file, _digest(data) + data, overwrite=True)
        file.chmod(0o600)


def _digest(data: bytes) -> bytes:
    return hashlib.sha256(data).hexdigest().encode()
