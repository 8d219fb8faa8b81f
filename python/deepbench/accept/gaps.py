"""What a verdict misses, and what of it the user has said to do without."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass

from deepbench.accept.families import FAMILIES

ERRORS, THROTTLING, SPREAD = "errors", "throttling", "spread"
# Of --without. What is missing for another reason, such as another driver, can be put right.
WORDS = (*(family.word for family in FAMILIES), ERRORS, THROTTLING, SPREAD)


@dataclass(frozen=True)
class Gap:
    """Something that a good machine or reference shows, and that is missing."""

    text: str
    word: str | None = None  # of --without, by which it is excused; None: nothing excuses it


def missing_and_excused(
    gaps: Iterable[Gap], without: Collection[str]
) -> tuple[tuple[Gap, ...], tuple[Gap, ...]]:
    """The gaps that prevent a pass, and those that the user does without, each once."""
    every = tuple(dict.fromkeys(gaps))
    excused = tuple(gap for gap in every if gap.word in without)
    return tuple(gap for gap in every if gap not in excused), excused
