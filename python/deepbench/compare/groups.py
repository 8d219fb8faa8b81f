"""Families and applications: the geometric mean of their rows' ratios, and where the rows state how
often their calls are made, the speedup of all calls."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from .ratios import Ratio, geometric_mean
from .result_set import TOTAL, Entry
from .verdicts import FASTER, PUBLISHED, SLOWER, ComparedRow, decide_verdict, sidak_factor

NO_APPLICATION = "none"


@dataclass(frozen=True)
class AllCalls:
    """The time of all calls of the rows that state a count, on both sides."""

    rows: int
    calls: int
    base_ns: float
    other_ns: float

    @property
    def speedup(self) -> float:
        """By how much the other side is faster; below 1: slower."""
        return self.base_ns / self.other_ns


@dataclass(frozen=True)
class Group:
    """Rows with a common geometric mean."""

    name: str
    ratio: Ratio
    rows: int  # rows that the mean includes
    left_out: int  # rows that the mean excludes
    faster: int
    slower: int
    verdict: str
    all_calls: AllCalls | None  # None: no row of the mean states a count


# Maps a row to its groups, with the number of its calls that belong to each.
Parts = Callable[[ComparedRow], Iterable[tuple[str, int]]]


def families(compared: Sequence[ComparedRow], floor: float) -> list[Group]:
    """Groups by operation, phase and precision. A mean closer to 1 than `floor` is noise."""
    return _group_rows(compared, floor, lambda one: [(family(one.base, one.other), one.calls)])


def applications(compared: Sequence[ComparedRow], floor: float) -> list[Group]:
    """Groups by application, which the baseline names. A row with several is in each of their
    groups."""

    def parts(one: ComparedRow) -> list[tuple[str, int]]:
        names_them = one.base.application_names or not one.other.application_names
        of = one.base if names_them else one.other
        named = of.calls_by_application if of.count else [(of.application, one.calls)]
        return [(name or NO_APPLICATION, calls) for name, calls in named]

    return _group_rows(_without_phase_sums(compared), floor, parts)


def overall(compared: Sequence[ComparedRow], floor: float) -> Group | None:
    """One group of all rows, or None if no ratio counts."""
    rows = _without_phase_sums(compared)
    groups = _group_rows(rows, floor, lambda one: [("all", one.calls)])
    return groups[0] if groups else None


def calls_by_regime(compared: Sequence[ComparedRow]) -> dict[str, AllCalls]:
    """The time of all calls in each regime of the baseline: 'hot, rested'."""
    regimes: dict[str, list[tuple[ComparedRow, int]]] = {}
    for one in _without_phase_sums(compared):
        words = (one.base.cache or "cache unknown", one.base.power or "power unknown")
        regimes.setdefault(", ".join(words), []).append((one, one.calls))
    sums = {regime: _all_calls(rows) for regime, rows in regimes.items()}
    return {regime: found for regime, found in sums.items() if found is not None}


def _without_phase_sums(compared: Sequence[ComparedRow]) -> list[ComparedRow]:
    """Drops the published sums over phases, since the phases themselves are compared."""
    return [one for one in compared if one.base.phase != TOTAL]


def family(base: Entry, other: Entry) -> str:
    """'conv fwd half', or with both precisions where they differ."""
    words = [base.op, base.phase]
    precisions = [entry.attributes.get("precision") for entry in (base, other)]
    words += ["/".join(dict.fromkeys(str(word) for word in precisions if word is not None))]
    return " ".join(word for word in words if word)


def _group_rows(compared: Iterable[ComparedRow], floor: float, parts: Parts) -> list[Group]:
    groups: dict[str, list[tuple[ComparedRow, int]]] = {}
    for one in compared:
        for name, calls in parts(one) if one.ratio is not None else ():
            groups.setdefault(name, []).append((one, calls))
    counted = {
        name: rows for name, rows in groups.items() if any(row.is_in_means for row, _ in rows)
    }
    return [_make_group(name, rows, floor, len(counted)) for name, rows in counted.items()]


def _make_group(
    name: str, rows_with_calls: Sequence[tuple[ComparedRow, int]], floor: float, groups: int
) -> Group:
    rows = [row for row, _ in rows_with_calls]
    counted = _rows_in_mean(rows)
    ratio = geometric_mean([row.ratio for row in counted if row.ratio is not None])
    verdicts = [row.verdict for row in counted]
    published = all(verdict == PUBLISHED for verdict in verdicts)
    return Group(
        name=name,
        ratio=ratio,
        rows=len(counted),
        left_out=len(rows) - len(counted),
        faster=verdicts.count(FASTER),
        slower=verdicts.count(SLOWER),
        verdict=PUBLISHED if published else _verdict_on_mean(counted, ratio, floor, groups),
        all_calls=_all_calls(rows_with_calls),
    )


def _all_calls(rows: Sequence[tuple[ComparedRow, int]]) -> AllCalls | None:
    """The time of all rows whose two times count, including those without an interval: a sum that
    lacks a row is not the time of the application."""
    counted = [(row, calls) for row, calls in rows if row.is_in_means and row.count is not None]
    if not counted:
        return None
    return AllCalls(
        rows=len(counted),
        calls=sum(calls for _, calls in counted),
        base_ns=math.fsum((row.base.time_ns or 0.0) * calls for row, calls in counted),
        other_ns=math.fsum((row.other.time_ns or 0.0) * calls for row, calls in counted),
    )


def _rows_in_mean(rows: Sequence[ComparedRow]) -> list[ComparedRow]:
    """The rows that a mean includes: the rows with an interval, so that the mean has an interval
    and a verdict. If there are none, all measured rows; if there are none either, the published
    figures."""
    counted = [row for row in rows if row.is_in_means]
    measured = [row for row in counted if row.verdict != PUBLISHED]
    sure = [row for row in measured if row.ratio is not None and row.ratio.interval is not None]
    return sure or measured or counted


def _verdict_on_mean(
    counted: Sequence[ComparedRow], ratio: Ratio, floor: float, groups: int
) -> str:
    """Independent drift of rows partly cancels in their mean; a clock change common to all does
    not."""
    drift = math.sqrt(math.fsum(row.noise**2 for row in counted)) / len(counted)
    clocks = math.fsum(row.clocks for row in counted) / len(counted)
    return decide_verdict(ratio, max(floor, drift), sidak_factor(groups), clocks)
