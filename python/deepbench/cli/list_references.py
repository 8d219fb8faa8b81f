"""deepbench list references: prints the processors whose figures the original benchmark published
or, with a name, every figure of one processor with its source and status."""

from __future__ import annotations

from collections.abc import Sequence

from deepbench import references
from deepbench.compare.result_set import ResultSet, to_result_set
from deepbench.errors import UsageError, shown, suggestion
from deepbench.results import ResultFile

Cell = str | int | float
Table = tuple[tuple[str, ...], list[tuple[Cell, ...]]]


def table(words: Sequence[str]) -> tuple[Table, tuple[str, ...]]:
    """Titles and rows of the table, and footnotes on the figures. Raises UserError."""
    if not words:
        return _all(), ()
    name = " ".join(words)
    reference = references.find(name)
    if reference is None:
        near = suggestion(name, [one.name for one in references.available()])
        raise UsageError(f"there is no reference {shown(name)}{near}; 'list references' has them")
    result = references.load(reference)
    side = to_result_set(result)
    return _one(result, side), side.footnotes


def _all() -> Table:
    titles = ("reference", "rows", "inconsistent", "sets", "precisions", "operations")
    return titles, [
        (
            one.name,
            one.rows,
            one.inconsistent,
            " ".join(one.sets),
            " ".join(one.precisions),
            " ".join(one.ops),
        )
        for one in references.available()
    ]


def _one(result: ResultFile, side: ResultSet) -> Table:
    titles = ("problem", "application", "us", "TFLOP/s", "published", "status", "source")
    rows: list[tuple[Cell, ...]] = []
    for row, entry in zip(result.rows, side.entries, strict=True):
        facts = row["regime"]["published"]
        rows.append((
            entry.problem,
            entry.application or "",
            (entry.time_ns or 0.0) / 1e3,
            _number(entry.tflops),
            _number(facts.get("tflops")),
            f"inconsistent: {entry.doubt}" if entry.doubt else facts["status"],
            f"{facts['workbook']}, {facts['sheet']}, row {facts['row']}",
        ))  # fmt: skip
    return titles, rows


def _number(value: float | None) -> Cell:
    return "-" if value is None else value
