"""Workers as ranks: starts ranks, joins those that torchrun, srun or mpirun started, and ends this
process when another rank is lost. The messages between ranks are native code.
"""

from __future__ import annotations

import contextlib
import os
import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, NoReturn

from deepbench.errors import UserError
from deepbench.runner.cpu_limit import reached_cpu_limit
from deepbench.runner.oom_kills import read_oom_kills
from deepbench.runner.progress import Deadline
from deepbench.runner.start_refusal import start_refusal
from deepbench.runner.worker_exit import failure_of_exit_status

if TYPE_CHECKING:
    from deepbench._core import Group, LaunchEnvironment

# A worker is started by the path of this file. With -m, Python would put the working directory
# first on its path and import its own runpy from there before the worker's first line (Python 3.10
# has no -P against it). For a path, Python puts the file's folder first, which holds only the
# worker; the worker removes that folder from the path in its first line.
_WORKER = Path(__file__).absolute().parents[1] / "worker" / "__main__.py"
_RANK_LOST_STATUS = 3  # exit status of a worker that lost another rank
_FINAL_ROW_S = 2.0  # grace period for the current row to finish by itself
_OTHER_OPEN_FILES = 512  # further files that libraries may need
_REFUSAL_MESSAGE_S = 2.0  # grace period for rank 0 to report why it refused a rank
_DISMISSAL_S = 5.0  # time for the other ranks to arrive and to learn that rank 0 cannot begin
_END_MESSAGE_S = 0.5  # grace period for a message about a rank that has ended


def worker_command(
    backend: str,
    options: Sequence[str],
    ranks: int | None = None,
    command: str = "",
    is_child: bool = True,
    hang_limit_s: float | None = None,
) -> list[str]:
    """The command line of a worker that starts `ranks` ranks itself, if given. All ranks must have
    the same `command`, whoever starts them. A worker that is a child of this process ends with
    it, however early this process ends. A worker of another rank than 0 ends if rank 0 is silent
    for `hang_limit_s` within a row."""
    words = ["--parent", str(os.getpid())] if is_child else []
    words += [] if ranks is None else ["--ranks", str(ranks)]
    words += ["--command", command] if command else []
    words += [] if hang_limit_s is None else ["--hang-limit", repr(hang_limit_s)]
    return [*_interpreter(), str(_WORKER), *words, backend, *options]


def _interpreter() -> list[str]:
    """The Python interpreter with the path options of this process, for a worker."""
    if sys.flags.isolated:
        return [sys.executable, "-I"]
    environment = ["-E"] if sys.flags.ignore_environment else []
    return [sys.executable, *environment, *(["-s"] if sys.flags.no_user_site else [])]


def inherited_descriptors(variables: Mapping[str, str]) -> list[int]:
    """The descriptors that mpirun opened for its ranks. MPI in the worker uses them to learn its
    rank."""
    text = variables.get("PMI_FD", "")
    try:
        os.fstat(int(text))
    except (ValueError, OSError, OverflowError):
        return []
    return [int(text)]


class RankRequest(NamedTuple):
    """The ranks that a worker's command line asks for. Without `spawn_count`, environment variables
    tell the rank."""

    spawn_count: int | None = None
    command: str = ""  # must be equal on all ranks
    hang_limit_s: float | None = None  # how long rank 0 may be silent within a row
    parent: int | None = None  # the process with which this one ends; None: its parent now


def report_refusal(message: str) -> bool:
    """Prints the reason why a rank other than 0 cannot start, since nobody reads its protocol
    output. Returns False on rank 0."""
    from deepbench import _core

    try:
        environment = _core.launch_environment()
    except RuntimeError:
        return False
    if environment is None or environment.rank == 0:
        return False
    said = f"rank {environment.rank}: "
    _print_message(said + message.removeprefix(said))  # the message may name the rank already
    return True


def join_group(
    request: RankRequest, followers: Sequence[str], end_process: Callable[[str], object]
) -> Group | None:
    """The group of ranks that this process joins, or None without ranks. `followers` is the command
    line of the ranks that rank 0 starts itself. `end_process` reports a reason and ends the
    process, in another thread than the one that waits for the other ranks. Raises RuntimeError."""
    from deepbench import _core

    environment = _core.launch_environment()
    if request.spawn_count is None:
        if environment is None:
            return None
        rendezvous = _core.open_rendezvous(environment, request.command, end_process)
        if warning := rendezvous.warning():
            _print_message(f"warning: {warning}")
        return rendezvous.wait()
    if environment is not None:
        raise RuntimeError(
            f"--ranks {request.spawn_count}: this process is already rank {environment.rank} of "
            f"{environment.size}, started by {environment.launcher}"
        )
    return _start_group(request.spawn_count, request.command, followers)


def dismiss_ranks(environment: LaunchEnvironment, command: str, error: UserError) -> None:
    """Ends the other ranks of a launcher, for a rank 0 that cannot begin because of `error`. They
    would wait for it until their limit, since not every launcher ends them. If ranks that meet by
    MPI do not arrive, this process cannot leave MPI, and ends with the error."""
    from deepbench import _core, libraries

    def end_process(reason: str) -> NoReturn:
        _print_message(f"error: {error}")
        os._exit(error.exit_status)

    libraries.export_library_path("auto")  # MPI's, as in the workers of the other ranks
    environment.timeout_s = min(environment.timeout_s, _DISMISSAL_S)
    with contextlib.suppress(RuntimeError):
        _core.open_rendezvous(environment, command, end_process).wait().end()


