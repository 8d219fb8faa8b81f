"""Remarks on two compared rows: differences that the columns do not show."""

from __future__ import annotations

import math
from collections.abc import Iterator

from deepbench.compare import ComparedRow, Entry, differences
from deepbench.compare.regimes import PUBLISHED_IS_HOT, compares_hot_with_cold, regime_value
from deepbench.report.fields import time_text
from deepbench.report.outline import value_text

_CLOCKS = 0.01  # a remark mentions a larger relative change of the device clock


def remarks(row: ComparedRow, letter: str = "B") -> Iterator[str]:
    """The remarks on a pair, none for an ordinary one. `letter` names the other result set; the
    baseline is A."""
    base, other = row.base, row.other
    if row.is_broken:
        yield f"{letter}: {other.status}: {other.reason or 'no reason given'}"
    elif row.ratio is None:
        untimed, name = (other, letter) if other.time_ns is None else (base, "A")
        yield f"{name}: {untimed.status}: {untimed.reason or 'no time'}"
    if base.doubt or other.doubt:
        yield f"excluded from means: {other.doubt or base.doubt}"
    if compares_hot_with_cold(base, other):
        yield PUBLISHED_IS_HOT
    for word in differences(base, other):
        yield f"{word} {regime_value(other, word)} against {regime_value(base, word)}"
    if base.problem != other.problem and not other.published and not base.published:
        yield f"{letter}: {_problem_difference(row)}"
    if base.algorithm != other.algorithm and base.algorithm and other.algorithm:
        yield f"{other.algorithm} against {base.algorithm}"
    yield from _algorithm_remarks(row, letter)
    change = row.clock_change
    if change is not None and abs(change) > _CLOCKS:
        yield f"clock {100 * math.expm1(change):+.1f} %"
    yield from _conversion_remark("A", base, base.time_ns)
    yield from _conversion_remark(letter, other, base.time_ns)


def _problem_difference(row: ComparedRow) -> str:
    """The attributes in which the other problem differs, or the whole problem."""
    named = [f"{name}={value_text(text)}" for name, text in row.other_attributes.items()]
    return " ".join(named) or row.other.problem


def _algorithm_remarks(row: ComparedRow, letter: str) -> Iterator[str]:
    """The algorithms of one library where they differ. If one of the two is the default, only the
    other is named."""
    if row.same_algorithm is not False:
        return
    base, other = row.base.choice, row.other.choice
    if base.is_default != other.is_default:
        name, one = (letter, other) if base.is_default else ("A", base)
        yield f"{name}: algorithm {one.text or one.id}"
        return
    names = [one.text or "unnamed" for one in (other, base)]
    if names[0] == names[1]:
        names = [one.id or "the default" for one in (other, base)]
    yield f"algorithm {' against '.join(names)}"


def _conversion_remark(name: str, entry: Entry, like_ns: float | None) -> Iterator[str]:
    """Uses the unit of the row's times, which follows A."""
    if entry.conversion_ns is not None:
        yield f"{name}: {time_text(entry.conversion_ns, like_ns)} of conversion, not in the time"
