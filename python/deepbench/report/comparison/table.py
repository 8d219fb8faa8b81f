"""A comparison on the terminal, in columns that fit the terminal's width if possible."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from .section import Section

_INDENT = 4
_SHORT = 4  # characters of a title that never wraps


def render_table(sections: Sequence[Section], width: int | None = None) -> str:
    """`width` is the terminal's width; None: lines may have any length."""
    return "\n".join(_section_text(section, width) for section in sections)


def _section_text(section: Section, width: int | None) -> str:
    lines = [*section.lead, *([f"{section.heading}:"] if section.heading else []), *section.lines]
    lines = [part for line in lines for part in _wrapped_line(line, width, 0)]
    if section.columns:
        lines += _aligned_lines(section, width)
    return "".join(line.rstrip() + "\n" for line in lines)


@dataclass(frozen=True)
class _Layout:
    """The columns of a table that are shown, and the spacing between them."""

    shown: tuple[int, ...]  # column indices
    gap: str = "  "
    stacked: bool = False  # titles wrap onto several lines

    def title(self, text: str) -> list[str]:
        split = self.stacked and len(text) > _SHORT
        return text.replace("_", "_ ").split(" ") if split else [text]

    def widths(self, section: Section) -> list[int]:
        return [
            max(*map(len, self.title(section.columns[column])),
                *(len(row.cells[column]) for row in section.rows), 0)
            for column in self.shown
        ]  # fmt: skip

    def total(self, section: Section) -> int:
        """The width of a line, except for a last column that may wrap."""
        widths = self.widths(section)[: -1 if section.wraps else None]
        return sum(widths) + len(self.gap) * (len(widths) - 1)


def _choose_layout(section: Section, width: int | None) -> _Layout:
    """The first layout that fits, else the narrowest. The candidates drop more and more of the
    optional columns, then do so with narrow columns, then drop the implied columns as well."""
    shown = list(range(len(section.columns)))
    choices = [tuple(shown)]
    for column in section.optional:
        shown.remove(column)
        choices.append(tuple(shown))
    layouts = [_Layout(choice) for choice in choices]
    if width is None:
        return layouts[0]
    choices.append(tuple(column for column in choices[-1] if column not in section.implied))
    layouts += [_Layout(choice, " ", stacked=True) for choice in choices]
    return next((one for one in layouts if one.total(section) <= width), layouts[-1])


def _aligned_lines(section: Section, width: int | None) -> Iterator[str]:
    layout = _choose_layout(section, width)
    widths = layout.widths(section)
    titles = [layout.title(section.columns[column]) for column in layout.shown]
    height = max(map(len, titles))
    heads = zip(*([""] * (height - len(title)) + title for title in titles), strict=True)
    lines = [[row.cells[column] for column in layout.shown] for row in section.rows]
    for cells in (*heads, *lines):
        aligned = [
            cell.ljust(wide) if column in section.left_aligned else cell.rjust(wide)
            for column, cell, wide in zip(layout.shown, cells, widths, strict=True)
        ]
        line = layout.gap.join(aligned).rstrip()
        if width is None or len(line) <= width or not section.wraps or not cells[-1]:
            yield line
        else:
            yield layout.gap.join(aligned[:-1]).rstrip()
            yield from _wrapped_line(" " * _INDENT + cells[-1], width, _INDENT)


def _wrapped_line(line: str, width: int | None, indent: int) -> list[str]:
    if width is None or len(line) <= width:
        return [line]
    inner = max(width, 2 * _INDENT)
    return textwrap.wrap(line, inner, subsequent_indent=" " * (indent or 2), break_long_words=False,
                         break_on_hyphens=False)  # fmt: skip
