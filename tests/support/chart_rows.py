"""Rows for charts of a metric against an attribute."""

from __future__ import annotations

from typing import Any

from comparison_rows import timed_gemm
from example_rows import make_row

Rows = list[dict[str, Any]]
SIZES = (16, 32, 64, 128)


def rows_over_n(sizes: tuple[int, ...] = SIZES, first: int = 0, **changes: Any) -> Rows:
    """Rows that differ in n."""
    return [timed_gemm(first + place, 1e5 * size, m=512, n=size, **changes)
            for place, size in enumerate(sizes)]  # fmt: skip


def with_k(rows: Rows, k: int) -> Rows:
    return [{**row, "attributes": {**row["attributes"], "k": k}} for row in rows]


def rows_over_m_and_n() -> Rows:
    """Rows that differ in two attributes at once."""
    return [timed_gemm(place, m=100 + 7 * (place * 5 % 11), n=16 + place * 7 % 13)
            for place in range(20)]  # fmt: skip


def all_reduce_row(position: int, elements: int, precision: str = "float") -> dict[str, Any]:
    row = make_row("all_reduce", {"elements": elements, "precision": precision}, position, 0.0)
    size = elements * (4 if precision == "float" else 2)
    row["work"] = {"flops": 0, "bytes": size}
    row["rates"] = {"tflops": None, "gbps": size / 1e5}
    row["metrics"] = [{"name": "busbw", "value": size / 5e4, "unit": "GB/s", "better": "higher"}]
    return row
