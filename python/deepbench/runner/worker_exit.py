"""Interprets the exit status of a worker for the row that it left unfinished."""

from __future__ import annotations

import signal
from collections.abc import Mapping
from types import MappingProxyType
from typing import Literal, NamedTuple

from deepbench.errors import printable_line
from deepbench.runner.oom_kills import OomKills

Cause = Literal["crashed", "hung", "killed", "stopped"]  # stopped over an answer that is no row

_DEVICE_LOST = 3  # exit status of a worker that lost its device
_MESSAGE_PREFIX = "deepbench: "  # of messages that a worker prints itself
_LIMITS: Mapping[int, str] = MappingProxyType(
    {
        signal.SIGXCPU: "reached its limit of CPU time (ulimit -t)",
        signal.SIGXFSZ: "reached the limit of a file's size (ulimit -f)",
    }
)
# Signals of the process itself, those of its timers and pipes included; others come from another
# process.
_CRASHES = (signal.SIGSEGV, signal.SIGBUS, signal.SIGFPE, signal.SIGILL, signal.SIGTRAP,
            signal.SIGSYS, signal.SIGPIPE, signal.SIGALRM, signal.SIGVTALRM,
            signal.SIGPROF)  # fmt: skip


class WorkerFailure(NamedTuple):
    """Describes a row that its worker did not finish."""

    status: str
    reason: str
    begun: bool = True  # False: the worker ended before it began the row
    cause: Cause | None = "crashed"  # how the worker ended; None: it still runs
    measured: str | None = None  # the measured row, if the worker ended while measuring a ceiling
    ceiling: str = ""  # the problem of that ceiling


def failure_of_exit_status(
    status: int,
    last_stderr_line: str,
    before: OomKills,
    after: OomKills,
    used_up_cpu_time: bool = False,
) -> WorkerFailure:
    """The failure of a worker that ended with this status: its exit status or, negative, the number
    of a signal. `before` and `after` are the counts when it was started and now."""
    line = shortened(last_stderr_line.removeprefix(_MESSAGE_PREFIX))
    if status == _DEVICE_LOST and line:  # a library call did not return
        return WorkerFailure("device_lost", line)
    said = f" ({line})" if line else ""
    if status >= 0:
        return WorkerFailure("failed", f"the worker ended with exit status {status}{said}")
    number = -status
    if number == signal.SIGKILL and used_up_cpu_time:  # a hard limit has no signal of its own
        number = signal.SIGXCPU
    if number == signal.SIGKILL:
        word, reason = _killer(before, after)
        return WorkerFailure(word, f"{reason}{said}", cause="killed")
    if number in _LIMITS:
        return WorkerFailure("failed", f"the worker {_LIMITS[number]}{said}", cause="killed")
    name = signal_name(number)
    if number == signal.SIGABRT:
        return WorkerFailure("failed", f"the worker aborted: {name}{said}")
    if number in _CRASHES:
        return WorkerFailure("failed", f"the worker crashed: {name}{said}")
    return WorkerFailure(
        "failed", f"the worker was ended by another process: {name}{said}", cause="killed"
    )


def _killer(before: OomKills, after: OomKills) -> tuple[str, str]:
    """The status and the reason of a row whose worker got SIGKILL."""
    killed = "the worker was killed (SIGKILL)"
    if before.group is not None and after.group is not None:
        if after.group > before.group:
            return "out_of_memory", f"{killed} by the kernel, because memory ran out"
    elif before.system is None or after.system is None:
        unknown = "by another process or because memory ran out; this system does not tell which"
        return "failed", f"{killed} {unknown}"
    elif after.system > before.system:
        probable = "probably because memory ran out, since the kernel killed a process meanwhile"
        return "out_of_memory", f"{killed}, {probable}"
    return "failed", f"{killed} by another process"


def signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"


def shortened(text: str) -> str:
    """A text that a worker wrote, shortened to one printable line for a row or a message. A file
    with a NUL could not be read again."""
    line = printable_line(text)
    return line if len(line) <= 200 else line[:197] + "..."
