"""How the command line refuses: one line that says what was wrong and what would be right."""

from __future__ import annotations

from collections.abc import Iterable

from deepbench.errors import UserError


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
