"""The history: a result file for each run on this machine, in the user's state folder.

The rows of a run are kept as they are finished; rows of several visits are kept after their last
visit, or when the run ends early. If anything goes wrong, one line says so and nothing more is
kept, but the run goes on. The oldest runs make room for new ones. Files with other names do not
belong to the history.
"""

from __future__ import annotations

import contextlib
import itertools
import os
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from deepbench import _core
from deepbench.errors import UserError
from deepbench.json_types import JsonObject
from deepbench.results import ResultError, ResultFile, ResultWriter, file_lock, parsed, read
from deepbench.results.reader import os_reason, read_bytes, read_through

MOST_RUNS = 1000
MOST_BYTES = 64 << 20  # limit for all runs together
_SAMPLES = 20  # raw samples that are kept of a row
_ROW = re.compile(rb'\{\s*"type"\s*:\s*"row"')
# The form of the names that _unused_path() creates.
_NAME = re.compile(r"\d{8}T\d{6}Z-\d+-\d+\.jsonl")


def history_folder() -> Path | None:
    """The folder of the history. None: there is none, so that nothing is kept."""
    chosen = os.environ.get("DEEPBENCH_HISTORY_DIR")
    if chosen is not None:
        return Path(chosen) if Path(chosen).is_absolute() else None
    for variable, below in (("XDG_STATE_HOME", "deepbench"), ("HOME", ".local/state/deepbench")):
        base = Path(os.environ.get(variable) or "")
        if base.is_absolute():
            return base / below / "history"
    return None


# ---- keeping -----------------------------------------------------------------------------------


class RunKeeper:
    """Keeps the rows of one run."""

    def __init__(self, say: Callable[[str], object]) -> None:
        self._say = say
        self._writer: ResultWriter | None = None
        self._rows = 0

    def begin(self, context: JsonObject) -> None:
        folder = history_folder()
        if folder is None:
            return
        with self._without_failing():
            folder.mkdir(parents=True, exist_ok=True, mode=0o700)
            _make_room(folder)
            self._writer = ResultWriter.create(_unused_path(folder, context))
            self._writer.write_context(context)

    def add(self, line: str) -> None:
        """Keeps a row or a ceiling, with a part of its samples."""
        if self._writer is not None:
            with self._without_failing():
                self._writer.write_line(_core.thinned(line, _SAMPLES))
                self._rows += bool(_ROW.match(line.encode()))

    def close(self) -> None:
        with self._without_failing():
            self._close_or_discard_file()

    @contextlib.contextmanager
    def _without_failing(self) -> Iterator[None]:
        try:
            yield
        except (UserError, OSError) as error:
            why = str(error)
            if isinstance(error, OSError):
                why = f"{error.filename or history_folder()}: {os_reason(error)}"
            self._say(f"deepbench: warning: the history does not keep this run: {why}")
            self._give_up()

    def _give_up(self) -> None:
        with contextlib.suppress(UserError, OSError):
            self._close_or_discard_file()

    def _close_or_discard_file(self) -> None:
        """Closes the file, and removes it if the run has no row."""
        writer, self._writer = self._writer, None
        if writer is not None:
            is_useless = not self._rows and writer.is_intact
            writer.close()
            if is_useless:
                writer.path.unlink(missing_ok=True)


def _unused_path(folder: Path, context: JsonObject) -> Path:
    """A name that begins with the time, so that names sort by it. Other machines and containers may
    share the folder, and a process may make several runs in a second."""
    started = re.sub(r"[^0-9A-Z]", "", str(context.get("started")))
    names = (f"{started}-{os.getpid()}-{number}.jsonl" for number in itertools.count(1))
    return next(path for name in names if not os.path.lexists(path := folder / name))


def _make_room(folder: Path) -> None:
    """Removes the oldest runs beyond the limits, unless a process is writing them."""
    sizes = {}
    for path in _paths(folder):
        with contextlib.suppress(FileNotFoundError):  # another run has just removed it
            sizes[path] = path.lstat().st_size
    total, count = sum(sizes.values()), len(sizes)
    for path in sizes:
        if total <= MOST_BYTES and count < MOST_RUNS:
            break
        if not file_lock.is_locked(path):
            path.unlink(missing_ok=True)
            total, count = total - sizes[path], count - 1


def _paths(folder: Path) -> list[Path]:
    """The files of the history, the oldest first; none where the name of a folder is too long."""
    try:
        return sorted(path for path in folder.glob("*.jsonl") if _NAME.fullmatch(path.name))
    except OSError:
        return []


# ---- reading -----------------------------------------------------------------------------------


@dataclass(frozen=True)
class Run:
    """A run of the history, which has at least one row."""

    number: int  # 1 is the last run
    path: Path
    context: JsonObject

    @property
    def command(self) -> str:
        return " ".join(self.context.get("command") or ["?"])

    @property
    def device(self) -> str:
        device: Any = self.context.get("device")
        return str((device or {}).get("name") or "an unnamed device")

    @property
    def rows(self) -> int:
        """The number of finished rows, for which the whole file is read. Raises ResultError."""
        return sum(map(_is_row, read_bytes(self.path).splitlines(keepends=True)))


def runs(say: Callable[[str], object] = str) -> Iterator[Run]:
    """The runs that can be read, the last one first. `say` receives a line for each file that
    cannot. Each file is read up to its first row."""
    folder = history_folder()
    numbers = itertools.count(1)
    for path in reversed(_paths(folder) if folder is not None else []):
        try:
            lines = read_through(path, _is_row)
            context = parsed(path, lines[0] if lines else b"").context
        except ResultError as error:
            say(f"a run is left out: {error}")
            continue
        if _is_row(lines[-1]):
            yield Run(next(numbers), path, context)


def _is_row(line: bytes) -> bool:
    """Whether the line is a complete row."""
    return bool(_ROW.match(line)) and line.endswith(b"\n")


def last_run() -> Run:
    """Raises ResultError if there is none."""
    return run_of_number(1)


def run_of_number(number: int) -> Run:
    """The run of a number from 1. Raises ResultError if there is none."""
    known = list(itertools.islice(runs(), number))
    if not known:
        raise ResultError("the history has no run; every run without --no-history is kept")
    if number > len(known):
        raise ResultError(f"the history has no run {number}; it has 1 to {len(known)}")
    return known[-1]


def run_before(last: Run) -> Run:
    """The last run before this one with the same measurements. Raises ResultError."""
    for run in itertools.islice(runs(), last.number, None):
        if last.context.get("plan") and _measured(run.context) == _measured(last.context):
            return run
    raise ResultError(
        "the history has no earlier run of the same problems, options, backend, device, threads "
        f"and ranks as 'deepbench {last.command}'; 'deepbench history' lists the runs"
    )


def _measured(context: JsonObject) -> tuple[object, ...]:
    """The part of the context that two runs share if they made the same measurements."""
    backend, device, ranks = (context.get(name) or {} for name in ("backend", "device", "ranks"))
    names = backend.get("name"), device.get("name")
    return (
        *(context.get(name) for name in ("plan", "options", "threads")),
        *names,
        ranks.get("count"),
    )


def rows_of_problem(run: Run, problem: str) -> ResultFile | None:
    """The rows of one problem in a run; None: it has none. Only these rows are parsed. Raises
    ResultError."""
    context, *lines = read_bytes(run.path).splitlines(keepends=True)
    wanted = problem.encode()
    of_problem = [line for line in lines if wanted in line and _is_row(line)]
    return parsed(run.path, b"".join([context, *of_problem])) if of_problem else None


def read_run(run: Run) -> ResultFile:
    """Raises ResultError."""
    return read(run.path)
