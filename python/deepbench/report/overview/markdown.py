"""The report as Markdown, for a README: summaries and warnings, without plots."""

from __future__ import annotations

from collections.abc import Iterator

from deepbench.report.comparison.content import Section
from deepbench.report.comparison.markdown import render_markdown
from deepbench.report.markdown import escaped

from .content import Content


def render_report(content: Content) -> str:
    sections = list(_sections(content))
    opening = [f"# {content.title}", content.about, *content.headline]
    return "\n\n".join([*map(escaped, opening), render_markdown(sections)])


def _sections(content: Content) -> Iterator[Section]:
    yield from content.summary
    for name in ("layers", "algorithms", "caches", "against"):
        yield from content.tables(name)
    if content.not_ok:
        yield content.not_ok
    yield Section("Warnings", tuple(content.warnings) or ("none",))
