"""How a comparison looks: content.py says it in sections, the other files write those down."""

from __future__ import annotations

from deepbench.compare import Comparison

FORMATS = ("table", "json", "markdown", "html")


def render(comparison: Comparison, name: str) -> str:
    """The comparison in the format called `name`, one of FORMATS."""
    if name == "json":
        from .json import render_json

        return render_json(comparison)
    from .content import sections

    if name == "markdown":
        from .markdown import render_markdown

        return render_markdown(sections(comparison))
    if name == "html":
        from .html import render_html

        return render_html(sections(comparison))
    from .table import render_table

    return render_table(sections(comparison))
