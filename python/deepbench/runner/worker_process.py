"""One worker process: its pipes, the timeouts of its answers, and how it ended."""

from __future__ import annotations

import contextlib
import os
import selectors
import signal
import subprocess
import threading
import unicodedata
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from typing import IO

from deepbench.errors import UserError
from deepbench.json_types import JsonObject
from deepbench.results import Row, schema, strict_json
from deepbench.results.row import build_row, check_consistency
from deepbench.runner import stray_processes
from deepbench.runner.cpu_limit import reached_cpu_limit
from deepbench.runner.oom_kills import read_oom_kills
from deepbench.runner.processor_wait import WorkDeadline
from deepbench.runner.progress import duration_text
from deepbench.runner.ranks import inherited_descriptors
from deepbench.runner.start_refusal import start_refusal
from deepbench.runner.worker_exit import WorkerFailure, failure_of_exit_status, shortened

_TICK_S = 0.25
_BEGIN, _ADMITTED, _MEASURING, _CEILING = (
    f'{{"type": "{kind}"' for kind in ("begin", "admitted", "measuring", "ceiling")
)
_POLL_S = 0.01
_READ_BYTES, _PIPE_BYTES = 1 << 16, 1 << 20  # at once; the most that a pipe holds by default
_MAX_STDERR_LINE_BYTES = 1 << 16  # a longer line of standard error is passed on in parts
_MAX_STDERR_BYTES = 1 << 20  # of standard error for one line that the worker gets
_MAX_MESSAGES = 1000  # before a row; a row that measures every ceiling has some twenty
_EXIT_TIMEOUT_S = 5.0  # for a worker to end by itself after its input is closed

INVALID_ANSWER = "the backend gave an impossible answer"


class SessionError(UserError):
    """A worker cannot be started. The message is one line."""


