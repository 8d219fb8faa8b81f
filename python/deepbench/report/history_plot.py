"""A plot of one problem over the runs of the history, with the versions of its library as marks,
and a table of its times: as lines of text, and as a section of a page."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from deepbench.report.comparison.section import Section, TableRow
from deepbench.report.fields import percent, threads_text, time_cell, time_text
from deepbench.report.svg_plot import IntervalPoint, interval_plot
from deepbench.report.text_plot import PlotPoint, plot_lines
from deepbench.results.row import Row

Setup = tuple[str | None, ...]
_ABOUT_MARKS = "a mark names the library of a run whose version is not that of the run before"


@dataclass(frozen=True)
class PastRow:
    """A row of a problem, and the run that measured it."""

    started: str
    build: str  # build of deepbench
    row: Row

    @property
    def setup(self) -> Setup:
        """The common conditions of the rows of one plot: everything except the version of the
        library."""
        row, regime = self.row, self.row.regime
        name = (row.library or "").partition(" ")[0]
        fleet = row.ranks.count if row.ranks else None
        threads = threads_text(regime.threads) if regime.threads else None
        ranks = f"{count} ranks" if (count := regime.ranks or fleet) else None
        mode = row.algorithm.mode
        return row.device.name, name, mode, regime.cache, regime.power, threads, ranks


@dataclass(frozen=True)
class ProblemHistory:
    """The rows of a problem with a time, the oldest first, in the setup of the last one."""

    problem: str
    rows: Sequence[PastRow]
    others: int  # number of rows in another setup, which are omitted

    @property
    def title(self) -> str:
        return f"{self.problem}: {', '.join(word for word in self.rows[-1].setup if word)}"

    @property
    def about_others(self) -> str:
        what = "another device, library, algorithm, regime, threads or ranks"
        return f"left out: {self.others} of {what}" if self.others else ""

    def marks(self) -> Iterator[str]:
        """For each row the version of the library if the row before has another one, else ''."""
        before = None
        for one in self.rows:
            yield (one.row.library or "") if one.row.library != before else ""
            before = one.row.library

    @property
    def days(self) -> tuple[str, str]:
        return self.rows[0].started[:10], self.rows[-1].started[:10]


def history_of(problem: str, past: Sequence[PastRow]) -> ProblemHistory:
    rows = [one for one in past if one.setup == past[-1].setup]
    return ProblemHistory(problem, rows, len(past) - len(rows))


def history_lines(history: ProblemHistory) -> Iterator[str]:
    """The plot and the table as text."""
    yield history.title
    if history.others:
        yield history.about_others
    yield ""
    yield from _text_plot(history)
    yield ""
    yield f"{'run':20}  {'time':>9}  {'±%':>5}  library, deepbench"
    for one in history.rows:
        started, time, spread, library, build = _cells(one)
        yield f"{started:20}  {time:>9}  {spread:>5}  {library}, {build}"


def history_section(history: ProblemHistory) -> Section:
    """The plot and the table for a page, or for Markdown."""
    return Section(
        history.title,
        tuple(
            filter(
                None,
                (
                    history.about_others,
                    "a mark names the library of a run whose version is not that of the run before",
                ),
            )
        ),
        ("run", "time", "±%", "library", "deepbench"),
        frozenset({0, 3, 4}),
        tuple(TableRow(_cells(one)) for one in history.rows),
        plot=tuple(_text_plot(history)),
        figure=interval_plot(list(_interval_points(history)), time_text, history.days),
    )


def _cells(one: PastRow) -> tuple[str, str, str, str, str]:
    spread = one.row.statistics.spread
    shown = "-" if spread is None else percent(spread)
    return one.started, time_cell(one.row.time_ns), shown, one.row.library or "-", one.build


def _text_plot(history: ProblemHistory) -> Iterator[str]:
    """The times by run, from the shortest to the longest. The first run with another version of the
    library is marked with it."""
    points = [
        PlotPoint(number, one.row.time_ns or 0.0, mark, bool(mark))
        for number, (one, mark) in enumerate(zip(history.rows, history.marks(), strict=True))
    ]
    times = [point.y for point in points]
    ends = time_text(min(times)), time_text(max(times))
    title = "runs, * with another library"
    yield from plot_lines(points, history.days, ends, title, x_scale=float, y_low=min(times))


def _interval_points(history: ProblemHistory) -> Iterator[IntervalPoint]:
    for one, mark in zip(history.rows, history.marks(), strict=True):
        time_ns, statistics = one.row.time_ns or 0.0, one.row.statistics
        low = time_ns if statistics.low_ns is None else min(time_ns, statistics.low_ns)
        high = time_ns if statistics.high_ns is None else max(time_ns, statistics.high_ns)
        yield IntervalPoint(time_ns, low, high, ", ".join(_cells(one)), mark)
