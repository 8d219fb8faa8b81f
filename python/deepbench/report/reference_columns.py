"""Columns with the times of other rows, published or of a file, beside those of a report."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from typing import Any

from deepbench.compare import Entry, ResultSet, differences
from deepbench.compare.regimes import PUBLISHED_IS_HOT, compares_hot_with_cold, problem_keys
from deepbench.compare.result_set import inputs, to_entry
from deepbench.report.columns import Column, rate_column
from deepbench.report.comparison.wording import number_text
from deepbench.report.fields import TIME_WIDTH, time_cell, time_ns
from deepbench.report.outline import OpOutline

Row = Mapping[str, Any]

_LONGEST_NAME, _SHORTEST_NAME = 16, 3  # letters


class ReferenceColumns:
    """The rows of a side, found by the rows of a report."""

    def __init__(self, side: ResultSet) -> None:
        self._name = _short(side)
        self._notes = side.footnotes
        self._inputs = inputs({})
        self._rows = self._found = 0  # of the report; those that have a partner
        self._cold = 0  # rows that were compared with published figures
        self._by_problem: dict[Hashable, list[Entry]] = {}
        self._doubts: dict[str, None] = {}
        for other in side.entries:
            for problem in problem_keys(other, ()):
                self._by_problem.setdefault(problem, []).append(other)

    def begin(self, context: Row) -> None:
        """What the rows of the report have in common is in their context."""
        self._inputs = inputs(context)

    def columns(self, op: OpOutline) -> list[Column]:
        """Their time, how many times ours it is, and where there are FLOPs their rate."""
        time, ratio = f"{self._name} time", f"{self._name}/this"
        return [
            Column(time, max(TIME_WIDTH, len(time)), self._time),
            Column(ratio, len(ratio), self._ratio),
            *([rate_column(op, self._tflops, f"{self._name} ")] if op.arithmetic else []),
        ]

    def lines(self) -> list[str]:
        """What must be known of the columns, below the last row."""
        doubts = [f"? {self._name}: {doubt}" for doubt in self._doubts]
        rows = "1 row that is" if self._cold == 1 else f"{self._cold} rows that are"
        cold = (
            [f"{self._name}: {PUBLISHED_IS_HOT}; here they stand beside {rows} cold"]
            if self._cold
            else []
        )
        none = [f"{self._name} has none of these problems in one precision and regime with them: "
                "'deepbench compare' says what differs"]  # fmt: skip
        return [*self._notes, *(none if self._rows and not self._found else []), *cold, *doubts]

    def _time(self, row: Row) -> str:
        other = self._other(row)
        self._rows += 1
        self._found += other is not None
        if other is None or other.time_ns is None:
            return "-"
        if other.doubt:
            self._doubts[other.doubt] = None
        cell = time_cell(other.time_ns, like_ns=time_ns(row))
        return cell + ("?" if other.doubt else "")

    def _ratio(self, row: Row) -> str:
        other, ours = self._other(row), self._entry(row)
        if other is None or not other.time_ns or not ours.time_ns:
            return "-"
        self._cold += compares_hot_with_cold(ours, other)
        return number_text(other.time_ns / ours.time_ns)

    def _tflops(self, row: Row) -> float | None:
        other = self._other(row)
        return None if other is None else other.tflops

    def _other(self, row: Row) -> Entry | None:
        """The first of the same problem and regime, of the same application where there is one."""
        ours = self._entry(row)
        same = [
            other
            for problem in problem_keys(ours, ())
            for other in self._by_problem.get(problem, ())
            if not differences(ours, other)
        ]
        alike = [other for other in same if other.application == ours.application]
        return next(iter(alike or same), None)

    def _entry(self, row: Row) -> Entry:
        return to_entry(row, self._inputs)


def _short(side: ResultSet) -> str:
    """A name that a column's title can hold: of a processor what follows its maker, unless
    that is too short to tell anything; of a file its stem, whose end tells most."""
    if side.published:
        rest = side.name.partition(" ")[2][-_LONGEST_NAME:]
        return rest if len(rest) >= _SHORTEST_NAME else side.name[:_LONGEST_NAME]
    stem = side.name.rpartition("/")[2].removesuffix(".jsonl")
    return stem if len(stem) <= _LONGEST_NAME else f"..{stem[2 - _LONGEST_NAME :]}"
