"""The visits of a run: their order, and the rows that result from them.

The first visit runs the rows in their order, selects their algorithms, and alone decides about rows
that cannot be run. Each later visit measures the other rows again with the same algorithm, by
another process and in another order, so that neither the place of the operands nor the preceding
rows are the same.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Collection, Container, Sequence

from deepbench.problems.problem_arguments import quoted
from deepbench.results import Row
from deepbench.results.visits import VisitLine, combined_rows
from deepbench.runner.plan import PlannedRow

_DECISIVE = ("incorrect", "mistrusted")  # statuses of a later visit that the row takes over
_SELECTING = ("best", "exhaustive")  # modes of choosing an algorithm


class Visits:
    """The visits of the rows of a run."""

    def __init__(
        self,
        count: int,
        seed: Callable[[], str] = str,
        decisive: Collection[str] = _DECISIVE,
    ) -> None:
        """`seed` returns the seed of the orders, once the run has begun. It differs between runs,
        because two runs in the same order would agree better than their intervals state."""
        self.count = count
        self._seed, self._decisive = seed, decisive
        self._visits: dict[tuple[int, int], VisitLine] = {}  # by position and number
        self._failures: dict[int, list[str]] = {}  # by position: the reasons why visits are missing

    def add(self, visit: VisitLine) -> None:
        self._visits[visit.row.position, visit.number] = visit

    def take(self, number: int, row: Row) -> Row | VisitLine | None:
        """Takes a visit and returns what the file keeps of it: the row if the visit decides, and
        nothing if the visit failed."""
        if self.decides(number, row):
            return row
        if row.status == "ok":
            visit = VisitLine(number, row)
            self.add(visit)
            return visit
        text = f"visit {number} of {self.count} failed: {row.reason or 'for an unknown reason'}"
        self._failures.setdefault(row.position, []).append(text)
        return None

    def has(self, position: int, number: int) -> bool:
        return (position, number) in self._visits

    def row(self, position: int, number: int) -> Row | None:
        """The row of a visit; None if there is none."""
        visit = self._visits.get((position, number))
        return None if visit is None else visit.row

    def made(self, number: int, others: Container[int]) -> int:
        """The number of visits with this number, without those of rows at `others` positions."""
        return sum(of == number and at not in others for at, of in self._visits)

    def in_order(self, rows: Sequence[PlannedRow], number: int) -> list[PlannedRow]:
        """The rows in the order of a visit."""
        ordered = list(rows)
        if number > 1:
            random.Random(f"{self._seed()} {number}").shuffle(ordered)
        return ordered

    def line_of(self, planned: PlannedRow, number: int) -> str:
        """The line that the worker receives for a visit."""
        if number == 1:
            return planned.line
        algorithm = self._visits[planned.position, 1].row.algorithm
        candidate = quoted(algorithm.candidate or "default")
        return f"{planned.line} visit={number} algorithm={candidate}"

    def can_repeat(self, position: int, number: int) -> bool:
        """Whether a visit may be repeated. A first visit that selected an algorithm may not,
        because the others measure that algorithm."""
        mode = self._visits[position, number].row.algorithm.mode
        return number > 1 or mode not in _SELECTING

    def disturbed(self, rows: Sequence[PlannedRow]) -> list[tuple[int, PlannedRow]]:
        """The numbers and rows of the visits that other work disturbed and that can be repeated."""
        by_position = {row.position: row for row in rows}
        return [
            (number, by_position[position])
            for (position, number), visit in sorted(self._visits.items())
            if visit.row.statistics.is_disturbed and self.can_repeat(position, number)
        ]

    def improves(self, number: int, row: Row) -> bool:
        """Whether the row is less disturbed than the present visit."""
        before = self._visits[row.position, number].row.statistics
        return row.status == "ok" and (row.statistics.waited_share or 0) < (
            before.waited_share or 0
        )

    def decides(self, number: int, row: Row) -> bool:
        """Whether a visit alone decides about the row."""
        return row.status != "ok" if number == 1 else row.status in self._decisive

    def combined(self) -> dict[int, Row]:
        """The rows that have visits, by position."""
        return combined_rows(self._visits.values(), self.count, self._failures)
