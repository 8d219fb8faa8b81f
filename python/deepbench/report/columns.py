"""The columns of a row that a person reads, which table and markdown share."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from deepbench.report.fields import (
    TIME_WIDTH,
    get,
    percent,
    rate,
    share,
    spread,
    time_cell,
    time_ns,
    work_unit,
)
from deepbench.report.outline import OpOutline, application_text, title, value_text

Row = Mapping[str, Any]

_APPLICATION = "application"


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
        return text.ljust(self.width) if self.left else text.rjust(self.width)


def problem_columns(op: OpOutline) -> list[Column]:
    """The columns of an operation's attributes, after that of the application if it has one."""
    attributes = [
        Column(title(name), width, _attribute(name), name=name, is_attribute=True)
        for name, width in op.widths.items()
    ]
    if not op.application:
        return attributes
    width = max(op.application, len(_APPLICATION))
    return [Column(_APPLICATION, width, _application, left=True, name=_APPLICATION), *attributes]


def measured_columns(op: OpOutline) -> list[Column]:
    """The columns of time, rate, shares of the limits, and verification."""
    time = [
        Column("time", TIME_WIDTH, lambda row: time_cell(time_ns(row)), name="time"),
        Column("\N{PLUS-MINUS SIGN}%", 5, lambda row: percent(spread(row)), name="spread"),
    ]
    arithmetic = [
        rate_column(op, lambda row: get(row, "rates.tflops")),
        Column(
            "%ceiling", 8, lambda row: share(get(row, "bound.share_arithmetic")), name="ceiling"
        ),
    ]
    moved = [Column("GB/s", 8, lambda row: rate(get(row, "rates.gbps")), name="rate")]
    limits = [
        Column(
            "%roofline", 9, lambda row: share(get(row, "bound.share_roofline")), name="roofline"
        ),
        Column("bound by", 10, lambda row: get(row, "bound.by") or "-", left=True, name="bound"),
        Column("verified", 8, verified, left=True, name="verified"),
    ]
    return [*time, *(arithmetic if op.arithmetic else moved), *limits]


def rate_column(
    op: OpOutline, tera_per_s: Callable[[Row], float | None], prefix: str = ""
) -> Column:
    """The column of an arithmetic rate. The title has the unit; if the rows of the operation have
    several units, each cell has its unit."""
    name = "" if prefix else "rate"
    if len(op.work_units) <= 1:
        title = prefix + next(iter(op.work_units), work_unit(None))
        width = max(8, len(title))
        return Column(title, width, lambda row: rate(tera_per_s(row)), name=name)
    width = max(map(len, op.work_units))

    def with_unit(row: Row) -> str:
        value = tera_per_s(row)
        unit = "" if value is None else work_unit(get(row, "attributes.precision"))
        return f"{rate(value)} {unit:{width}}"

    return Column(f"{prefix}rate", max(8 + 1 + width, len(prefix) + 4), with_unit, name=name)


def verified(row: Row) -> str:
    """The result of verification: yes, NO or skipped."""
    words = {"passed": "yes", "failed": "NO", "skipped": "skipped"}
    return words.get(get(row, "verification.status") or "", "-")


def _application(row: Row) -> str:
    return application_text(row.get("application"))


def _attribute(name: str) -> Callable[[Row], str]:
    return lambda row: value_text((row.get("attributes") or {}).get(name))
