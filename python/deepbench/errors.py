"""Errors that end a command in one line instead of a traceback, and how such a line is worded."""

from __future__ import annotations

from collections.abc import Iterable

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


class UsageError(UserError):
    """A command that makes no sense: exit status 2."""


class Terminated(BaseException):
    """SIGTERM arrived: like Ctrl-C, with exit status 143."""


def suggestion(word: str, choices: Iterable[str]) -> str:
    """The choice that a misspelt word is closest to, as ' (did you mean ...?)'; or nothing."""
    from difflib import get_close_matches

    known = list(choices)
    lower = word.lower()
    matches = [one for one in known if one == lower] or get_close_matches(lower, known, n=1)
    return f" (did you mean {matches[0]!r}?)" if matches else ""


def shown(word: str) -> str:
    """A word of the user's, quoted and short enough for a line."""
    return repr(word if len(word) <= 60 else word[:57] + "...")


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
