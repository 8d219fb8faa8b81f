"""A process or a thread that the system refuses is named, with the limit to raise, in one line."""

from __future__ import annotations

import errno
import os
import re
import subprocess
import sys
import threading

import pytest

from deepbench.cli import main
from deepbench.runner import ranks
from deepbench.runner.start_refusal import start_refusal

PROCESSES = "the limit of processes is reached; raise 'ulimit -u' or the container's limit"
THREADS = (
    "the limit of threads or of address space is reached; raise 'ulimit -u', 'ulimit -v' or the "
    "container's limit"
)
FILES = "the limit of open files is reached; raise 'ulimit -n'"


def refuse_processes(monkeypatch: pytest.MonkeyPatch, number: int) -> None:
    """Lets the system refuse every process with this error. A limit on processes does not hold for
    root."""

    def refused(*arguments: object, **options: object) -> None:
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(subprocess, "Popen", refused)


@pytest.mark.parametrize(
    ("error", "reason"),
    [
        (BlockingIOError(errno.EAGAIN, os.strerror(errno.EAGAIN)), PROCESSES),
        (OSError(errno.EMFILE, os.strerror(errno.EMFILE)), FILES),
        (RuntimeError("can't start new thread"), THREADS),
        (OSError(errno.ENOMEM, os.strerror(errno.ENOMEM)), "Cannot allocate memory"),
        (FileNotFoundError(errno.ENOENT, "No such file", "/x"), "No such file (/x)"),
    ],
)
def test_the_limit_is_named(error: OSError | RuntimeError, reason: str) -> None:
    assert start_refusal(error) == reason


@pytest.mark.parametrize(("number", "why"), [(errno.EAGAIN, PROCESSES), (errno.EMFILE, FILES)])
def test_a_worker_that_cannot_be_started_ends_the_run(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], number: int, why: str
) -> None:
    refuse_processes(monkeypatch, number)
    assert main(["gemm", "m=16", "n=16", "k=16", "--backend", "cpu"]) == 2
    assert capsys.readouterr().err == f"deepbench: error: cannot start a worker: {why}\n"


def test_a_rank_that_cannot_be_started_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    refuse_processes(monkeypatch, errno.EAGAIN)
    with pytest.raises(RuntimeError, match=re.escape(f"cannot start rank 1 of 2: {PROCESSES}")):
        ranks.join_group(ranks.RankRequest(spawn_count=2), [sys.executable], pytest.fail)


def test_a_rank_whose_watcher_cannot_be_started_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(thread: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(ranks.RankWatcher, "start", refused)
    with pytest.raises(RuntimeError, match=re.escape(f"cannot start rank 1 of 2: {THREADS}")):
        ranks.join_group(ranks.RankRequest(spawn_count=2), [sys.executable, "-c", ""], pytest.fail)
