"""Renders rows in a format and compares the output with golden files.

DEEPBENCH_UPDATE_GOLDEN=1 rewrites the golden files. Review them before committing.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

from deepbench.report import create
from deepbench.report.outline import OutlineProblem, outline
from example_rows import as_row, make_context
from source_tree import ROOT

GOLDEN = ROOT / "tests/golden/report"


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
        )
        for row in rows
    ]
    text = report.begin(context, outline(problems))
    return text + "".join(report.row(as_row(row)) for row in rows) + report.end()


def check_golden(file: str, text: str) -> None:
    path = GOLDEN / file
    if os.environ.get("DEEPBENCH_UPDATE_GOLDEN"):
        path.write_bytes(text.encode())
    assert text == path.read_bytes().decode()
