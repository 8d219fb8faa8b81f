"""The tables of a sheet: where each begins, what its columns hold, which rows are its own.

A table begins with the row that names all dimensions of an operation and ends where the next one
begins. Numbers that belong to no table are told, so that nothing is left out in silence.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from deepbench.workbook.cells import Cell, Sheet
from deepbench.workbook.headings import OPTIONAL, Meaning, meaning, op_of

Columns = Mapping[int, Meaning]

_FEWEST_HEADINGS = 4  # of a table: two dimensions, a time and something more
_MOST_TITLES = 50  # texts before a table that may say what it is


@dataclass(frozen=True)
class Line:
    """A row of a table."""

    number: int
    cells: Mapping[int, Cell]


@dataclass(frozen=True)
class Section:
    """A table of one operation."""

    sheet: str
    op: str
    row: int  # of its headings
    columns: Columns
    titles: tuple[str, ...]  # texts between the table before and this one
    lines: tuple[Line, ...]

    def of_kind(self, kind: str) -> dict[str, int]:
        """Columns of a kind by name; the first of a name counts."""
        found: dict[str, int] = {}
        for column, what in self.columns.items():
            if what.kind == kind:
                found.setdefault(what.name, column)
        return found

    @property
    def dimensions(self) -> dict[str, int]:
        return self.of_kind("dimension")


@dataclass
class _Open:
    """A table that is being read."""

    op: str
    row: int
    columns: Columns
    titles: tuple[str, ...]
    lines: list[Line] = field(default_factory=list)


@dataclass(frozen=True)
class Split:
    """A sheet as tables."""

    sections: tuple[Section, ...]
    stray: tuple[Cell, ...]  # numbers outside of any table
    unknown: tuple[Cell, ...]  # first cells of rows that look like headings of other tables


def split(sheet: Sheet) -> Split:
    """The tables of a sheet, and what is in none."""
    opened: list[_Open] = []
    stray: list[Cell] = []
    unknown: list[Cell] = []
    titles: list[str] = []
    inside = False
    above: Mapping[int, Cell] = {}
    for number, cells in sheet.rows.items():
        op = op_of([cell.text for cell in cells.values() if isinstance(cell.value, str)])
        if op is not None:
            columns = _columns(op, cells, above)
            opened.append(_Open(op, number, columns, tuple(titles)))
            titles, inside = [], True
        elif inside and opened[-1].lines and _like_headings(cells):
            unknown.append(next(iter(cells.values())))
            inside = False
        elif inside and _is_line(opened[-1], cells):
            opened[-1].lines.append(Line(number, cells))
            stray += _outside(opened[-1].columns, cells)
            titles = []
        else:
            titles += [cell.text for cell in cells.values() if isinstance(cell.value, str)]
            titles = titles[-_MOST_TITLES:]
            stray += [cell for cell in cells.values() if cell.numeric or cell.uncomputed]
        above = cells
    sections = tuple(_closed(sheet.name, one) for one in opened)
    return Split(sections, tuple(stray), tuple(unknown))


def _closed(sheet: str, table: _Open) -> Section:
    return Section(sheet, table.op, table.row, table.columns, table.titles, tuple(table.lines))


def _is_line(table: _Open, cells: Mapping[int, Cell]) -> bool:
    """Whether a row has any of the dimensions as a number: then it is meant as a problem."""
    return any(
        (cell.numeric or cell.uncomputed)
        for column, cell in cells.items()
        if (what := table.columns.get(column)) and what.kind == "dimension"
        and what.name not in OPTIONAL
    )  # fmt: skip


def _like_headings(cells: Mapping[int, Cell]) -> bool:
    """Whether a row may be the headings of a table that is not known: what follows is not to be
    taken for rows of the table before."""
    texts = [cell for cell in cells.values() if isinstance(cell.value, str) and not cell.blank]
    return len(texts) >= _FEWEST_HEADINGS and len(texts) == len(cells)


def _outside(columns: Columns, cells: Mapping[int, Cell]) -> Iterator[Cell]:
    """Numbers in a table's row under no heading that is known."""
    for column, cell in cells.items():
        if column not in columns and (cell.numeric or cell.uncomputed):
            yield cell


def _columns(op: str, cells: Mapping[int, Cell], above: Mapping[int, Cell]) -> Columns:
    found: dict[int, Meaning] = {}
    taken: set[str] = set()
    over = _Over(above)
    for column, cell in cells.items():
        if not isinstance(cell.value, str):
            continue
        what = meaning(op, cell.text, over.column(column))
        if what is None or (what.kind == "dimension" and what.name in taken):
            continue
        if what.kind == "dimension":
            taken.add(what.name)
        found[column] = what
    return found


class _Over:
    """The headings over columns: that of merged cells stands in the first of them."""

    def __init__(self, above: Mapping[int, Cell]) -> None:
        self._columns = sorted(above)
        self._above = above

    def column(self, column: int) -> str:
        place = bisect_right(self._columns, column)
        cell = self._above[self._columns[place - 1]] if place else None
        return cell.text if cell and isinstance(cell.value, str) else ""