def _start_group(size: int, command: str, followers: Sequence[str]) -> Group:
    """Starts the other ranks of this machine. Each inherits one end of a pair of sockets, so that
    there is no port that another process could reach. Raises RuntimeError."""
    from deepbench import _core

    _raise_open_files_limit(size)
    joined = JoinedGroup()
    with contextlib.ExitStack() as stack:
        connections = [
            stack.enter_context(_start_follower(followers, rank, size, joined))
            for rank in range(1, size)
        ]
        timeout_s = _core.rendezvous_timeout_s()
        descriptors = [one.fileno() for one in connections]
        environment = _core.LaunchEnvironment(0, size, "", 0, "", timeout_s, descriptors)
        rendezvous = _core.Rendezvous(environment, command)
        for one in connections:
            one.detach()  # the rendezvous takes them over
        group = rendezvous.wait()
    joined.set(group)
    return group


def _raise_open_files_limit(ranks: int) -> None:
    """Shells often limit a process to 1,024 files although the system permits more."""
    import resource

    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = ranks + _OTHER_OPEN_FILES
    if resource.RLIM_INFINITY != soft < wanted:
        limit = wanted if hard == resource.RLIM_INFINITY else min(wanted, hard)
        resource.setrlimit(resource.RLIMIT_NOFILE, (limit, hard))


def _start_follower(
    followers: Sequence[str], rank: int, size: int, joined: JoinedGroup
) -> socket.socket:
    """Starts a rank. Returns the connection to it."""
    try:
        connection, inherited = socket.socketpair()
        with inherited:
            variables = {
                **os.environ,
                "RANK": str(rank),
                "WORLD_SIZE": str(size),
                "LOCAL_WORLD_SIZE": str(size),
                "DEEPBENCH_RANKS_SOCKET": str(inherited.fileno()),
            }
            variables.pop("DEEPBENCH_RANKS_SECRET", None)  # rank 0 has none either
            process = subprocess.Popen(
                followers, env=variables, stdin=subprocess.DEVNULL, pass_fds=[inherited.fileno()]
            )
        RankWatcher(rank, process, joined).start()
    except (OSError, RuntimeError) as error:  # RuntimeError: no thread can be started
        raise RuntimeError(f"cannot start rank {rank} of {size}: {start_refusal(error)}") from None
    return connection


class JoinedGroup:
    """The group of the spawned ranks, once all have joined it."""

    def __init__(self) -> None:
        self._event = threading.Event()
        self._group: Group | None = None

    def set(self, group: Group) -> None:
        self._group = group
        self._event.set()

    def wait(self, seconds: float) -> Group | None:
        """The group, or None if the ranks have not joined it by then."""
        self._event.wait(seconds)
        return self._group


class RankWatcher(threading.Thread):
    """Ends this process if a spawned rank ends before it connects, since the others would wait for
    ever. Closes the connection of a rank that ends later, and prints how it ended."""

    def __init__(self, rank: int, process: subprocess.Popen[bytes], joined: JoinedGroup):
        super().__init__(daemon=True)
        self._rank, self._process, self._joined = rank, process, joined
        self._oom_kills = read_oom_kills()

    def run(self) -> None:
        how = f"rank {self._rank} {self._end()}"
        group = self._joined.wait(_REFUSAL_MESSAGE_S)
        if group is None:
            _exit_process(f"{how} before it connected")
        group.close_connection(self._rank)
        if self._process.returncode != 0:
            _print_message(how)

    def _end(self) -> str:
        """How the rank ended, once it has: "was killed (SIGKILL) by another process"."""
        os.waitid(os.P_PID, self._process.pid, os.WEXITED | os.WNOWAIT)
        used_up_cpu_time = reached_cpu_limit(self._process.pid)  # known until it is reaped
        status = self._process.wait()
        failure = failure_of_exit_status(
            status, "", self._oom_kills, read_oom_kills(), used_up_cpu_time
        )
        return failure.reason.removeprefix("the worker ")


def wait_for_messages() -> None:
    """Lets the threads that watch spawned ranks print how a rank has ended, before this process
    ends because of it."""
    deadline = Deadline(_END_MESSAGE_S)
    for thread in threading.enumerate():
        if isinstance(thread, RankWatcher):
            thread.join(deadline.remaining_s())


@contextlib.contextmanager
def exit_on_rank_loss(group: Group | None) -> Iterator[None]:
    """Within this context, the process ends if a library waits for a rank that is lost."""
    if group is None:
        yield
        return
    watcher = threading.Thread(target=_wait_for_loss, args=(group,), daemon=True)
    try:
        watcher.start()
    except RuntimeError as error:
        why = start_refusal(error)
        _exit_process(f"rank {group.rank}: cannot start the watcher of the other ranks: {why}")
    try:
        yield
    finally:
        group.end()
        watcher.join()


def _wait_for_loss(group: Group) -> None:
    reason = group.wait_for_disconnect()
    if reason:
        threading.Event().wait(_FINAL_ROW_S)
        _exit_process(reason)


def _exit_process(reason: str) -> NoReturn:
    _print_message(reason)
    os._exit(_RANK_LOST_STATUS)


def _print_message(text: str) -> None:
    sys.stderr.write(f"deepbench: {text}\n")  # at once: print() ends the line in a write of its own
    sys.stderr.flush()
