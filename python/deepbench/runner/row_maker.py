"""Makes rows one by one: requests each from a source, and makes a failed row if the source does not
answer.

The rows of one source belong together: after repeated crashes of an operation its remaining rows
are not run.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from deepbench.json_types import JsonObject
from deepbench.problems.problem_arguments import quoted
from deepbench.results import Row, parse_row
from deepbench.results.row import with_counts
from deepbench.runner.plan import PlannedRow, hang_limit_s
from deepbench.runner.restart_limit import Libraries, RestartLimit
from deepbench.runner.run_options import RunOptions
from deepbench.runner.session import RowSource
from deepbench.runner.worker_exit import WorkerFailure


class RowMaker:
    """Makes the rows of one source."""

    def __init__(
        self, source: RowSource, options: RunOptions, say: Callable[[str], object]
    ) -> None:
        self._source, self._options, self._say = source, options, say
        self._hello: JsonObject = {}
        self._last_position: dict[str, int] = {}  # the position of each operation's last row
        self._restart_limit = RestartLimit(self._libraries)

    def begin(self, hello: JsonObject, rows: Sequence[PlannedRow]) -> None:
        """Must be called before the first row, with the answer of the source and all rows."""
        self._hello = hello
        self._last_position = {row.op: row.position for row in rows}

    def measure(
        self, planned: PlannedRow, line: str, on_admitted: Callable[[], object] = lambda: None
    ) -> Row:
        """The row; a failed row if the worker does not deliver one."""
        row = self._row_or_failed_row(planned, line, on_admitted)
        return row if planned.counts is None else with_counts(row, planned.counts)

    def update_restart_limit(self, planned: PlannedRow, row: Row) -> None:
        if planned.position == self._last_position[planned.op]:
            return  # no row of this operation is left to skip
        given_up = self._restart_limit.record(planned, row)
        if given_up:
            self._say(
                f"deepbench: warning: {given_up} reached the restart limit: its remaining rows "
                "are not run; try another --library or --algorithm"
            )

    def _row_or_failed_row(
        self, planned: PlannedRow, line: str, on_admitted: Callable[[], object]
    ) -> Row:
        reason = self._restart_limit.skip_reason(planned)
        if reason is not None:
            return self._failed_row(planned, "failed", reason, "skipped")
        limit_s = hang_limit_s(planned, self._options)
        answer = self._source.run(line, planned.position, limit_s, on_admitted)
        if isinstance(answer, WorkerFailure):
            return self._failed_row(planned, answer.status, answer.reason, answer.cause or "")
        return answer

    def _libraries(self, planned: PlannedRow) -> Libraries:
        """The libraries that support a row; None if the worker fails to answer."""
        asked = self._options.rows.get("library")
        known = self._hello.get("libraries") or {}
        usable = [name for name, facts in known.items() if "reason" not in facts]
        limit_s = hang_limit_s(planned, self._options)
        able = set()
        for name in [asked] if asked else usable or [""]:
            words = f" library={quoted(name)}" if name else ""
            supports = self._source.supports(planned.line + words, planned.position, limit_s)
            if supports is None:
                return None
            if supports:
                able.add(name)
        return frozenset(able)

    def _failed_row(self, planned: PlannedRow, status: str, reason: str, worker: str) -> Row:
        """The row of a problem that no worker answered. `worker` is how the worker ended; '' if it
        still runs."""
        from deepbench import _core

        device = self._hello.get("device") or {}
        line = _core.failed_row(
            planned.problem_line,
            position=planned.position,
            status=status,
            reason=reason,
            worker=worker,
            backend=(self._hello.get("backend") or {}).get("name") or "",
            device=device.get("index"),
            device_name=device.get("name") or "",
        )
        return parse_row(line.encode())
