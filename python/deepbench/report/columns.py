"""The columns of a row that a person reads, which table and markdown share."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass

from deepbench.report.fields import (
    TIME_WIDTH,
    percent,
    quantity,
    rate,
    share,
    spread,
    time_cell,
    work_unit,
)
from deepbench.report.outline import OpOutline, application_text, count_text, title, value_text
from deepbench.results.row import Row
from deepbench.terminal_text import cell_width, padded

_HOUR_NS = 3600e9
_APPLICATION = "application"
_COUNT = "count"


@dataclass(frozen=True)
class Column:
    """A column of a table. `text` returns the cell of a row."""

    title: str
    width: int
    text: Callable[[Row], str]
    left: bool = False
    name: str = ""  # that --columns takes
    is_attribute: bool = False

    def cell(self, row: Row) -> str:
        return self.padded(self.text(row))

    def padded(self, text: str) -> str:
        return padded(text, self.width, self.left)


def problem_columns(op: OpOutline) -> list[Column]:
    """The columns of an operation's attributes, after those of the application and of the count if
    it has them."""
    attributes = [
        Column(title(name), width, _attribute_cell(name), name=name, is_attribute=True)
        for name, width in op.widths.items()
    ]
    metadata = []
    if op.application:
        width = max(op.application, len(_APPLICATION))
        metadata.append(
            Column(_APPLICATION, width, _application_cell, left=True, name=_APPLICATION)
        )
    if op.count:
        width = max(op.count, len(_COUNT))
        metadata.append(Column(_COUNT, width, lambda row: count_text(row.count), name=_COUNT))
    return [*metadata, *attributes]


def measured_columns(op: OpOutline) -> list[Column]:
    """The columns of time, rate, shares of the limits, and verification."""
    time = [
        Column("time", TIME_WIDTH, lambda row: time_cell(row.time_ns), name="time"),
        Column("\N{PLUS-MINUS SIGN}%", 5, lambda row: percent(spread(row)), name="spread"),
    ]
    arithmetic = [
        rate_column(op, lambda row: row.rates.tflops),
        Column("%ceiling", 8, lambda row: share(row.bound.share_arithmetic), name="ceiling"),
    ]
    moved = [Column("GB/s", 8, lambda row: rate(row.rates.gbps), name="rate")]
    limits = [
        Column("%roofline", 9, lambda row: share(row.bound.share_roofline), name="roofline"),
        Column("bound by", 10, lambda row: row.bound.by or "-", left=True, name="bound"),
        Column("verified", 8, verified, left=True, name="verified"),
    ]
    return [*time, *(arithmetic if op.arithmetic else moved), *limits, *_spent_columns(op)]


def _spent_columns(op: OpOutline) -> list[Column]:
    """The columns of energy and of cost, where they are known."""
    columns = []
    if op.energy:
        columns.append(Column("J/call", 9, lambda row: quantity(row.energy_j), name="energy"))
    if op.energy and op.arithmetic:
        unit = "GOP/J" if op.work_units == {"TOP/s"} else "GFLOP/J"
        columns.append(Column(unit, 9, _giga_per_joule_cell, name="efficiency"))
    if (price := op.price) is not None:
        columns.append(
            Column("cost/M", 9, lambda row: quantity(cost_of_a_million(row, price)), name="cost")
        )
    return columns


def cost_of_a_million(row: Row, price: float) -> float | None:
    """The cost of a million calls at a price of a device per hour."""
    if row.time_ns is None:
        return None
    return price * (row.regime.ranks or 1) * 1e6 * row.time_ns / _HOUR_NS


def _giga_per_joule_cell(row: Row) -> str:
    found = row.flops_per_joule
    return quantity(None if found is None else found / 1e9)


@dataclass(frozen=True)
class RateCells:
    """The title and the cells of a column of arithmetic rates. The title has the unit; if the rows
    have several units, each cell has its own."""

    title: str
    width: int
    unit_width: int = 0  # 0: cells have no unit

    @classmethod
    def for_units(cls, units: Collection[str], prefix: str = "") -> RateCells:
        if len(units) <= 1:
            title = prefix + next(iter(units), work_unit(None))
            return cls(title, max(8, len(title)))
        unit_width = max(map(cell_width, units))
        return cls(f"{prefix}rate", max(8 + 1 + unit_width, len(prefix) + 4), unit_width)

    def text(self, tera_per_s: float | None, precision: object) -> str:
        if not self.unit_width:
            return rate(tera_per_s)
        unit = "" if tera_per_s is None else work_unit(precision)
        return f"{rate(tera_per_s)} {unit:{self.unit_width}}"


def rate_column(
    op: OpOutline, tera_per_s: Callable[[Row], float | None], prefix: str = ""
) -> Column:
    """The column of an arithmetic rate."""
    cells = RateCells.for_units(op.work_units, prefix)

    def text(row: Row) -> str:
        return cells.text(tera_per_s(row), row.attributes.get("precision"))

    return Column(cells.title, cells.width, text, name="" if prefix else "rate")


def verified(row: Row) -> str:
    """The result of verification: yes, NO or skipped."""
    words = {"passed": "yes", "failed": "NO", "skipped": "skipped"}
    return words.get(row.verification.status or "", "-")


def _application_cell(row: Row) -> str:
    return application_text(row.application_names)


def _attribute_cell(name: str) -> Callable[[Row], str]:
    return lambda row: value_text(row.attributes.get(name))
