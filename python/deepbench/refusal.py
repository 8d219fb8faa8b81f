"""The base of every error that ends a command in one line instead of a traceback."""

from __future__ import annotations


class Refusal(Exception):
    """What was wrong, where, and what would be right. `exit_status`: 2 for bad usage or input
    that nothing was done with, 1 where a run was under way."""

    def __init__(self, message: str, exit_status: int = 2) -> None:
        super().__init__(message)
        self.exit_status = exit_status


def one_line(text: str) -> str:
    """A text, some of it of somebody's file or its name, as a line that cannot steer a terminal."""
    return _seen(" ".join(text.split()))


def whole_lines(text: str) -> str:
    """Lines with their ends, cleaned likewise."""
    lines = text.split("\n")
    ends = ["\r" if line.endswith("\r") else "" for line in lines]
    return "\n".join(
        _seen(line.removesuffix("\r")) + end for line, end in zip(lines, ends, strict=True)
    )


def _seen(line: str) -> str:
    if line.isprintable():
        return line
    return "".join(letter if letter.isprintable() else "\N{REPLACEMENT CHARACTER}"
                   for letter in line)  # fmt: skip
