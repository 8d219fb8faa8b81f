"""Columns that show reference rows, published or from another file, beside the rows of a report."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from typing import Any

from deepbench.compare import Entry, ResultSet, differences
from deepbench.compare.regimes import PUBLISHED_IS_HOT, compares_hot_with_cold, problem_keys
from deepbench.compare.result_set import inputs, to_entry
from deepbench.report.columns import Column, rate_column
from deepbench.report.comparison.wording import number_text
from deepbench.report.fields import TIME_WIDTH, rate, time_cell
from deepbench.report.outline import OpOutline
from deepbench.results.row import Row

_LONGEST_NAME, _SHORTEST_NAME = 16, 3  # characters


class ReferenceColumns:
    """The rows of a result set that match the rows of a report."""

    def __init__(self, reference: ResultSet) -> None:
        self._name = _short_name(reference)
        self._notes = reference.footnotes
        self._inputs = inputs({})
        self._rows = self._found = 0  # rows of the report, and those with a partner
        self._cold = 0  # cold rows that were compared with published figures
        self._by_problem: dict[Hashable, list[Entry]] = {}
        self._doubts: dict[str, None] = {}
        for other in reference.entries:
            for problem in problem_keys(other, ()):
                self._by_problem.setdefault(problem, []).append(other)

    def begin(self, context: Mapping[str, Any]) -> None:
        """Reads what all rows of the report share from their context."""
        self._inputs = inputs(context)

    def columns(self, op: OpOutline) -> list[Column]:
        """The time of the reference row, its ratio to the time of this row, and its rate."""
        time, ratio = f"{self._name} time", f"{self._name}/this"
        moved = f"{self._name} GB/s"
        return [
            Column(time, max(TIME_WIDTH, len(time)), self._time_cell),
            Column(ratio, len(ratio), self._ratio_cell),
            rate_column(op, self._tflops, f"{self._name} ")
            if op.arithmetic
            else Column(moved, max(8, len(moved)), self._bandwidth_cell),
        ]

    def lines(self) -> list[str]:
        """The footnotes of these columns, for below the last row."""
        doubts = [f"? {self._name}: {doubt}" for doubt in self._doubts]
        rows = "1 row here is" if self._cold == 1 else f"{self._cold} rows here are"
        cold = [f"{self._name}: {PUBLISHED_IS_HOT}; {rows} cold"] if self._cold else []
        unmatched = [f"{self._name} has none of these problems in the same precision and regime; "
                "'deepbench compare' names the differences"]  # fmt: skip
        return [
            *self._notes,
            *(unmatched if self._rows and not self._found else []),
            *cold,
            *doubts,
        ]

    def _time_cell(self, row: Row) -> str:
        other = self._reference_entry(row)
        self._rows += 1
        self._found += other is not None
        if other is None or other.time_ns is None:
            return "-"
        if other.doubt:
            self._doubts[other.doubt] = None
        cell = time_cell(other.time_ns, like_ns=row.time_ns)
        return cell + ("?" if other.doubt else "")

    def _ratio_cell(self, row: Row) -> str:
        other, entry = self._reference_entry(row), self._entry(row)
        if other is None or not other.time_ns or not entry.time_ns:
            return "-"
        self._cold += compares_hot_with_cold(entry, other)
        return number_text(other.time_ns / entry.time_ns)

    def _tflops(self, row: Row) -> float | None:
        other = self._reference_entry(row)
        return None if other is None else other.tflops

    def _bandwidth_cell(self, row: Row) -> str:
        other = self._reference_entry(row)
        return rate(None if other is None else other.gbps)

    def _reference_entry(self, row: Row) -> Entry | None:
        """The first reference row of the same problem and regime, preferably of the same
        application, and then of the same choice of algorithm and library."""
        entry = self._entry(row)
        same = [
            other
            for problem in problem_keys(entry, ())
            for other in self._by_problem.get(problem, ())
            if not differences(entry, other)
        ]
        return min(same, key=lambda other: _unlikeness(entry, other), default=None)

    def _entry(self, row: Row) -> Entry:
        return to_entry(row, self._inputs)


def _unlikeness(entry: Entry, other: Entry) -> tuple[bool, ...]:
    """What two rows of one problem do not have in common, the most important first."""
    libraries = [(one.library or "").partition(" ")[0] for one in (entry, other)]
    return (
        entry.application != other.application,
        entry.algorithm != other.algorithm,
        libraries[0] != libraries[1],
    )


def _short_name(reference: ResultSet) -> str:
    """A name that fits a column title. A device's name drops its vendor unless the rest is too
    short; a file name keeps its end, which tends to distinguish files best."""
    if reference.published or reference.is_reference:
        rest = reference.name.partition(" ")[2][-_LONGEST_NAME:]
        return rest if len(rest) >= _SHORTEST_NAME else reference.name[:_LONGEST_NAME]
    stem = reference.name.rpartition("/")[2].removesuffix(".jsonl")
    return stem if len(stem) <= _LONGEST_NAME else f"..{stem[2 - _LONGEST_NAME :]}"
