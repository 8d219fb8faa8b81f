"""The table on the screen: fixed width, a row as soon as it is finished, a header per operation."""

from __future__ import annotations

from typing import TYPE_CHECKING

from deepbench.report import Context, Row
from deepbench.report.columns import Column, measured_columns, problem_columns
from deepbench.report.fields import measured
from deepbench.report.outline import OpOutline, Outline
from deepbench.report.remarks import Remarks
from deepbench.results.fleet import FleetSummary

_GAP = "  "


if TYPE_CHECKING:
    from deepbench.report.reference_columns import ReferenceColumns


class Table:
    """Rows of one operation share a header. A group whose rows are all unsupported for the same
    reason becomes one line, so such rows are held back until another kind of row comes."""

    def __init__(self, reference: ReferenceColumns | None = None) -> None:
        self._reference = reference
        self._outline: Outline = {}
        self._op: str | None = None
        self._headed = False
        self._lines = 0
        self._attributes: list[Column] = []
        self._measured: list[Column] = []
        self._held: list[Row] = []
        self._remarks = Remarks()
        self._fleet = FleetSummary()

    def begin(self, context: Context, outline: Outline) -> str:
        self._outline = outline
        self._fleet.begin(context)
        if self._reference:
            self._reference.begin(context)
        return ""

    def row(self, row: Row) -> str:
        text = ""
        self._fleet.add(row)
        op = row.get("op") or "?"
        if op != self._op:
            text = self._release() + self._start(op)
        if row["status"] == "unsupported" and not self._headed and self._same_reason(row):
            self._held.append(row)
            return text
        return text + self._lines_of([*self._take_held(), row])

    def end(self) -> str:
        rows = self._release()  # which may have notes of their own
        lines = [*self._remarks.lines(), *(self._reference.lines() if self._reference else ())]
        return rows + "".join(line + "\n" for line in lines) + self._fleet_section()

    def _fleet_section(self) -> str:
        if not self._fleet.rows:
            return ""
        from deepbench.report.comparison.table import render_table
        from deepbench.report.fleet import fleet_section

        section = fleet_section(self._fleet)
        return "\n" + render_table([section]) if section else ""

    def _start(self, op: str) -> str:
        outline = self._outline.get(op, OpOutline({}, arithmetic=True))
        self._op, self._headed = op, False
        self._attributes = problem_columns(outline)
        others = self._reference.columns(outline) if self._reference else []
        self._measured = [*measured_columns(outline), *others]
        return ""

    def _same_reason(self, row: Row) -> bool:
        return not self._held or self._held[0].get("reason") == row.get("reason")

    def _take_held(self) -> list[Row]:
        held, self._held = self._held, []
        return held

    def _release(self) -> str:
        """Says what was held back when its group is over."""
        held = self._take_held()
        if len(held) < 2:
            return self._lines_of(held)
        self._lines += 1
        return f"{self._op}: all {len(held)} rows unsupported: {held[0].get('reason')}\n"

    def _lines_of(self, rows: list[Row]) -> str:
        text = ""
        if rows and not self._headed:
            self._headed = True
            columns = [*self._attributes, *self._measured]
            header = _GAP.join(column.padded(column.title) for column in columns)
            text = ("\n" if self._lines else "") + header.rstrip() + "\n"
        self._lines += len(rows)
        return text + "".join(self._line(row) + "\n" for row in rows)

    def _line(self, row: Row) -> str:
        columns = [*self._attributes, *(self._measured if measured(row) else [])]
        cells = [column.cell(row) for column in columns]
        return _GAP.join([*cells, self._remarks.of(row)]).rstrip()
