"""The overall result of a comparison: which result set is faster, and by what factor."""

from __future__ import annotations

import math
from dataclasses import dataclass

from .comparison import PairwiseComparison
from .regimes import differences
from .result_set import TYPE_ATTRIBUTES
from .verdicts import PUBLISHED, SAME, UNSURE


@dataclass(frozen=True)
class Headline:
    """The geometric mean of all rows, as the factor by which one result set is faster."""

    faster: int | None  # 0: the baseline, 1: the other one; None: no known difference
    factor: float | None  # None where neither is faster
    low: float | None  # 95 % limits of the factor
    high: float | None
    rows: int  # 0: no pair of rows has two times
    left_out: int
    verdict: str  # about the other result set: faster, slower, same, unsure or published
    across: tuple[str, ...]  # the words of ACROSS in which paired rows differ


def headline(against: PairwiseComparison, floor: float) -> Headline:
    """A mean without an interval counts as a difference if it is further than `floor` from 1."""
    group = against.overall
    across = _differing_words(against)
    if group is None:
        return Headline(None, None, None, None, 0, 0, UNSURE, across)
    ratio = group.ratio
    small = abs(math.log(ratio.value)) <= math.log1p(floor)
    counts = (group.rows, group.left_out, group.verdict, across)
    if group.verdict == SAME or (group.verdict in (UNSURE, PUBLISHED) and small):
        return Headline(None, None, None, None, *counts)
    if ratio.value > 1:
        return Headline(0, ratio.value, ratio.low, ratio.high, *counts)
    low, high = (None if one is None else 1 / one for one in (ratio.high, ratio.low))
    return Headline(1, 1 / ratio.value, low, high, *counts)


def _differing_words(against: PairwiseComparison) -> tuple[str, ...]:
    """The words of ACROSS in which any pair of rows differs."""
    words: dict[str, None] = {}
    for row in against.rows:
        words.update(dict.fromkeys(differences(row.base, row.other)))
        different = row.other_attributes
        if not different or row.base.published or row.other.published:
            continue
        types = [name for name in different if name in TYPE_ATTRIBUTES]
        words.update({"precision": None} if types else {})
        words.update({"dimensions": None} if len(different) > len(types) else {})
    return tuple(words)
