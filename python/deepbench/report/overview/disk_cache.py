"""Caches texts that take seconds to compute and never change, in the folder of the compiled kernels
(docs/reference/reports.md). An unusable folder or file only costs these seconds. Cache files that
other users own or can write are ignored."""

from __future__ import annotations

import contextlib
import hashlib
import os
import secrets
import stat
from collections.abc import Callable, Iterator
from pathlib import Path

from deepbench.cache_folder import cache_folder, is_private

_LARGEST = 16 << 20  # bytes
_DIGEST = 64  # characters


def cached_text(key: str, make: Callable[[], str]) -> str:
    """Returns the text cached under this key, or computes and caches it."""
    folder = cache_folder()
    name = hashlib.sha256(key.encode()).hexdigest()
    with contextlib.ExitStack() as stack:
        private = None
        if folder is not None:
            private = stack.enter_context(_opened_private_folder(folder / "reports"))
        text = None if private is None else _read_cached(private, name)
        if text is None:
            text = make()
            if private is not None:
                _store_text(private, name, text)
        return text


@contextlib.contextmanager
def _opened_private_folder(folder: Path) -> Iterator[int | None]:
    """A descriptor of the folder, which is made if it does not exist; None unless only this user
    can write it. Files are reached from the descriptor: whoever can write a folder above this one
    could replace its name by a link at any time."""
    descriptor = -1
    with contextlib.suppress(OSError, ValueError):
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    if descriptor < 0:
        yield None
        return
    try:
        yield descriptor if is_private(os.fstat(descriptor)) else None
    finally:
        os.close(descriptor)


def _read_cached(folder: int, name: str) -> str | None:
    """The text of a complete regular file that only this user can write."""
    flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK
    try:
        with os.fdopen(os.open(name, flags, dir_fd=folder), "rb") as file:
            facts = os.fstat(file.fileno())
            if not (stat.S_ISREG(facts.st_mode) and is_private(facts)):
                return None
            data = file.read(_LARGEST)
        digest, text = data[:_DIGEST], data[_DIGEST:]
        return text.decode() if digest == _digest(text) else None
    except (OSError, ValueError):
        return None


def _store_text(folder: int, name: str, text: str) -> None:
    """Writes a file beside the cached one and renames it, which replaces a link by the file."""
    data = text.encode()
    new_name = f".{name}.{secrets.token_hex(8)}"
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW
    with contextlib.suppress(OSError):
        try:
            with os.fdopen(os.open(new_name, flags, 0o600, dir_fd=folder), "wb") as file:
                file.write(_digest(data) + data)
            os.rename(new_name, name, src_dir_fd=folder, dst_dir_fd=folder)
        except OSError:
            os.unlink(new_name, dir_fd=folder)


def _digest(data: bytes) -> bytes:
    return hashlib.sha256(data).hexdigest().encode()
