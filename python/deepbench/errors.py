"""The base of every error that ends a command in one line instead of a traceback."""

from __future__ import annotations

_ASCII_FALLBACKS = (
    (" \N{PLUS-MINUS SIGN}%", "+-%"),
    ("\N{PLUS-MINUS SIGN}", "+-"),
    ("\N{MICRO SIGN}", "u"),
)


class UserError(Exception):
    """What was wrong, where, and what would be right. `exit_status`: 2 for bad usage or input
    that nothing was done with, 1 where a run was under way."""

    def __init__(self, message: str, exit_status: int = 2) -> None:
        super().__init__(message)
        self.exit_status = exit_status


def printable_line(text: str) -> str:
    """A text, some of it of somebody's file or its name, as a line that cannot steer a terminal."""
    return _without_control_characters(" ".join(text.split()))


def printable_lines(text: str) -> str:
    """Lines with their ends, cleaned likewise."""
    lines = text.split("\n")
    ends = ["\r" if line.endswith("\r") else "" for line in lines]
    return "\n".join(
        _without_control_characters(line.removesuffix("\r")) + end
        for line, end in zip(lines, ends, strict=True)
    )


def encodable(text: str, encoding: str | None) -> str:
    """The text with the signs of the report that the encoding lacks written in ASCII, as wide as
    they are where they stand in a table's title. An unknown encoding takes all."""
    try:
        text.encode(encoding or "utf-8")
    except UnicodeEncodeError:
        for sign, ascii_text in _ASCII_FALLBACKS:
            text = text.replace(sign, ascii_text)
    return text


def _without_control_characters(line: str) -> str:
    if line.isprintable():
        return line
    return "".join(letter if letter.isprintable() else "\N{REPLACEMENT CHARACTER}"
                   for letter in line)  # fmt: skip
