"""Reads the sheets of a workbook with their saved values. No library is used, since on an untrusted
file a library may take hours, drop rows, or fail at the first malformed number without naming its
cell."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from deepbench.workbook.cells import (
    LAST_COLUMN,
    LAST_ROW,
    Book,
    Cell,
    Sheet,
    Value,
    number_in_text,
    printable_value,
)
from deepbench.workbook.errors import WorkbookError
from deepbench.workbook.package import Package, open_package
from deepbench.workbook.xml_parts import Budget, parse_part

_MAX_SHEETS = 100
_WHOLE = re.compile(r"[+-]?\d{1,18}", re.ASCII)
_ADDRESS = re.compile(r"([A-Z]{1,3})([1-9]\d{0,6})", re.ASCII)
# How the format writes a character that XML cannot represent.
_ESCAPED = re.compile(r"_x([0-9A-Fa-f]{4})_")


def read_book(path: Path) -> Book:
    """The sheets of a workbook. Raises WorkbookError."""
    package, budget = open_package(path), Budget()
    reading = _PackageReader(package, budget)
    names = reading.sheets()
    if len(names) > _MAX_SHEETS:
        raise WorkbookError(f"{path}: has more than {_MAX_SHEETS} sheets")
    sheets = tuple(reading.sheet(name, part) for name, part in names)
    remarks = ("the workbook's macros were ignored",) if package.macros else ()
    return Book(path, sheets, remarks)


class _PackageReader:
    """Reads the parts of a package."""

    def __init__(self, package: Package, budget: Budget) -> None:
        self._package, self._budget = package, budget
        book = self._related_parts("", "officeDocument")
        if len(book) != 1:
            raise WorkbookError(f"{package.path}: is not a workbook: no part lists its sheets")
        self._book = book[0][1]
        strings = _SharedStrings()
        for _, part in self._related_parts(self._book, "sharedStrings")[:1]:
            self._parse_part(part, strings)
        self._strings = strings.found

    def sheets(self) -> list[tuple[str, str]]:
        """The names of sheets with their parts. Charts and other sheets without cells are
        ignored."""
        listed = _ElementAttributes("sheet")
        self._parse_part(self._book, listed)
        parts = dict(self._related_parts(self._book, "worksheet"))
        return [(one.get("name", ""), parts[one["id"]]) for one in listed.found
                if one.get("id") in parts]  # fmt: skip

    def sheet(self, name: str, part: str) -> Sheet:
        reader = _SheetCells(printable_value(name), self._strings)
        self._parse_part(part, reader)
        return reader.sheet()

    def _related_parts(self, part: str, kind: str) -> list[tuple[str, str]]:
        """The ids and names of the parts of a kind that a part refers to. References to missing or
        external parts are ignored."""
        folder, name = posixpath.split(part)
        listed = _ElementAttributes("Relationship")
        relations = posixpath.join(folder, "_rels", f"{name}.rels")
        if relations in self._package.parts:
            self._parse_part(relations, listed)
        found = []
        for one in listed.found:
            target = posixpath.normpath(posixpath.join("/", folder, one.get("Target", "")))[1:]
            exists = one.get("TargetMode") != "External" and target in self._package.parts
            if exists and one.get("Type", "").rpartition("/")[2] == kind:
                found.append((one.get("Id", ""), target))
        return found

    def _parse_part(
        self, part: str, reader: _ElementAttributes | _SharedStrings | _SheetCells
    ) -> None:
        where = f"{self._package.path}: {printable_value(part)}"
        parse_part(where, self._package.part(part), reader, self._budget)


class _ElementAttributes:
    """Collects the attributes of every element with a given name."""

    def __init__(self, element: str) -> None:
        self.found: list[Mapping[str, str]] = []
        self._element = element

    def begin(self, name: str, attributes: Mapping[str, str]) -> None:
        if name == self._element:
            self.found.append(attributes)

    def end(self, name: str) -> None:
        pass

    def text(self, text: str) -> None:
        pass


class _SharedStrings:
    """The texts that cells refer to by number, without phonetic annotations."""

    def __init__(self) -> None:
        self.found: list[str] = []
        self._pieces: list[str] = []
        self._open = False
        self._in_phonetic = False

    def begin(self, name: str, attributes: Mapping[str, str]) -> None:
        self._in_phonetic = self._in_phonetic or name == "rPh"
        self._open = name == "t" and not self._in_phonetic

    def text(self, text: str) -> None:
        if self._open:
            self._pieces.append(text)

    def end(self, name: str) -> None:
        self._open = False
        if name == "rPh":
            self._in_phonetic = False
        if name == "si":
            self.found.append(_unescaped("".join(self._pieces)))
            self._pieces = []


@dataclass
class _OpenCell:
    """A cell that is still being read."""

    row: int
    column: int
    kind: str
    formula: bool = False
    valued: bool = False
    pieces: list[str] = field(default_factory=list)


class _SheetCells:
    """The non-empty cells of a sheet."""

    def __init__(self, name: str, strings: Sequence[str]) -> None:
        self._name, self._strings = name, strings
        self._rows: dict[int, dict[int, Cell]] = {}
        # Position of the last cell; a cell without an address follows it.
        self._row = self._column = 0
        self._cell: _OpenCell | None = None
        self._open = False
        self._first_outside: str | None = None

    def sheet(self) -> Sheet:
        rows = {row: dict(sorted(self._rows[row].items())) for row in sorted(self._rows)}
        return Sheet(self._name, rows, self._first_outside)

    def begin(self, name: str, attributes: Mapping[str, str]) -> None:
        if name == "row":
            number = attributes.get("r", "")
            self._row = int(number) if _WHOLE.fullmatch(number) else self._row + 1
            self._column = 0
        elif name == "c":
            self._set_cell_position(attributes.get("r", ""))
            self._cell = _OpenCell(self._row, self._column, attributes.get("t", "n"))
        elif self._cell is not None and name == "f":
            self._cell.formula = True
        elif self._cell is not None and name in ("v", "t"):
            self._open = self._cell.valued = True

    def text(self, text: str) -> None:
        if self._open and self._cell is not None:
            self._cell.pieces.append(text)

    def end(self, name: str) -> None:
        self._open = False
        if name == "c" and self._cell is not None:
            self._store_cell(self._cell)
            self._cell = None

    def _set_cell_position(self, text: str) -> None:
        found = _ADDRESS.fullmatch(text)
        if found is None:
            self._column += 1
            return
        self._row, self._column = int(found[2]), 0
        for letter in found[1]:
            self._column = 26 * self._column + ord(letter) - ord("A") + 1

    def _store_cell(self, one: _OpenCell) -> None:
        if not one.valued and not one.formula:
            return
        cell = Cell(self._name, one.row, one.column, None, one.formula)
        if not (1 <= one.row <= LAST_ROW and one.column <= LAST_COLUMN):
            self._first_outside = self._first_outside or cell.address
            return
        row = self._rows.setdefault(one.row, {})
        if one.column in row:
            raise WorkbookError(
                f"{cell.address}: occurs twice in the workbook; save the workbook again"
            )
        value = (
            self._cell_value(cell.address, one.kind, "".join(one.pieces)) if one.valued else None
        )
        row[one.column] = Cell(self._name, one.row, one.column, value, one.formula)

    def _cell_value(self, address: str, kind: str, text: str) -> Value:
        if kind == "s":
            return self._shared_string(address, text)
        if kind == "b":
            return text.strip() == "1"
        if kind != "n":  # texts, errors such as #DIV/0!, dates
            return _unescaped(text)
        number = text.strip()
        if _WHOLE.fullmatch(number):
            return int(number)
        real = number_in_text(number)
        return real if real is not None else number or None

    def _shared_string(self, address: str, text: str) -> str:
        number = text.strip()
        if not _WHOLE.fullmatch(number) or not 0 <= int(number) < len(self._strings):
            raise WorkbookError(
                f"{address}: refers to a text that is not in the workbook; save the workbook again"
            )
        return self._strings[int(number)]


def _unescaped(text: str) -> str:
    return _ESCAPED.sub(lambda found: chr(int(found[1], 16)), text)
