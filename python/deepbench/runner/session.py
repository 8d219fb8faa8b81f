"""The parent's side of the worker: starts it, sends it problem lines, watches and restarts it.

A row whose worker crashes, hangs or loses its device becomes a WorkerFailure with its cause, and
the next row gets a new worker. InProcessRows has the same interface and runs rows in this process.
"""

from __future__ import annotations

import contextlib
import os
import signal
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Protocol

from deepbench.json_types import JsonObject
from deepbench.results import Row, schema
from deepbench.runner.hello import check_hello
from deepbench.runner.worker_exit import WorkerFailure, shortened
from deepbench.runner.worker_process import (
    INVALID_ANSWER,
    SessionError,
    WorkerProcess,
    as_object,
    consistent_answer,
    parse_answer,
)

START_TIMEOUT_S = 120.0
_START_ATTEMPTS = 3  # consecutive attempts to start a worker before the run ends

REFUSED = ("unsupported", "invalid")  # statuses of rows that the backend does not begin


class RowSource(Protocol):
    """Runs rows: in a worker process, or in this one."""

    def start(self) -> JsonObject:
        """Starts the backend and returns its hello message. Raises SessionError."""

    def run(
        self,
        line: str,
        position: int,
        limit_s: float,
        on_admitted: Callable[[], object] = lambda: None,
    ) -> Row | WorkerFailure:
        """Runs the problem of a line. Returns the row, or why there is none. `on_admitted` is
        called when the backend can run the row, before the row is measured."""

    def run_chain(self, line: str, limit_s: float) -> str | WorkerFailure:
        """Runs the chain of a line. Returns its JSON, which is not checked, or why there is
        none."""

    def supports(self, line: str, position: int, limit_s: float) -> bool | None:
        """Whether the backend can run the problem of a line. None: it failed when it was asked."""

    def renew(self) -> bool:
        """Lets another process run the rows from now on. Returns False if the same process
        continues."""

    def close(self) -> None:
        """Lets the backend finish, and then ends it."""

    def kill(self) -> None:
        """Ends the backend at once."""


