"""Column widths and heading heights that fit their contents. Not every spreadsheet program adapts
the height of a wrapped text when it opens a workbook."""

from __future__ import annotations

import textwrap
from typing import Any

_LINE = 15  # height of a line in points
_BOLD = 1.2  # width of a bold character relative to a plain digit


class ColumnSizes:
    """The sizes for the cells of a sheet. If a column would be wider than `widest`, headings wrap
    and other texts are cut off."""

    def __init__(self, narrowest: int, widest: int) -> None:
        self._narrowest, self._widest = narrowest, widest
        self._widths: dict[int, int] = {}
        self._headings: list[tuple[int, int, str]] = []

    def add_heading(self, line: int, column: int, title: str) -> None:
        self._headings.append((line, column, title))
        self._widen_column(column, int(_BOLD * max(map(len, title.split()), default=0)))

    def add_content(self, column: int, content: object) -> None:
        """Makes room for a text or a number in the column."""
        self._widen_column(
            column, len(f"{content:.4f}" if isinstance(content, float) else str(content))
        )

    def _widen_column(self, column: int, letters: int) -> None:
        wide = min(max(letters + 2, self._narrowest), self._widest)
        self._widths[column] = max(wide, self._widths.get(column, 0))

    def apply_to(self, sheet: Any) -> None:
        for column, width in self._widths.items():
            sheet.set_column(column, column, width)
        heights: dict[int, int] = {}
        for line, column, title in self._headings:
            lines = len(textwrap.wrap(title, int(self._widths[column] / _BOLD)))
            heights[line] = max(lines, heights.get(line, 1))
        for line, count in heights.items():
            sheet.set_row(line, count * _LINE)
