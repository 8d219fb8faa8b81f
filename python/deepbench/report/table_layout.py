"""Chooses the columns of a table: those that were asked for, or those that fit a terminal.

Where the columns of an operation are wider than the terminal, these steps are taken in their order
until a row fits; remarks go on below their row and count for nothing:

1. attributes that are equal in every row move into a line above the header,
2. the columns _DROPPED_FIRST are dropped,
3. the titles of attributes become initials, which the line above the header explains,
4. one blank instead of two separates columns,
5. the columns _DROPPED_LAST are dropped.

If the columns of --against still do not fit, their cells continue below each row, and the steps are
taken anew for the others. Attributes that differ, time and rate always remain.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from deepbench.report import FormatError
from deepbench.report.columns import Column, measured_columns, problem_columns
from deepbench.report.outline import OpOutline, Outline

_DROPPED_FIRST = ("verified", "bound")
_DROPPED_LAST = ("ceiling", "spread", "application", "count", "roofline", "efficiency")
_PROBLEM = "problem"  # stands for all attributes


def narrowing_text() -> str:
    """The steps that make a table narrower, in their order."""
    first, last = (
        f"{', '.join(names[:-1])} and {names[-1]} are dropped"
        for names in (_DROPPED_FIRST, _DROPPED_LAST)
    )
    return (
        "attributes that are equal in every row move into a line above the table; then "
        f"{first}, titles become initials, one blank separates columns, and {last}, until the "
        "table fits; columns of --against that do not fit then continue below their row."
    )


@dataclass(frozen=True)
class Layout:
    """How the rows of one operation are drawn."""

    problem: Sequence[Column]  # the application, the count and the attributes
    measured: Sequence[Column]
    # Attributes that the columns omit or abbreviate: precision=half, sw: stride_w.
    legend: Sequence[str] = ()
    gap: str = "  "
    below: Sequence[Column] = ()  # their cells continue below the row

    @property
    def columns(self) -> list[Column]:
        return [*self.problem, *self.measured]

    @property
    def width(self) -> int:
        return sum(column.width + len(self.gap) for column in self.columns) - len(self.gap)

    def without(self, name: str) -> Layout:
        return replace(
            self,
            problem=[column for column in self.problem if column.name != name],
            measured=[column for column in self.measured if column.name != name],
        )


def layout(
    op: OpOutline, others: Sequence[Column], width: int | None, chosen: Sequence[str]
) -> Layout:
    """The columns of an operation: `chosen` by their names, else those that fit `width`; None: any
    width. `others` are the columns of --against."""
    whole = Layout(problem_columns(op), measured_columns(op))
    if chosen:
        problem, measured = (
            _columns_by_name(whole.problem, chosen),
            _columns_by_name(whole.measured, chosen),
        )
        return Layout(problem, [*measured, *others])
    beside = replace(whole, measured=[*whole.measured, *others])
    if width is None:
        return beside
    narrower = list(_narrower_layouts(beside, op))
    if others:
        narrower += _narrower_layouts(replace(whole, below=others), op)
    return next((one for one in narrower if one.width <= width), narrower[-1])


def require_known_columns(outline: Outline, chosen: Sequence[str]) -> None:
    """Raises FormatError for a column that no operation of the outline has."""
    every = [
        column.name
        for op in outline.values()
        for column in [*problem_columns(op), *measured_columns(op)]
    ]
    known = list(dict.fromkeys([_PROBLEM, *every]))
    for name in chosen:
        if name not in known:
            raise FormatError(
                f"--columns: there is no column {name!r}; there are {' '.join(known)}"
            )


def _columns_by_name(columns: Sequence[Column], names: Sequence[str]) -> list[Column]:
    """The columns of these names, in their order."""
    found: list[Column] = []
    for name in names:
        every = name == _PROBLEM
        found += [
            column
            for column in columns
            if column not in found and (column.name == name or (every and column.is_attribute))
        ]
    return found


def _narrower_layouts(whole: Layout, op: OpOutline) -> Iterator[Layout]:
    yield whole
    folded = [column for column in whole.problem if column.name in op.shared]
    if len(folded) == len(whole.problem):
        folded = folded[1:]  # a row shows something of its problem
    legend = [f"{column.name}={op.shared[column.name]}" for column in folded]
    now = replace(
        whole,
        problem=[column for column in whole.problem if column not in folded],
        legend=["every row: " + " ".join(legend)] if legend else [],
    )
    yield now
    for name in _DROPPED_FIRST:
        yield (now := now.without(name))
    yield (now := _with_initials(now, op))
    yield (now := replace(now, gap=" "))
    for name in _DROPPED_LAST:
        yield (now := now.without(name))


def _with_initials(wide: Layout, op: OpOutline) -> Layout:
    """stride_w as sw, where no other column has that title."""
    titles = [column.title for column in wide.columns]
    titles += [_initials(column.name) for column in wide.problem]
    problem = []
    short: list[str] = []
    for column in wide.problem:
        initials = _initials(column.name)
        if "_" in column.name and column.is_attribute and titles.count(initials) == 1:
            width = max(len(initials), op.value_widths[column.name])
            if width < column.width:
                short.append(f"{initials}: {column.name}")
                column = replace(column, title=initials, width=width)
        problem.append(column)
    legend = [*wide.legend, ", ".join(short)] if short else wide.legend
    return replace(wide, problem=problem, legend=legend)


def _initials(name: str) -> str:
    return "".join(part[:1] for part in name.split("_"))