class Session:
    """Runs rows in a worker process."""

    def __init__(
        self,
        command: Sequence[str],
        *,
        say: Callable[[str], object] = lambda text: None,
        tick: Callable[[], object] = lambda: None,
        start_timeout_s: float = START_TIMEOUT_S,
        rendezvous_s: float = 0.0,
        hang_limit_s: float | None = None,
        backend: str = "",
        can_restart: bool = True,
        starts_ahead: bool = True,
        variables: Mapping[str, str] | None = None,
        ceilings: Callable[[], Iterable[str]] = tuple,
        on_ceiling: Callable[[str], object] = lambda text: None,
    ) -> None:
        self._variables = {**os.environ, **(variables or {})}
        self._command = list(command)
        self._can_restart = can_restart  # False for the ranks of a launcher
        # False for ranks, which find one another by their address.
        self._starts_ahead = starts_ahead
        self._say = say  # gets each line of the worker's standard error
        self._tick = tick  # called a few times a second while waiting
        self._start_timeout_s = start_timeout_s
        self._rendezvous_s = rendezvous_s  # in which the other ranks may arrive, before it starts
        self._hang_limit_s = hang_limit_s  # also limits the start of a worker if it is shorter
        # The beginning of messages about a start.
        self._of_backend = f"backend {backend}: " if backend else ""
        self._worker: WorkerProcess | None = None
        self._successor: WorkerProcess | None = None  # starts while the worker before it ends
        self._ceilings = ceilings  # the lines that give a new worker the known ceilings
        self._on_ceiling = on_ceiling  # gets the JSON text of each ceiling that is measured
        self._measures_ceilings = True

    def start(self) -> JsonObject:
        worker, self._successor = self._successor or self._start_process(), None
        try:
            text = worker.read_line(*self._start_limit())
        except BaseException:
            worker.kill()
            raise
        if isinstance(text, WorkerFailure):
            raise SessionError(f"{self._of_backend}the worker cannot start: {text.reason}", 2)
        hello = as_object(text)
        if hello.get("type") == "error":
            worker.kill()
            raise SessionError(str(hello.get("message", "no reason given")), _exit_status(hello))
        if hello.get("type") != "hello":
            worker.kill()
            what = f"the worker's first line is not a hello message: {shortened(text)}"
            raise SessionError(f"{self._of_backend}{what}", 1)
        try:
            check_hello(hello)
        except schema.SchemaError as error:
            worker.kill()
            raise SessionError(f"{INVALID_ANSWER}: {error}", 2) from None
        self._worker = worker
        for line in self._ceilings():
            worker.write_line(line)
        return hello

    def run(
        self,
        line: str,
        position: int,
        limit_s: float,
        on_admitted: Callable[[], object] = lambda: None,
    ) -> Row | WorkerFailure:
        asked = line if self._measures_ceilings else f"{line} ceilings=no"
        row = self._ask_until_begun(asked, position, limit_s, on_admitted)
        if isinstance(row, WorkerFailure) and row.measured is not None:
            # The answer of a worker may not be a row; then its failure counts.
            with contextlib.suppress(ValueError):
                row = parse_answer(self._measured_row(row.measured, row), line, position)
        if isinstance(row, Row) and row.status == "device_lost":
            self.close()
        return consistent_answer(row)

    def run_chain(self, line: str, limit_s: float) -> str | WorkerFailure:
        if self._worker is None:
            self._restart()
        worker = self._worker
        assert worker is not None
        answer = worker.ask_for_chain(line, limit_s)
        if isinstance(answer, WorkerFailure):
            self._worker = None
        return answer

    def supports(self, line: str, position: int, limit_s: float) -> bool | None:
        answer = self._ask_until_begun(f"{line} check=yes", position, limit_s, lambda: None)
        return is_supported_answer(answer)

    def renew(self) -> bool:
        if self._can_restart:
            if self._starts_ahead and self._worker is not None:
                with contextlib.suppress(SessionError):  # two processes may be one too many
                    self._successor = self._start_process()
            self._close_worker()
        return self._can_restart

    def close(self) -> None:
        self._close_worker()
        self._kill_successor()

    def _close_worker(self) -> None:
        """Closes the worker. If this is interrupted, kill() ends it."""
        if self._worker is not None:
            self._worker.close()
            self._worker = None

    def kill(self) -> None:
        worker, self._worker = self._worker, None
        if worker is not None:
            worker.kill()
        self._kill_successor()

    def _kill_successor(self) -> None:
        successor, self._successor = self._successor, None
        if successor is not None:
            successor.kill()

    def _start_process(self) -> WorkerProcess:
        return WorkerProcess(
            self._command, self._variables, self._say, self._tick, self._on_ceiling
        )

    def _start_limit(self) -> tuple[float, str]:
        """Seconds in which a worker must say hello, and the option that sets them."""
        if self._hang_limit_s is not None and self._hang_limit_s < self._start_timeout_s:
            return self._rendezvous_s + self._hang_limit_s, " (--hang-limit)"
        return self._rendezvous_s + self._start_timeout_s, ""

    def _measured_row(self, measured: str, failure: WorkerFailure) -> str:
        """The row of a worker that ended after measuring it. If a ceiling ended the worker, this
        row and all later ones have no ceilings. If a second measurement, made because the row was
        above its ceiling, ended it, the first measurement counts."""
        from deepbench import _core

        if failure.ceiling:
            self._measures_ceilings = False
            note = (
                f"no ceilings, since one of them ended the worker: {failure.reason}, "
                f"at {failure.ceiling}"
            )
            self._say(f"deepbench: warning: {note}; later rows have no ceilings")
        else:
            note = (
                "above the measured ceiling; the first measurement is kept, since a second one "
                f"ended the worker: {failure.reason}"
            )
        return _core.with_note(measured, note)

    def _ask_until_begun(
        self, line: str, position: int, limit_s: float, on_admitted: Callable[[], object]
    ) -> Row | WorkerFailure:
        """The worker's answer to a line. If a worker ends before it begins the row, for example
        because freeing the operands of the previous row crashes, a new worker gets the line."""
        for attempt in range(_START_ATTEMPTS):
            if self._worker is None:
                self._restart()
            worker = self._worker
            assert worker is not None
            row = worker.ask(line, position, limit_s, on_admitted)
            if isinstance(row, Row) or row.cause is None:
                return row
            self._worker = None
            if row.begun or attempt == _START_ATTEMPTS - 1:
                break
            self._say(
                f"deepbench: warning: the worker ended between two rows: {row.reason}; a new "
                "worker continues"
            )
        return row

    def _restart(self) -> None:
        if not self._can_restart:
            raise SessionError("the ranks ended; start them again with the same launcher", 1)
        reason = ""
        for _ in range(_START_ATTEMPTS):
            try:
                self.start()
            except SessionError as error:
                reason = str(error)
            else:
                return
        raise SessionError(
            f"gave up after {_START_ATTEMPTS} attempts to start a new worker: {reason}", 1
        )


