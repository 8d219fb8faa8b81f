"""One writer for a result file: a lock that the kernel keeps and takes back when its process ends,
however it ends, so that none is ever left over.

It lies on the file itself, and readers do not ask for it. Where a file system has no such locks
(some network file systems), nothing keeps two writers apart.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator
from pathlib import Path

try:
    import fcntl
except ImportError:  # no POSIX system
    fcntl = None  # type: ignore[assignment]

_PROC_LOCKS = Path("/proc/locks")
_LOCK_IS_HELD = (errno.EAGAIN, errno.EACCES)


def try_lock(descriptor: int) -> bool:
    """Takes the file for this process until the descriptor is closed; False: another has it."""
    if fcntl is None:
        return True
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        return error.errno not in _LOCK_IS_HELD
    return True


def is_locked(path: Path) -> bool:
    """Whether a process has the file now."""
    try:
        descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0))
    except (OSError, ValueError):
        return False
    try:
        return not try_lock(descriptor)
    finally:
        os.close(descriptor)


def is_still_at(path: Path, descriptor: int) -> bool:
    """Whether the name still means the file that was opened: its writer may have removed it."""
    try:
        path_stat, descriptor_stat = path.stat(), os.fstat(descriptor)
    except OSError:
        return False
    return (path_stat.st_dev, path_stat.st_ino) == (descriptor_stat.st_dev, descriptor_stat.st_ino)


def lock_holder(path: Path) -> str:
    """Who has the file, as far as this machine knows: 'process 1234'."""
    try:
        inode = path.stat().st_ino
    except OSError:
        return "another process"
    pids = set(_lock_holders(inode))
    return f"process {pids.pop()}" if len(pids) == 1 else "another process"


def locked_message(path: Path) -> str:
    """What whoever comes second is told."""
    return f"{path}: {lock_holder(path)} is writing it; wait for its end, or name another file"


def _lock_holders(inode: int) -> Iterator[int]:
    """Processes with a lock on a file of this number, from lines such as
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
