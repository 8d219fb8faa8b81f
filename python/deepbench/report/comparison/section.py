"""The parts that every format writes down: headings, lines of text, tables."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True)
class TableRow:
    """A line of a table; `tone` is faster, slower or nothing."""

    cells: tuple[str, ...]
    tone: str = ""


@dataclass(frozen=True)
class Section:
    """A heading, lines of text, and a table where it has columns."""

    heading: str
    lines: tuple[str, ...] = ()
    columns: tuple[str, ...] = ()
    left_aligned: frozenset[int] = field(default_factory=frozenset)  # columns of words
    rows: tuple[TableRow, ...] = ()
    lead: tuple[str, ...] = ()  # lines before all others, which stand out
    wraps: bool = False  # whether the last column may go on below its row
    optional: tuple[int, ...] = ()  # columns that a narrow screen loses, the first of them first
    implied: tuple[int, ...] = ()  # columns that follow from others: lost where nothing else helps
