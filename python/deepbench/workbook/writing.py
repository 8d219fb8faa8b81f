"""Writes a result file as a workbook: Specs, a results sheet for each precision as in the original,
and a sheet with all rows in full."""

from __future__ import annotations

import io
from collections.abc import Iterable, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

from deepbench.errors import printable_line
from deepbench.json_types import JsonObject
from deepbench.results import ResultFile, atomic_write
from deepbench.results.row import Row
from deepbench.workbook import native_sheet, specs
from deepbench.workbook.column_sizes import ColumnSizes
from deepbench.workbook.errors import WorkbookError, xlsx_package_required
from deepbench.workbook.layout import (
    FIRST_COLUMN,
    Content,
    Formula,
    Phases,
    cell_addresses,
    columns,
    family,
)

MOST_ROWS = 15_000  # so that deepbench can read the workbook back
_LONGEST = 32_000  # characters in a cell; the format allows 32,767
_STARTS_FORMULA = ("=", "+", "-", "@", "\t", "\r")
# LibreOffice shows any text prefix, but keeps a cell's text format.
_AS_TEXT = {"quote_prefix": True, "num_format": "@"}
_PRECISIONS = {"float": "FP32", "half": "FP16", "bfloat16": "BF16", "tf32": "TF32", "int8": "INT8",
               "fp8_e4m3": "FP8 E4M3", "fp8_e5m2": "FP8 E5M2"}  # fmt: skip
# Smallest and largest widths of columns, in characters.
_WIDTHS = {"Results": (14, 40), "Rows": (9, 60)}
_SMALL = "[<0.001]0.00E+00;[<1]0.000000"  # for numbers that would appear as 0.000
_CREATED = datetime(2000, 1, 1)  # fixed, so that the same rows give the same bytes


def write_workbook(result: ResultFile, path: Path, overwrite: bool = False) -> None:
    """Writes the workbook. Raises UserError."""
    atomic_write.require_writable(path, overwrite)
    atomic_write.write(path, _workbook_bytes(result), overwrite)


def _workbook_bytes(result: ResultFile) -> bytes:
    if len(result.rows) > MOST_ROWS:
        raise WorkbookError(
            f"{result.path}: has more than {MOST_ROWS} rows, the limit for workbooks"
        )
    with xlsx_package_required():
        import xlsxwriter
    buffer = io.BytesIO()
    book = xlsxwriter.Workbook(buffer, {"in_memory": True, "strings_to_formulas": False,
                                        "strings_to_urls": False})  # fmt: skip
    writer = _BookWriter(book)
    rows = sorted(result.rows, key=lambda row: row.position)
    writer.write_specs(result.context)
    for name, chosen in _by_precision(rows).items():
        writer.write_results(name, chosen, result.context)
    writer.write_rows(rows)
    book.set_properties({"created": _CREATED})
    book.close()
    return buffer.getvalue()


def _by_precision(rows: Iterable[Row]) -> dict[str, list[Row]]:
    """The rows by the name of their sheet."""
    found: dict[str, list[Row]] = {}
    for row in rows:
        precision = row.attributes.get("precision")
        name = "Results" if precision is None else "Results - Other"
        if str(precision) in _PRECISIONS:
            name = f"Results - {_PRECISIONS[str(precision)]}"
        found.setdefault(name, []).append(row)
    return found


