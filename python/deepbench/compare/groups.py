"""Families and applications: the geometric mean of their rows' ratios."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from .ratios import Ratio, geometric_mean
from .result_set import TOTAL, Entry
from .verdicts import FASTER, PUBLISHED, SLOWER, ComparedRow, decide, sidak_factor

NO_APPLICATION = "none"


@dataclass(frozen=True)
class Group:
    """Rows that are looked at together."""

    name: str
    ratio: Ratio
    rows: int  # that the mean is of
    left_out: int  # that cannot be put together with those of the mean
    faster: int
    slower: int
    verdict: str


def families(compared: Sequence[ComparedRow], floor: float) -> list[Group]:
    """By operation, phase and precision. `floor` is how far from 1 a mean must at least be."""
    return _grouped(compared, floor, lambda one: family(one.base, one.other))


def applications(compared: Sequence[ComparedRow], floor: float) -> list[Group]:
    """By what the problems are from, as the first side has it."""

    def name(one: ComparedRow) -> str:
        return one.base.application or one.other.application or NO_APPLICATION

    return _grouped(_without_sums(compared), floor, name)


def overall(compared: Sequence[ComparedRow], floor: float) -> Group | None:
    """All rows; None where no ratio counts."""
    groups = _grouped(_without_sums(compared), floor, lambda one: "all")
    return groups[0] if groups else None


def _without_sums(compared: Sequence[ComparedRow]) -> list[ComparedRow]:
    """Without the sums over phases that were published beside these."""
    return [one for one in compared if one.base.phase != TOTAL]


def family(base: Entry, other: Entry) -> str:
    """'conv fwd half', or with both precisions where they differ."""
    words = [base.op, base.phase]
    precisions = [entry.attributes.get("precision") for entry in (base, other)]
    words += ["/".join(dict.fromkeys(str(word) for word in precisions if word is not None))]
    return " ".join(word for word in words if word)


def _grouped(
    compared: Iterable[ComparedRow], floor: float, name: Callable[[ComparedRow], str]
) -> list[Group]:
    groups: dict[str, list[ComparedRow]] = {}
    for one in compared:
        if one.ratio is not None:
            groups.setdefault(name(one), []).append(one)
    counted = {key: rows for key, rows in groups.items() if any(row.counts for row in rows)}
    return [_group(key, rows, floor, len(counted)) for key, rows in counted.items()]


def _group(name: str, rows: Sequence[ComparedRow], floor: float, groups: int) -> Group:
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
        verdict=PUBLISHED if published else _verdict(counted, ratio, floor, groups),
    )


def _rows_in_mean(rows: Sequence[ComparedRow]) -> list[ComparedRow]:
    """The rows that a mean is of: those that tell how sure they are, so that it has an interval and
    a verdict; without any, our own rows; without any of these either, published figures."""
    counted = [row for row in rows if row.counts]
    measured = [row for row in counted if row.verdict != PUBLISHED]
    sure = [row for row in measured if row.ratio is not None and row.ratio.interval is not None]
    return sure or measured or counted


def _verdict(counted: Sequence[ComparedRow], ratio: Ratio, floor: float, groups: int) -> str:
    """Rows that drift apart do so less in their mean; what moves all of them alike stays."""
    drift = math.sqrt(math.fsum(row.noise**2 for row in counted)) / len(counted)
    clocks = math.fsum(row.clocks for row in counted) / len(counted)
    return decide(ratio, max(floor, drift), sidak_factor(groups), clocks)
