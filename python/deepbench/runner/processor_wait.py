"""Measures how long the threads of a process waited for a processor while they were ready to
run."""

from __future__ import annotations

from pathlib import Path

from deepbench.runner.environment import read_text
from deepbench.runner.progress import Deadline

_PROC = Path("/proc")
_NS_PER_S = 1e9
_MOST_EXCUSED = 9  # a multiple of the limit: threads that spin wait for each other's processor, too
# Waits are not read within this time, because reading them takes longer than a short row.
_BRIEF_S = 0.25


class ProcessorWait:
    """The waits of a process from now on; 0 if the system does not count them."""

    def __init__(self, pid: int, proc: Path = _PROC) -> None:
        self._tasks = proc / str(pid) / "task"
        self._before = self._waits_ns()

    def longest_s(self) -> float:
        """The wait of the thread that waited longest, among those that still run."""
        waits = self._waits_ns().items()
        return max((ns - self._before.get(task, 0) for task, ns in waits), default=0) / _NS_PER_S

    def _waits_ns(self) -> dict[str, int]:
        """The waits of each thread."""
        try:
            tasks = list(self._tasks.iterdir())
        except OSError:
            return {}
        # The time on a processor, the wait for one, and the number of turns.
        fields = {task.name: read_text(task / "schedstat").split() for task in tasks}
        return {task: int(words[1]) for task, words in fields.items() if len(words) == 3}


class WorkDeadline:
    """A deadline by which a process must have done something. The time for which one of its threads
    waited for a processor does not count, and postpones the deadline up to tenfold."""

    def __init__(self, pid: int, limit_s: float, proc: Path = _PROC) -> None:
        self._pid, self._proc, self._most_s = pid, proc, _MOST_EXCUSED * limit_s
        self._brief, self._end = Deadline(_BRIEF_S), Deadline(limit_s)
        self._wait: ProcessorWait | None = None
        self._excused_s = 0.0

    def remaining_s(self) -> float:
        """Seconds until the current deadline; 0 after it."""
        if self._wait is None and self._brief.remaining_s() == 0:
            self._wait = ProcessorWait(self._pid, self._proc)
        if self._wait is not None and self._end.remaining_s() == 0:
            waited_s = min(self._wait.longest_s(), self._most_s)
            self._end, self._excused_s = Deadline(waited_s - self._excused_s), waited_s
        return self._end.remaining_s()
