"""A comparison on the terminal, in columns that fit the terminal's width if possible."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from deepbench.marked_text import MarkedText
from deepbench.report.row_styles import TONE_STYLES
from deepbench.terminal_text import cell_width, folded, padded

from .section import Section

_INDENT = " " * 4  # of a last column that continues below its row
_CONTINUED = " " * 2  # before further lines of a text
_SHORT = 4  # characters of a title that never wraps


def render_table(sections: Sequence[Section], width: int | None = None) -> str:
    """`width` is the terminal's width; None: lines may have any length."""
    return "".join(table_parts(sections, width))


def table_parts(sections: Sequence[Section], width: int | None = None) -> Iterator[str]:
    """The text in parts. On a terminal, of which `width` is the width, rows with a tone have its
    style."""
    for position, section in enumerate(sections):
        heading = [f"{section.heading}:"] if section.heading else []
        lines = [*section.lead, *heading, *section.lines]
        parts = [part for line in lines for part in folded(line, width, _CONTINUED)]
        yield "\n" * (position > 0) + "".join(part.rstrip() + "\n" for part in parts)
        if section.columns:
            yield from _table_lines(section, width)
        if section.plot and (width is None or max(map(cell_width, section.plot)) <= width):
            yield "".join(f"{line}\n" for line in ("", *section.plot))


@dataclass(frozen=True)
class _Layout:
    """The columns of a table that are shown, and the spacing between them."""

    shown: tuple[int, ...]  # column indices
    gap: str = "  "
    stacked: bool = False  # titles wrap onto several lines
    below: tuple[int, ...] = ()  # columns whose cells continue below their row, with their titles

    def title_lines(self, text: str) -> list[str]:
        split = self.stacked and len(text) > _SHORT
        return text.replace("_", "_ ").split(" ") if split else [text]

    def widths(self, section: Section) -> list[int]:
        return [
            max(section.cell_widths[column], *map(cell_width, self.title_lines(title)))
            for column, title in ((column, section.columns[column]) for column in self.shown)
        ]

    def total(self, section: Section) -> int:
        """The width of a line, except for a last column that may wrap."""
        widths = self.widths(section)[: -1 if section.wraps else None]
        return sum(widths) + len(self.gap) * (len(widths) - 1)


def _choose_layout(section: Section, width: int | None) -> _Layout:
    """The first layout that fits, else the narrowest. The candidates drop more and more of the
    optional columns, then do so with narrow columns, then drop the implied columns as well, and
    then move columns below their row, from the first one on."""
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
    least = choices[-1]
    layouts += [
        _Layout(least[moved:], " ", stacked=True, below=least[:moved])
        for moved in range(1, len(least))
    ]
    return next((one for one in layouts if one.total(section) <= width), layouts[-1])


def _table_lines(section: Section, width: int | None) -> Iterator[str]:
    """The titles and the rows, a row with all its lines in one part."""
    layout = _choose_layout(section, width)
    widths = layout.widths(section)
    titles = [layout.title_lines(section.columns[column]) for column in layout.shown]
    height = max(map(len, titles))
    heads = zip(*([""] * (height - len(title)) + title for title in titles), strict=True)
    for cells in heads:
        yield _row_text(section, layout, widths, cells, width)
    for row in section.rows:
        cells = tuple(row.cells[column] for column in layout.shown)
        text = _row_text(section, layout, widths, cells, width)
        moved = [
            f"{section.columns[column]}={row.cells[column]}"
            for column in layout.below
            if row.cells[column]
        ]
        if moved:
            below = folded(_INDENT + " ".join(moved), width, _INDENT)
            text += "".join(f"{part}\n" for part in below)
        style = "" if width is None else TONE_STYLES.get(row.tone, "")
        yield MarkedText("", text, style) if style else text


def _row_text(
    section: Section,
    layout: _Layout,
    widths: Sequence[int],
    cells: Sequence[str],
    width: int | None,
) -> str:
    aligned = [
        padded(cell, wide, column in section.left_aligned)
        for column, cell, wide in zip(layout.shown, cells, widths, strict=True)
    ]
    line = layout.gap.join(aligned).rstrip()
    if width is None or cell_width(line) <= width or not section.wraps or not cells[-1]:
        return line + "\n"
    start = layout.gap.join(aligned[:-1]).rstrip()
    below = folded(_INDENT + cells[-1], width, _INDENT)
    return "".join(f"{part}\n" for part in (start, *below))
