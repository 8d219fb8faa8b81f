"""Markdown: one table per operation below a line that names the device and the software."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from deepbench.report import Context
from deepbench.report.below_rows import BelowRows
from deepbench.report.columns import Column, measured_columns, problem_columns
from deepbench.report.fields import get, threads_text
from deepbench.report.outline import OpOutline, Outline
from deepbench.report.remarks import Remarks
from deepbench.results.build import version_text
from deepbench.results.row import Row

if TYPE_CHECKING:
    from deepbench.report.reference_columns import ReferenceColumns
    from deepbench.workload.totals import Totals


class Markdown:
    """Cells are padded to the outline's widths, so that the source is readable, too."""

    def __init__(self, reference: ReferenceColumns | None = None) -> None:
        self._reference = reference
        self._outline: Outline = {}
        self._op: str | None = None
        self._columns: list[Column] = []
        self._remarks = Remarks()
        self._below = BelowRows()

    def begin(self, context: Context, outline: Outline) -> str:
        self._outline = outline
        self._below.begin(context)
        if self._reference:
            self._reference.begin(context)
        return escaped(context_caption(context)) + "\n"

    def row(self, row: Row) -> str:
        self._below.add(row)
        op = row.op or "?"
        text = "" if op == self._op else self._header(op)
        return text + line([escaped(column.cell(row)) for column in self._columns])

    def end(self, workload: Sequence[Totals] = ()) -> str:
        lines = [*self._remarks.lines(), *(self._reference.lines() if self._reference else ())]
        notes = "\n" + "  \n".join(map(escaped, lines)) + "\n" if lines else ""
        return notes + self._sections(workload)

    def _sections(self, workload: Sequence[Totals]) -> str:
        sections = self._below.sections(workload)
        if not sections:
            return ""
        from deepbench.report.comparison.markdown import render_markdown

        return "\n" + render_markdown(sections)

    def _header(self, op: str) -> str:
        outline = self._outline.get(op, OpOutline({}, arithmetic=True))
        self._op = op
        self._columns = [
            *problem_columns(outline),
            *measured_columns(outline),
            *(self._reference.columns(outline) if self._reference else ()),
            Column("remarks", 0, self._remarks.of, left=True),
        ]
        rules = [
            ":" + "-" * max(column.width - 1, 2) if column.left
            else "-" * max(column.width - 1, 2) + ":"
            for column in self._columns
        ]  # fmt: skip
        titles = [escaped(column.padded(column.title)) for column in self._columns]
        heading = f"\n{outline.heading}\n" if outline.heading else ""
        return heading + "\n" + line(titles) + line(rules)


def context_caption(context: Context) -> str:
    """One line: device, backend, threads, version, date, and the available libraries, or only the
    library that the user named."""
    asked = (context.get("options") or {}).get("library")
    libraries = [
        f"{name} {facts.get('version')}"
        for name, facts in (context.get("libraries") or {}).items()
        if facts.get("version") and asked in (None, name)
    ]
    threads = context.get("threads")
    parts = [
        get(context, "device.name") or "unknown device",
        f"backend {get(context, 'backend.name') or 'unknown'}",
        *libraries,
        threads_text(threads) if threads else "",
        version_text(context) or "",
        context.get("started") or "",
    ]
    return ", ".join(part for part in parts if part)


def line(cells: Iterable[str]) -> str:
    """A line of a table. The cells are already escaped."""
    return "| " + " | ".join(cells) + " |\n"


def escaped(text: str) -> str:
    """The text with Markdown and HTML markup escaped, since result files are untrusted."""
    text = text.replace("\\", "\\\\").replace("|", "\\|").replace("](", "]\\(")
    return text.replace("&", "&amp;").replace("<", "&lt;").replace("\n", " ")
