"""python -m deepbench.worker [--parent PID] [--ranks N] [--command TEXT] BACKEND [key=value ...]:
reads problem lines from standard input and writes row lines to standard output. With --inspect
BACKEND it prints the facts of a backend and ends. It ends with its parent, and at once if its
parent is not the process PID.

With several ranks, rank 0 is the worker that speaks this protocol. It starts the other ranks if
--ranks is given; they run the same rows. TEXT must be equal on all ranks.

deepbench_run speaks the same protocol (docs/reference/protocol.md). Rows run in a process apart
from the parent, so that a crash of a vendor library costs only one row; runner/session.py starts,
watches and ends this process.
"""

from __future__ import annotations

import contextlib
import errno
import json
import os
import signal
import sys
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, BinaryIO, NoReturn

from deepbench.runner import ranks
from deepbench.runner.ranks import RankRequest

if TYPE_CHECKING:
    from deepbench._core import Runner

_DEVICE_LOST = 3
_BEGIN = json.dumps({"type": "begin"})
_ADMITTED = json.dumps({"type": "admitted"})
_USAGE = (
    "usage: python -m deepbench.worker [--parent PID] [--ranks N] [--command TEXT] "
    "[--hang-limit S] BACKEND [key=value ...] | [--parent PID] --inspect BACKEND"
)
# The command of rank 0 ends a row that hangs, and names who hangs, before the other ranks give up.
_HANG_SLACK_S = 5.0


def main(arguments: Sequence[str] | None = None) -> int:
    arguments = sys.argv[1:] if arguments is None else arguments
    lines = _reserve_stdin()
    write = _reserve_stdout()
    try:
        request, rest = _parse_rank_request(list(arguments))
    except (ValueError, IndexError):
        return _send_error(write, _USAGE)
    _die_with_parent(request.parent)
    _prefer_as_oom_victim()
    if rest[0] == "--inspect":
        return _inspect_backend(" ".join(rest[1:]), write)
    return _serve_rows(request, rest, lines, write)


def _parse_rank_request(arguments: list[str]) -> tuple[RankRequest, list[str]]:
    """Splits the options of ranks from the other words. Raises ValueError or IndexError."""
    request = RankRequest()
    while arguments[0] in ("--parent", "--ranks", "--command", "--hang-limit"):
        flag, value, *arguments = arguments
        if flag == "--parent":
            request = request._replace(parent=int(value))
        elif flag == "--ranks":
            request = request._replace(spawn_count=int(value))
        elif flag == "--hang-limit":
            request = request._replace(hang_limit_s=float(value))
        else:
            request = request._replace(command=value)
    if arguments[0].startswith("--") and arguments[0] != "--inspect":
        raise ValueError(arguments[0])
    return request, arguments


def _serve_rows(
    request: RankRequest, words: Sequence[str], lines: BinaryIO, write: Callable[[str], None]
) -> int:
    from deepbench import libraries

    backend, options = words[0], " ".join(words[1:])
    libraries.export_library_path(backend)
    followers = ranks.worker_command(
        backend, words[1:], command=request.command, hang_limit_s=request.hang_limit_s
    )
    try:
        from deepbench import _core

        group = ranks.join_group(
            request, followers, lambda reason: os._exit(_refuse_rank(write, reason))
        )
        signal.signal(signal.SIGINT, signal.SIG_IGN)
    except (RuntimeError, ImportError) as error:
        return _refuse_rank(write, str(error))
    with ranks.exit_on_rank_loss(group):
        try:
            runner = _core.Runner(backend, options, libraries.plugin_paths(_print_warning), group)
        except (RuntimeError, ValueError) as error:
            return _refuse_rank(write, str(error))
        if group is None or group.rank == 0:
            return _answer_lines(runner, lines, write)
        # Starting may take longer than a row, and has limits of its own.
        if request.hang_limit_s is not None:
            group.limit_silence_of_rank_zero(request.hang_limit_s + _HANG_SLACK_S)
        return _follow_rank_zero(runner)


def _answer_lines(runner: Runner, lines: BinaryIO, write: Callable[[str], None]) -> int:
    from deepbench._core import asks_for_chain, gives_ceiling

    write(runner.hello())
    runner.on_admitted(lambda: write(_ADMITTED))
    runner.on_measuring_ceiling(lambda problem, row: write(_measuring_message(problem, row)))
    runner.on_ceiling(write)
    own_pid = os.getpid()
    position = 0
    for line in lines:
        text = line.decode("utf-8", errors="replace").strip()
        if not text or text.startswith("#"):
            continue
        if gives_ceiling(text):
            try:
                runner.give_ceiling(text)
            except ValueError as error:
                return _send_error(write, str(error))
            continue
        try:
            runner.wait_for_ranks()
        except RuntimeError as error:  # a rank has ended between two rows, which loses neither
            _print_warning(str(error))
            ranks.wait_for_messages()
            return _DEVICE_LOST
        write(_BEGIN)
        if asks_for_chain(text):
            write(runner.run_chain(text))
        else:
            write(runner.run(text, position))
            position += 1
        runner.release()  # the row is already sent, so that a crash here loses nothing
        _end_if_forked(own_pid)  # which would take the next line
        if runner.device_lost:
            ranks.wait_for_messages()
            return _DEVICE_LOST
    return 0


