"""Runs the rows of a command: connects the worker, the result file, the report and the screen."""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from dataclasses import dataclass

from deepbench.errors import UsageError, UserError, in_quotes
from deepbench.history import RunKeeper
from deepbench.json_types import JsonObject
from deepbench.problems.selection import Selection
from deepbench.report import create
from deepbench.report.outline import Outline, OutlineProblem, outline
from deepbench.results import ResultError, ResultFile, ResultWriter, Row, schema
from deepbench.results.ceilings import CeilingLine, Ceilings, parse_ceiling
from deepbench.results.chains import ChainLine
from deepbench.results.resume_check import first_difference
from deepbench.results.visits import VisitLine
from deepbench.runner.chain_maker import ChainMaker, by_key
from deepbench.runner.context import build_context, opening_line_of_run, skipped_text
from deepbench.runner.launcher import (
    exec_worker,
    launch_environment,
    plan_launch,
    rendezvous_timeout_s,
)
from deepbench.runner.plan import PlannedRow, make_parser, plan, without_long_calls
from deepbench.runner.progress import Screen, Stopwatch, rough_duration_text
from deepbench.runner.ranks import dismiss_ranks, worker_command
from deepbench.runner.row_maker import RowMaker
from deepbench.runner.run_options import RunOptions
from deepbench.runner.run_report import RunReport
from deepbench.runner.search_shares import SearchShares
from deepbench.runner.session import REFUSED, InProcessRows, RowSource, Session
from deepbench.runner.summary import Summary
from deepbench.runner.time_estimate import Estimate, Expectation
from deepbench.runner.visits import Visits
from deepbench.runner.worker_process import INVALID_ANSWER, SessionError

_SILENT_START_S = 0.8  # a longer start shows a message
_RETRIED = ("failed", "out_of_memory", "device_lost")  # statuses that --retry measures again


@dataclass(frozen=True)
class _FinishedRow:
    """A finished row, and how long it took."""

    row: Row
    elapsed_s: float


