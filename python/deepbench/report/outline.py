"""What a report must know before its first row: each operation's attributes and their widths.

It comes from the problems to be run, or from the rows of a file, so that columns are fixed while
rows appear one by one.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

Value = int | float | str
Outline = Mapping[str, "OpOutline"]

_TITLES = {"trans_a": "a_t", "trans_b": "b_t"}


@dataclass(frozen=True)
class OpOutline:
    """One operation's rows."""

    widths: Mapping[str, int]  # of each attribute's column, in the operation's order
    arithmetic: bool  # has FLOPs, so that TFLOP/s mean something


def outline(problems: Iterable[tuple[str, Mapping[str, Value], float | None]]) -> Outline:
    """The outline of (operation, attributes, FLOPs) triples, operations in order of appearance."""
    widths: dict[str, dict[str, int]] = {}
    arithmetic: dict[str, bool] = {}
    for op, attributes, flops in problems:
        columns = widths.setdefault(op, {})
        for name, value in attributes.items():
            needed = max(len(title(name)), len(value_text(value)))
            columns[name] = max(columns.get(name, 0), needed)
        arithmetic[op] = arithmetic.get(op, False) or bool(flops)
    return {op: OpOutline(columns, arithmetic[op]) for op, columns in widths.items()}


def title(attribute: str) -> str:
    """The name of an attribute's column."""
    return _TITLES.get(attribute, attribute)


def value_text(value: Value | None) -> str:
    """An attribute's value as a column shows it."""
    if value is None:
        return ""
    return f"{value:g}" if isinstance(value, float) else str(value)
