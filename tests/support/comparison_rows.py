"""Rows and result sets with consistent statistics, for tests of comparisons."""

from __future__ import annotations

from typing import Any

from deepbench.compare import Comparison, ResultSet
from deepbench.compare.result_set import to_entry
from deepbench.report import comparison as report
from example_rows import make_gemm, row_of_members


def timed_gemm(position: int = 0, time_ns: float = 100_000.0, **changes: Any) -> dict[str, Any]:
    """A gemm with consistent statistics. `sure` is half the width of its interval, as a
    fraction."""
    sure = changes.pop("sure", 0.002)
    changes.setdefault("m", 1760 + position)
    row = make_gemm(position, **changes)
    row["statistics"].update(
        median_ns=time_ns,
        low_ns=time_ns * (1 - sure),
        high_ns=time_ns * (1 + sure),
        q1_ns=time_ns * (1 - 2 * sure),
        q3_ns=time_ns * (1 + 2 * sure),
        relative_standard_error=sure / 2,
        n=100,
    )
    return row


def make_result_set(*rows: dict[str, Any], name: str = "result_set") -> ResultSet:
    return ResultSet(name, "", tuple(to_entry(row_of_members(row)) for row in rows))


def render(comparison: Comparison, name: str, width: int | None = None) -> str:
    """The whole text of a comparison."""
    return "".join(report.render(comparison, name, width))


def with_regime(row: dict[str, Any], **changes: Any) -> dict[str, Any]:
    return {**row, "regime": {**row["regime"], **changes}}


def make_published_row(
    position: int = 0, time_ns: float = 50_000.0, **changes: Any
) -> dict[str, Any]:
    """A published figure: hot, with a mean and without a spread."""
    row = timed_gemm(position, **changes)
    facts = {"cache": "hot", "timer": "host clock", "published": {"status": "ok", "doubt": None}}
    return {**row, "regime": facts, "statistics": {"mean_ns": time_ns}, "library": None}
