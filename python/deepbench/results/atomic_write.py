"""Writes a file completely or not at all: if the disk fills up or the process is killed, the file
keeps its old content."""

from __future__ import annotations

import contextlib
import errno
import os
import stat
import tempfile
from pathlib import Path

from deepbench.errors import UserError
from deepbench.results import file_lock, output_place

_REASONS = {
    errno.EACCES: "permission to write it is missing",
    errno.ENOSPC: "the disk is full; nothing was written",
    errno.EDQUOT: "the disk quota is used up; nothing was written",
    errno.EFBIG: "is larger than a file may be here; nothing was written",
    errno.EROFS: "the file system is read-only",
}


class WriteError(UserError):
    """A file cannot be written. The message is one line: which file, why, and the cure."""


def require_writable(path: Path, overwrite: bool) -> None:
    """Raises WriteError if the file must not or cannot be written. Called before costly work.
    Devices and pipes may always be written, since they hold no content."""
    if "\0" in str(path):
        raise WriteError(f"{str(path)!r}: a name has no NUL")
    reason = output_place.unusable_reason(path)
    if reason is not None:
        raise WriteError(f"{path}: {reason}")
    try:
        facts = path.stat() if path.exists() else None
        there = os.path.lexists(path)
        folder = path.parent.is_dir()
    except OSError as error:  # the name is too long
        raise WriteError(f"{path}: {error.strerror or error}") from None
    if facts is not None and stat.S_ISDIR(facts.st_mode):
        raise WriteError(f"{path}: is a folder; name a file")
    if there and not overwrite and (facts is None or stat.S_ISREG(facts.st_mode)):
        raise WriteError(f"{path}: exists; --overwrite replaces it")
    if facts is not None and stat.S_ISREG(facts.st_mode) and file_lock.is_locked(path):
        raise WriteError(file_lock.locked_message(path))
    if not folder:
        raise WriteError(f"{path}: there is no folder {str(path.parent)!r}; make it")


def write(path: Path, data: bytes, overwrite: bool) -> None:
    """Writes the file. Raises WriteError."""
    require_writable(path, overwrite)
    try:
        # The given path is examined: /dev/stdout leads to a pipe, which has no path of its own.
        if path.exists() and not path.is_file():
            with os.fdopen(output_place.open_output(path, os.O_WRONLY), "wb") as file:
                file.write(data)
        else:
            _replace(path.resolve(), data)  # a link stays a link
    except OSError as error:
        reason = _REASONS.get(error.errno or 0, error.strerror or str(error))
        raise WriteError(f"{path}: {reason}", exit_status=1) from None


def _replace(target: Path, data: bytes) -> None:
    """Writes a file beside the target and renames it when it is complete."""
    prefix = f".{output_place.beginning_of_name(target)}."
    descriptor, name = tempfile.mkstemp(prefix=prefix, dir=target.parent)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
            os.fchmod(file.fileno(), _permissions(target))
        os.replace(name, target)  # noqa: PTH105
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(name)  # noqa: PTH108
        raise


def _permissions(target: Path) -> int:
    """The permissions of the replaced file, or the default ones for a new file."""
    if target.exists():
        return stat.S_IMODE(target.stat().st_mode)
    mask = os.umask(0)
    os.umask(mask)
    return 0o666 & ~mask
