"""Ends the processes that a worker's libraries started and that left its process group.

Each worker has a mark in its environment, which what it starts inherits. A process can thus be
found after its parent has ended, and without becoming the parent of foreign processes, as a
subreaper would. A process that was started with another environment is not found, and systems other
than Linux 5.3 or later have no such search.
"""

from __future__ import annotations

import contextlib
import os
import signal
import sys
from pathlib import Path
from secrets import token_hex

from deepbench.runner.environment import read_text

VARIABLE = "_DEEPBENCH_WORKER"
_PROC = Path("/proc")
_START_TIME = 19  # the place of the start time behind the name in /proc/PID/stat
_PASSES = 100  # passes over all processes, as long as one of them starts others


def new_mark() -> str:
    return token_hex(16)


def start_ticks(pid: int) -> int:
    """When a process was started, in ticks since the system's start; 0 if that is unknown."""
    words = read_text(_PROC / str(pid) / "stat").rpartition(")")[2].split()
    return int(words[_START_TIME]) if len(words) > _START_TIME else 0


def end_marked_processes(mark: str, since: int) -> None:
    """Ends all processes with this mark that were started at `since` or later. The environment of
    an older process is not read: that may block if a driver holds the process."""
    if not sys.platform.startswith("linux"):
        return
    ended: set[int] = set()
    for _ in range(_PASSES):
        found = {pid for pid in _pids() - ended if start_ticks(pid) >= since and _end(pid, mark)}
        if not found:
            return
        ended |= found


def _pids() -> set[int]:
    try:
        return {int(name) for name in os.listdir(_PROC) if name.isdigit()} - {os.getpid()}  # noqa: PTH208
    except OSError:
        return set()


def _end(pid: int, mark: str) -> bool:
    """Ends the process if it has the mark. The descriptor names the process even if it ends
    meanwhile and another one gets its number."""
    with contextlib.suppress(OSError):
        process = os.pidfd_open(pid)
        try:
            environment = (_PROC / str(pid) / "environ").read_bytes().split(b"\0")
            if f"{VARIABLE}={mark}".encode() in environment:
                signal.pidfd_send_signal(process, signal.SIGKILL)
                return True
        finally:
            os.close(process)
    return False
