"""Finds the tables of a sheet: where each begins, the meaning of its columns, and its rows.

A table begins with a row that names all dimensions of an operation, and ends where the next one
begins. Numbers outside of all tables are listed, so that nothing is skipped silently.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Mapping
from dataclasses import dataclass, field

from deepbench.workbook.cells import Cell, Sheet
from deepbench.workbook.headings import (
    OPTIONAL,
    ColumnMeaning,
    column_meaning,
    operation_of_headings,
)

Columns = Mapping[int, ColumnMeaning]

RECURRENT_CELLS = ("vanilla", "lstm", "gru")
_FEWEST_HEADINGS = 4  # two dimensions, a time and one more
MOST_TABLES = 500  # of a workbook; the original's have fewer than 20
_MOST_TITLES = 50  # texts before a table that may be its title


@dataclass(frozen=True)
class Line:
    """A row of a table."""

    number: int
    cells: Mapping[int, Cell]


@dataclass(frozen=True)
class SheetTable:
    """A table of one operation."""

    sheet: str
    op: str
    row: int  # of its headings
    columns: Columns
    titles: tuple[str, ...]  # texts between the previous table and the headings
    lines: tuple[Line, ...]
    cell: str | None  # the recurrent cell that the nearest title names
    headings: Mapping[int, str]  # of the columns with a known meaning

    def columns_of_kind(self, kind: str) -> dict[str, int]:
        """The columns of a kind, by name."""
        return {what.name: column for column, what in self.columns.items() if what.kind == kind}

    @property
    def dimensions(self) -> dict[str, int]:
        return self.columns_of_kind("dimension")


@dataclass
class _OpenTable:
    """A table that is still being read."""

    op: str
    row: int
    columns: Columns
    titles: tuple[str, ...]
    headings: Mapping[int, str]
    lines: list[Line] = field(default_factory=list)


@dataclass
class UnknownTable:
    """A table of an unknown operation."""

    headings: tuple[Cell, ...]
    numbers: int = 0


@dataclass(frozen=True)
class SheetTables:
    """The tables of a sheet."""

    sections: tuple[SheetTable, ...]
    stray: tuple[Cell, ...]  # numbers outside of all tables
    unheaded: tuple[Cell, ...]  # numbers in rows of tables, but below unknown headings
    unknown: tuple[UnknownTable, ...]


def find_tables(sheet: Sheet) -> SheetTables:
    """Finds the tables of a sheet, and the numbers outside of them."""
    tables: list[_OpenTable] = []
    unknown: list[UnknownTable] = []
    stray: list[Cell] = []
    unheaded: list[Cell] = []
    titles: list[str] = []
    last: _OpenTable | UnknownTable | None = None  # the table that the next row may belong to
    above: Mapping[int, Cell] = {}
    for number, cells in sheet.rows.items():
        if len(tables) > MOST_TABLES:
            break  # the caller rejects the workbook
        texts = [cell for cell in cells.values() if cell.is_words]
        numbers = [cell for cell in cells.values() if cell.numeric or cell.uncomputed]
        op = operation_of_headings([cell.text for cell in texts])
        if op is not None:
            columns = _column_meanings(op, cells, above if number - 1 in sheet.rows else {})
            first = _first_dimension(columns)
            titles += [cell.text for cell in texts if cell.column < first]
            headings = {column: cells[column].text for column in columns if column in cells}
            last = _OpenTable(op, number, columns, tuple(titles), headings)
            tables.append(last)
            titles = []
        elif _looks_like_headings(cells) and not (isinstance(last, _OpenTable) and not last.lines):
            last = UnknownTable(tuple(texts))
            unknown.append(last)
        elif isinstance(last, UnknownTable) and numbers:
            last.numbers += len(numbers)
        elif isinstance(last, _OpenTable) and _is_line(last, cells):
            last.lines.append(Line(number, cells))
            unheaded += [cell for cell in numbers if cell.column not in last.columns]
            titles = []
        else:
            titles = [*titles, *(cell.text for cell in texts)][-_MOST_TITLES:]
            stray += numbers
        above = cells
    sections = tuple(_close_table(sheet.name, one) for one in tables)
    filled = tuple(one for one in unknown if one.numbers)
    return SheetTables(sections, tuple(stray), tuple(unheaded), filled)


def _close_table(sheet: str, table: _OpenTable) -> SheetTable:
    titles, lines = table.titles, tuple(table.lines)
    cell = next(filter(None, map(_recurrent_cell_of_title, reversed(titles))), None)
    return SheetTable(
        sheet, table.op, table.row, table.columns, titles, lines, cell, table.headings
    )


def _recurrent_cell_of_title(title: str) -> str | None:
    """The recurrent cell that a title names; None unless it is exactly one."""
    named = {word for word in re.findall("[a-z]+", title.lower()) if word in RECURRENT_CELLS}
    return named.pop() if len(named) == 1 else None


def _is_line(table: _OpenTable, cells: Mapping[int, Cell]) -> bool:
    """Whether a row has a number for any dimension, and thus describes a problem."""
    return any(
        (cell.numeric or cell.uncomputed)
        for column, cell in cells.items()
        if (what := table.columns.get(column)) and what.kind == "dimension"
        and what.name not in OPTIONAL
    )  # fmt: skip


def _looks_like_headings(cells: Mapping[int, Cell]) -> bool:
    """Whether a row may hold the headings of an unknown table, so that the rows below must not
    count as rows of the previous table."""
    texts = [cell for cell in cells.values() if cell.is_words and not cell.blank]
    return len(texts) >= _FEWEST_HEADINGS and len(texts) == len(cells)


def _column_meanings(op: str, cells: Mapping[int, Cell], above: Mapping[int, Cell]) -> Columns:
    """The meanings of the columns; of two with the same meaning the first counts. A column without
    a heading directly before the dimensions names the applications."""
    found: dict[int, ColumnMeaning] = {}
    taken: set[tuple[str, str]] = set()
    over = _HeadingsAbove(above)
    for column, cell in cells.items():
        what = (
            column_meaning(op, cell.text, over.text_above_column(column))
            if isinstance(cell.value, str)
            else None
        )
        if what is not None and (what.kind, what.name) not in taken:
            taken.add((what.kind, what.name))
            found[column] = what
    before = _first_dimension(found) - 1
    if before not in cells and ("application", "") not in taken:
        found[before] = ColumnMeaning("application")
    return found


def _first_dimension(columns: Columns) -> int:
    return min(column for column, what in columns.items() if what.kind == "dimension")


class _HeadingsAbove:
    """The headings above columns. The heading of merged cells is in the first of them."""

    def __init__(self, above: Mapping[int, Cell]) -> None:
        self._columns = sorted(above)
        self._above = above

    def text_above_column(self, column: int) -> str:
        index = bisect_right(self._columns, column)
        cell = self._above[self._columns[index - 1]] if index else None
        return cell.text if cell and isinstance(cell.value, str) else ""
