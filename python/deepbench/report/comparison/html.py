"""A comparison as one page: no scripts, nothing from elsewhere, every text escaped."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from html import escape

from .content import Row, Section

_HEAD = """\
<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy"
 content="default-src 'none'; style-src 'unsafe-inline'">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>deepbench compare</title>
<style>
body { font: 14px/1.4 system-ui, sans-serif; margin: 2em; color: #222; background: #fff; }
table { border-collapse: collapse; }
th, td { padding: 0.15em 0.7em; border-bottom: 1px solid #ddd; text-align: right; }
th { position: sticky; top: 0; background: #f4f4f4; }
td { font-variant-numeric: tabular-nums; white-space: nowrap; }
.words { text-align: left; white-space: normal; }
.faster { background: #e2f4e2; }
.slower { background: #fae0dc; }
</style>
</head>
<body>
<h1>deepbench compare</h1>
"""
_FOOT = "</body>\n</html>\n"


def render_html(sections: Sequence[Section]) -> str:
    """What it comes to is on top of a page."""
    ordered = [*sections[-1:], *sections[:-1]]
    return _HEAD + "".join("".join(_parts(section)) for section in ordered) + _FOOT


def _parts(section: Section) -> Iterator[str]:
    yield f"<h2>{escape(section.heading)}</h2>\n"
    for text in section.lines:
        yield f"<p>{escape(text)}</p>\n"
    if section.columns:
        yield "<table>\n<thead>"
        yield _line("th", Row(section.columns), section.left)
        yield "</thead>\n<tbody>\n"
        for row in section.rows:
            yield _line("td", row, section.left)
        yield "</tbody>\n</table>\n"


def _line(tag: str, row: Row, left: frozenset[int]) -> str:
    cells = "".join(
        f'<{tag} class="words">{escape(cell)}</{tag}>' if index in left
        else f"<{tag}>{escape(cell)}</{tag}>"
        for index, cell in enumerate(row.cells)
    )  # fmt: skip
    kind = f' class="{row.tone}"' if row.tone in ("faster", "slower") else ""
    return f"<tr{kind}>{cells}</tr>\n"
