"""A process that forks ranks of a group of two, for fuzzers: a rank that another process speaks to
starts in some milliseconds, since Python and the native module are loaded already.

Standard input has one line for each rank: `0 LIMIT` or `1 LIMIT PORT`, with the
seconds in which the other one must arrive. For rank 0 the answer is a line with its
port. At the end of every rank the answer is a JSON object: its exit status, negative for a signal;
what it said; its peak of memory.
"""

from __future__ import annotations

import json
import os
import resource
import signal
import sys
import traceback

from deepbench import _core
from deepbench.runner import ranks

COMMAND, SECRET = "all_reduce elements=1000", "a secret"
PROBLEMS = ("all_reduce elements=1000 precision=float", "all_reduce elements=7 precision=half")
OPTIONS = "samples=2 ceilings=no time_limit=1"
MAX_CPU_S = 30


def run_rank_zero(plugin: str, limit_s: float) -> None:
    rendezvous = _core.Rendezvous(
        _core.LaunchEnvironment(0, 2, "127.0.0.1", 0, SECRET, limit_s), COMMAND
    )
    print(rendezvous.port, flush=True)
    group = rendezvous.wait()
    with ranks.exit_on_rank_loss(group):
        runner = _core.Runner(plugin, OPTIONS, (), group)
        for position, problem in enumerate(PROBLEMS):
            runner.wait_for_ranks()
            row = json.loads(runner.run(problem, position))
            print(f"row {row['status']}: {row['reason']}", file=sys.stderr)
            if runner.device_lost:
                break


def run_rank_one(plugin: str, limit_s: float, port: int) -> None:
    group = _core.Rendezvous(
        _core.LaunchEnvironment(1, 2, "127.0.0.1", port, SECRET, limit_s), COMMAND
    ).wait()
    with ranks.exit_on_rank_loss(group):
        _core.Runner(plugin, OPTIONS, (), group).follow_rank_zero()


def run_rank(plugin: str, rank: str, limit_s: str, *port: str) -> int:
    """0: it did its part; 2: it refused, with a reason; 9: an error that is not documented."""
    resource.setrlimit(resource.RLIMIT_CPU, (MAX_CPU_S, MAX_CPU_S))
    try:
        if rank == "0":
            run_rank_zero(plugin, float(limit_s))
        else:
            run_rank_one(plugin, float(limit_s), int(port[0]))
    except RuntimeError as error:  # BackendError, or a rank that is lost
        print(f"deepbench: {error}", file=sys.stderr)
        return 2
    except Exception:
        traceback.print_exc()
        return 9
    return 0


def fork_rank(plugin: str, words: list[str]) -> None:
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        os.dup2(writer, 2)
        os.close(reader)
        os.close(writer)
        status = run_rank(plugin, *words)
        sys.stderr.flush()
        os._exit(status)
    os.close(writer)
    with os.fdopen(reader, "rb") as file:
        said = file.read(1 << 20)
    _, status, usage = os.wait4(child, 0)
    answer = {
        "status": os.waitstatus_to_exitcode(status),
        "said": said.decode("utf-8", errors="backslashreplace"),
        "peak_kib": usage.ru_maxrss,
    }
    print(json.dumps(answer), flush=True)


if __name__ == "__main__":
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)
    for line in sys.stdin:
        fork_rank(sys.argv[1], line.split())
