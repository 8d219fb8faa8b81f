"""Renders rows in a format, as golden files have them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from deepbench.report import create
from deepbench.report.outline import OutlineProblem, outline
from example_rows import make_context, row_of_members


def render_rows(
    name: str, rows: Sequence[dict[str, Any]], context: dict[str, Any] | None = None
) -> str:
    report = create(name)
    context = context or make_context(rows=len(rows))
    own = context["set"] is None
    problems = [
        OutlineProblem(
            row["op"] or "?",
            row["attributes"] or {},
            row["work"]["flops"],
            row["application"] if own else None,
            (row["regime"] or {}).get("power"),
            calls=row.get("count"),
        )
        for row in rows
    ]
    text = report.begin(context, outline(problems))
    return text + "".join(report.row(row_of_members(row)) for row in rows) + report.end()
