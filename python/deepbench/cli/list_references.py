"""deepbench list references: prints the processors whose figures the original benchmark published
or, with a name, every figure of one processor with its source and status."""

from __future__ import annotations

from collections.abc import Sequence

from deepbench import references
from deepbench.compare.result_set import ResultSet, to_result_set
from deepbench.errors import UsageError, in_quotes, suggestion
from deepbench.results import ResultFile
from deepbench.results.row import Published

Cell = str | int | float
Table = tuple[tuple[str, ...], list[tuple[Cell, ...]]]


def reference_table(words: Sequence[str]) -> tuple[Table, tuple[str, ...]]:
    """Titles and rows of the table, and footnotes on the figures. Raises UserError."""
    if not words:
        return _table_of_references(), ()
    name = " ".join(words)
    reference = references.find(name)
    if reference is None:
        near = suggestion(name, [one.name for one in references.available()])
        raise UsageError(
            f"there is no reference {in_quotes(name)}{near}; 'list references' has them"
        )
    result = references.load(reference)
    side = to_result_set(result)
    return _table_of_rows(result, side), side.footnotes


def _table_of_references() -> Table:
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


def _table_of_rows(result: ResultFile, side: ResultSet) -> Table:
    titles = ("problem", "application", "us", "TFLOP/s", "published", "status", "source")
    rows: list[tuple[Cell, ...]] = []
    for row, entry in zip(result.rows, side.entries, strict=True):
        facts = row.regime.published or Published()
        rows.append((
            entry.problem,
            entry.application or "",
            (entry.time_ns or 0.0) / 1e3,
            _number_or_dash(entry.tflops),
            _number_or_dash(facts.tflops),
            f"inconsistent: {entry.doubt}" if entry.doubt else facts.status or "",
            f"{facts.workbook}, {facts.sheet}, row {facts.row}",
        ))  # fmt: skip
    return titles, rows


def _number_or_dash(value: float | None) -> Cell:
    return "-" if value is None else value
