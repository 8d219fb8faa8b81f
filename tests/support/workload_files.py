"""Result files of models: two layers that are measured, and one that is estimated."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from comparison_rows import timed_gemm, with_regime
from deepbench.compare import ResultSet, to_result_set
from deepbench.results import ResultFile, parsed
from example_rows import make_context
from report_files import result_file_text

Members = dict[str, Any]

DEVICE = {"index": 0, "name": "Example CPU"}


def model_context(
    passes: Mapping[int, list[Members]], norm_bytes: float = 0.0, **changes: Any
) -> Members:
    """The context of a model whose layers, 'in' and 'out', the first rows of each batch measure.
    A norm of `norm_bytes` is estimated."""
    workload: Members = {
        "name": "mine",
        "title": "Mine",
        "phase": "fwd",
        "unit": "images",
        "price": None,
        "passes": [
            {"parameters": {"batch": batch}, "items": _items(rows, norm_bytes)}
            for batch, rows in passes.items()
        ],
    }
    every = [row for rows in passes.values() for row in rows]
    device = changes.pop("device", DEVICE)
    return make_context(rows=len(every), device=device, workload={**workload, **changes})


def _items(rows: list[Members], norm_bytes: float) -> list[Members]:
    items = [
        {
            "layer": layer,
            "kind": kind,
            "op": "linear",
            "precision": row["attributes"]["precision"],
            "count": count,
            "flops": row["work"]["flops"],
            "bytes": row["work"]["bytes"],
            "problem": row["problem"],
        }
        for layer, kind, count, row in zip(
            ("in", "out"), ("product", "output"), (3, 1), rows, strict=False
        )
    ]
    if not norm_bytes:
        return items
    norm = {**items[0], "layer": "norm", "kind": "norm", "op": "other", "count": 1, "flops": 0.0}
    return [*items, {**norm, "bytes": norm_bytes, "problem": None}]


def model_rows(batch: int, *times_ns: float, **changes: Any) -> list[Members]:
    """The rows of a batch, one for each time. `changes` of cache and power are of their regime."""
    regime = {name: changes.pop(name) for name in ("cache", "power", "cold") if name in changes}
    rows = (
        timed_gemm(place, time_ns, m=10 * batch + place, **changes)
        for place, time_ns in enumerate(times_ns)
    )
    return [with_regime(row, **regime) for row in rows]


def model_file(
    passes: Mapping[int, list[Members]], name: str = "mine", norm_bytes: float = 0.0, **changes: Any
) -> ResultFile:
    text = model_text(passes, norm_bytes, **changes)
    return parsed(Path(f"{name}.jsonl"), text.encode())


def model_text(passes: Mapping[int, list[Members]], norm_bytes: float = 0.0, **changes: Any) -> str:
    rows = [row for rows in passes.values() for row in rows]
    numbered = [{**row, "position": place} for place, row in enumerate(rows)]
    return result_file_text(numbered, model_context(passes, norm_bytes, **changes))


def model_results(
    passes: Mapping[int, list[Members]], name: str = "mine", norm_bytes: float = 0.0, **changes: Any
) -> ResultSet:
    return to_result_set(model_file(passes, name, norm_bytes, **changes))
