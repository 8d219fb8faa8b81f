"""Sheets and cells of a workbook, with the values that a spreadsheet program saved.

Formulas are not evaluated. This file defines which contents a cell may have, and the addresses of
cells.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from deepbench.errors import printable_line

LAST_ROW = 20_000  # the last row of a sheet that is read; the original's sheets have fewer than 400
LAST_COLUMN = 100
_LONGEST = 300  # longest text in characters
_LONGEST_NUMBER = 400  # longest text of a number in characters, with the blanks around it
_NUMBER = re.compile(r"\s*[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?\s*", re.ASCII)
_LARGEST = 1e30
SMALLEST_NUMBER = 1e-100  # except 0, as in rows

Value = str | int | float | bool | None


class CellError(ValueError):
    """The error in a cell, phrased to follow the cell's address. `content` is the cell's content;
    `reason` is the same for all cells with this kind of error."""

    def __init__(self, reason: str, content: str | None = None) -> None:
        super().__init__(reason if content is None else f"holds {content}, which {reason}")
        self.reason = reason


@dataclass(frozen=True, slots=True)
class Cell:
    """One cell. `value` is None if it is blank or a formula that was saved without its value."""

    sheet: str
    row: int
    column: int
    value: Value
    formula: bool = False

    @property
    def address(self) -> str:
        """'Results FP32!N52'."""
        return f"{self.sheet}!{column_letters(self.column)}{self.row}"

    @property
    def uncomputed(self) -> bool:
        return self.formula and self.value is None

    @property
    def blank(self) -> bool:
        return self.value is None or (isinstance(self.value, str) and not self.value.strip())

    @property
    def text(self) -> str:
        """The content of the cell as a line of bounded length without control characters."""
        return printable_value(self.value)

    @property
    def numeric(self) -> bool:
        """Whether it holds a number. A number entered as text also counts."""
        if isinstance(self.value, str):
            return number_in_text(self.value) is not None
        return isinstance(self.value, (int, float)) and not isinstance(self.value, bool)

    @property
    def is_words(self) -> bool:
        """Whether it holds a text other than a number."""
        return isinstance(self.value, str) and not self.numeric


@dataclass(frozen=True)
class Sheet:
    """The rows of a sheet."""

    name: str
    rows: Mapping[int, Mapping[int, Cell]]  # by row and column, both from 1; without blank cells
    first_outside: str | None  # the first ignored cell beyond LAST_ROW or LAST_COLUMN


@dataclass(frozen=True)
class Book:
    """The contents of a workbook."""

    path: Path
    sheets: tuple[Sheet, ...]
    remarks: tuple[str, ...]  # about parts that were ignored


def printable_value(value: object) -> str:
    """An untrusted value as part of a line."""
    if isinstance(value, int) and not isinstance(value, bool) and abs(value) > _LARGEST:
        return "a number of many digits"
    text = printable_line(str(value)[: 4 * _LONGEST])
    return text if len(text) <= _LONGEST else text[: _LONGEST - 3] + "..."


def column_letters(column: int) -> str:
    """The letters of a column: 1 is A, 27 is AA."""
    text = ""
    while column:
        column, rest = divmod(column - 1, 26)
        text = chr(ord("A") + rest) + text
    return text


def number_in_text(text: str) -> float | None:
    """The number that a text is, infinite where it exceeds a float; None for any other text, and
    for one that is longer than any number that a program writes."""
    if len(text) > _LONGEST_NUMBER or not _NUMBER.fullmatch(text):
        return None
    return float(text)


def number(cell: Cell) -> float:
    """The finite number in a cell. Raises CellError."""
    value = cell.value
    if cell.uncomputed:
        raise CellError(
            "is a formula that was saved without its value (open and save the workbook)"
        )
    if isinstance(value, str) and (found := number_in_text(value)) is not None:
        value = found
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise CellError("is not a number", repr(cell.text))
    if (isinstance(value, int) and abs(value) > _LARGEST) or not math.isfinite(value):
        raise CellError("is out of range", "a number")
    if 0 < abs(value) < SMALLEST_NUMBER:
        raise CellError("is out of range", "a number")
    return float(value)


def whole_number(cell: Cell) -> int:
    """The integer value of a dimension. Raises CellError."""
    value = number(cell)
    if not value.is_integer() or not 0 <= value < 2**53:
        raise CellError("is not a non-negative integer", cell.text)
    return int(value)
