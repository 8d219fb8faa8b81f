"""What a report must know before its first row: each operation's attributes and their widths.

It comes from the problems to be run, or from the rows of a file, so that columns are fixed while
rows appear one by one.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import NamedTuple

from deepbench.report.fields import work_unit

Value = int | float | str
Outline = Mapping[str, "OpOutline"]

_WIDEST = 32  # of applications
_TITLES = {"trans_a": "a_t", "trans_b": "b_t"}


class OutlineProblem(NamedTuple):
    """What a problem has to say here."""

    op: str
    attributes: Mapping[str, Value]
    flops: float | None
    application: str | None = None  # where it is to be shown


@dataclass(frozen=True)
class OpOutline:
    """One operation's rows."""

    widths: Mapping[str, int]  # of each attribute's column, in the operation's order
    arithmetic: bool  # has FLOPs, so that TFLOP/s mean something
    application: int = 0  # the width of its column; 0: it has none
    work_units: frozenset[str] = frozenset()  # in which its rates of arithmetic are shown


def outline(problems: Iterable[OutlineProblem]) -> Outline:
    """The outline of these problems, operations in order of appearance."""
    widths: dict[str, dict[str, int]] = {}
    arithmetic: dict[str, bool] = {}
    applications: dict[str, int] = {}
    units: dict[str, set[str]] = {}
    for op, attributes, flops, application in problems:
        columns = widths.setdefault(op, {})
        for name, value in attributes.items():
            needed = max(len(title(name)), len(value_text(value)))
            columns[name] = max(columns.get(name, 0), needed)
        arithmetic[op] = arithmetic.get(op, False) or bool(flops)
        applications[op] = max(applications.get(op, 0), len(application_text(application)))
        units.setdefault(op, set()).add(work_unit(attributes.get("precision")))
    return {
        op: OpOutline(columns, arithmetic[op], applications[op], frozenset(units[op]))
        for op, columns in widths.items()
    }


def title(attribute: str) -> str:
    """The name of an attribute's column."""
    return _TITLES.get(attribute, attribute)


def application_text(application: str | None) -> str:
    """An application as a column shows it: its beginning, where it is long."""
    text = application or ""
    return text if len(text) <= _WIDEST else text[: _WIDEST - 3] + "..."


def value_text(value: Value | None) -> str:
    """An attribute's value as a column shows it."""
    if value is None:
        return ""
    return f"{value:g}" if isinstance(value, float) else str(value)
