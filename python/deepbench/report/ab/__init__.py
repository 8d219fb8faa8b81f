"""Renders the result of two environments in turns: content.py builds the sections, which the
renderers of comparisons write in each format."""

from __future__ import annotations

from collections.abc import Iterable

from deepbench.ab.result import AbResult

FORMATS = ("table", "json", "markdown", "html")


def render(result: AbResult, name: str, width: int | None = None) -> Iterable[str]:
    """The parts of the result in the format called `name`, one of FORMATS. A table for a terminal
    is at most `width` cells wide."""
    if name == "json":
        from .json import render_json

        return [render_json(result)]
    from .content import sections

    if name == "markdown":
        from deepbench.report.comparison.markdown import render_markdown

        return [render_markdown(sections(result))]
    if name == "html":
        from deepbench.report.comparison.html import render_html

        return [render_html(sections(result), "deepbench ab")]
    from deepbench.report.comparison.table import table_parts

    return table_parts(sections(result), width)
