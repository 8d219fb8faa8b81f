"""A comparison on the screen: fixed width, what it comes to at the end."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from .content import Section


def render_table(sections: Sequence[Section]) -> str:
    return "\n".join(_text(section) for section in sections)


def _text(section: Section) -> str:
    lines = [*([f"{section.heading}:"] if section.heading else []), *section.lines]
    if section.columns:
        lines += _aligned(section)
    return "".join(line.rstrip() + "\n" for line in lines)


def _aligned(section: Section) -> Iterator[str]:
    texts = [section.columns, *(row.cells for row in section.rows)]
    widths = [max(map(len, column)) for column in zip(*texts, strict=True)]
    for cells in texts:
        yield "  ".join(
            cell.ljust(width) if index in section.left else cell.rjust(width)
            for index, (cell, width) in enumerate(zip(cells, widths, strict=True))
        )
