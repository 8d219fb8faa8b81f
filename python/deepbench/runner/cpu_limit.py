"""Whether a process has reached its hard limit of CPU time, at which the kernel sends SIGKILL."""

from __future__ import annotations

import os
from pathlib import Path

from deepbench.runner.environment import read_text

_PROC = Path("/proc")
_USER_TICKS, _SYSTEM_TICKS = 11, 12  # places behind the name in /proc/PID/stat
_ROUNDING_S = 0.4  # ticks of a busy processor count whole, and the sum is exact


def reached_cpu_limit(pid: int, proc: Path = _PROC) -> bool:
    """For a process that may have ended but is not reaped. False if the system does not tell."""
    limit_s, used_s = _hard_limit_s(proc / str(pid)), _used_s(proc / str(pid))
    return limit_s is not None and used_s is not None and used_s >= limit_s - _ROUNDING_S


def _hard_limit_s(process: Path) -> int | None:
    for line in read_text(process / "limits").splitlines():
        if line.startswith("Max cpu time"):  # the soft limit, the hard one, their unit
            hard = line.split()[4]
            return int(hard) if hard.isdigit() else None
    return None


def _used_s(process: Path) -> float | None:
    words = read_text(process / "stat").rpartition(")")[2].split()
    if len(words) <= _SYSTEM_TICKS:
        return None
    ticks = int(words[_USER_TICKS]) + int(words[_SYSTEM_TICKS])
    return ticks / os.sysconf("SC_CLK_TCK")
