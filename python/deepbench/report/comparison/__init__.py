"""Renders a comparison: content.py builds the sections, and the other files write them in one
format each."""

from __future__ import annotations

from collections.abc import Iterable

from deepbench.compare import Comparison

_LONG = 40  # a table with more lines repeats its headline at the end, where it is still visible
FORMATS = ("table", "json", "markdown", "html")


def render(comparison: Comparison, name: str, width: int | None = None) -> Iterable[str]:
    """The parts of the comparison in the format called `name`, one of FORMATS. A table for a
    terminal is at most `width` cells wide, and its regressions and improvements are MarkedText."""
    if name == "json":
        from .json import render_json

        return [render_json(comparison)]
    from .content import is_all_disturbed, regression_lines, sections

    if name == "markdown":
        from .markdown import render_markdown

        return [render_markdown(sections(comparison))]
    if name == "html":
        from .html import render_html

        return [render_html(sections(comparison))]
    from .headline import headlines
    from .section import Section
    from .table import table_parts

    parts = list(table_parts(sections(comparison), width))
    is_short = sum(part.count("\n") for part in parts) < _LONG
    if is_short and not is_all_disturbed(comparison):  # else the last line says that no pair counts
        return parts
    end = Section("", tuple(regression_lines(comparison)), lead=tuple(headlines(comparison)))
    return [*parts, "\n", *table_parts([end], width)]
