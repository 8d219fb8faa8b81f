"""Columns with the times of other rows, published or of a file, beside those of a report."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from typing import Any

from deepbench.compare import Entry, Side, differences
from deepbench.compare.regimes import problems
from deepbench.compare.sides import entry
from deepbench.report.columns import Column
from deepbench.report.comparison.words import number
from deepbench.report.fields import microseconds, rate

Row = Mapping[str, Any]

_LONGEST_NAME = 16
_WIDTH = 11


class Beside:
    """The rows of a side, found by the rows of a report."""

    def __init__(self, side: Side) -> None:
        self._name = _short(side)
        self._notes = side.footnotes
        self._by_problem: dict[Hashable, list[Entry]] = {}
        self._doubts: dict[str, None] = {}
        for other in side.entries:
            for problem in problems(other, ()):
                self._by_problem.setdefault(problem, []).append(other)

    def columns(self, arithmetic: bool) -> list[Column]:
        """Their time, how many times ours it is, and where there are FLOPs their rate."""
        time, ratio, rates = (f"{self._name}{what}" for what in (" us", "/this", " TFLOP/s"))
        return [
            Column(time, max(_WIDTH, len(time)), self._time),
            Column(ratio, len(ratio), self._ratio),
            *([Column(rates, len(rates), self._rate)] if arithmetic else []),
        ]

    def lines(self) -> list[str]:
        """What must be known of the columns, below the last row."""
        return [*self._notes, *(f"? {self._name}: {doubt}" for doubt in self._doubts)]

    def _time(self, row: Row) -> str:
        other = self._other(row)
        if other is None or other.time_ns is None:
            return "-"
        if other.doubt:
            self._doubts[other.doubt] = None
        return microseconds(other.time_ns) + ("?" if other.doubt else "")

    def _ratio(self, row: Row) -> str:
        other, ours = self._other(row), entry(row)
        if other is None or not other.time_ns or not ours.time_ns:
            return "-"
        return number(other.time_ns / ours.time_ns)

    def _rate(self, row: Row) -> str:
        other = self._other(row)
        return rate(None if other is None else other.tflops)

    def _other(self, row: Row) -> Entry | None:
        """The first of the same problem and regime, of the same application where there is one."""
        ours = entry(row)
        same = [
            other
            for problem in problems(ours, ())
            for other in self._by_problem.get(problem, ())
            if not differences(ours, other)
        ]
        alike = [other for other in same if other.application == ours.application]
        return next(iter(alike or same), None)


def _short(side: Side) -> str:
    """A name that a column's title can hold: of a processor its last words, of a file its stem."""
    if side.published:
        return side.name.partition(" ")[2][-_LONGEST_NAME:] or side.name
    return side.name.rpartition("/")[2].removesuffix(".jsonl")[:_LONGEST_NAME]
