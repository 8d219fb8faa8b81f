"""The outline of a report: the attributes of each operation and their widths, before the first row.

It is computed from the planned problems, or from the rows of a file, so that the columns stay fixed
while rows appear one by one.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import NamedTuple

from deepbench.report.fields import work_unit
from deepbench.terminal_text import cell_width, shortened

Value = int | float | str
Outline = Mapping[str, "OpOutline"]

_WIDEST = 32  # cells of an application


class OutlineProblem(NamedTuple):
    """The facts of a problem that the outline needs."""

    op: str
    attributes: Mapping[str, Value]
    flops: float | None
    application: str | None = None  # None if applications have no column
    power: str | None = None  # the power regime; None: unknown, as of published figures
    visits: int = 1  # each by another process
    calls: int | None = None  # how often its applications make it; None: not stated
    energy: bool = False  # whether the energy of its calls is measured


@dataclass(frozen=True)
class OpOutline:
    """The outline of the rows of one operation."""

    widths: Mapping[str, int]  # of each attribute's column, in the operation's order
    arithmetic: bool  # the operation has FLOPs, so that its rate is in TFLOP/s
    application: int = 0  # the width of its column; 0: it has none
    work_units: frozenset[str] = frozenset()  # units of its arithmetic rates
    value_widths: Mapping[str, int] = field(default_factory=dict)  # of attributes without a title
    shared: Mapping[str, str] = field(default_factory=dict)  # attributes that are equal in all rows
    powers: Sequence[str] = ()  # the power regimes of the rows
    visits: int = 1  # the largest number of visits of a row
    count: int = 0  # the width of its column; 0: it has none
    energy: bool = False  # whether the energy of a call has columns
    price: float | None = None  # of a device per hour; None: costs have no column

    @property
    def heading(self) -> str:
        """The facts that apply to the whole table, such as 'power: rested; 3 visits'; may be
        empty."""
        power = f"power: {' and '.join(self.powers)}" if self.powers else ""
        visits = f"{self.visits} visits" if self.visits > 1 else ""
        return "; ".join(filter(None, (power, visits)))


def outline(problems: Iterable[OutlineProblem], price: float | None = None) -> Outline:
    """Returns for each operation, in order of appearance, the column widths and the shared
    attributes with which a report prints these problems. `price` is that of a device per hour."""
    texts: dict[str, dict[str, set[str]]] = {}  # of each attribute of each operation
    rows: dict[str, int] = {}
    counts: dict[tuple[str, str], int] = {}  # rows that have an attribute
    arithmetic: dict[str, bool] = {}
    applications: dict[str, int] = {}
    units: dict[str, set[str]] = {}
    powers: dict[str, dict[str, None]] = {}  # in order of appearance
    visits: dict[str, int] = {}
    call_counts: dict[str, int] = {}  # widths
    energies: set[str] = set()  # operations with the energy of calls
    for op, attributes, flops, application, power, row_visits, calls, energy in problems:
        rows[op] = rows.get(op, 0) + 1
        columns = texts.setdefault(op, {})
        for name, value in attributes.items():
            columns.setdefault(name, set()).add(value_text(value))
            counts[op, name] = counts.get((op, name), 0) + 1
        arithmetic[op] = arithmetic.get(op, False) or bool(flops)
        applications[op] = max(applications.get(op, 0), cell_width(application_text(application)))
        units.setdefault(op, set()).add(work_unit(attributes.get("precision")))
        powers.setdefault(op, {}).update({power: None} if power else {})
        visits[op] = max(visits.get(op, 1), row_visits)
        call_counts[op] = max(call_counts.get(op, 0), len(count_text(calls)))
        energies |= {op} if energy else set()
    outlines = {}
    for op, columns in texts.items():
        value_widths = {name: max(map(cell_width, values)) for name, values in columns.items()}
        widths = {name: max(len(title(name)), width) for name, width in value_widths.items()}
        shared = {
            name: next(iter(values))
            for name, values in columns.items()
            if len(values) == 1 and counts[op, name] == rows[op]
        }
        outlines[op] = OpOutline(
            widths, arithmetic[op], applications[op], frozenset(units[op]), value_widths, shared,
            tuple(powers[op]), visits[op], call_counts[op], op in energies, price,
        )  # fmt: skip
    return outlines


def title(attribute: str) -> str:
    """The name of an attribute's column."""
    return _titles().get(attribute, attribute)


@cache
def _titles() -> dict[str, str]:
    from deepbench import _core

    return {key.name: key.title for known in _core.operations() for key in known.parameters}


def count_text(count: int | None) -> str:
    """A count of calls as a column shows it."""
    return "" if count is None else str(count)


def application_text(application: str | None) -> str:
    """An application as a column shows it: a long one is cut off."""
    return shortened(application or "", _WIDEST)


def value_text(value: Value | None) -> str:
    """An attribute's value as a column shows it."""
    if value is None:
        return ""
    return f"{value:g}" if isinstance(value, float) else str(value)
