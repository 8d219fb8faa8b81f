"""Determines the precision of a table's times from a column of precisions, the heading of the time,
the sheet's name, or the title."""

from __future__ import annotations

import re

from deepbench.workbook.cell_remarks import CellRemarks
from deepbench.workbook.figures import Figure
from deepbench.workbook.sheet_tables import SheetTable

# The order matters: 'half in, 32-bit add' is half, 'int8 mul, 32-bit accumulate' is int8.
_WORDS = (
    ("int8", r"u?int ?8|[us]8|8[- ]?bit"),
    ("bfloat16", r"bf(loat)?[- ]?16"),
    ("fp8_e4m3", r"(fp8[_ -]?)?e4m3"),
    ("fp8_e5m2", r"(fp8[_ -]?)?e5m2"),
    ("tf32", r"tf[- ]?32"),
    ("half", r"fp[- ]?16|float ?16|half|16[- ]?bit"),
    ("float", r"fp[- ]?32|float ?32|float|single|32[- ]?bit float(ing)?"),
)
_KNOWN = tuple((name, re.compile(rf"\b({words})\b", re.IGNORECASE)) for name, words in _WORDS)

# Two sheets of the original mix precisions without naming them.
_OF_SHEETS = {
    "results - mixed precision": {
        "gemm": "int8", "conv": "int8", "sparse_gemm": "float", "rnn": "float",
    },
    "kernels": {"gemm": "int8", "sparse_gemm": "int8", "conv": "float"},
}  # fmt: skip


def precision_named(text: str) -> str | None:
    """The first precision in the order above that a text names; None if it names none."""
    for name, pattern in _KNOWN:
        if pattern.search(text):
            return name
    return None


class Precisions:
    """The precisions of a table. Contradictions are reported once."""

    def __init__(self, section: SheetTable, top: tuple[str, ...], remarks: CellRemarks) -> None:
        self._remarks = remarks
        self._title = _precision_of_titles(section.titles)
        self._usual = precision_named(section.sheet) or self._by_sheet(section)
        self._top = _precision_of_titles(top)
        by_name = precision_named(section.sheet)
        if by_name and self._title and by_name != self._title:
            remarks.add(
                f"{section.sheet}!{section.row}",
                f"the title of the table says {self._title}, but the sheet's name {by_name}; "
                f"the table was read as {by_name}",
            )

    def precision_of_figure(self, figure: Figure) -> str | None:
        text = figure.texts.get("precision")
        if text and (found := precision_named(text)):
            return found
        if text:
            remark = f"has an unknown precision, {text!r}"
            self._remarks.add(figure.address, remark, "unknown precision")
        return precision_named(figure.heading) or self._usual or self._title or self._top

    def _by_sheet(self, section: SheetTable) -> str | None:
        return _OF_SHEETS.get(section.sheet.strip().lower(), {}).get(section.op)


def _precision_of_titles(titles: tuple[str, ...]) -> str | None:
    """The precision that the titles name; None unless it is exactly one."""
    found = {precision for text in titles if (precision := precision_named(text))}
    return found.pop() if len(found) == 1 else None