class Run:
    """Runs the rows of one command."""

    def __init__(
        self,
        selection: Selection,
        options: RunOptions,
        command: Sequence[str],
        source: RowSource | None = None,
        screen: Screen | None = None,
    ) -> None:
        self._environment = launch_environment()
        if selection.many and self._environment is None:
            options = options.for_several_rows()
        self._selection, self._options, self._command = selection, options, list(command)
        self._screen = screen or Screen()
        self._ceilings = Ceilings()  # of the file and of this run
        self._source = source or self._row_source()
        self._clock = self._row_clock = Stopwatch()
        self._announced = False
        self._hello: JsonObject = {}
        self._context: JsonObject = {}
        self._rows_by_position: dict[int, Row] = {}  # finished rows
        self._writer: ResultWriter | None = None
        self._history = RunKeeper(self._screen.say) if options.keeps_history else None
        self._report = RunReport(options, self._screen, self._ceilings)
        self._estimate = Estimate([], Expectation())
        self._rows: list[PlannedRow] = []
        self._current_row: PlannedRow | None = None
        self._finished_before_output: dict[int, _FinishedRow] = {}  # those before the output begins
        self._can_run = True  # False if the backend supports none of the rows
        self._maker = RowMaker(self._source, self._options, self._screen.say)
        self._chain_maker = ChainMaker(self._source, self._options, self._screen.say)
        self._visits = Visits(options.visits, lambda: str(self._context.get("started")))
        self._visit = 1  # which visit of the rows is being made
        self._searches = SearchShares(options.hang_limit_s)

    def run(self) -> int:
        """Runs all rows and returns the exit status. If the run ends early, measured rows are kept,
        the report is completed, and the worker is ended. Raises UserError."""
        if self._environment is not None and self._environment.rank > 0:
            return exec_worker(self._worker_command(self._options.ranks, is_child=False))
        try:
            old = self._begin()
        except UserError as error:
            if self._environment is not None:
                dismiss_ranks(self._environment, " ".join(self._command), error)
            raise
        try:
            self._hello = self._source.start()
            self._rows = self._short_rows(plan(self._selection, self._options, self._hello))
            self._maker.begin(self._hello, self._rows)
            self._check_energy()
            self._check_visits()
            self._context = self._build_context()
            status = self._run_rows(old)
            self._source.close()
        except BaseException:
            self._source.kill()
            raise
        finally:
            self._screen.clear()
            if self._history is not None:
                self._history.close()
            if self._writer is not None:
                self._writer.close()
        return status

    @property
    def context(self) -> JsonObject:
        """The context of the run; empty before its worker has started."""
        return self._context

    @property
    def finished_rows(self) -> list[Row]:
        """The rows that are measured, by position."""
        return [row for _, row in sorted(self._rows_by_position.items())]

    # ---- before the first row -----------------------------------------------------------------

    def _begin(self) -> ResultFile | None:
        """Finds mistakes before anything is started, by a first plan without the backend, and opens
        the file."""
        rows = plan(self._selection, self._options, None)
        self._selection.chains(make_parser(None, self._selection.set), None)
        for remark in self._selection.remarks:
            self._screen.say(f"deepbench: {remark}")
        create(self._options.format, columns=self._options.columns).begin({}, self._outline(rows))
        return self._open_file()

    def _row_source(self) -> RowSource:
        if self._options.in_process:
            if self._environment is not None:
                raise UsageError(
                    f"--in-process cannot be combined with {self._environment.size} ranks"
                )
            return InProcessRows(
                self._options.backend,
                self._options.worker_words(),
                self._screen.say,
                self._ceilings.protocol_lines,
                self._write_ceiling,
            )
        launch = plan_launch(self._options, self._environment)
        return Session(
            [*launch.prefix, *self._worker_command(launch.spawn_count, not launch.prefix)],
            say=self._screen.say,
            tick=self._update_progress,
            rendezvous_s=rendezvous_timeout_s() if self._has_ranks else 0.0,
            hang_limit_s=self._options.hang_limit_s,
            backend=self._options.backend,
            can_restart=self._environment is None,
            starts_ahead=not launch.prefix and not launch.spawn_count,
            variables=launch.variables,
            ceilings=self._ceilings.protocol_lines,
            on_ceiling=self._write_ceiling,
        )

    @property
    def _has_ranks(self) -> bool:
        return self._options.processes is not None or self._environment is not None

    def _worker_command(self, spawn_count: int | None = None, is_child: bool = True) -> list[str]:
        asked = " ".join(self._command) if self._has_ranks else ""
        return worker_command(
            self._options.backend,
            self._options.worker_words(),
            spawn_count,
            asked,
            is_child,
            self._options.hang_limit_s if self._has_ranks else None,
        )

    def _open_file(self) -> ResultFile | None:
        path = self._options.output
        if path is None:
            return None
        if self._options.resume:
            self._writer, old = ResultWriter.for_resuming(path)
            if self._writer.torn_context:
                cut = "its only line, the context, is cut short; the run begins anew"
                self._screen.say(f"deepbench: warning: {path}: {cut}")
            if old and old.warning:
                self._screen.say(f"deepbench: warning: {old.warning}")
            for ceiling in old.ceilings if old else ():
                if self._is_kept(ceiling["status"]):
                    self._ceilings.add(ceiling)
            return old
        self._writer = ResultWriter.create(path, overwrite=self._options.overwrite)
        return None

    def _short_rows(self, rows: list[PlannedRow]) -> list[PlannedRow]:
        """The rows without those that --quick skips, which are named."""
        if not (self._options.quick and self._selection.many):
            return rows
        short, skipped = without_long_calls(rows, self._expectation(self._hello).call_s)
        if skipped:
            self._screen.say(f"deepbench: {skipped_text(skipped)}")
        if not short:
            raise UsageError("--quick skips all problems; leave it out")
        return short

    def _expectation(self, context: JsonObject) -> Expectation:
        """The expected times of rows on the device of a context or of a hello message."""
        estimates = (self._hello.get("planning") or {}).get("estimates") or {}
        return Expectation.from_context(context, self._options.rows, estimates)

    def _check_energy(self) -> None:
        device = self._hello.get("device") or {}
        if self._options.energy and not device.get("energy"):
            name = (self._hello.get("backend") or {}).get("name")
            raise UsageError(
                f"--energy: the backend {name} cannot measure energy here; leave it out"
            )

    def _check_visits(self) -> None:
        """Rejects several visits of rows that every rank measures on its own device."""
        ranks = self._environment is not None or self._options.processes is not None
        if self._visits.count > 1 and ranks and not all(row.is_collective for row in self._rows):
            raise UsageError(
                f"--visits {self._visits.count} cannot be combined with rows on several devices at "
                "once; leave it out, or run collectives alone"
            )

    def _build_context(self) -> JsonObject:
        context = build_context(
            self._hello, self._selection, self._options, self._rows, self._command
        )
        try:
            schema.check_context(context)
        except schema.SchemaError as error:
            raise SessionError(f"{INVALID_ANSWER}: {error}", 2) from None
        return context

    def _begin_output(self, old: ResultFile | None = None) -> None:
        """Writes the context or compares it with that of a resumed file, begins the report, and
        prints what will run."""
        context = self._context
        self._context = old.context if old else context
        self._report.prepare(self._context, self._outline(self._rows))
        if old is not None:
            self._resume(old, context)
        elif self._writer is not None:
            self._writer.write_context(context)
        if self._history is not None:
            self._history.begin(context)
            for line in self._kept_lines(old):
                self._history.add(line)
        self._announce(context)
        self._report.begin()

    def _kept_lines(self, old: ResultFile | None) -> list[str]:
        """The ceilings, chains and rows that a resumed run takes over."""
        stored = old.stored if old else ()
        others = [one.line for one in stored if isinstance(one, (CeilingLine, ChainLine))]
        return [*others, *(row.line for row in self._rows_by_position.values())]

    def _announce(self, context: JsonObject) -> None:
        """Estimates the duration of the run, and says what will run."""
        libraries = (self._hello.get("planning") or {}).get("default_libraries") or {}
        to_measure = [row.work for _, row in self._visits_to_make()]
        self._estimate = Estimate(to_measure, self._expectation(context), self._ceilings.names())
        self._announced = True
        if self._can_run:
            for warning in context["warnings"]:
                self._screen.say(f"deepbench: warning: {warning}")
            left = self._estimate.remaining_s()
            self._screen.say(
                opening_line_of_run(
                    context, self._selection, self._options, self._rows, left, libraries
                )
            )

    def _resume(self, old: ResultFile, context: JsonObject) -> None:
        difference = first_difference(old, context, [row.problem for row in self._rows])
        if difference:
            command = " ".join(old.context.get("command") or ["an unknown command"])
            raise ResultError(
                f"{old.path}: --resume with another run: {difference} (the file is of: {command})"
            )
        assert self._writer is not None
        kept = [row for row in old.stored_rows if self._is_kept_row(row)]
        again = [row for row in old.stored_rows if not self._is_kept_row(row)]
        complete = {row.position for row in kept}
        visits = [
            visit
            for visit in old.visits
            if visit.row.position in complete or self._is_kept_row(visit.row)
        ]
        if again:
            dropped = {id(one) for one in (*old.visits, *again)} - {id(one) for one in visits}
            lines = (
                one.line
                for one in old.stored
                if id(one) not in dropped
                and (isinstance(one, (Row, VisitLine)) or self._is_kept(one.status))
            )
            self._writer.replace(old.context, lines)
        else:
            self._writer.continue_from(old)
        self._rows_by_position = {row.position: row for row in kept}
        for visit in visits:
            self._visits.add(visit)
        first = (visit.row for visit in visits if visit.number == 1)
        for row in (*kept, *(row for row in first if row.position not in complete)):
            self._searches.remember(row)
        said = f"deepbench: {old.path} has {len(old.stored_rows)} of {len(self._rows)} rows"
        if visits and len(kept) < len(self._rows):
            said += f" and {len(visits)} visits"
        disturbed = sum(row.status == "ok" for row in again)
        counts = {"failed": len(again) - disturbed, "disturbed": disturbed}
        causes = ", ".join(f"{count} {cause}" for cause, count in counts.items() if count)
        self._screen.say(said + (f"; {causes} and will be measured again" if causes else ""))

    def _is_kept_row(self, row: Row) -> bool:
        again = self._options.retry and row.statistics.is_disturbed
        return self._is_kept(row.status) and not again

    def _is_kept(self, status: str) -> bool:
        """Whether a row or ceiling of a resumed file with this status is not measured again."""
        return not self._options.retry or status not in _RETRIED

    def _outline(self, rows: Sequence[PlannedRow]) -> Outline:
        """The outline of the report. Rows of a user's suite show their applications, which
        distinguish them."""
        is_user_suite = self._selection.set is None
        problems = (
            OutlineProblem(
                row.op,
                row.attributes,
                row.flops,
                row.application_names if is_user_suite else None,
                row.power,
                self._options.visits,
                row.counts.count if row.counts else None,
                self._options.energy,
            )
            for row in rows
        )
        return outline(problems, self._options.price)

    # ---- rows ---------------------------------------------------------------------------------

    def _run_rows(self, old: ResultFile | None) -> int:
        finished: list[Row] = []
        try:
            if old is not None:
                self._begin_output(old)
            else:
                self._run_until_admitted()
            if self._visits.count > 1:
                self._make_visits()
            for planned in self._rows:
                row = self._rows_by_position.get(planned.position)
                if row is None:
                    row = self._finish_row(planned)
                finished.append(row)
                self._report.print_row(row)
                if self._visits.count == 1:  # otherwise each first visit has been counted
                    self._maker.update_restart_limit(planned, row)  # fails if the ranks have ended
            chains = self._make_chains(old)
        except BaseException as error:
            if self._report.has_begun:
                self._keep_rows_of_visits()
                with contextlib.suppress(OSError):
                    finished += self._print_rows_of_visits()
                self._report.end(ignore_errors=True)
                interrupted = not isinstance(error, Exception)
                self._say_summary(self._report.summary(finished), interrupted)
            raise
        self._report.end(finished, chains)
        summary = self._report.summary(finished)
        self._say_summary(summary)
        return 1 if any(chain.is_failure for chain in chains) else summary.exit_status

    def _make_chains(self, old: ResultFile | None) -> list[ChainLine]:
        """Times the measured kernels of every pass of a workload as one call, if the command asks
        for it, and returns all chains of the run and its file."""
        parse = make_parser(self._hello, self._selection.set)
        known = [one for one in (old.chains if old else ()) if self._is_kept(one.status)]
        measured = {row.problem or "" for row in self.finished_rows if row.status == "ok"}
        chains = [
            measurable
            for chain in self._selection.chains(parse, self._hello)
            if (measurable := chain.of_problems(measured))
        ]
        self._current_row = None
        made = self._chain_maker.make(chains, by_key(known), self._keep_chain)
        return [*known, *made]

    def _keep_chain(self, chain: ChainLine) -> None:
        if self._writer is not None:
            self._write_line(chain.line)
        if self._history is not None:
            self._history.add(chain.line)

    def _visits_to_make(self) -> list[tuple[int, PlannedRow]]:
        """The numbers and rows of the missing visits, in the order of the run. If each row has one
        visit, this is the order of the rows."""
        return [
            (number, row)
            for number in range(1, self._visits.count + 1)
            for row in self._visits.in_order(self._rows, number)
            if row.position not in self._rows_by_position
            and not self._visits.has(row.position, number)
        ]

    def _make_visits(self) -> None:
        """Makes all visits, each by another worker, and then the rows that follow from them."""
        for number, planned in self._visits_to_make():
            if planned.position in self._rows_by_position or (
                number > 1 and not self._visits.has(planned.position, 1)
            ):
                self._estimate.skip_row()
                continue
            if number != self._visit:
                self._begin_visit(number)
            self._make_visit(planned, number)
        self._repeat_disturbed_visits()
        for position, row in sorted(self._visits.combined().items()):
            if position not in self._rows_by_position:
                self._keep_row(row)
        self._report.begin_final_rows()

    def _begin_visit(self, number: int) -> None:
        if not self._source.renew() and self._visit == 1:
            self._screen.say(
                "deepbench: warning: all visits are made by one process, so that the intervals do "
                "not cover what differs between processes"
            )
        self._visit = number

    def _make_visit(self, planned: PlannedRow, number: int) -> None:
        finished = self._finished_before_output.pop(planned.position, None) if number == 1 else None
        finished = finished or self._run_row(planned, number)
        self._record_time(finished)
        row = finished.row
        kept = self._visits.take(number, row)
        if isinstance(kept, Row):
            self._keep_row(kept)
        elif kept is not None:
            self._write_visit(kept)
            if number == 1:
                self._report.print_provisional_row(row)
        if number == 1:
            self._maker.update_restart_limit(planned, row)

    def _write_visit(self, visit: VisitLine) -> None:
        if self._writer is not None:
            self._write_line(visit.line)

    def _repeat_disturbed_visits(self) -> None:
        """Repeats visits that other work disturbed, by a further worker. The other work may have
        ended by now; if not, the visit stays as it is."""
        disturbed = [
            (number, planned)
            for number, planned in self._visits.disturbed(self._rows)
            if planned.position not in self._rows_by_position
        ]
        if disturbed:
            self._source.renew()
        for number, planned in disturbed:
            row = self._run_row(planned, number).row
            if row.status != "ok" and self._visits.decides(number, row):
                self._keep_row(row)
            elif self._visits.improves(number, row):
                visit = VisitLine(number, row)
                self._visits.add(visit)
                self._write_visit(visit)

    def _keep_rows_of_visits(self) -> None:
        """Keeps the rows of the visits of a run that ended early in the history; the file has the
        visits."""
        if self._history is not None and self._visits.count > 1:
            for position, row in sorted(self._visits.combined().items()):
                if position not in self._rows_by_position:
                    self._history.add(row.line)

    def _print_rows_of_visits(self) -> list[Row]:
        """Prints the rows of the visits of a run that ended early, and returns them."""
        if self._visits.count == 1:
            return []
        known = self._visits.combined() | self._rows_by_position
        rows = [row for at, row in sorted(known.items()) if not self._report.has_row(at)]
        for row in rows:
            self._report.print_row(row)
        return rows

    def _write_ceiling(self, text: str) -> None:
        """Writes a ceiling, before the row that it was measured for."""
        try:
            ceiling = parse_ceiling(text.encode())
        except ValueError as error:
            self._screen.say(f"deepbench: warning: a ceiling is left out: {error}")
            return
        self._on_admitted()  # the context comes first, also if a worker did not say "admitted"
        self._ceilings.add(ceiling.members)
        if self._writer is not None:
            self._writer.write_line(text)
        if self._history is not None:
            self._history.add(text)

    def _run_until_admitted(self) -> None:
        """Runs rows until the backend admits one, which begins the output, or until all are
        refused. Raises UsageError if --algorithm names a candidate that no row has."""
        mistake = ""
        for planned in self._rows:
            finished = self._finished_before_output[planned.position] = self._run_row(planned)
            if finished.row.status not in REFUSED:
                break
            if finished.row.status == "invalid":
                mistake = mistake or str(finished.row.reason)
        else:
            if mistake and self._options.candidate:
                raise UsageError(f"--algorithm {in_quotes(self._options.candidate)}: {mistake}")
            self._can_run = not self._rows
        self._on_admitted()

    def _on_admitted(self) -> None:
        """Begins the output with the first row that the backend admits."""
        if not self._report.has_begun:
            self._begin_output()
            self._update_progress()

    def _finish_row(self, planned: PlannedRow) -> Row:
        """Runs the row, unless it ran before the output began, and writes it to the file."""
        finished = self._finished_before_output.pop(planned.position, None)
        finished = finished or self._run_row(planned)
        self._keep_row(finished.row)
        self._record_time(finished)
        return finished.row

    def _keep_row(self, row: Row) -> None:
        """Writes a row to the file, and keeps it for the report."""
        if self._writer is not None:
            self._write_line(row.line)
        if self._history is not None:
            self._history.add(row.line)
        self._rows_by_position[row.position] = row

    def _record_time(self, finished: _FinishedRow) -> None:
        row = finished.row
        ceilings_s = (row.stages_ns.get("ceilings") or 0) / 1e9
        self._estimate.record_row_time(
            finished.elapsed_s, ceilings_s, has_time=row.time_ns is not None
        )

    def _run_row(self, planned: PlannedRow, visit: int = 1) -> _FinishedRow:
        self._row_clock = clock = Stopwatch()
        self._current_row = planned
        self._update_progress()
        line = self._visits.line_of(planned, visit)
        if visit == 1:  # only the first visit searches for an algorithm
            line += self._searches.words(planned)
        row = self._maker.measure(planned, line, self._on_admitted)
        if visit == 1:
            self._searches.record(row)
        self._current_row = None
        return _FinishedRow(row, clock.elapsed_s())

    def _write_line(self, line: str) -> None:
        assert self._writer is not None
        try:
            self._writer.write_line(line)
        except ResultError as error:
            raise ResultError(str(error), exit_status=1) from None

    def _update_progress(self) -> None:
        """Updates the screen while the run waits for the worker."""
        if not self._announced:
            if self._clock.elapsed_s() > _SILENT_START_S:
                self._announced = True
                self._screen.say("deepbench: waiting for the backend")
            return
        if self._current_row is not None and self._screen.is_due:
            left = rough_duration_text(self._estimate.remaining_s(self._row_clock.elapsed_s()))
            done, total = len(self._rows_by_position), len(self._rows)
            visits = self._visits.count
            done += self._visits.made(self._visit, self._rows_by_position)
            visit = f"visit {self._visit} of {visits}, " if visits > 1 else ""
            place = min(done + 1, total)  # a visit may be repeated
            row = f"row {place} of {total}, about {left} left: {self._current_row.problem}"
            self._screen.progress(visit + row, ((self._visit - 1) * total + done) / visits / total)

    def _say_summary(self, summary: Summary, interrupted: bool = False) -> None:
        path = self._options.output
        if self._writer is not None and not self._writer.is_intact:
            path = None  # the error says what became of the file
        if not self._can_run and path is None and self._options.format == "table":
            return  # the table already says why no row can run
        text = summary.line(self._clock.elapsed_s(), len(self._rows))
        where = f"; rows are in {path}" if path and summary.rows else ""
        again = "; --resume continues it" if path and summary.rows < len(self._rows) else ""
        kind = "interrupted, " if interrupted else ""
        if summary.ceilings:
            self._screen.say(f"deepbench: {summary.ceilings}")
        self._screen.say(f"deepbench: {kind}{text}{where}{again}")
        if summary.changed_shares:
            shown = f"; 'deepbench show {path}' prints the new shares" if path else ""
            self._screen.say(f"deepbench: {summary.changed_shares}{shown}")
        for finding in summary.findings:
            self._screen.say(f"deepbench: {finding}")
