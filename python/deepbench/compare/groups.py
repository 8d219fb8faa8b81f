"""Families and applications: the geometric mean of their rows' ratios."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from .ratios import Ratio, geometric_mean
from .result_set import TOTAL, Entry
from .verdicts import FASTER, PUBLISHED, SLOWER, ComparedRow, decide_verdict, sidak_factor

NO_APPLICATION = "none"


@dataclass(frozen=True)
class Group:
    """Rows with a common geometric mean."""

    name: str
    ratio: Ratio
    rows: int  # that the mean includes
    left_out: int  # that the mean excludes
    faster: int
    slower: int
    verdict: str


def families(compared: Sequence[ComparedRow], floor: float) -> list[Group]:
    """Groups by operation, phase and precision. A mean closer to 1 than `floor` is noise."""
    return _group_rows(compared, floor, lambda one: family(one.base, one.other))


def applications(compared: Sequence[ComparedRow], floor: float) -> list[Group]:
    """Groups by application, which the baseline names."""

    def application_of(one: ComparedRow) -> str:
        return one.base.application or one.other.application or NO_APPLICATION

    return _group_rows(_without_phase_sums(compared), floor, application_of)


def overall(compared: Sequence[ComparedRow], floor: float) -> Group | None:
    """One group of all rows, or None if no ratio counts."""
    groups = _group_rows(_without_phase_sums(compared), floor, lambda one: "all")
    return groups[0] if groups else None


def _without_phase_sums(compared: Sequence[ComparedRow]) -> list[ComparedRow]:
    """Drops the published sums over phases, since the phases themselves are compared."""
    return [one for one in compared if one.base.phase != TOTAL]


def family(base: Entry, other: Entry) -> str:
    """'conv fwd half', or with both precisions where they differ."""
    words = [base.op, base.phase]
    precisions = [entry.attributes.get("precision") for entry in (base, other)]
    words += ["/".join(dict.fromkeys(str(word) for word in precisions if word is not None))]
    return " ".join(word for word in words if word)


def _group_rows(
    compared: Iterable[ComparedRow], floor: float, name: Callable[[ComparedRow], str]
) -> list[Group]:
    groups: dict[str, list[ComparedRow]] = {}
    for one in compared:
        if one.ratio is not None:
            groups.setdefault(name(one), []).append(one)
    counted = {key: rows for key, rows in groups.items() if any(row.is_in_means for row in rows)}
    return [_make_group(key, rows, floor, len(counted)) for key, rows in counted.items()]


def _make_group(name: str, rows: Sequence[ComparedRow], floor: float, groups: int) -> Group:
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
