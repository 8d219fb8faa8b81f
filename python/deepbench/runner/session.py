"""The parent's side of the worker: starts it, sends it problem lines, watches and restarts it.

A row whose worker crashes, hangs or loses its device becomes a WorkerFailure with its cause, and
the next row gets a new worker. InProcessRows has the same interface and runs rows in this process.
"""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol

from deepbench.runner.worker_process import (
    SessionError,
    WorkerFailure,
    WorkerProcess,
    as_object,
    shortened,
)

START_TIMEOUT_S = 120.0
_START_ATTEMPTS = 3  # consecutive attempts to start a worker before the sweep ends

Json = Mapping[str, Any]


class RowSource(Protocol):
    """Runs rows: in a worker process, or in this one."""

    def start(self) -> Json:
        """Starts the backend and returns its hello message. Raises SessionError."""

    def run(self, line: str, position: int, limit_s: float) -> str | WorkerFailure:
        """Runs the problem of a line. Returns the row's JSON text, or why there is no row."""

    def close(self) -> None:
        """Lets the backend finish, and ends it."""

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
        can_restart: bool = True,
        variables: Mapping[str, str] | None = None,
    ) -> None:
        self._variables = {**os.environ, **(variables or {})}
        self._command = list(command)
        self._can_restart = can_restart  # False for the ranks of a launcher
        self._say = say  # gets each line of the worker's standard error
        self._tick = tick  # called a few times a second while waiting
        self._start_timeout_s = start_timeout_s
        self._worker: WorkerProcess | None = None
        self._ceilings = True  # whether the worker measures ceilings

    def start(self) -> Json:
        worker = WorkerProcess(self._command, self._variables, self._say, self._tick)
        try:
            text = worker.read_line(self._start_timeout_s)
        except BaseException:
            worker.kill()
            raise
        if isinstance(text, WorkerFailure):
            raise SessionError(f"the worker cannot start: {text.reason}", 2)
        hello = as_object(text)
        if hello.get("type") == "error":
            worker.kill()
            raise SessionError(str(hello.get("message", "no reason given")), _exit_status(hello))
        if hello.get("type") != "hello":
            worker.kill()
            raise SessionError(f"the worker did not say hello but {shortened(text)}", 1)
        self._worker = worker
        return hello

    def run(self, line: str, position: int, limit_s: float) -> str | WorkerFailure:
        text = self._answer(line if self._ceilings else f"{line} ceilings=no", limit_s)
        if isinstance(text, WorkerFailure) and text.measured is not None:
            text = self._measured_row(text.measured, text)
        if isinstance(text, WorkerFailure):
            return text
        row = as_object(text)
        if row.get("type") != "row" or row.get("position") != position:
            self.kill()
            return WorkerFailure("failed", f"the worker answered no row but {shortened(text)}")
        if row.get("status") == "device_lost":
            self.close()
        return text

    def close(self) -> None:
        worker, self._worker = self._worker, None
        if worker is not None:
            worker.close()

    def kill(self) -> None:
        worker, self._worker = self._worker, None
        if worker is not None:
            worker.kill()

    def _measured_row(self, measured: Json, failure: WorkerFailure) -> str:
        """The row of a worker that ended after measuring it. If a ceiling ended the worker, this
        row and all later ones have no ceilings. If a second measurement, made because the row was
        above its ceiling, ended it, the first measurement counts."""
        if failure.ceiling:
            self._ceilings = False
            note = (
                f"no ceilings, since one of them ended the worker: {failure.reason}, "
                f"at {failure.ceiling}"
            )
            self._say(f"deepbench: warning: {note}; rows are held against none from here on")
        else:
            note = (
                "above the measured ceiling; the first measurement is kept, since a second one "
                f"ended the worker: {failure.reason}"
            )
        return json.dumps({**measured, "notes": [*(measured.get("notes") or ()), note]})

    def _answer(self, line: str, limit_s: float) -> str | WorkerFailure:
        """The worker's answer to a line. If a worker ends before it begins the row, for example
        because freeing the operands of the previous row crashes, a new worker gets the line."""
        for attempt in range(_START_ATTEMPTS):
            if self._worker is None:
                self._restart()
            worker = self._worker
            assert worker is not None
            text = worker.ask(line, limit_s)
            if not isinstance(text, WorkerFailure):
                return text
            self._worker = None
            if text.begun or attempt == _START_ATTEMPTS - 1:
                break
            self._say(f"deepbench: warning: between two rows: {text.reason}; a new worker goes on")
        return text

    def _restart(self) -> None:
        if not self._can_restart:
            raise SessionError("the ranks are gone; whoever started them must start them again", 1)
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
        self, backend: str, options: Sequence[str], say: Callable[[str], object] = lambda text: None
    ) -> None:
        self._backend, self._options, self._say = backend, " ".join(options), say

    def start(self) -> Json:
        from deepbench import _core, libraries

        # Python cannot interrupt a row in native code, so Ctrl-C gets the system's default action.
        # Every finished row is in the file by then.
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, signal.SIG_DFL)
        libraries.export_library_path(self._backend)
        try:
            paths = libraries.plugin_paths(self._say)
            self._runner = _core.Runner(self._backend, self._options, paths)
        except (RuntimeError, ValueError) as error:
            raise SessionError(str(error), 2) from None
        return as_object(self._runner.hello())

    def run(self, line: str, position: int, limit_s: float) -> str | WorkerFailure:
        if self._runner.device_lost:
            raise SessionError("the device is lost to this process", 1)
        return self._runner.run(line, position)

    def close(self) -> None:
        pass

    def kill(self) -> None:
        pass


def _exit_status(error: Json) -> int:
    status = error.get("exit")
    return status if isinstance(status, int) and 0 < status < 256 else 2
