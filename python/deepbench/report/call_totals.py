"""The sections of a report on the time of all calls of a suite with counts: by regime, by
application, and by row."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from deepbench.compare.result_set import printable
from deepbench.report.comparison.section import Section, TableRow
from deepbench.report.fields import percent, time_cell
from deepbench.results.call_totals import CallTotals, RegimeTotal

_LISTED = 20  # rows and applications of a regime
_NO_APPLICATION = "none"

Part = tuple[tuple[str, ...], float]  # the cells of a line, and its time


def call_total_sections(totals: CallTotals) -> list[Section]:
    """None if no row with a count has a time."""
    regimes = totals.regimes
    if not regimes:
        return []
    return [
        _regime_section(totals),
        _share_section("application", ("calls", "rows", "application"), regimes, _applications),
        _share_section("row", ("count", "time of one", "problem"), regimes, _rows),
    ]


def _regime_section(totals: CallTotals) -> Section:
    lines = [
        "The time of each row times its count, over the rows that are ok.",
        *_reservations(totals),
    ]
    cells = (
        (printable(one.regime), str(len(one.rows)), str(one.calls), time_cell(one.time_ns))
        for one in totals.regimes
    )
    columns = ("regime", "rows", "calls", "time")
    rows_of_table = tuple(map(TableRow, cells))
    return Section("Time of all calls", tuple(lines), columns, frozenset({0}), rows_of_table)


def _reservations(totals: CallTotals) -> Iterator[str]:
    """The reasons why the time is not that of the whole suite."""
    if missing := totals.rows_without_time:
        calls = totals.calls_without_time
        yield f"Not in it: {_rows_text(missing)} without a time, of {calls} calls."
    if missing := totals.missing_rows:
        yield f"Not in it: {_rows_text(missing)} that the run did not finish."
    if totals.is_quick:
        yield "Not in it: the problems of the suite that --quick left out."


def _rows_text(count: int) -> str:
    return "1 row" if count == 1 else f"{count} rows"


def _share_section(
    what: str,
    columns: tuple[str, ...],
    regimes: list[RegimeTotal],
    parts_of: Callable[[RegimeTotal], list[Part]],
) -> Section:
    """A table of the largest parts of each regime's time. A column names the regime where there are
    several."""
    several = len(regimes) > 1
    lines, rows = [], []
    for one in regimes:
        regime, whole_ns, parts = printable(one.regime), one.time_ns, parts_of(one)
        for cells, time_ns in parts[:_LISTED]:
            shown = (percent(time_ns / whole_ns), time_cell(time_ns), *cells)
            rows.append(TableRow((regime, *shown) if several else shown))
        if rest := parts[_LISTED:]:
            share = percent(sum(time_ns for _, time_ns in rest) / whole_ns)
            further = f"{len(rest)} further {what}{'s have' if len(rest) > 1 else ' has'}"
            lines.append(f"{regime}: {further} {share} % of the time.")
    titles = (*(("regime",) if several else ()), "% of time", "time", *columns)
    words = frozenset({len(titles) - 1, *((0,) if several else ())})
    return Section(f"Time by {what}", tuple(lines), titles, words, tuple(rows), wraps=True)


def _applications(regime: RegimeTotal) -> list[Part]:
    return [
        (
            (
                str(one.calls),
                str(one.rows),
                _NO_APPLICATION if one.name is None else printable(one.name),
            ),
            one.time_ns,
        )
        for one in regime.applications()
    ]


def _rows(regime: RegimeTotal) -> list[Part]:
    return [
        ((str(row.count), time_cell(row.time_ns), printable(row.problem)), row.total_ns)
        for row in regime.largest_rows()
    ]
