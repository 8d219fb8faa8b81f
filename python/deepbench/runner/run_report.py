"""Prints a run on standard output: its rows in a format and, on a terminal, the rows of the first
visits before them."""

from __future__ import annotations

from collections.abc import Sequence

from deepbench.json_types import JsonObject
from deepbench.report import Report, columns_against, create
from deepbench.report.outline import Outline, outline
from deepbench.results import Row
from deepbench.results.ceilings import Ceilings
from deepbench.results.chains import ChainLine
from deepbench.runner.progress import Screen
from deepbench.runner.run_options import RunOptions
from deepbench.runner.summary import Summary
from deepbench.workload import totals_of


class RunReport:
    """The report of a run. A row is shown against the ceilings that are known by then."""

    def __init__(self, options: RunOptions, screen: Screen, ceilings: Ceilings) -> None:
        self._options, self._screen, self._ceilings = options, screen, ceilings
        self._report: Report = create(
            options.format,
            columns_against(options.against),
            screen.report_width(),
            options.columns,
        )
        self._provisional: Report | None = None  # of the first visits
        self._context: JsonObject = {}
        self._outline, self._beginning = outline(()), ""
        # Shares of the roofline, by row position.
        self._printed_shares: dict[int, float | None] = {}
        self._has_begun = False

    def prepare(self, context: JsonObject, shape: Outline) -> None:
        """Raises FormatError if the format cannot show these rows."""
        self._context, self._outline = context, shape
        self._beginning = self._report.begin(context, shape)

    def begin(self) -> None:
        self._has_begun = True
        visits, width = self._options.visits, self._screen.report_width()
        if visits > 1 and width is not None and self._options.format == "table":
            self._provisional = create("table", width=width, columns=self._options.columns)
            self._print(
                self._provisional.begin(self._context, self._outline)
                + f"provisional, from the first of {visits} visits:\n"
            )
        self._print(self._beginning)

    @property
    def has_begun(self) -> bool:
        return self._has_begun

    def print_provisional_row(self, row: Row) -> None:
        if self._provisional is not None:
            self._print(self._provisional.row(self._ceilings.with_assessment(row)))

    def begin_final_rows(self) -> None:
        """Separates the rows of all visits from provisional ones."""
        if self._provisional is not None:
            self._print(f"\nfrom all {self._options.visits} visits:\n")

    def print_row(self, row: Row) -> None:
        shown = self._ceilings.with_assessment(row)
        self._printed_shares[row.position] = shown.bound.share_roofline
        self._print(self._report.row(shown))

    def has_row(self, position: int) -> bool:
        return position in self._printed_shares

    def end(
        self,
        rows: Sequence[Row] = (),
        chains: Sequence[ChainLine] = (),
        ignore_errors: bool = False,
    ) -> None:
        """`rows` and `chains` are all of a run that was not interrupted."""
        assessed = map(self._ceilings.with_assessment, rows)
        totals = totals_of(self._context, assessed, chains) if rows else []
        try:
            self._print(self._report.end(totals))
        except OSError:
            if not ignore_errors:
                raise

    def summary(self, rows: Sequence[Row]) -> Summary:
        """The summary of rows against the current ceilings, which may have changed since a row was
        printed."""
        summary = Summary()
        summary.begin(self._context)
        for row in rows:
            assessed = self._ceilings.with_assessment(row)
            summary.add(assessed)
            if self.has_row(row.position):
                summary.compare_share(assessed, self._printed_shares[row.position])
        return summary

    def _print(self, text: str) -> None:
        """Prints a part of the report. If the reader has closed standard output, the run continues
        only for its result file."""
        try:
            self._screen.report(text)
        except BrokenPipeError:
            if self._options.output is None:
                raise
            self._screen.drop_report()
