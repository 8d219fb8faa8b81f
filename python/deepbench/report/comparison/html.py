"""A comparison as one page without scripts or external resources. Every text is escaped."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from html import escape

from .section import Section, TableRow

_HEAD = """\
<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy"
 content="default-src 'none'; style-src 'unsafe-inline'">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{title}</title>
<style>
body { font: 14px/1.4 system-ui, sans-serif; margin: 2em; color: #222; background: #fff; }
table { border-collapse: collapse; }
th, td { padding: 0.15em 0.7em; border-bottom: 1px solid #ddd; text-align: right; }
th { position: sticky; top: 0; background: #f4f4f4; }
td { font-variant-numeric: tabular-nums; white-space: nowrap; }
.words { text-align: left; }
.long { white-space: normal; min-width: 16em; }
.faster { background: #e2f4e2; }
.slower { background: #fae0dc; }
.lead { font-size: 1.4em; font-weight: 600; margin: 0.6em 0; }
.note { margin: 0.3em 0; }
</style>
</head>
<body>
<h1>{title}</h1>
"""
_LONG = 36  # a cell with more characters wraps
_FOOT = "</body>\n</html>\n"


def render_html(sections: Sequence[Section], title: str = "deepbench compare") -> str:
    head = _HEAD.replace("{title}", escape(title))
    return head + "".join("".join(section_parts(section)) for section in sections) + _FOOT


def section_parts(section: Section, heading: str = "h2", kind: str = "") -> Iterator[str]:
    """The section with a heading of the given level. `kind` is the class of its table."""
    if section.heading:
        yield f"<{heading}>{escape(section.heading)}</{heading}>\n"
    for text in section.lead:
        yield f'<p class="lead">{escape(text)}</p>\n'
    for text in section.lines:
        yield f'<p class="note">{escape(text)}</p>\n'
    yield section.figure
    if section.columns:
        named = f' class="{kind}"' if kind else ""
        yield f'<div class="wide"><table{named}>\n<thead>'
        yield _table_line("th", TableRow(section.columns), section.left_aligned)
        yield "</thead>\n<tbody>\n"
        for row in section.rows:
            yield _table_line("td", row, section.left_aligned)
        yield "</tbody>\n</table></div>\n"


def _table_line(tag: str, row: TableRow, left_aligned: frozenset[int]) -> str:
    cells = "".join(
        f"<{tag}{_cell_class(cell, index in left_aligned)}>{escape(cell)}</{tag}>"
        for index, cell in enumerate(row.cells)
    )
    kind = f' class="{row.tone}"' if row.tone in ("faster", "slower") else ""
    return f"<tr{kind}>{cells}</tr>\n"


def _cell_class(cell: str, words: bool) -> str:
    """Text cells are aligned left, and long ones wrap."""
    if not words:
        return ""
    return f' class="words{" long" if len(cell) > _LONG else ""}"'
