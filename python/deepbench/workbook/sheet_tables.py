"""The tables of a sheet: where each begins, what its columns hold, which rows are its own.

A table begins with the row that names all dimensions of an operation and ends where the next one
begins. Numbers that belong to no table are listed, so that nothing is left out in silence.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Mapping
from dataclasses import dataclass, field

from deepbench.workbook.cells import Cell, Sheet
from deepbench.workbook.headings import OPTIONAL, ColumnMeaning, column_meaning, op_of

Columns = Mapping[int, ColumnMeaning]

RECURRENT_CELLS = ("vanilla", "lstm", "gru")
_FEWEST_HEADINGS = 4  # of a table: two dimensions, a time and something more
MOST_TABLES = 500  # of a workbook that is read; the original's have fewer than 20
_MOST_TITLES = 50  # texts before a table that may say what it is


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
    titles: tuple[str, ...]  # texts after the table before, and those before the headings
    lines: tuple[Line, ...]
    cell: str | None  # recurrent, as the nearest title names it
    headings: Mapping[int, str]  # of the columns that are known

    def columns_of_kind(self, kind: str) -> dict[str, int]:
        """Columns of a kind by name."""
        return {what.name: column for column, what in self.columns.items() if what.kind == kind}

    @property
    def dimensions(self) -> dict[str, int]:
        return self.columns_of_kind("dimension")


@dataclass
class _OpenTable:
    """A table that is being read."""

    op: str
    row: int
    columns: Columns
    titles: tuple[str, ...]
    headings: Mapping[int, str]
    lines: list[Line] = field(default_factory=list)


@dataclass
class UnknownTable:
    """A table of no operation that is known."""

    headings: tuple[Cell, ...]
    numbers: int = 0


@dataclass(frozen=True)
class SheetTables:
    """A sheet as tables."""

    sections: tuple[SheetTable, ...]
    stray: tuple[Cell, ...]  # numbers outside of any table
    unheaded: tuple[Cell, ...]  # numbers in rows of tables, under no heading that is known
    unknown: tuple[UnknownTable, ...]


def find_tables(sheet: Sheet) -> SheetTables:
    """The tables of a sheet, and what is in none."""
    tables: list[_OpenTable] = []
    unknown: list[UnknownTable] = []
    stray: list[Cell] = []
    unheaded: list[Cell] = []
    titles: list[str] = []
    last: _OpenTable | UnknownTable | None = None  # the table that a row may belong to
    above: Mapping[int, Cell] = {}
    for number, cells in sheet.rows.items():
        if len(tables) > MOST_TABLES:
            break  # the workbook is refused
        texts = [cell for cell in cells.values() if cell.is_words]
        numbers = [cell for cell in cells.values() if cell.numeric or cell.uncomputed]
        op = op_of([cell.text for cell in texts])
        if op is not None:
            columns = _columns(op, cells, above if number - 1 in sheet.rows else {})
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
    sections = tuple(_closed(sheet.name, one) for one in tables)
    filled = tuple(one for one in unknown if one.numbers)
    return SheetTables(sections, tuple(stray), tuple(unheaded), filled)


def _closed(sheet: str, table: _OpenTable) -> SheetTable:
    titles, lines = table.titles, tuple(table.lines)
    cell = next(filter(None, map(_cell, reversed(titles))), None)
    return SheetTable(
        sheet, table.op, table.row, table.columns, titles, lines, cell, table.headings
    )


def _cell(title: str) -> str | None:
    """The recurrent cell that a title names, if it names one."""
    named = {word for word in re.findall("[a-z]+", title.lower()) if word in RECURRENT_CELLS}
    return named.pop() if len(named) == 1 else None


def _is_line(table: _OpenTable, cells: Mapping[int, Cell]) -> bool:
    """Whether a row has any of the dimensions as a number: then it is meant as a problem."""
    return any(
        (cell.numeric or cell.uncomputed)
        for column, cell in cells.items()
        if (what := table.columns.get(column)) and what.kind == "dimension"
        and what.name not in OPTIONAL
    )  # fmt: skip


def _looks_like_headings(cells: Mapping[int, Cell]) -> bool:
    """Whether a row may be the headings of a table that is not known: what follows is not to be
    taken for rows of the table before."""
    texts = [cell for cell in cells.values() if cell.is_words and not cell.blank]
    return len(texts) >= _FEWEST_HEADINGS and len(texts) == len(cells)


def _columns(op: str, cells: Mapping[int, Cell], above: Mapping[int, Cell]) -> Columns:
    """What the columns hold; of two that hold the same the first counts. A column that has no
    heading and stands before the dimensions names the applications."""
    found: dict[int, ColumnMeaning] = {}
    taken: set[tuple[str, str]] = set()
    over = _HeadingsAbove(above)
    for column, cell in cells.items():
        what = (
            column_meaning(op, cell.text, over.column(column))
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
    """The headings over columns: that of merged cells stands in the first of them."""

    def __init__(self, above: Mapping[int, Cell]) -> None:
        self._columns = sorted(above)
        self._above = above

    def column(self, column: int) -> str:
        place = bisect_right(self._columns, column)
        cell = self._above[self._columns[place - 1]] if place else None
        return cell.text if cell and isinstance(cell.value, str) else ""
