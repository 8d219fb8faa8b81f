"""Visits of rows: a row may be measured several times, each time by another process.

A file holds each visit as a line of its own, which contains the row that the process measured. The
row of a problem follows from all of its visits; `deepbench._core.combine_visits` computes it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

from deepbench.json_types import JsonObject
from deepbench.results import schema
from deepbench.results.row import Row, build_row, check_consistency, parse_row, text_of_line

_MAX_DIGITS = 10  # int() refuses thousands of digits


@dataclass(frozen=True)
class VisitLine:
    """A visit as it stands in a file."""

    number: int  # from 1
    row: Row  # as the process measured it

    @property
    def line(self) -> str:
        """The visit as JSON of the current schema version."""
        from deepbench import _core

        return _core.visit_line(self.row.line, self.number)


def visit_of_json_value(value: JsonObject, line: bytes) -> VisitLine:
    """The visit in a line whose JSON is `value`. Raises SchemaError."""
    from deepbench import _core

    schema.check_visit(value)
    if value["row"]["status"] != "ok":
        raise schema.SchemaError("row.status is not ok, so that it is no visit")
    text = text_of_line(value, line.decode("utf-8").strip())
    row = build_row(value["row"], _core.row_of_visit(text))
    check_consistency(row)
    return VisitLine(value["visit"], row)


def combined_rows(
    visits: Iterable[VisitLine],
    planned: int,
    failures: Mapping[int, Sequence[str]] = MappingProxyType({}),
) -> dict[int, Row]:
    """The rows by position, each from all of its visits. A row with fewer visits than `planned`
    says so, with the `failures` at its position. Raises ValueError for visits without samples."""
    from deepbench import _core

    by_position: dict[int, dict[int, VisitLine]] = {}
    for visit in visits:
        by_position.setdefault(visit.row.position, {})[visit.number] = visit
    texts = [
        [of_row[number].row.line for number in sorted(of_row)] for of_row in by_position.values()
    ]
    rows = {}
    for position, line in zip(by_position, _core.combine_visits(texts), strict=True):
        made = len(by_position[position])
        missing = [f"{made} of {planned} visits"] if made < planned else []
        for note in (*missing, *failures.get(position, ())):
            line = _core.with_note(line, note)
        rows[position] = parse_row(line.encode())
    return rows


def planned_visits(context: JsonObject) -> int:
    """How many visits the run of a file makes of each row."""
    text = str((context.get("options") or {}).get("visits", "1"))
    return int(text) if text.isdecimal() and len(text) <= _MAX_DIGITS else 1
