"""Ensures that a result file has one writer, by a lock that the kernel releases when the process
ends in any way.

The lock is on the file itself; readers ignore it. On a file system without such locks (some network
file systems), two writers are not prevented.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator
from pathlib import Path

try:
    import fcntl
except ImportError:  # the system is not POSIX
    fcntl = None  # type: ignore[assignment]

_PROC_LOCKS = Path("/proc/locks")
_LOCK_IS_HELD = (errno.EAGAIN, errno.EACCES)


def try_lock(descriptor: int) -> bool:
    """Locks the file until the descriptor is closed. False if another process holds the lock."""
    if fcntl is None:
        return True
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        return error.errno not in _LOCK_IS_HELD
    return True


def is_locked(path: Path) -> bool:
    """Whether a process holds the lock of the file."""
    try:
        descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0))
    except (OSError, ValueError):
        return False
    try:
        return not try_lock(descriptor)
    finally:
        os.close(descriptor)


def is_still_at(path: Path, descriptor: int) -> bool:
    """Whether the path still names the opened file, which others may have removed or replaced."""
    try:
        path_stat, descriptor_stat = path.stat(), os.fstat(descriptor)
    except OSError:
        return False
    return (path_stat.st_dev, path_stat.st_ino) == (descriptor_stat.st_dev, descriptor_stat.st_ino)


def lock_holder(path: Path) -> str:
    """The process that holds the lock, if it runs on this machine: 'process 1234'."""
    try:
        inode = path.stat().st_ino
    except OSError:
        return "another process"
    pids = set(_lock_holders(inode))
    return f"process {pids.pop()}" if len(pids) == 1 else "another process"


def locked_message(path: Path) -> str:
    """The error message for a second writer."""
    return f"{path}: {lock_holder(path)} is writing it; wait for its end, or name another file"


def _lock_holders(inode: int) -> Iterator[int]:
    """The processes that hold a lock on the file with this inode, from lines such as
    '1: FLOCK  ADVISORY  WRITE 1234 fe:00:131 0 EOF'."""
    try:
        lines = _PROC_LOCKS.read_text(encoding="ascii", errors="replace").splitlines()
    except OSError:
        return
    for line in lines:
        words = line.split()
        if "FLOCK" not in words or "WRITE" not in words:
            continue
        pid, place = words[words.index("WRITE") + 1 :][:2]
        if place.rpartition(":")[2] == str(inode) and int(pid) > 0:
            yield int(pid)
