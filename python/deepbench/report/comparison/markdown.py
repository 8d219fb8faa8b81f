"""A comparison in Markdown: one heading and one table per section."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from deepbench.report.markdown import escaped, line

from .section import Section


def render_markdown(sections: Sequence[Section]) -> str:
    return "\n".join("".join(_section_parts(section)) for section in sections)


def _section_parts(section: Section) -> Iterator[str]:
    if section.heading:
        yield f"## {escaped(section.heading)}\n\n"
    for text in section.lead:
        yield f"**{escaped(text)}**\n\n"
    for text in section.lines:
        yield f"- {escaped(text)}\n"
    if section.columns:
        # Markdown needs a blank line between a list and a table
        yield "\n" if section.lines else ""
        yield line(map(escaped, section.columns))
        yield line(
            ":--" if i in section.left_aligned else "--:" for i in range(len(section.columns))
        )
        for row in section.rows:
            yield line(map(escaped, row.cells))
    if section.plot:
        yield "\n" + "".join(f"    {text}\n" for text in section.plot)  # a block of code
