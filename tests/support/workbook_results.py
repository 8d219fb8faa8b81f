"""Result files of every operation, for tests that write workbooks."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from deepbench import _core
from deepbench.results import ResultFile
from deepbench.results.row import build_row
from example_rows import make_context, make_row


def result_of_rows(*rows: dict[str, Any], **changes: Any) -> ResultFile:
    for position, row in enumerate(rows):
        row["position"] = position
    context = make_context(rows=len(rows), **changes)
    return ResultFile(Path("rows.jsonl"), context, tuple(map(build_row, rows)), 0, False)


def row_of_problem(text: str, **changes: Any) -> dict[str, Any]:
    problem = _core.Problem.parse(text)
    return make_row(problem.op, dict(problem.attributes), 0, problem.flops, **changes)


FAMILIES = [
    "gemm m=35 n=700 k=2048 trans_a=t",
    "gemm m=64 n=64 k=64 precision=int8 b_type=u8",
    *(f"conv w=700 h=161 c=1 n=4 k=32 s=20 r=5 stride_w=2 stride_h=2 phase={phase}"
      for phase in ("fwd", "bwd_data", "bwd_filter")),
    "conv w=14 h=14 c=64 n=4 k=64 s=3 r=3 pad_w=1 pad_h=1 groups=32 dilation_w=2",
    "rnn cell=lstm hidden=512 batch=16 timesteps=25",
    "rnn cell=lstm hidden=512 batch=16 timesteps=25 phase=bwd",
    "rnn cell=vanilla hidden=1760 batch=16 timesteps=50 precision=half",
    "rnn cell=gru_reset_before hidden=64 batch=1 timesteps=5 mode=inference",
    "sparse_gemm m=7680 n=1 k=2560 sparsity=0.95",
    "all_reduce elements=100000",
    "memory kind=copy bytes=1048576",
]  # fmt: skip


def result_of_all_families() -> ResultFile:
    return result_of_rows(*family_rows())


def family_rows() -> list[dict[str, Any]]:
    rows = [row_of_problem(text) for text in FAMILIES]
    for i, row in enumerate(rows):
        row["statistics"] = {**row["statistics"], "median_ns": 1e5 * (i + 1) / 3}
    rows[10]["metrics"] = [{"name": "dense_time", "value": 1234.5, "unit": "us", "better": None}]
    return rows
