"""Checks the place of an output, opens it, and names the files beside it. No function waits."""

from __future__ import annotations

import errno
import hashlib
import os
import stat
from pathlib import Path

_LONGEST_NAME = 255  # bytes of a name of a file
_LONGEST_BEGINNING = 64  # bytes of a name within the name of another file


def unusable_reason(path: Path) -> str | None:
    """The reason why no file can be written at the path, whatever the user requests; None if none
    is known."""
    try:
        is_link = stat.S_ISLNK(path.lstat().st_mode)
    except ValueError:  # a NUL in the name, which open_output() reports
        return None
    except OSError as error:
        if error.errno == errno.ENAMETOOLONG:
            return "the name is too long"
        return None if _has_working_directory(path) else "the working directory was removed"
    return _broken_link_reason(path) if is_link else None


def place_beside(path: Path, prefix: str = "", suffix: str = "") -> Path:
    """The place of a file that belongs to the one at `path`: its name between `prefix` and
    `suffix`. Where that is longer than a name may be, a beginning of the name and its digest
    stand for it, so that other files have other places."""
    whole = f"{prefix}{path.name}{suffix}"
    if len(os.fsencode(whole)) <= _LONGEST_NAME:
        return path.with_name(whole)
    digest = hashlib.sha256(os.fsencode(path.name)).hexdigest()[:16]
    return path.with_name(f"{prefix}{beginning_of_name(path)}.{digest}{suffix}")


def beginning_of_name(path: Path) -> str:
    """A beginning of the name that leaves room for more. It has a bounded number of bytes, since
    the length of a name is limited in bytes, of which a character may take four."""
    return os.fsencode(path.name)[:_LONGEST_BEGINNING].decode("utf-8", errors="ignore")


def _has_working_directory(path: Path) -> bool:
    try:
        return path.is_absolute() or bool(Path.cwd())
    except OSError:
        return False


def _broken_link_reason(path: Path) -> str | None:
    """The reason why a link cannot be used; None if it can. A link to a missing file in an existing
    folder is written through."""
    try:
        path.stat()
    except FileNotFoundError:
        if not os.path.isdir(os.path.dirname(os.path.realpath(path))):  # noqa: PTH112, PTH120
            return "is a link into a folder that does not exist; remove the link"
    except OSError as error:
        return f"is a link that cannot be followed ({error.strerror}); remove the link"
    return None


def open_output(path: Path, flags: int) -> int:
    """Opens a file for writing. Raises OSError, also for a socket, and for a pipe that nobody
    reads: opening it would wait for a reader without an end."""
    flags |= getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_NONBLOCK", 0)
    try:
        descriptor = os.open(path, flags, 0o666)
    except OSError as error:
        if error.errno == errno.ENXIO and path.is_fifo():
            reason = "is a pipe that nobody reads; start its reader first"
            raise OSError(errno.ENXIO, reason, str(path)) from None
        if error.errno == errno.ENXIO and path.is_socket():
            reason = "is a socket, which cannot be opened; name a file or a pipe"
            raise OSError(errno.ENXIO, reason, str(path)) from None
        raise
    os.set_blocking(descriptor, True)
    return descriptor