class _BookWriter:
    """Writes a workbook. Texts of a result file are untrusted: they become texts, never formulas,
    links or sheet names."""

    def __init__(self, book: Any) -> None:
        self._book = book
        styles: dict[str, dict[str, Any]] = {"": {}, "title": {"bold": True},
                  "heading": {"bold": True, "bottom": 1, "text_wrap": True}}  # fmt: skip
        self._texts = {
            (name, risky): book.add_format({**style, **(_AS_TEXT if risky else {})})
            for name, style in styles.items()
            for risky in (False, True)
        }
        self._number = book.add_format({"num_format": f"{_SMALL};0.000"})
        self._time = book.add_format({"num_format": f"{_SMALL};0.0000"})

    def write_specs(self, context: JsonObject) -> None:
        sheet = self._book.add_worksheet(specs.SHEET)
        sheet.set_column(0, 0, 28)
        sheet.set_column(1, 1, 60)
        for line, (key, value) in enumerate(specs.spec_lines(context)):
            self._write_cell(sheet, line, 0, key)
            self._write_cell(sheet, line, 1, value)

    def write_results(self, name: str, rows: Sequence[Row], context: JsonObject) -> None:
        sheet = self._book.add_worksheet(name)
        sheet.set_column(1, 1, 24)
        sizes = ColumnSizes(*_WIDTHS["Results"])
        device = (context.get("device") or {}).get("name") or "an unnamed device"
        self._write_text(sheet, 0, 1, f"Results: {device}", "title")
        precision = rows[0].attributes.get("precision")
        if precision is not None:
            self._write_text(sheet, 1, 1, f"Precision: {precision}")
        line = 2
        for op in dict.fromkeys(str(row.op or "unknown") for row in rows):
            chosen = [row for row in rows if str(row.op or "unknown") == op]
            line = self._write_table(sheet, sizes, line, op, chosen) + 2
        sizes.apply_to(sheet)

    def _write_table(
        self, sheet: Any, sizes: ColumnSizes, line: int, op: str, rows: Sequence[Row]
    ) -> int:
        """Writes a table from a line on, and returns the line after it."""
        lines = _phases_by_line(rows)
        shape = family(op, rows[0].attributes)
        found = columns(op, shape, lines)
        self._write_text(sheet, line, 1, shape.title, "title")
        for i, column in enumerate(found):
            self._write_text(sheet, line, FIRST_COLUMN - 1 + i, column.title, "heading")
            sizes.add_heading(line, FIRST_COLUMN - 1 + i, column.title)
        for number, phases in enumerate(lines, start=line + 1):
            addresses = cell_addresses(found, number + 1)
            for i, column in enumerate(found):
                content = column.content(phases, addresses)
                self._write_cell(
                    sheet, number, FIRST_COLUMN - 1 + i, content, "msec" in column.title
                )
                # A status may extend beyond its column.
                if content is not None and column.key != "status":
                    value = content.value if isinstance(content, Formula) else content
                    sizes.add_content(FIRST_COLUMN - 1 + i, value)
        return line + 1 + len(lines)

    def write_rows(self, rows: Sequence[Row]) -> None:
        """Writes every row, with the columns that any row has."""
        sheet = self._book.add_worksheet(native_sheet.SHEET)
        sheet.freeze_panes(1, 0)
        used = [
            column
            for column in native_sheet.COLUMNS
            if column.always or any(column.value(row) is not None for row in rows)
        ]
        sizes = ColumnSizes(*_WIDTHS["Rows"])
        for i, column in enumerate(used):
            self._write_text(sheet, 0, i, column.title, "heading")
            sizes.add_heading(0, i, column.title)
        for line, row in enumerate(rows, start=1):
            for i, column in enumerate(used):
                value = column.value(row)
                if column.kind == "words" and value is not None:
                    value = " ".join(f"{name}={item}" for name, item in value.items())
                self._write_cell(sheet, line, i, value)
                if value is not None:
                    sizes.add_content(i, value)
        sizes.apply_to(sheet)

    def _write_cell(
        self, sheet: Any, line: int, column: int, content: Content, time: bool = False
    ) -> None:
        if content is None:
            return
        if isinstance(content, Formula):
            sheet.write_formula(line, column, content.text, self._number, content.value)
        elif isinstance(content, str):
            self._write_text(sheet, line, column, content)
        elif isinstance(content, (int, float)):
            sheet.write_number(line, column, content, self._time if time else None)

    def _write_text(
        self, sheet: Any, line: int, column: int, content: str, style: str = ""
    ) -> None:
        """Writes a text. If a program could interpret it as a formula when the cell is edited or
        exported, the cell is marked as text."""
        text = printable_line(content)[:_LONGEST]
        risky = content.startswith(_STARTS_FORMULA) or text.startswith(_STARTS_FORMULA)
        sheet.write_string(line, column, text, self._texts[style, risky])


def _phases_by_line(rows: Sequence[Row]) -> Sequence[Phases]:
    """The phases of each problem on one line. They follow one another, possibly with other rows
    between."""
    lines: list[dict[str, Row]] = []
    opened: dict[object, dict[str, Row]] = {}
    for row in rows:
        attributes = dict(row.attributes)
        phase = str(attributes.pop("phase", ""))
        key = (str(sorted(attributes.items())), row.application, row.regime.cache,
               row.regime.cold, row.regime.power, row.library)  # fmt: skip
        line = opened.get(key)
        if line is None or phase in line:
            line = opened[key] = {}
            lines.append(line)
        line[phase] = row
    return lines
