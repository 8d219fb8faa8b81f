"""The facts that a verdict lacks, and those of them that the user has excused."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass

from deepbench.accept.families import FAMILIES

ERRORS, THROTTLING, SPREAD = "errors", "throttling", "spread"
# The words of --without. Whatever is missing for another reason, such as another driver, can be put
# right.
WORDS = (*(family.word for family in FAMILIES), ERRORS, THROTTLING, SPREAD)


@dataclass(frozen=True)
class Gap:
    """A property that a good machine or reference has, and that is missing."""

    text: str
    word: str | None = None  # the word of --without that excuses it; None: nothing excuses it


def missing_and_excused(
    gaps: Iterable[Gap], without: Collection[str]
) -> tuple[tuple[Gap, ...], tuple[Gap, ...]]:
    """The gaps that prevent a pass, and those that the user has excused, each once."""
    every = tuple(dict.fromkeys(gaps))
    excused = tuple(gap for gap in every if gap.word in without)
    return tuple(gap for gap in every if gap not in excused), excused
