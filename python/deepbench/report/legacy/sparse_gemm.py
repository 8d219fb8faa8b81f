"""The output of `sparse_bench`: the sparse time, the dense time, and their ratio."""

from __future__ import annotations

from deepbench.report.legacy.text import attributes, microseconds, time_text
from deepbench.results.row import Row

_HEADER = (
    "    m       n      k      a_t     b_t    sparsity   sparse time (usec)  dense time (usec)"
    "  speedup"
)


class SparseGemm:
    """Sparse products."""

    def __init__(self, inference: bool, precision: str) -> None:
        del inference, precision  # do not affect the columns

    def head(self) -> str:
        return f"{'Times':>30}\n{'-' * 110}\n{_HEADER}\n"

    def row(self, row: Row) -> str:
        values = attributes(row)
        metrics = {metric.name: metric.value for metric in row.metrics}
        dense_us, speedup = metrics.get("dense_time"), metrics.get("speedup")
        cells = [f"{values.get(name, 0):>7}" for name in ("m", "n", "k")]
        cells += [f"{values.get(name) == 't':>7d}" for name in ("trans_a", "trans_b")]
        cells.append(f"{values.get('sparsity', 0):>11}")
        cells.append(f"{time_text(microseconds(row)):>16}")
        cells.append(f"{time_text(None if dense_us is None else int(dense_us)):>16}")
        cells.append(f"{'' if speedup is None else f'{speedup:.3f}':>20}")
        return "".join(cells) + "\n"

    def end(self) -> str:
        return ""
