"""The comparison of one side with the others: everything that a report or an exit status needs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from .groups import NO_APPLICATION, Group, applications, families, overall
from .matching import Unmatched, match
from .result_set import ResultSet
from .verdicts import NOISE_FLOOR, SLOWER, ComparedRow, judge

_REST = "what has no application"


@dataclass(frozen=True)
class Rules:
    """What was told to the comparison."""

    across: tuple[str, ...] = ()  # words of ACROSS
    noise: float | None = None  # a share; None: found out
    fail_over: float = 0.0  # a share, beyond which a slower row is a regression
    any_clock: bool = False  # whether a change counts that the device's clock explains

    @property
    def floor(self) -> float:
        """How far from 1 a ratio must at least be."""
        return NOISE_FLOOR if self.noise is None else self.noise


@dataclass(frozen=True)
class PairwiseComparison:
    """The first side against one of the others."""

    result_set: ResultSet
    rows: tuple[ComparedRow, ...]  # in the order of the first side
    missing: tuple[Unmatched, ...]  # rows of the first side that this one has not
    extra: tuple[Unmatched, ...]  # rows of this side that the first has not
    families: tuple[Group, ...]
    applications: tuple[Group, ...]
    overall: Group | None
    derived: int  # sums over phases without a partner, while their phases have one

    def changed(self, verdict: str) -> list[ComparedRow]:
        """Rows that got faster or slower, the most changed first."""
        rows = [row for row in self.rows if row.verdict == verdict and row.ratio is not None]
        rows.sort(key=lambda row: row.ratio.value if row.ratio else 1.0, reverse=verdict == SLOWER)
        return rows

    @property
    def broken(self) -> list[ComparedRow]:
        return [row for row in self.rows if row.broken]


@dataclass(frozen=True)
class Comparison:
    """All sides; the first is what the others are compared with."""

    base: ResultSet
    others: tuple[PairwiseComparison, ...]
    rules: Rules

    @property
    def regressions(self) -> list[str]:
        """What got worse beyond the noise and beyond what was allowed, in words."""
        return [text for against in self.others for text in _regressions(against, self.rules)]


def compare(result_sets: Sequence[ResultSet], rules: Rules) -> Comparison:
    """Compares the first side with each of the others. Raises NothingInCommon."""
    base = result_sets[0]
    return Comparison(
        base, tuple(_against(base, result_set, rules) for result_set in result_sets[1:]), rules
    )


def _against(base: ResultSet, result_set: ResultSet, rules: Rules) -> PairwiseComparison:
    matching = match(base, result_set, rules.across)
    rows = judge(matching.pairs, rules.noise, rules.any_clock)
    return PairwiseComparison(
        result_set,
        tuple(rows),
        matching.only_first,
        matching.only_second,
        tuple(families(rows, rules.floor)),
        tuple(applications(rows, rules.floor)),
        overall(rows, rules.floor),
        matching.derived,
    )


def _regressions(against: PairwiseComparison, rules: Rules) -> list[str]:
    """Rows, means and rows that broke; published figures have no such verdict."""
    most = 1 + rules.fail_over
    slower = [row for row in against.changed(SLOWER) if row.ratio and row.ratio.value > most]
    texts = [f"{row.base.problem} is slower" for row in slower]
    means: dict[object, str] = {}  # one for the same rows, as a family can be an application
    for name, group in _means(against):
        if group.verdict == SLOWER and group.ratio.value > most:
            means.setdefault((group.rows, group.ratio), f"{name} is slower")
    texts += means.values()
    return texts + [f"{row.base.problem} is {row.other.status}" for row in against.broken]


def _means(against: PairwiseComparison) -> list[tuple[str, Group]]:
    """Every mean that has a verdict, by what it is of."""
    named = [(group.name, group) for group in against.families]
    named += [
        (f"application {group.name}" if group.name != NO_APPLICATION else _REST, group)
        for group in against.applications
    ]
    return [*named, *([("all together", against.overall)] if against.overall else [])]
