"""Columns as wide as what stands in them, headings as high as their lines: not every program finds
the height of a wrapped text when it opens a workbook."""

from __future__ import annotations

import textwrap
from typing import Any

_LINE = 15  # points
_BOLD = 1.2  # of a column's width, which counts a plain font's figures


class ColumnSizes:
    """What a sheet's cells need. Headings are wrapped and other texts cut where a column would
    be wider than `most`."""

    def __init__(self, least: int, most: int) -> None:
        self._least, self._most = least, most
        self._widths: dict[int, int] = {}
        self._headings: list[tuple[int, int, str]] = []

    def heading(self, line: int, column: int, title: str) -> None:
        self._headings.append((line, column, title))
        self._need(column, int(_BOLD * max(map(len, title.split()), default=0)))

    def content(self, column: int, content: object) -> None:
        """A text or a number that stands there."""
        self._need(column, len(f"{content:.4f}" if isinstance(content, float) else str(content)))

    def _need(self, column: int, letters: int) -> None:
        wide = min(max(letters + 2, self._least), self._most)
        self._widths[column] = max(wide, self._widths.get(column, 0))

    def set(self, sheet: Any) -> None:
        for column, width in self._widths.items():
            sheet.set_column(column, column, width)
        heights: dict[int, int] = {}
        for line, column, title in self._headings:
            lines = len(textwrap.wrap(title, int(self._widths[column] / _BOLD)))
            heights[line] = max(lines, heights.get(line, 1))
        for line, count in heights.items():
            sheet.set_row(line, count * _LINE)
