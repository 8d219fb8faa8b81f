"""A suite of every collective, and what its rows on two ranks must say."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

COLLECTIVES = ("all_reduce", "all_gather", "reduce_scatter", "all_to_all", "broadcast", "send_recv")
ELEMENTS = 30000
# What each of two ranks must send or receive of the payload, as nccl-tests defines busbw.
TRAFFIC = {"all_gather": 0.5, "reduce_scatter": 0.5, "all_to_all": 0.5}


def write_suite(folder: Path, *precisions: str) -> Path:
    """The suite's file: each collective in each precision."""
    file = folder / "collectives.txt"
    lines = [
        f"{operation} elements={ELEMENTS} precision={precision}"
        for operation in COLLECTIVES
        for precision in precisions
    ]
    file.write_text("# collectives.txt: every collective.\n" + "\n".join(lines) + "\n")
    return file


def outputs_of(operation: str, local_ranks: int) -> int:
    """How many outputs the ranks of rank 0's process have. Rank 1 broadcasts and receives none."""
    if operation == "broadcast":
        return ELEMENTS
    return (ELEMENTS // 2 if operation == "reduce_scatter" else ELEMENTS) * local_ranks


def check_rows(rows: Sequence[dict[str, Any]], library: str, local_ranks: int = 1) -> None:
    """Every collective has a row, and every row is verified in full and has both bandwidths."""
    assert {row["op"] for row in rows} == set(COLLECTIVES)
    for row in rows:
        operation = row["op"]
        assert row["status"] == "ok", (operation, row["reason"])
        assert row["verification"]["status"] == "passed"
        assert row["verification"]["checked"] == outputs_of(operation, local_ranks)
        assert row["library"].startswith(f"{library} ")
        assert row["regime"]["ranks"] == 2
        metrics = {metric["name"]: metric["value"] for metric in row["metrics"]}
        share = metrics["busbw"] / metrics["algbw"]
        assert abs(share - TRAFFIC.get(operation, 1)) < 1e-9, operation
