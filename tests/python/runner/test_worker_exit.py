"""A worker that was killed: by whom is told from the kernel's counts, never guessed."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest

from deepbench.runner.cpu_limit import reached_cpu_limit
from deepbench.runner.oom_kills import OomKills, read_oom_kills
from deepbench.runner.worker_exit import failure_of_exit_status

KILLED = "the worker was killed (SIGKILL)"
UNKNOWN = OomKills(None, None)


@pytest.mark.parametrize(
    ("before", "after", "status", "reason"),
    [
        (OomKills(2, 7), OomKills(3, 8), "out_of_memory", " by the kernel, because memory ran out"),
        (OomKills(2, 7), OomKills(2, 8), "failed", " by another process"),  # in another group
        (
            OomKills(None, 7),
            OomKills(None, 8),
            "out_of_memory",
            ", probably because memory ran out",
        ),
        (OomKills(None, 7), OomKills(None, 7), "failed", " by another process"),
        (UNKNOWN, UNKNOWN, "failed", " by another process or because memory ran out"),
        (OomKills(2, None), UNKNOWN, "failed", " by another process or because memory ran out"),
    ],
)
def test_the_counts_tell_who_killed(
    before: OomKills, after: OomKills, status: str, reason: str
) -> None:
    failure = failure_of_exit_status(-signal.SIGKILL, "", before, after)
    assert failure.status == status
    assert failure.reason.startswith(KILLED + reason)
    assert failure.cause == "killed"


@pytest.mark.parametrize(
    ("number", "reason", "cause"),
    [
        (signal.SIGSEGV, "the worker crashed: SIGSEGV (last words)", "crashed"),
        (signal.SIGABRT, "the worker aborted: SIGABRT (last words)", "crashed"),
        (signal.SIGPIPE, "the worker crashed: SIGPIPE (last words)", "crashed"),
        (signal.SIGALRM, "the worker crashed: SIGALRM (last words)", "crashed"),
        (signal.SIGHUP, "the worker was ended by another process: SIGHUP (last words)", "killed"),
        (signal.SIGXCPU, "the worker reached its limit of CPU time (ulimit -t) (last words)",
         "killed"),
        (99, "the worker was ended by another process: signal 99 (last words)", "killed"),
    ],
)  # fmt: skip
def test_signals_are_named(number: int, reason: str, cause: str) -> None:
    failure = failure_of_exit_status(-number, "last  words", UNKNOWN, UNKNOWN)
    assert (failure.status, failure.reason, failure.cause) == ("failed", reason, cause)


@pytest.mark.parametrize(
    ("line", "file", "text"),
    [
        ("0::/user/job", "user/job/memory.events", "low 0\noom 4\noom_kill 3\noom_group_kill 0\n"),
        ("0::/../outside", "memory.events", "oom 4\noom_kill 3\n"),
        ("3:cpu:/x\n4:hugetlb,memory:/job", "memory/job/memory.oom_control",
         "oom_kill_disable 0\nunder_oom 0\noom_kill 3\n"),
    ],
)  # fmt: skip
def test_counts_are_read_from_either_version(
    tmp_path: Path, line: str, file: str, text: str
) -> None:
    proc, cgroup = tmp_path / "proc", tmp_path / "cgroup"
    (proc / "self").mkdir(parents=True)
    (proc / "self/cgroup").write_text(line + "\n")
    (proc / "vmstat").write_text("pgfault 12\noom_kill 9\n")
    (cgroup / file).parent.mkdir(parents=True, exist_ok=True)
    (cgroup / file).write_text(text)
    assert read_oom_kills(proc, cgroup) == OomKills(group=3, system=9)


def test_a_system_without_counts_says_so(tmp_path: Path) -> None:
    assert read_oom_kills(tmp_path, tmp_path) == UNKNOWN


@pytest.mark.parametrize(("ticks", "limit", "reached"), [(98, "1", True), (50, "1", False),
                                                         (900, "unlimited", False)])  # fmt: skip
def test_a_hard_limit_of_cpu_time_is_told_from_a_kill(
    tmp_path: Path, ticks: int, limit: str, reached: bool
) -> None:
    ticks = ticks * os.sysconf("SC_CLK_TCK") // 100
    process = tmp_path / "12"
    process.mkdir()
    process.joinpath("limits").write_text(
        f"Limit  Soft Limit  Hard Limit  Units\nMax cpu time  1  {limit}  seconds\n"
    )
    process.joinpath("stat").write_text(f"12 (a) b) Z 1 2 3 4 5 6 7 8 9 10 {ticks} 0 0 0\n")
    assert reached_cpu_limit(12, tmp_path) == reached
    failure = failure_of_exit_status(-signal.SIGKILL, "", OomKills(2, 7), OomKills(2, 7), reached)
    assert ("reached its limit of CPU time" in failure.reason) == reached
    assert ("by another process" in failure.reason) != reached


def test_a_system_without_limits_says_nothing_of_them(tmp_path: Path) -> None:
    assert not reached_cpu_limit(12, tmp_path)
