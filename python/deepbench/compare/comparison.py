"""Compares one result set with others: everything that a report or an exit status needs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from .groups import (
    NO_APPLICATION,
    AllCalls,
    Group,
    applications,
    calls_by_regime,
    families,
    overall,
)
from .matching import Unmatched, match
from .result_set import ResultSet
from .verdicts import NOISE_FLOOR, SLOWER, ComparedRow, judge
from .workloads import WorkloadComparison, compare_workloads

_NO_APPLICATION_NAME = "rows without an application"


@dataclass(frozen=True)
class Rules:
    """The options of a comparison."""

    across: tuple[str, ...] = ()  # words of ACROSS
    noise: float | None = None  # a fraction; None: estimated from the rows
    fail_over: float = 0.0  # a row that is slower by more than this fraction is a regression
    any_clock: bool = False  # whether a change that the device clock explains still counts

    @property
    def change_threshold(self) -> float:
        """How far a ratio must be from 1, at least, to count as a change."""
        return NOISE_FLOOR if self.noise is None else self.noise


@dataclass(frozen=True)
class PairwiseComparison:
    """The baseline against one other result set."""

    result_set: ResultSet
    rows: tuple[ComparedRow, ...]  # in the order of the baseline
    missing: tuple[Unmatched, ...]  # rows that only the baseline has
    extra: tuple[Unmatched, ...]  # rows that only this result set has
    families: tuple[Group, ...]
    applications: tuple[Group, ...]
    overall: Group | None
    calls_by_regime: Mapping[str, AllCalls]  # empty: no row states a count
    derived: int  # omitted sums over phases: they have no partner, but their phases have one
    workload: WorkloadComparison | None  # None: a side is not the result of a model

    def changed_rows(self, verdict: str) -> list[ComparedRow]:
        """Rows that got faster or slower, the largest change first."""
        rows = [row for row in self.rows if row.verdict == verdict and row.ratio is not None]
        rows.sort(key=lambda row: row.ratio.value if row.ratio else 1.0, reverse=verdict == SLOWER)
        return rows

    @cached_property
    def broken_rows(self) -> list[ComparedRow]:
        return [row for row in self.rows if row.is_broken]


@dataclass(frozen=True)
class Comparison:
    """The baseline and every result set that is compared with it."""

    base: ResultSet
    others: tuple[PairwiseComparison, ...]
    rules: Rules

    @cached_property
    def regressions(self) -> list[str]:
        """One sentence for each change for the worse beyond the noise and beyond `fail_over`."""
        return [text for against in self.others for text in _regressions(against, self.rules)]


def compare(result_sets: Sequence[ResultSet], rules: Rules) -> Comparison:
    """Compares the first result set, the baseline, with the others. Raises NothingInCommon."""
    base = result_sets[0]
    return Comparison(
        base, tuple(_compare_pair(base, result_set, rules) for result_set in result_sets[1:]), rules
    )


def _compare_pair(base: ResultSet, result_set: ResultSet, rules: Rules) -> PairwiseComparison:
    matching = match(base, result_set, rules.across)
    rows = judge(matching.pairs, rules.noise, rules.any_clock)
    return PairwiseComparison(
        result_set,
        tuple(rows),
        matching.only_first,
        matching.only_second,
        tuple(families(rows, rules.change_threshold)),
        tuple(applications(rows, rules.change_threshold)),
        overall(rows, rules.change_threshold),
        calls_by_regime(rows),
        matching.derived,
        compare_workloads(base, result_set, rules.across),
    )


def _regressions(against: PairwiseComparison, rules: Rules) -> list[str]:
    """Slower rows, slower means and broken rows. Published figures cannot cause a regression, and
    neither can a reference that is compared with the user's rows, because these have not become
    slower."""
    if against.result_set.is_reference:
        return []
    limit = 1 + rules.fail_over
    slower = [row for row in against.changed_rows(SLOWER) if row.ratio and row.ratio.value > limit]
    texts = [f"{row.base.problem} is slower" for row in slower]
    # Keyed by content, since a family and an application can hold the same rows.
    means: dict[object, str] = {}
    for name, group in _means_with_verdict(against):
        if group.verdict == SLOWER and group.ratio.value > limit:
            means.setdefault((group.rows, group.ratio), f"{name} is slower")
    texts += means.values()
    return texts + [f"{row.base.problem} is {row.other.status}" for row in against.broken_rows]


def _means_with_verdict(against: PairwiseComparison) -> list[tuple[str, Group]]:
    """Every mean that has a verdict, with the name of its group."""
    named = [(group.name, group) for group in against.families]
    named += [
        (
            f"application {group.name}" if group.name != NO_APPLICATION else _NO_APPLICATION_NAME,
            group,
        )
        for group in against.applications
    ]
    return [*named, *([("all rows", against.overall)] if against.overall else [])]
