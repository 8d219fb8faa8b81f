"""The wait for a processor, and that a worker which lacks one is not taken for one that hangs."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from deepbench.runner.processor_wait import ProcessorWait, WorkDeadline
from deepbench.runner.worker_exit import WorkerFailure
from deepbench.runner.worker_process import WorkerProcess

NEIGHBORS = 4

pytestmark = pytest.mark.skipif(
    not Path("/proc/thread-self/schedstat").exists(), reason="this system does not count waits"
)


@pytest.fixture
def neighbors() -> Iterator[list[int]]:
    """Processes that compute without pause on one processor."""
    processor = min(os.sched_getaffinity(0))
    code = f"import os\nos.sched_setaffinity(0, [{processor}])\nwhile True: pass"
    words = [sys.executable, "-c", code]
    processes = [subprocess.Popen(words) for _ in range(NEIGHBORS)]
    yield [process.pid for process in processes]
    for process in processes:
        process.kill()
        process.wait()


def answer(code: str, limit_s: float) -> str | WorkerFailure:
    worker = WorkerProcess([sys.executable, "-c", code], os.environ, print, lambda: None)
    try:
        return worker.read_line(limit_s)
    finally:
        worker.kill()


def test_waits_of_neighbors_are_counted(neighbors: list[int]) -> None:
    waits = [ProcessorWait(pid) for pid in neighbors]
    end = time.monotonic() + 60
    while not any(wait.longest_s() > 0.1 for wait in waits):
        assert time.monotonic() < end
        time.sleep(0.05)


@pytest.mark.parametrize(("waited_s", "remaining_s"), [(2, (1, 2)), (1000, (3, 4.5))])
def test_the_wait_postpones_a_deadline_up_to_tenfold(
    tmp_path: Path, waited_s: int, remaining_s: tuple[float, float]
) -> None:
    counts = tmp_path / "7/task/7/schedstat"
    counts.parent.mkdir(parents=True)
    counts.write_text("0 5000000000 1\n")
    deadline = WorkDeadline(7, 0.5, tmp_path)
    while deadline.remaining_s() > 0.2:  # the wait before the first look is not known
        time.sleep(0.01)
    counts.write_text(f"0 {5 + waited_s}000000000 2\n")
    while deadline.remaining_s() < 0.2:
        time.sleep(0.01)
    assert remaining_s[0] < deadline.remaining_s() <= remaining_s[1]


def test_a_worker_that_sleeps_hangs() -> None:
    failure = answer("import time\ntime.sleep(600)", limit_s=0.5)
    assert isinstance(failure, WorkerFailure)
    assert failure.reason == "no answer within 0.5 s, so the worker was stopped"
    assert failure.cause == "hung"


def test_a_process_that_has_ended_has_no_wait(tmp_path: Path) -> None:
    assert ProcessorWait(1, tmp_path).longest_s() == 0
