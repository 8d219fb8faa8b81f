"""Sums the time of all calls that the applications of a suite make: of each row, its time times its
count. Rows of different regimes are never added up."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from deepbench.results.row import Regime, Row


@dataclass(frozen=True)
class CountedRow:
    """A row that states how often its call is made."""

    problem: str
    count: int
    time_ns: float  # of one call
    calls: Sequence[tuple[str | None, int]]  # by application; None: no application is named

    @property
    def total_ns(self) -> float:
        return self.time_ns * self.count


@dataclass(frozen=True)
class ApplicationTotal:
    """The calls of one application."""

    name: str | None  # None: no application is named
    rows: int
    calls: int
    time_ns: float


@dataclass
class RegimeTotal:
    """The rows of one regime that are ok."""

    regime: str  # 'hot, rested'
    rows: list[CountedRow] = field(default_factory=list)

    @property
    def calls(self) -> int:
        return sum(row.count for row in self.rows)

    @property
    def time_ns(self) -> float:
        return math.fsum(row.total_ns for row in self.rows)

    def applications(self) -> list[ApplicationTotal]:
        """The applications, the one with the most time first. The time of a row is divided among
        its applications in proportion to their calls."""
        found: dict[str | None, list[tuple[int, float]]] = {}
        for row in self.rows:
            for name, count in row.calls:
                found.setdefault(name, []).append((count, row.time_ns * count))
        totals = [
            ApplicationTotal(
                name,
                len(parts),
                sum(count for count, _ in parts),
                math.fsum(time_ns for _, time_ns in parts),
            )
            for name, parts in found.items()
        ]
        return sorted(totals, key=lambda total: -total.time_ns)

    def largest_rows(self) -> list[CountedRow]:
        """All rows, the one with the most time first."""
        return sorted(self.rows, key=lambda row: -row.total_ns)


class CallTotals:
    """Collects the rows of one file. Rows without a count are in no total."""

    def __init__(self) -> None:
        self._regimes: dict[str, RegimeTotal] = {}
        self._planned = self._added = 0
        self.is_quick = False  # whether the run took a part of its suite
        self.rows_without_time = 0
        self.calls_without_time = 0

    def begin(self, context: Mapping[str, Any]) -> None:
        self._planned = context.get("rows") or 0
        self.is_quick = (context.get("option_values") or {}).get("quick") == "yes"

    @property
    def missing_rows(self) -> int:
        """How many rows the run planned and did not finish."""
        return max(self._planned - self._added, 0)

    def add(self, row: Row) -> None:
        self._added += 1
        if row.count is None:
            return
        time_ns = row.time_ns if row.status == "ok" else None
        if not time_ns:  # a published figure may be 0
            self.rows_without_time += 1
            self.calls_without_time += row.count
            return
        regime = ", ".join(_regime_words(row.regime))
        self._regimes.setdefault(regime, RegimeTotal(regime)).rows.append(
            CountedRow(row.problem or "?", row.count, time_ns, row.calls_by_application)
        )

    @property
    def regimes(self) -> list[RegimeTotal]:
        """In order of appearance."""
        return list(self._regimes.values())


def _regime_words(regime: Regime) -> Iterator[str]:
    """The state of the cache and the power regime."""
    yield f"cold by {regime.cold}" if regime.cold else regime.cache or "cache unknown"
    yield regime.power or "power unknown"
