"""Errors that end a command with one line instead of a traceback, and helpers for their text."""

from __future__ import annotations

from collections.abc import Iterable

_ASCII_FALLBACKS = (
    (" \N{PLUS-MINUS SIGN}%", "+-%"),
    ("\N{PLUS-MINUS SIGN}", "+-"),
    ("\N{MICRO SIGN}", "u"),
)


class UserError(Exception):
    """An error of the user: the message names the problem, its place and the remedy. `exit_status`
    is 2 for bad usage or input, 1 for an error during a run. The message is one printable line,
    even if it quotes an untrusted file."""

    def __init__(self, message: str, exit_status: int = 2) -> None:
        super().__init__(printable_line(message))
        self.exit_status = exit_status


class UsageError(UserError):
    """Bad usage of the command line. The exit status is 2."""


class Terminated(BaseException):
    """SIGTERM or SIGHUP arrived. Like Ctrl-C, it ends the run; the exit status is 143."""


def suggestion(word: str, choices: Iterable[str]) -> str:
    """' (did you mean ...?)' with the choice that is closest to a word, or an empty text."""
    from difflib import get_close_matches

    known = list(choices)
    lower = word.lower()
    matches = [one for one in known if one == lower] or get_close_matches(lower, known, n=1)
    return f" (did you mean {matches[0]!r}?)" if matches else ""


def counted(number: int, noun: str) -> str:
    """'1 row', '2 rows'."""
    return f"{number} {noun}{'' if number == 1 else 's'}"


def in_quotes(word: str) -> str:
    """A word of the command line for an error message: quoted, and shortened if it is long."""
    return repr(word if len(word) <= 60 else word[:57] + "...")


def printable_line(text: str) -> str:
    """A text in one line without control characters, since it may come from an untrusted file."""
    return _without_control_characters(" ".join(text.split()))


def printable_lines(text: str) -> str:
    """Lines without control characters except their ends."""
    lines = text.split("\n")
    ends = ["\r" if line.endswith("\r") else "" for line in lines]
    return "\n".join(
        _without_control_characters(line.removesuffix("\r")) + end
        for line, end in zip(lines, ends, strict=True)
    )


def with_ascii_fallbacks(text: str, encoding: str | None) -> str:
    """The text with characters that the encoding lacks replaced by ASCII. The replacement in the
    title of a table is as wide as the original. An unknown encoding counts as UTF-8."""
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
