"""Rows and contexts for tests, complete and with round figures."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any

from deepbench.results import Row
from deepbench.results.ceilings import assessed_line
from deepbench.results.row import build_row

HELLO: dict[str, Any] = {
    "type": "hello",
    "version": "0.1.0",
    "backend": {"name": "cpu", "path": "/lib/libdeepbench_cpu.so", "reason": None},
    "device": {
        "index": 0,
        "name": "Example CPU",
        "last_level_cache_bytes": 32 << 20,
        "cache.l1_bytes": 32 << 10,
        "cache.l2_bytes": 1 << 20,
        "shares_host_memory": 1,
    },
    "device_count": 1,
    "libraries": {
        "onednn": {"version": "3.2.0", "path": "/lib/libdnnl.so.3"},
        "mkl": {"reason": "libmkl_rt.so.2 was not found; pip install mkl"},
    },
    "environment": {"OMP_PROC_BIND": "true"},
    "threads": 2,
    "warnings": [],
}


KEYS_OF_SOAKS = frozenset({"soak"})  # which other rows lack
KEYS_OF_REFERENCES = frozenset({"devices"})  # which measured rows lack
KEYS_OF_THE_PLAN = frozenset({"count", "applications"})  # which rows of workers lack


def make_context(**changes: Any) -> dict[str, Any]:
    """The first line of a result file."""
    kept = {key: value for key, value in HELLO.items() if key != "type"}
    context: dict[str, Any] = {
        "type": "context",
        "schema": 3,
        "command": ["gemm", "training"],
        "started": "2026-01-31T12:00:00Z",
        "set": "training",
        "rows": 3,
        "plan": None,
        **kept,
        "build": {
            "revision": "1cfb0545f0e1d2c3b4a5968778695a4b",
            "modified": False,
            "binaries": {"core": {"path": "/lib/libdeepbench.so", "build_id": "49e20707bcce"}},
        },
        "compile_caches": {
            "kernels": {"path": "/cache", "files": 3, "bytes": 9000},
            "driver": None,
        },
        "host": {"cpu": "Example CPU"},
        "options": {},
        "option_values": {"samples": "0", "library": None},
    }
    return {**context, **changes}


def make_workload() -> dict[str, Any]:
    """The workload of a context: one layer that make_gemm() measures, and one without a row."""
    item = {
        "layer": "one",
        "kind": "product",
        "op": "linear",
        "precision": "float",
        "count": 2,
        "flops": 2.0 * 1760 * 16 * 1760,
        "bytes": 2_097_152.0,
        "problem": make_gemm()["problem"],
    }
    norm = {**item, "layer": "norm", "kind": "norm", "op": "other", "flops": 0.0, "problem": None}
    return {
        "name": "mine",
        "title": "Mine",
        "phase": "fwd",
        "unit": "images",
        "unverified": None,
        "price": 3.5,
        "passes": [
            {"parameters": {"batch": batch, "image": 224}, "items": [item, norm]}
            for batch in (4, 8)
        ],
    }


def make_chain(batch: int = 4, **changes: Any) -> dict[str, Any]:
    """The chain of a pass of make_workload(), both calls of whose kernel took 150 us together."""
    row = make_gemm()
    return {
        "type": "chain",
        "parameters": {"batch": batch, "image": 224},
        "calls": 2,
        "kernels": 1,
        "status": "ok",
        "reason": None,
        "power": "rested",
        "launch": "graph",
        "statistics": {**row["statistics"], "median_ns": 150_000.0},
        **{key: row[key] for key in ("backend", "device", "samples_ns", "verification")},
        **changes,
    }


def make_gemm(position: int = 0, m: int = 1760, n: int = 16, **changes: Any) -> dict[str, Any]:
    """A row of a gemm that took 100 us."""
    attributes = {
        "m": m,
        "n": n,
        "k": 1760,
        "trans_a": "n",
        "trans_b": "t",
        "precision": changes.pop("precision", "float"),
    }
    return make_row("gemm", attributes, position, 2.0 * m * n * 1760, **changes)


def make_memory(position: int = 0, **changes: Any) -> dict[str, Any]:
    """A row of a copy that took 100 us."""
    return make_row("memory", {"kind": "copy", "bytes": 1 << 20}, position, 0.0, **changes)


def make_row(
    op: str, attributes: dict[str, Any], position: int, flops: float, **changes: Any
) -> dict[str, Any]:
    """A row that is ok; `changes` replace whole keys."""
    words = [f"{key}={value}" for key, value in attributes.items()]
    time_ns, size = 100_000.0, 2_097_152.0
    row: dict[str, Any] = {
        "type": "row",
        "position": position,
        "problem": " ".join([op, *words]),
        "op": op,
        "attributes": attributes,
        "application": None,
        "count": None,
        "applications": None,
        "backend": "cpu",
        "device": {"index": 0, "name": "Example CPU"},
        "library": "onednn 3.2.0",
        "started": "2026-01-31T12:00:00Z",
        "algorithm": {
            "mode": "default",
            "name": "matmul",
            "candidates": 1,
            "workspace_bytes": 0,
            "planning_ns": None,
            "default_ns": None,
            "default_name": None,
        },
        "status": "ok",
        "reason": None,
        "regime": {
            "cache": "hot",
            "cold": None,
            "copies": 1,
            "fits_cache": True,
            "launch": "stream",
            "timer": "steady_clock",
            "power": "rested",
            "threads": 2,
        },
        "statistics": {
            "median_ns": time_ns,
            "min_ns": 99_000.0,
            "max_ns": 110_000.0,
            "q1_ns": 99_500.0,
            "q3_ns": 101_000.0,
            "p99_ns": 109_000.0,
            "mean_ns": 100_500.0,
            "stdev_ns": 900.0,
            "mad_ns": 400.0,
            "relative_standard_error": 0.004,
            "low_ns": 99_600.0,
            "high_ns": 100_400.0,
            "n": 30,
            "batch": 10,
            "stop": "converged",
        },
        "samples_ns": [time_ns, time_ns],
        "samples_kept": "thinned",
        "clocks_mhz": [],
        "rests_ns": [],
        "first_call_ns": 250_000.0,
        "host_ns": 101_000.0,
        "work": {"flops": flops, "bytes": size},
        "rates": {"tflops": flops / time_ns / 1e3 or None, "gbps": size / time_ns},
        "bound": {
            "by": "arithmetic" if flops else "memory",
            "arithmetic_tflops": 1.25,
            "memory_gbps": 25.0,
            "level": "memory",
            "latency_ns": 900.0,
            "share_arithmetic": 0.793 if flops else None,
            "share_roofline": 0.81,
        },
        "metrics": [],
        "padding": {"rule": None, "dimensions": {}},
        "conversion": None,
        "verification": {
            "status": "passed",
            "scope": "4096 outputs",
            "checked": 4096,
            "outputs": 28160,
            "max_error_ratio": 0.12,
            "reason": None,
        },
        "observed": {},
        "ranks": None,
        "notes": [],
        "stages_ns": {"prepare": 1.0, "verify": 1.0, "measure": 1.0, "ceilings": 0, "other": 1.0},
    }
    return {**row, **changes}


KEYS = {
    "arithmetic": "arithmetic precision=float device=0 threads=0 cores=2 cache=hot power=rested",
    "bandwidth": "bandwidth level=memory device=0 threads=0 cores=2 cache=hot power=rested",
    "latency": "latency precision=float device=0 threads=0 cores=2 cache=hot power=rested",
}


def make_ceiling(
    kind: str, figure: float, key: str | None = None, /, **changes: Any
) -> dict[str, Any]:
    """A measured ceiling: TFLOP/s, GB/s or nanoseconds."""
    row = make_memory() if kind == "bandwidth" else make_gemm()
    of_rows = ("position", "count", "applications", "bound", "metrics", "padding", "conversion",
               "ranks")  # fmt: skip
    for name in of_rows:
        del row[name]
    line: dict[str, Any] = {
        **row,
        "type": "ceiling",
        "ceiling": key or KEYS[kind],
        "kind": kind,
        "precision": None if kind == "bandwidth" else "float",
        "level": "memory" if kind == "bandwidth" else None,
        "raised_by": None,
    }
    if kind == "latency":
        line["statistics"] = {**row["statistics"], "median_ns": figure}
    else:
        line["rates"] = {
            "tflops": figure if kind == "arithmetic" else None,
            "gbps": figure if kind == "bandwidth" else 1.0,
        }
    return {**line, **changes}


def with_named_ceilings(row: dict[str, Any], **keys: str | None) -> dict[str, Any]:
    """The row as it is written: its bound names ceilings and has no figures."""
    return {**row, "bound": {"level": row["bound"]["level"], **KEYS, **keys}}


def row_of_members(members: dict[str, Any]) -> Row:
    """The row with these members."""
    return build_row(members)


def published_facts(row: Mapping[str, Any]) -> Mapping[str, Any]:
    """Where a published figure comes from, and what is known about it."""
    found: Mapping[str, Any] = row["regime"]["published"]
    return found


def members(rows: Iterable[Row]) -> list[Mapping[str, Any]]:
    """The rows as `show --format json` prints them."""
    return [json.loads(assessed_line(row)) for row in rows]


def without_times(row: dict[str, Any], status: str, reason: str) -> dict[str, Any]:
    """The row as it is when nothing was measured."""
    empty = dict.fromkeys(
        ("statistics", "samples_ns", "samples_kept", "clocks_mhz", "rests_ns", "rates", "bound")
    )
    return {**row, **empty, "status": status, "reason": reason}