def _measuring_message(problem: str, row: str) -> str:
    """The message before and after a problem of a ceiling is measured, which may crash this
    process. It holds the row as a text, which the parent keeps as it is."""
    return json.dumps({"type": "measuring", "problem": problem or None, "row": row or None})


def _follow_rank_zero(runner: Runner) -> int:
    own_pid = os.getpid()
    try:
        runner.follow_rank_zero()
    except RuntimeError as error:
        _end_if_forked(own_pid)
        _print_warning(str(error))
        return _DEVICE_LOST
    return 0


def _inspect_backend(backend: str, write: Callable[[str], None]) -> int:
    from deepbench import _core, libraries

    libraries.export_library_path(backend)
    write(_core.inspect(backend, libraries.plugin_paths(_print_warning)))
    return 0


def _reserve_stdin() -> BinaryIO:
    """Reserves standard input for the protocol. A backend or a process that it starts finds
    standard input empty, and takes no line away."""
    null = os.open(os.devnull, os.O_RDONLY)  # number 0 in a process without standard input
    protocol = os.dup(0)
    os.dup2(null, 0)
    if null != 0:
        os.close(null)
    return os.fdopen(protocol, "rb")


def _reserve_stdout() -> Callable[[str], None]:
    """Reserves standard output for the protocol. Output of libraries (ONEDNN_VERBOSE, MKL_VERBOSE)
    goes to standard error."""
    sys.stdout.flush()
    protocol = os.dup(1)
    os.dup2(2, 1)
    own_pid = os.getpid()

    def write(line: str) -> None:
        _end_if_forked(own_pid)
        data = line.encode("utf-8") + b"\n"
        while data:
            data = data[os.write(protocol, data) :]

    return write


def _end_if_forked(own_pid: int) -> None:
    """Ends this process if a backend forked it: the worker answers, and one process may."""
    if os.getpid() != own_pid:
        _end_with_message("warning: the backend forked; the second process was ended")


def _end_with_message(text: str) -> NoReturn:
    """Ends this process without exit handlers, which may need what is lost or the worker's."""
    with contextlib.suppress(OSError):  # standard error may be closed too
        os.write(2, f"deepbench: {text}\n".encode(errors="replace"))
    os._exit(1)


def _die_with_parent(expected: int | None) -> None:
    """Leaves Ctrl-C to the parent, which keeps the measured rows and ends this process. On Linux,
    this process dies with the parent even within a long row; elsewhere, when its input closes. A
    parent that is not the expected process has ended before this one could ask for that. Ctrl-C
    ends a rank whose parent is a launcher, until it has joined the others and ends with them."""
    signal.signal(signal.SIGINT, signal.SIG_DFL if expected is None else signal.SIG_IGN)
    parent, set_death_signal = os.getppid() if expected is None else expected, 1
    if sys.platform.startswith("linux"):
        import ctypes

        with contextlib.suppress(OSError, AttributeError):
            ctypes.CDLL(None).prctl(set_death_signal, int(signal.SIGKILL), 0, 0, 0)
    if os.getppid() != parent:
        os._exit(1)


def _prefer_as_oom_victim() -> None:
    """Makes the kernel kill this process when memory runs out, and not the parent, which owns the
    result file."""
    try:
        with open("/proc/self/oom_score_adj", "w", encoding="ascii") as file:  # noqa: PTH123
            file.write("500")
    except OSError:
        pass


def _send_error(write: Callable[[str], None], message: str) -> int:
    write(json.dumps({"type": "error", "message": message, "exit": 2}))
    return 2


def _refuse_rank(write: Callable[[str], None], message: str) -> int:
    return 2 if ranks.report_refusal(message) else _send_error(write, message)


def _print_warning(text: str) -> None:
    print(f"deepbench: warning: {text}", file=sys.stderr)


def run_worker() -> NoReturn:
    """Runs the worker from start to end."""
    try:
        status = main()
        if status == _DEVICE_LOST:  # exit handlers of libraries may wait for the device for ever
            os._exit(status)
        sys.exit(status)
    except BrokenPipeError:  # the parent has ended
        os._exit(0)
    except OSError as error:
        if error.errno == errno.EBADF:
            _end_with_message("the backend closed a descriptor of the worker")
        _end_with_message(f"the worker cannot go on: {error.strerror or error}")
