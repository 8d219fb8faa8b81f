"""How often the kernel has killed a process because memory ran out.

SIGKILL alone does not tell the kernel's out-of-memory killer from `kill -9`. The kernel counts a
process before it kills it, so a count that grew while a worker ran tells them apart.
"""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

from deepbench.runner.environment import read_text

_PROC, _CGROUP = Path("/proc"), Path("/sys/fs/cgroup")


class OomKills(NamedTuple):
    """Counts of killed processes. None: this system does not show the count."""

    group: int | None  # for the control group of this process, which its workers share
    system: int | None


def read_oom_kills(proc: Path = _PROC, cgroup: Path = _CGROUP) -> OomKills:
    """The current counts."""
    return OomKills(_group_count(proc, cgroup), _count_in(proc / "vmstat"))


def _group_count(proc: Path, cgroup: Path) -> int | None:
    """From memory.events of version 2 or memory.oom_control of version 1."""
    for line in read_text(proc / "self/cgroup").splitlines():  # "0::/path", "4:memory:/path"
        _, controllers, path = (*line.split(":", 2), "", "")[:3]
        if not controllers:
            folder, name = cgroup, "memory.events"
        elif "memory" in controllers.split(","):
            folder, name = cgroup / "memory", "memory.oom_control"
        else:
            continue
        # In a container the path may be that of the host, and the group is the mounted folder.
        for group in (folder / path.lstrip("/"), folder):
            count = _count_in(group / name)
            if count is not None:
                return count
    return None


def _count_in(file: Path) -> int | None:
    for line in read_text(file).splitlines():
        key, _, value = line.partition(" ")
        if key == "oom_kill" and value.strip().isdigit():
            return int(value)
    return None
