"""The table on the screen: columns of fixed width, each row as soon as it is finished, and a header
for each operation. table_layout.py chooses the columns."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from deepbench.marked_text import MarkedText
from deepbench.report import Context
from deepbench.report.below_rows import BelowRows
from deepbench.report.outline import OpOutline, Outline
from deepbench.report.remarks import Remarks
from deepbench.report.row_styles import style_of
from deepbench.report.table_layout import Layout, layout, require_known_columns
from deepbench.results.row import Row
from deepbench.terminal_text import cell_width, folded

_INDENT = "    "  # of a remark that continues below its row

if TYPE_CHECKING:
    from deepbench.report.reference_columns import ReferenceColumns
    from deepbench.workload.totals import Totals


class Table:
    """A table in which rows of one operation share a header. If all rows of an operation are
    unsupported for the same reason, they become one line. Therefore unsupported rows are held back
    until another kind of row follows."""

    def __init__(
        self,
        reference: ReferenceColumns | None = None,
        width: int | None = None,
        columns: Sequence[str] = (),
    ) -> None:
        self._reference = reference
        self._width = width  # of the terminal; None elsewhere
        self._chosen = columns
        self._outline: Outline = {}
        self._op: str | None = None
        self._headed, self._heading = False, ""
        self._lines = 0
        self._layout = Layout((), ())
        self._held: list[Row] = []
        self._last_line = ""  # of the last row, with its remarks below it
        self._remarks = Remarks()
        self._below = BelowRows()

    def begin(self, context: Context, outline: Outline) -> str:
        require_known_columns(outline, self._chosen)
        self._outline = outline
        self._below.begin(context)
        if self._reference:
            self._reference.begin(context)
        return ""

    def row(self, row: Row) -> str:
        released = ""
        self._below.add(row)
        op = row.op or "?"
        if op != self._op:
            released = self._held_rows_text()
            self._start_operation(op)
        if row.status == "unsupported" and not self._headed and self._has_reason_of_held_rows(row):
            self._held.append(row)
            return released
        earlier = released + self._lines_of(self._take_held_rows())
        line = self._lines_of([row])
        if self._width is None or not (style := style_of(row)):
            return earlier + line
        header, row_text = line[: -len(self._last_line)], self._last_line
        return MarkedText(earlier + header, row_text, style)

    def end(self, workload: Sequence[Totals] = ()) -> str:
        rows = self._held_rows_text()  # before the notes, since these rows may add notes
        lines = [*self._remarks.lines(), *(self._reference.lines() if self._reference else ())]
        parts = [part for line in lines for part in self._folded_line(line)]
        return rows + "".join(line + "\n" for line in parts) + self._sections(workload)

    def _sections(self, workload: Sequence[Totals]) -> str:
        sections = self._below.sections(workload)
        if not sections:
            return ""
        from deepbench.report.comparison.table import render_table

        return "\n" + render_table(sections, self._width)

    def _start_operation(self, op: str) -> None:
        outline = self._outline.get(op, OpOutline({}, arithmetic=True))
        self._op, self._headed, self._heading = op, False, outline.heading
        others = self._reference.columns(outline) if self._reference else []
        self._layout = layout(outline, others, self._width, self._chosen)

    def _has_reason_of_held_rows(self, row: Row) -> bool:
        return not self._held or self._held[0].reason == row.reason

    def _take_held_rows(self) -> list[Row]:
        held, self._held = self._held, []
        return held

    def _held_rows_text(self) -> str:
        """The rows that are held back, at the end of their operation."""
        held = self._take_held_rows()
        if len(held) < 2:
            return self._lines_of(held)
        self._lines += 1
        line = f"{self._op}: all {len(held)} rows unsupported: {held[0].reason}"
        return "\n".join(self._folded_line(line)) + "\n"

    def _lines_of(self, rows: list[Row]) -> str:
        text = self._header() if rows and not self._headed else ""
        self._lines += len(rows)
        for row in rows:
            self._last_line = self._line(row)
            text += self._last_line
        return text

    def _header(self) -> str:
        """The titles of the columns, below what holds for all rows and what explains columns."""
        self._headed = True
        heading = self._heading
        above = [*filter(None, [heading]), *self._layout.legend]
        legend = [part for line in above for part in self._folded_line(line)]
        titles = [column.padded(column.title) for column in self._layout.columns]
        lines = [*legend, self._layout.gap.join(titles).rstrip()]
        return ("\n" if self._lines else "") + "".join(line + "\n" for line in lines)

    def _line(self, row: Row) -> str:
        timed = row.time_ns is not None
        columns = self._layout.columns if timed else self._layout.problem
        cells = [column.cell(row) for column in columns]
        below = [f"{one.title} {one.text(row)}" for one in self._layout.below if timed]
        remark = "; ".join(filter(None, (", ".join(below), self._remarks.of(row))))
        line = self._layout.gap.join([*cells, remark]).rstrip()
        if self._width is None or cell_width(line) <= self._width or not remark:
            return line + "\n"
        below = self._folded_line(_INDENT + remark)
        return "\n".join([self._layout.gap.join(cells).rstrip(), *below]) + "\n"

    def _folded_line(self, line: str) -> list[str]:
        return folded(line, self._width, _INDENT)