@contextlib.contextmanager
def _sigint_blocked() -> Iterator[None]:
    """Blocks SIGINT here and in processes that are started meanwhile. A terminal sends Ctrl-C to
    both, and a worker that does not ignore it yet would end with a traceback."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


class WorkerProcess:
    """One worker process and its pipes. It leads a process group: the processes that it or its
    libraries start end with it, and signals of a terminal reach the parent alone. A mark finds
    those that left the group."""

    def __init__(
        self,
        command: list[str],
        variables: Mapping[str, str],
        say: Callable[[str], object],
        tick: Callable[[], object],
        on_ceiling: Callable[[str], object] = lambda text: None,
    ) -> None:
        self._say, self._tick, self._on_ceiling = say, tick, on_ceiling
        self._oom_kills = read_oom_kills()
        self._mark = stray_processes.new_mark()
        try:
            # This must be the main thread: the worker asks to die with the thread that started it.
            with _sigint_blocked():
                self._process = subprocess.Popen(
                    command,
                    env={**variables, stray_processes.VARIABLE: self._mark},
                    pass_fds=inherited_descriptors(variables),
                    stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE,
                    stderr=subprocess.PIPE,
                    bufsize=0,
                    start_new_session=True,
                )
        except OSError as error:
            raise SessionError(f"cannot start a worker: {start_refusal(error)}") from None
        self._start_ticks = stray_processes.start_ticks(self._process.pid)
        # An incomplete last line of a worker that ended is not a row.
        self._output = _LineBuffer(self._process.stdout, keep_torn=False)
        self._errors = _LineBuffer(self._process.stderr, keep_torn=True)
        self._last_stderr_line: deque[str] = deque(maxlen=1)
        self._stderr_bytes = self._stderr_lines_left_out = 0  # since the worker got a line
        self._pipes = selectors.DefaultSelector()
        self._pipes.register(self._output.descriptor, selectors.EVENT_READ, self._output)
        self._pipes.register(self._errors.descriptor, selectors.EVENT_READ, self._errors)

    def write_line(self, line: str) -> None:
        """Gives the worker a line. Raises SessionError for a control character: a newline in a text
        of a file would end the line, and the rest of the text would be another line."""
        if any(unicodedata.category(character) == "Cc" for character in line.replace("\t", " ")):
            what = "a line for the worker has a control character"
            raise SessionError(f"{what}: {shortened(line)}", 1)
        self._wait(0)  # what is left in the pipe belongs to the line before
        self._end_stderr_of_line()
        data = line.encode("utf-8", errors="replace") + b"\n"
        stdin = self._process.stdin
        assert stdin is not None
        try:
            while data:
                data = data[stdin.write(data) or 0 :]
        except BrokenPipeError:
            pass  # the worker has ended; read_line() finds out how

    def ask(
        self, line: str, position: int, limit_s: float, on_admitted: Callable[[], object]
    ) -> Row | WorkerFailure:
        """The answer to a line. The worker first reports that it begins the row."""
        self.write_line(line)
        text = self.read_line(limit_s)
        if isinstance(text, WorkerFailure):
            return text._replace(begun=False)
        if text.startswith(_BEGIN):
            return self._read_row(line, position, limit_s, on_admitted)
        return self._parse_or_kill(text, line, position)

    def ask_for_chain(self, line: str, limit_s: float) -> str | WorkerFailure:
        """The answer to a line that asks for a chain, of which parse_answer() knows nothing."""
        self.write_line(line)
        text = self.read_line(limit_s)
        if isinstance(text, str) and text.startswith(_BEGIN):
            text = self.read_line(limit_s, " (--hang-limit)")
        return text

    def _read_row(
        self, line: str, position: int, limit_s: float, on_admitted: Callable[[], object]
    ) -> Row | WorkerFailure:
        """The row. Each ceiling that is measured for it has the time limit of a row."""
        measured: str | None = None
        ceiling = ""
        for _ in range(_MAX_MESSAGES):
            text = self.read_line(limit_s, " (--hang-limit)")
            if isinstance(text, WorkerFailure):
                return text._replace(measured=measured, ceiling=ceiling)
            if text.startswith(_ADMITTED):
                on_admitted()
            elif text.startswith(_CEILING):
                self._on_ceiling(text)
            elif text.startswith(_MEASURING):
                said = as_object(text)
                measured = _text_of(said, "row") or measured
                ceiling = _text_of(said, "problem")
            else:
                row = self._parse_or_kill(text, line, position)
                if isinstance(row, WorkerFailure):
                    row = row._replace(measured=measured, ceiling=ceiling)
                return self._failure_in_ceiling(row, measured, ceiling) or row
        self.kill()
        what = f"{INVALID_ANSWER}: no row in {_MAX_MESSAGES:,} messages, so the worker was stopped"
        return WorkerFailure("failed", what, cause="stopped", measured=measured, ceiling=ceiling)

    def _parse_or_kill(self, text: str, line: str, position: int) -> Row | WorkerFailure:
        """The row in an answer. A worker that answers anything else is stopped."""
        row = parse_answer(text, line, position)
        if isinstance(row, WorkerFailure) and row.cause is not None:
            self.kill()
        return row

    def _failure_in_ceiling(
        self, row: Row | WorkerFailure, measured: str | None, ceiling: str
    ) -> WorkerFailure | None:
        """The failure of a row that lost its device while a ceiling was measured, after the row
        itself was measured; None for any other row."""
        if measured is None or not ceiling or row.status != "device_lost":
            return None
        self.close()
        return WorkerFailure("device_lost", str(row.reason), measured=measured, ceiling=ceiling)

    def read_line(self, limit_s: float, limit: str = "") -> str | WorkerFailure:
        """The next line, or why there is none. In the second case the worker has ended."""
        deadline = WorkDeadline(self._process.pid, limit_s)
        while True:
            line = self._output.pop()
            if line is not None:
                return line
            if self._output.size > strict_json.MAX_LINE_BYTES:
                self.kill()
                what = f"{INVALID_ANSWER}: it exceeds {strict_json.MAX_LINE_BYTES:,} bytes"
                return WorkerFailure(
                    "failed", f"{what}, so the worker was stopped", cause="stopped"
                )
            if self._output.closed:
                return self._failure_of_ended_worker()
            if self._has_ended():  # a process that it started may still hold its output open
                return self._last_line() or self._failure_of_ended_worker()
            if deadline.remaining_s() == 0:
                self.kill()
                waited = f"no answer within {duration_text(limit_s)}{limit}"
                return WorkerFailure("failed", f"{waited}, so the worker was stopped", cause="hung")
            self._wait(min(_TICK_S, deadline.remaining_s()))
            self._tick()

    def close(self) -> None:
        stdin = self._process.stdin
        if stdin is not None:
            stdin.close()
        self._wait_for_end()
        self.kill()

    def kill(self) -> None:
        """Ends the worker, all processes of its group, and those that left the group."""
        if self._process.returncode is None:
            # The worker is not yet reaped, so no other group can have its number.
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(self._process.pid, signal.SIGKILL)
            self._process.wait()
            stray_processes.end_marked_processes(self._mark, self._start_ticks)
        self._drain_stderr()
        self._pipes.close()
        for pipe in (self._process.stdin, self._process.stdout, self._process.stderr):
            if pipe is not None:
                pipe.close()

    def _has_ended(self) -> bool:
        """Whether the worker itself has ended. It is not reaped, so that kill() finds its group."""
        if self._process.returncode is not None:
            return True
        flags = os.WEXITED | os.WNOHANG | os.WNOWAIT
        return os.waitid(os.P_PID, self._process.pid, flags) is not None

    def _wait_for_end(self) -> bool:
        """Whether the worker ends by itself in time."""
        deadline = WorkDeadline(self._process.pid, _EXIT_TIMEOUT_S)
        while not self._has_ended():
            if deadline.remaining_s() == 0:
                return False
            threading.Event().wait(_POLL_S)
        return True

    def _last_line(self) -> str | None:
        """The next whole line that the ended worker left in its pipe."""
        self._output.drain()
        return self._output.pop()

    def _wait(self, seconds: float) -> None:
        for key, _ in self._pipes.select(seconds):
            lines: _LineBuffer = key.data
            if not lines.read():
                self._pipes.unregister(key.fd)
        self._forward_stderr()

    def _forward_stderr(self) -> None:
        """Passes on what the worker printed on standard error, which a library that reports every
        call may flood."""
        while (line := self._errors.pop()) is not None:
            if not line.strip():
                continue
            self._last_stderr_line.append(line.strip())
            self._stderr_bytes += len(line)
            if self._stderr_bytes <= _MAX_STDERR_BYTES:
                self._say(line)
            else:
                self._stderr_lines_left_out += 1

    def _end_stderr_of_line(self) -> None:
        if self._stderr_lines_left_out:
            self._say(
                f"deepbench: warning: {self._stderr_lines_left_out:,} lines of the worker's "
                f"standard error are left out after {_MAX_STDERR_BYTES:,} bytes"
            )
        self._stderr_bytes = self._stderr_lines_left_out = 0

    def _drain_stderr(self) -> None:
        if not self._errors.closed:
            self._errors.drain()
        self._forward_stderr()
        self._end_stderr_of_line()

    def _failure_of_ended_worker(self) -> WorkerFailure:
        """The failure of a worker that ended or closed its output."""
        if not self._wait_for_end():
            self.kill()
            return WorkerFailure(
                "failed", "the worker closed its output: it was stopped", cause="stopped"
            )
        oom_kills = read_oom_kills()
        used_up_cpu_time = reached_cpu_limit(self._process.pid)  # known until it is reaped
        self.kill()
        said = self._last_stderr_line[-1] if self._last_stderr_line else ""
        status = self._process.returncode
        return failure_of_exit_status(status, said, self._oom_kills, oom_kills, used_up_cpu_time)


class _LineBuffer:
    """Splits the output of a pipe into lines."""

    def __init__(self, pipe: IO[bytes] | None, keep_torn: bool) -> None:
        assert pipe is not None
        self._keep_torn = keep_torn
        self.descriptor = pipe.fileno()
        self.closed = False
        self._whole: deque[bytes] = deque()
        self._rest = bytearray()

    @property
    def size(self) -> int:
        return len(self._rest)

    def read(self) -> bool:
        """Reads once. False at the end of the pipe or, if it does not block, when it is empty."""
        try:
            data = os.read(self.descriptor, _READ_BYTES)
        except BlockingIOError:
            return False
        if not data:
            self.closed = True
            if self._rest and self._keep_torn:
                self._whole.append(bytes(self._rest))
            self._rest.clear()
            return False
        head, newline, tail = data.rpartition(b"\n")
        if newline:
            self._whole.extend(bytes(self._rest + head).split(b"\n"))
            self._rest = bytearray(tail)
        else:
            self._rest += tail
        if self._keep_torn and len(self._rest) > _MAX_STDERR_LINE_BYTES:
            self._whole.append(bytes(self._rest))
            self._rest.clear()
        return True

    def drain(self) -> None:
        """Reads what is in the pipe, without waiting, and no more than a pipe holds: a process that
        left the worker's group may go on writing."""
        os.set_blocking(self.descriptor, False)
        for _ in range(_PIPE_BYTES // _READ_BYTES):
            if not self.read():
                break

    def pop(self) -> str | None:
        """The next complete line, or None."""
        return self._whole.popleft().decode("utf-8", errors="replace") if self._whole else None


def _is_of_line(problem: object, status: object, line: str) -> bool:
    """Whether the answer to a line is of its problem. The line names it before its application and
    its options. A line that is refused has a row with all of its text before the options, or with
    no problem, which says why and measured nothing."""
    if problem == line.partition(" ;")[0].partition(" application=")[0]:
        return True
    if status == "ok" or problem is None:
        return status != "ok"
    return line.startswith(f"{problem} ;")  # an application may hold " ;"


def parse_answer(text: str, line: str, position: int) -> Row | WorkerFailure:
    """The row in the answer to `line`, which is at `position`, with the types of the schema."""
    no_row = WorkerFailure(
        "failed", f"the worker's answer is not a row: {shortened(text)}", cause="stopped"
    )
    try:
        value = strict_json.parsed(text.encode("utf-8"))
        if not isinstance(value, dict) or value.get("type") != "row":
            return no_row
        is_of_line = _is_of_line(value.get("problem"), value.get("status"), line)
        if value.get("position") != position or not is_of_line:
            return no_row
        return build_row(value, text.strip())
    except strict_json.NotJson:
        return no_row
    except (strict_json.JsonError, schema.SchemaError) as error:
        return _invalid_answer(error)


def consistent_answer(row: Row | WorkerFailure) -> Row | WorkerFailure:
    """The row, or a failure if the row contradicts itself: a single such line would make the whole
    result file unreadable."""
    if isinstance(row, Row):
        try:
            check_consistency(row)
        except schema.SchemaError as error:
            return _invalid_answer(error)
    return row


def _invalid_answer(error: ValueError) -> WorkerFailure:
    return WorkerFailure("failed", f"{INVALID_ANSWER}: {error}", cause=None)


def _text_of(message: JsonObject, name: str) -> str:
    value = message.get(name)
    return value if isinstance(value, str) else ""


def as_object(text: str) -> JsonObject:
    """The JSON object in a line, or an empty object."""
    try:
        value = strict_json.parsed(text.encode("utf-8"))
    except strict_json.JsonError:
        return {}
    return value if isinstance(value, dict) else {}
