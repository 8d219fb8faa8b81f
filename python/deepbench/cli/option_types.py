"""The types of options' values: how the shell completes them, and the errors for wrong ones."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import click
from click.shell_completion import CompletionItem
from click.types import StringParamType

from deepbench.errors import UsageError, in_quotes, suggestion

_REPORT_FORMATS = ("html", "png", "svg", "xlsx")


class FileName(StringParamType):
    """The name of a file. Unlike click.Path, it does not look at the file: its command opens it,
    with errors of its own."""

    def __init__(self, instead: str = "name one") -> None:
        """`instead` ends the error message for an empty name, and for '-', which other programs
        take for a standard stream."""
        self.instead = instead

    def shell_complete(
        self, ctx: click.Context, param: click.Parameter, incomplete: str
    ) -> list[CompletionItem]:
        return [CompletionItem(incomplete, type="file")]


FILE = FileName()


class TextWithCandidates(StringParamType):
    """Any text. `candidates` are the values that the shell offers, or return them."""

    def __init__(self, candidates: Sequence[str] | Callable[[], Sequence[str]] = ()) -> None:
        self._candidates = candidates

    def shell_complete(
        self, ctx: click.Context, param: click.Parameter, incomplete: str
    ) -> list[CompletionItem]:
        known = self._candidates if isinstance(self._candidates, Sequence) else self._candidates()
        return [CompletionItem(word) for word in known if word.startswith(incomplete)]


class CandidateOrFile(TextWithCandidates):
    """A text, or the name of a file, which contains a slash."""

    def shell_complete(
        self, ctx: click.Context, param: click.Parameter, incomplete: str
    ) -> list[CompletionItem]:
        if "/" in incomplete:
            return FILE.shell_complete(ctx, param, incomplete)
        return super().shell_complete(ctx, param, incomplete)


class WordList(TextWithCandidates):
    """Texts with commas between them. The shell offers candidates for the last one."""

    def shell_complete(
        self, ctx: click.Context, param: click.Parameter, incomplete: str
    ) -> list[CompletionItem]:
        earlier, comma, last = incomplete.rpartition(",")
        return [
            CompletionItem(earlier + comma + item.value)
            for item in super().shell_complete(ctx, param, last)
        ]


class FormatChoice(click.Choice[str]):
    """The format of printed rows. The error for a format of reports names their command."""


class OptionValue(StringParamType):
    """A value of another type, of click or of this file. The UsageError for a wrong value names the
    option and the remedy."""

    def __init__(self, usage: str, flag: str, inner: click.ParamType[Any]) -> None:
        self.name = inner.name
        self.inner = inner
        self._usage = usage
        self._flag = flag

    def convert(
        self, value: object, param: click.Parameter | None, ctx: click.Context | None
    ) -> Any:
        text = str(value)
        if text == "-" and isinstance(self.inner, FileName):
            raise UsageError(f"{self._flag} '-': '-' is not a file; {self.inner.instead}")
        if not text and isinstance(self.inner, FileName):
            raise UsageError(f"{self._flag} '': the name is empty; {self.inner.instead}")
        if not text or (text.startswith("-") and not _is_number(text)):
            raise UsageError(f"{self._flag} needs a value: {self._usage}")
        try:
            converted = self.inner.convert(value, param, ctx)
        except click.BadParameter:
            converted = None
        is_number = isinstance(converted, (int, float))
        if is_number and not (text.isascii() and "_" not in text):  # int() accepts 4_0 as 40
            converted = None
        if converted is None or converted != converted:  # NaN lies in every range
            raise UsageError(f"{self._flag} {in_quotes(text)}: {_requirement(self.inner, text)}")
        return converted

    def shell_complete(
        self, ctx: click.Context, param: click.Parameter, incomplete: str
    ) -> list[CompletionItem]:
        return self.inner.shell_complete(ctx, param, incomplete)


def choices_of(kind: click.ParamType[Any]) -> tuple[str, ...]:
    """The values that a type allows, empty if it does not list them."""
    return tuple(kind.choices) if isinstance(kind, click.Choice) else ()


def _requirement(kind: click.ParamType[Any], value: str) -> str:
    """What a value of the type must be: 'must be one of hot cold', 'must be a number above 0'."""
    if isinstance(kind, FormatChoice) and value.lower() in _REPORT_FORMATS:
        made = f"'deepbench report FILE -o NAME.{value.lower()}' makes such a file"
        return f"must be one of {' '.join(kind.choices)}; {made}"
    if isinstance(kind, click.Choice):
        return f"must be one of {' '.join(kind.choices)}{suggestion(value, kind.choices)}"
    if isinstance(kind, click.IntRange):
        ends = f"from {kind.min}" if kind.max is None else f"from {kind.min} to {kind.max}"
        return f"must be a whole number {ends}"
    assert isinstance(kind, click.FloatRange)
    least = f"above {kind.min}" if kind.min_open else f"from {kind.min}"
    if kind.max is None:
        return f"must be a number {least}"
    return f"must be a number {least} {'and at most' if kind.min_open else 'to'} {kind.max:,.12g}"


def _is_number(text: str) -> bool:
    try:
        return not math.isnan(float(text))
    except ValueError:
        return False
