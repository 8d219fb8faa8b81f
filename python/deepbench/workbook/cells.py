"""Sheets and cells of a workbook, as values: what a spreadsheet program computed when it was saved.

No formula is computed here and no macro is looked at. openpyxl reads; this file says what a cell
may hold, and calls cells by their sheet and place.
"""

from __future__ import annotations

import itertools
import math
import re
import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from deepbench.refusal import one_line
from deepbench.workbook.errors import WorkbookError, libraries_wanted
from deepbench.workbook.package import LAST_ROW, Package, checked

LAST_COLUMN = 100
_MOST_SHEETS = 100
_LONGEST = 300  # letters of a text that are kept
_NUMBER = re.compile(r"\s*[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?\s*", re.ASCII)
_LARGEST = 1e30

Value = str | int | float | bool | None


class CellError(ValueError):
    """What is wrong with a cell, to be said after its place."""


@dataclass(frozen=True)
class Cell:
    """One cell. `value` None: it is blank, or a formula that was saved without its value."""

    place: str  # 'Results FP32!N52'
    value: object
    formula: bool = False

    @property
    def uncomputed(self) -> bool:
        return self.formula and self.value is None

    @property
    def blank(self) -> bool:
        return self.value is None or (isinstance(self.value, str) and not self.value.strip())

    @property
    def text(self) -> str:
        """What it holds, as a line of bounded length that cannot steer a terminal."""
        return cleaned(self.value)

    @property
    def numeric(self) -> bool:
        return isinstance(self.value, (int, float)) and not isinstance(self.value, bool)


@dataclass(frozen=True)
class Sheet:
    """A sheet's rows, by number from 1; blank rows are left out."""

    name: str
    rows: Mapping[int, Mapping[int, Cell]]  # by row and column, both from 1; no blank cells
    beyond: str | None  # the first cell that was left out because it lies too far below


@dataclass(frozen=True)
class Book:
    """What was read of a workbook."""

    path: Path
    sheets: tuple[Sheet, ...]
    remarks: tuple[str, ...]  # what was not looked at


def cleaned(value: object) -> str:
    """A value of somebody's file as part of a line."""
    if isinstance(value, int) and not isinstance(value, bool) and abs(value) > _LARGEST:
        return "a number of many digits"
    text = one_line(str(value)[: 4 * _LONGEST])
    return text if len(text) <= _LONGEST else text[: _LONGEST - 3] + "..."


def load(path: Path) -> Book:
    """The sheets of a workbook. Raises WorkbookError."""
    package = checked(path)
    with libraries_wanted():
        import openpyxl
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # they quote the file
            options = {"read_only": True, "keep_links": False, "keep_vba": False}
            values = openpyxl.load_workbook(package.open(), data_only=True, **options)
            formulas = openpyxl.load_workbook(package.open(), data_only=False, **options)
            return _book(package, values.worksheets, formulas.worksheets)
    except (WorkbookError, MemoryError, RecursionError):
        raise
    except Exception as error:  # whatever a library makes of a damaged file
        raise WorkbookError(
            f"{path}: is no workbook that can be read: {one_line(str(error))[:200]}; "
            "save it anew as .xlsx and try again"
        ) from None


def _book(package: Package, values: Sequence[Any], formulas: Sequence[Any]) -> Book:
    if len(values) > _MOST_SHEETS:
        raise WorkbookError(f"{package.path}: has more than {_MOST_SHEETS} sheets")
    sheets = tuple(_sheet(package, one, other) for one, other in zip(values, formulas, strict=True))
    remarks = ("its macros were not looked at",) if package.macros else ()
    return Book(package.path, sheets, remarks)


def _sheet(package: Package, values: Any, formulas: Any) -> Sheet:
    name = cleaned(values.title)
    facts = package.parts.get(str(getattr(values, "_worksheet_path", "")))
    if facts and facts.bad_cell:
        place, text = facts.bad_cell
        raise WorkbookError(f"{package.path}: {name}!{place}: holds {text!r}, which is no number")
    rows: dict[int, dict[int, Cell]] = {}
    for number, (found, written) in enumerate(_pairs(values, formulas), start=1):
        cells = dict(_cells(name, number, found, written))
        if cells:
            rows[number] = cells
    return Sheet(name, rows, f"{name}!{facts.beyond}" if facts and facts.beyond else None)


def _pairs(values: Any, formulas: Any) -> Iterator[tuple[Sequence[Any], Sequence[Any]]]:
    area = {"min_row": 1, "max_row": LAST_ROW, "min_col": 1, "max_col": LAST_COLUMN}
    return zip(values.iter_rows(**area), formulas.iter_rows(**area), strict=True)


def _cells(
    sheet: str, row: int, found: Sequence[Any], written: Sequence[Any]
) -> Iterator[tuple[int, Cell]]:
    for column, (value, formula) in enumerate(
        itertools.zip_longest((cell.value for cell in found), written), start=1
    ):
        is_formula = formula is not None and formula.data_type == "f"
        if value is not None or is_formula:
            yield column, Cell(f"{sheet}!{letters(column)}{row}", value, is_formula)


def letters(column: int) -> str:
    """A column's letters: 1 is A, 27 is AA."""
    text = ""
    while column:
        column, rest = divmod(column - 1, 26)
        text = chr(ord("A") + rest) + text
    return text


def number(cell: Cell) -> float:
    """The finite number in a cell. Raises CellError."""
    value = cell.value
    if cell.uncomputed:
        raise CellError("is a formula that was saved without its value; open and save the workbook")
    if isinstance(value, str) and _NUMBER.fullmatch(value[:400]):
        value = float(value[:400])
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise CellError(f"holds {cell.text!r}, which is no number")
    if (isinstance(value, int) and abs(value) > _LARGEST) or not math.isfinite(value):
        raise CellError("holds a number that is out of range")
    return float(value)


def whole(cell: Cell) -> int:
    """The whole number of a dimension. Raises CellError."""
    value = number(cell)
    if not value.is_integer() or not 0 <= value < 2**53:
        raise CellError(f"holds {cell.text}, which is no dimension")
    return int(value)
