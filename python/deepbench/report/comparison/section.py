"""The building blocks that every format renders: headings, lines of text, tables."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property

from deepbench.terminal_text import cell_width


@dataclass(frozen=True, slots=True)
class TableRow:
    """A line of a table. `tone` is 'faster', 'slower' or empty."""

    cells: tuple[str, ...]
    tone: str = ""


@dataclass(frozen=True)
class Section:
    """A heading, lines of text, and a table if there are columns."""

    heading: str
    lines: tuple[str, ...] = ()
    columns: tuple[str, ...] = ()
    left_aligned: frozenset[int] = field(default_factory=frozenset)  # columns of text
    rows: tuple[TableRow, ...] = ()
    lead: tuple[str, ...] = ()  # highlighted lines above all others
    wraps: bool = False  # whether the last column may continue below its row
    optional: tuple[int, ...] = ()  # columns that a narrow screen drops, in this order
    implied: tuple[int, ...] = ()  # columns that other columns imply, dropped as the last resort
    plot: tuple[str, ...] = ()  # lines in a font of one width; a page has charts instead
    figure: str = ""  # a chart as an SVG element, for pages alone; its texts are escaped

    @cached_property
    def cell_widths(self) -> list[int]:
        """The width of the widest cell of each column, without its title."""
        if not self.rows:
            return [0] * len(self.columns)
        columns = zip(*(row.cells for row in self.rows), strict=True)
        return [max(map(cell_width, set(cells))) for cells in columns]
