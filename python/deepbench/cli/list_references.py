"""deepbench list references: prints the devices of which the package has figures, published by the
original benchmark or measured by deepbench. With a name, prints every row of one of them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from deepbench import references
from deepbench.compare.result_set import ResultSet, to_result_set
from deepbench.errors import UsageError, in_quotes, suggestion
from deepbench.report.fields import percent
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
    if reference.kind == references.MEASURED:
        return _table_of_measured_rows(side), (*side.footnotes, *_spread_texts(reference))
    return _table_of_published_figures(result, side), side.footnotes


def _table_of_references() -> Table:
    titles = ("reference", "kind", "devices", "rows", "inconsistent", "sets", "precisions",
              "operations")  # fmt: skip
    return titles, [
        (
            one.name,
            one.kind,
            "-" if one.devices is None else one.devices,
            one.rows,
            one.inconsistent,
            " ".join(one.sets),
            " ".join(one.precisions),
            " ".join(one.ops),
        )
        for one in references.available()
    ]


def _spread_texts(reference: references.Reference) -> Iterator[str]:
    """The differences between devices, if enough of them measured the same rows."""
    known = reference.judging_spread
    for family, one in known.items():
        yield (
            f"{family}: the times of {one.devices} devices differ by {percent(one.log_sd)} % "
            "(standard deviation)"
        )
    what = "every other operation and precision" if known else "every operation and precision"
    yield f"no reference spread: {what}, of fewer than {references.FEWEST_DEVICES} devices"


def _table_of_measured_rows(side: ResultSet) -> Table:
    titles = ("problem", "application", "us", "TFLOP/s", "GB/s", "library", "algorithm", "cache",
              "power", "ranks")  # fmt: skip
    return titles, [
        (
            entry.problem,
            entry.application or "",
            (entry.time_ns or 0.0) / 1e3,
            _number_or_dash(entry.tflops),
            _number_or_dash(entry.gbps),
            entry.library or "",
            entry.algorithm or "",
            entry.cache or "",
            entry.power or "",
            entry.ranks or 1,
        )
        for entry in side.entries
    ]


def _table_of_published_figures(result: ResultFile, side: ResultSet) -> Table:
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
