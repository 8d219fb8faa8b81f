"""One of the two environments: its workers, its visits, and its result file."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from deepbench.errors import printable_line
from deepbench.json_types import JsonObject
from deepbench.problems.selection import Selection
from deepbench.redaction import without_secrets
from deepbench.results import ResultWriter, Row
from deepbench.results.visits import VisitLine
from deepbench.runner.context import build_context
from deepbench.runner.plan import PlannedRow
from deepbench.runner.ranks import worker_command
from deepbench.runner.row_maker import RowMaker
from deepbench.runner.run_options import RunOptions
from deepbench.runner.session import RowSource, Session
from deepbench.runner.visits import Visits
from deepbench.runner.worker_process import SessionError

# A mistrusted visit counts as missing instead, since other work on the machine causes it.
_DECISIVE = ("incorrect",)  # the status of a later visit that the row takes over


@dataclass(frozen=True)
class Setup:
    """The settings of a side that are known before it starts."""

    letter: str  # A or B
    variables: Mapping[str, str]
    output: Path | None

    @property
    def text(self) -> str:
        """'OMP_NUM_THREADS=1', secrets redacted. A line without control characters."""
        shown = without_secrets(self.variables)
        words = " ".join(f"{name}={value}" for name, value in shown.items())
        return printable_line(words) or "the environment as it is"


class Side:
    """Measures rows in one environment. Each pair gets a worker of its own."""

    def __init__(
        self,
        setup: Setup,
        options: RunOptions,
        say: Callable[[str], object],
        tick: Callable[[], object] = lambda: None,
        source: RowSource | None = None,
    ) -> None:
        self.setup, self._options = setup, options
        self._source = source or Session(
            worker_command(options.backend, options.worker_words()),
            say=say,
            tick=tick,
            hang_limit_s=options.hang_limit_s,
            backend=options.backend,
            starts_ahead=False,
            variables=setup.variables,
        )
        self._maker = RowMaker(self._source, options, say)
        self._writer: ResultWriter | None = None
        self._decided: dict[int, Row] = {}  # rows without further visits, by position
        self._visits = Visits(1)
        self.hello: JsonObject = {}
        self.context: JsonObject = {}
        self.rows: dict[int, Row] = {}  # by position, once the last pair is made

    @property
    def letter(self) -> str:
        return self.setup.letter

    @property
    def is_alone(self) -> bool:
        """Whether a worker must have the device to itself, because the device has its own memory.
        Known after start()."""
        return not (self.hello.get("device") or {}).get("shares_host_memory")

    def open_file(self) -> None:
        if self.setup.output is not None:
            cure = "--overwrite replaces it"
            overwrite = self._options.overwrite
            self._writer = ResultWriter.create(self.setup.output, overwrite, cure)

    def start(self) -> None:
        """Starts a worker."""
        with self._named_errors():
            self.hello = self._source.start()

    def end_worker(self) -> None:
        """Ends the worker, so that start() starts a new one."""
        with self._named_errors():
            self._source.renew()

    def begin(
        self, rows: Sequence[PlannedRow], selection: Selection, command: Sequence[str], most: int
    ) -> None:
        """Writes the context of at most `most` visits."""
        self._visits = Visits(most, lambda: str(self.context["started"]), _DECISIVE)
        self._maker.begin(self.hello, rows)
        of_visits = replace(self._options, rows={**self._options.rows, "visits": str(most)})
        variables = {**os.environ, **self.setup.variables}
        self.context = {
            **build_context(self.hello, selection, of_visits, rows, command, variables),
            "side": {
                "letter": self.setup.letter,
                "variables": without_secrets(self.setup.variables),
            },
        }
        if self._writer is not None:
            self._writer.write_context(self.context)

    def in_order(self, rows: Sequence[PlannedRow], number: int) -> list[PlannedRow]:
        """The rows in the order of a visit."""
        return self._visits.in_order(rows, number)

    def is_open(self, position: int) -> bool:
        """Whether the row has a first visit, so that others can follow."""
        return self._visits.has(position, 1) and position not in self._decided

    def measure_visit(self, planned: PlannedRow, number: int) -> Row:
        """Measures visit `number` of the row. Returns a failed row if the worker delivers none."""
        line = self._visits.line_of(planned, number)
        with self._named_errors():
            row = self._maker.measure(planned, line)
        if number == 1:
            self._maker.update_restart_limit(planned, row)
        return row

    def keep(self, number: int, row: Row) -> None:
        kept = self._visits.take(number, row)
        if isinstance(kept, Row):
            self._decided[row.position] = kept
        if kept is not None:
            self._write(kept)

    def visit(self, position: int, number: int) -> Row | None:
        """The measured visit; None if it has no time."""
        return self._visits.row(position, number)

    def can_repeat(self, position: int, number: int) -> bool:
        """Whether a visit may be repeated: not if it selected its algorithm."""
        return self._visits.can_repeat(position, number)

    def finish(self, made: int) -> None:
        """Combines the visits of `made` pairs into rows."""
        self._visits.count = made
        combined = self._visits.combined()
        self.rows = {**combined, **self._decided}
        for position in sorted(combined.keys() - self._decided.keys()):
            self._write(combined[position])

    def close(self) -> None:
        self._source.close()

    def kill(self) -> None:
        self._source.kill()

    def close_file(self) -> None:
        if self._writer is not None:
            self._writer.close()

    def _write(self, kept: Row | VisitLine) -> None:
        if self._writer is not None:
            self._writer.write_line(kept.line)

    @contextlib.contextmanager
    def _named_errors(self) -> Iterator[None]:
        """Names the side in errors of its workers."""
        try:
            yield
        except SessionError as error:
            letter, text = self.setup.letter, self.setup.text
            raise SessionError(f"{letter} ({text}): {error}", error.exit_status) from None