class InProcessRows:
    """Runs rows in this process, for debuggers and profilers. A crash ends the whole run."""

    def __init__(
        self,
        backend: str,
        options: Sequence[str],
        say: Callable[[str], object] = lambda text: None,
        ceilings: Callable[[], Iterable[str]] = tuple,
        on_ceiling: Callable[[str], object] = lambda text: None,
    ) -> None:
        self._backend, self._options, self._say = backend, " ".join(options), say
        self._ceilings, self._on_ceiling = ceilings, on_ceiling
        self._measured_ceilings: list[str] = []  # for the row that is being run

    def start(self) -> JsonObject:
        from deepbench import _core, libraries

        # Python cannot interrupt a row in native code, so Ctrl-C gets the system's default action.
        # Every finished row is in the file by then.
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, signal.SIG_DFL)
        libraries.export_library_path(self._backend)
        try:
            paths = libraries.plugin_paths(self._say)
            self._runner = _core.Runner(self._backend, self._options, paths)
            for line in self._ceilings():
                self._runner.give_ceiling(line)
            hello = as_object(self._runner.hello())
            check_hello(hello)
        except (RuntimeError, ValueError) as error:
            raise SessionError(str(error), 2) from None
        self._runner.on_ceiling(self._measured_ceilings.append)
        return hello

    def run(
        self,
        line: str,
        position: int,
        limit_s: float,
        on_admitted: Callable[[], object] = lambda: None,
    ) -> Row | WorkerFailure:
        if self._runner.device_lost:
            raise SessionError("the device is lost to this process", 1)
        failures: list[BaseException] = []  # an exception must not cross the core

        def admitted() -> None:
            try:
                on_admitted()
            except BaseException as error:
                failures.append(error)

        self._runner.on_admitted(admitted)
        answer = self._runner.run(line, position)
        if failures:
            raise failures[0]
        # Ceilings are passed on after the row, which would take an error of writing for its own.
        while self._measured_ceilings:
            self._on_ceiling(self._measured_ceilings.pop(0))
        return consistent_answer(parse_answer(answer, line, position))

    def run_chain(self, line: str, limit_s: float) -> str | WorkerFailure:
        return self._runner.run_chain(line)

    def supports(self, line: str, position: int, limit_s: float) -> bool | None:
        return is_supported_answer(
            parse_answer(self._runner.run(f"{line} check=yes", position), line, position)
        )

    def renew(self) -> bool:
        return False

    def close(self) -> None:
        pass

    def kill(self) -> None:
        pass


def is_supported_answer(answer: Row | WorkerFailure) -> bool | None:
    """Whether the answer to a check says that the problem is supported. A check measures
    nothing."""
    return None if isinstance(answer, WorkerFailure) else answer.status not in REFUSED


def _exit_status(error: JsonObject) -> int:
    status = error.get("exit")
    return status if isinstance(status, int) and 0 < status < 256 else 2
