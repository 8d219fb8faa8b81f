"""Text whose end has a style on a terminal only."""

from __future__ import annotations


class MarkedText(str):
    """Text whose end has a style of rich."""

    __slots__ = ("plain_length", "style")

    style: str
    plain_length: int  # characters before the part that has the style

    def __new__(cls, plain: str, marked: str, style: str) -> MarkedText:
        text = super().__new__(cls, plain + marked)
        text.style, text.plain_length = style, len(plain)
        return text
