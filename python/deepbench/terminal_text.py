"""Measures text in the cells of a terminal. A CJK character takes two cells."""

from __future__ import annotations

import re

_MICRO = "\N{MICRO SIGN}"  # takes one cell, in most tables
_WORD = re.compile(r"\s*\S+")  # with the blanks before it


def cell_width(text: str) -> int:
    """The number of cells that a text takes."""
    if text.isascii() or text.replace(_MICRO, "u").isascii():
        return len(text)
    from rich.cells import cell_len

    return cell_len(text)


def padded(text: str, width: int, left: bool) -> str:
    """The text with blanks up to a width, after it if it is aligned to the left."""
    blanks = " " * (width - cell_width(text))
    return text + blanks if left else blanks + text


def shortened_by_words(text: str, width: int) -> str:
    """The text, or its first whole words and an ellipsis if it is wider. A part of a number would
    look like another number."""
    if cell_width(text) <= width:
        return text
    kept = _beginning(text, width - len(" ..."))
    if not text[len(kept) : len(kept) + 1].isspace():
        kept = kept.rpartition(" ")[0]
    return f"{kept.rstrip()} ...".lstrip()


def shortened(text: str, width: int) -> str:
    """The text, or its beginning and an ellipsis if it is wider."""
    if cell_width(text) <= width:
        return text
    return _beginning(text, width - len("...")) + "..."


def _beginning(text: str, width: int) -> str:
    """Returns as many of the first characters as fit the width. Characters that form one symbol do
    not take the sum of their widths, so that whole beginnings are measured."""
    fitting, beyond = 0, len(text) + 1
    while beyond - fitting > 1:
        middle = (fitting + beyond) // 2
        if cell_width(text[:middle]) <= width:
            fitting = middle
        else:
            beyond = middle
    return text[:fitting]


def folded(line: str, width: int | None, indent: str = "") -> list[str]:
    """The line, split between words if it is wider; further lines begin with `indent`. A word that
    is wider by itself, such as a path, stays whole, so that it can be copied."""
    if width is None or cell_width(line) <= width:
        return [line]
    lines: list[str] = []
    begun = ""
    # Without blanks at the end, each run of blanks is followed by a word and is read once.
    for word in _WORD.findall(line.rstrip()):
        if begun.strip() and cell_width(begun + word) > width:
            lines.append(begun)
            begun = indent + word.lstrip()
        else:
            begun += word
    return [*lines, begun]
