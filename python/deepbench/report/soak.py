"""The section of a report on the course of soaks."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from deepbench.compare.result_set import printable
from deepbench.report.comparison.section import Section, TableRow
from deepbench.report.fields import percent, time_cell
from deepbench.results.row import Row
from deepbench.results.soak import SoakSummary, steps_of

_STEPS = 10  # lines of a soak, each of about as many calls as the others


def soak_section(rows: Sequence[Row]) -> Section | None:
    """None if no row is a soak."""
    soaks = [row for row in rows if row.soak]
    if not soaks:
        return None
    columns = ("calls", "time", "clock MHz", "%capped", "%throttled", "problem")
    about = (
        "The calls of each soak in their order, with the time of a call, the clock, and the share "
        "of the batches under a power cap and of those that heat or a hardware limit slowed."
    )
    lines = tuple(line for row in soaks for line in _lines_of(row))
    heading = "Course of the soaks"
    if len(soaks) == 1:  # the problem is stated above the table
        above = (about, lines[0].cells[-1])
        lines = tuple(TableRow(line.cells[:-1]) for line in lines)
        return Section(heading, above, columns[:-1], rows=lines)
    return Section(heading, (about,), columns, frozenset({5}), lines, wraps=True)


def _lines_of(row: Row) -> Iterator[TableRow]:
    problem = printable(row.problem or "")
    for step in steps_of(row.soak, _STEPS):
        yield TableRow((*_cells(step), problem))


def _cells(step: SoakSummary) -> tuple[str, ...]:
    return (
        str(step.calls),
        time_cell(step.time_per_call_ns),
        "-" if step.clock_mhz is None else f"{step.clock_mhz:.0f}",
        percent(step.power_capped),
        percent(step.throttled),
    )
