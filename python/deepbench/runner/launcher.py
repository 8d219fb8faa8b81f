"""Decides who starts the ranks of a run.

If torchrun, srun or mpirun start the command several times, rank 0 runs it and the other processes
become workers that follow the worker of rank 0. With --ranks, the worker of rank 0 starts the other
ranks itself, except that --library mpi needs mpiexec to start them.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from deepbench.errors import UsageError
from deepbench.runner.run_options import RunOptions

if TYPE_CHECKING:
    from deepbench._core import LaunchEnvironment


_MPI_LIBRARIES = ("mpi",)
# A program that receives SIGTERM when its parent ends, however that ends; mpiexec then ends its
# ranks. Arguments: the parent, and the program with its arguments.
_END_WITH_PARENT = """\
import ctypes, os, signal, sys
ctypes.CDLL(None).prctl(1, int(signal.SIGTERM), 0, 0, 0)
if os.getppid() == int(sys.argv[1]):
    os.execv(sys.argv[2], sys.argv[2:])
"""


@dataclass(frozen=True)
class Launch:
    """How a worker is started. `prefix` precedes its command line; `spawn_count` is the number of
    ranks that it starts."""

    spawn_count: int | None = None
    prefix: Sequence[str] = ()
    variables: Mapping[str, str] = field(default_factory=dict)


def plan_launch(options: RunOptions, environment: LaunchEnvironment | None) -> Launch:
    """Raises UsageError if the ranks need mpiexec and there is no mpiexec."""
    # A launcher that started the ranks may have assigned the devices too.
    ranks = options.ranks if environment is not None else options.processes
    if ranks is None or options.rows.get("library") not in _MPI_LIBRARIES:
        return Launch(ranks)
    from secrets import token_hex
    from shutil import which

    mpiexec = which("mpiexec", path=Path(sys.executable).parent) or which("mpiexec")
    if mpiexec is None:
        raise UsageError(
            "--library mpi: there is no mpiexec; pip install mpich, or start the ranks with mpirun"
        )
    variables = {
        "DEEPBENCH_MASTER_PORT": str(_free_port()),
        "DEEPBENCH_RANKS_SECRET": token_hex(16),
    }
    prefix = [mpiexec, "-n", str(ranks)]
    if sys.platform.startswith("linux"):
        prefix = [sys.executable, "-I", "-c", _END_WITH_PARENT, str(os.getpid()), *prefix]
    return Launch(None, prefix, variables)


def _free_port() -> int:
    import socket

    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        port: int = one.getsockname()[1]
        return port


def launch_environment() -> LaunchEnvironment | None:
    """The rank of this process and its group, or None without a launcher. Raises UsageError."""
    from deepbench import _core

    try:
        return _core.launch_environment()
    except RuntimeError as error:
        raise UsageError(str(error)) from None


def rendezvous_timeout_s() -> float:
    """The seconds in which all ranks must arrive. Raises UsageError."""
    from deepbench import _core

    try:
        return _core.rendezvous_timeout_s()
    except RuntimeError as error:
        raise UsageError(str(error)) from None


def exec_worker(command: Sequence[str]) -> int:
    """Replaces this process by a worker. The process id stays, since the launcher watches it."""
    sys.stdout.flush()
    sys.stderr.flush()
    os.execv(command[0], list(command))
