"""Result files for tests of reports: two regimes, rows that are not ok, and malicious texts."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from comparison_rows import timed_gemm, with_regime
from deepbench.report.overview import Content, content
from deepbench.results import parsed
from example_rows import make_context, make_memory, without_times

Rows = list[dict[str, Any]]

HOSTILE = (
    "</script><script>window.stolen = 1</script><img src=x onerror='window.stolen = 2'>\u2028&"
    "\ufffe"  # vl-convert ends the process over a character that XML lacks
)


def with_samples(row: dict[str, Any], count: int = 60) -> dict[str, Any]:
    """The row with this many different samples."""
    time_ns = row["statistics"]["median_ns"]
    samples = [time_ns * (1 + 0.0001 * (place % 7 - 3)) for place in range(count)]
    return {**row, "samples_ns": samples, "samples_kept": "all"}


def with_best_algorithm(row: dict[str, Any], gain: float) -> dict[str, Any]:
    """The row after a selection with `best` whose winner is `gain` times faster than the
    default."""
    time_ns = row["statistics"]["median_ns"]
    algorithm = {
        **row["algorithm"],
        "mode": "best",
        "name": "found",
        "default_name": "own" if gain != 1 else "found",
        "default_ns": time_ns * gain,
        "speedup": gain,
    }
    return {**row, "algorithm": algorithm}


def make_rows() -> list[dict[str, Any]]:
    """Six hot rows, the same rows cold with 1.5 times the time, two rows of `best`, a copy, and
    three rows that are not ok."""
    hot = [
        with_samples(timed_gemm(i, 100_000.0 + 1000 * i, application="Speech")) for i in range(6)
    ]
    cold = [
        with_regime({**timed_gemm(i + 6, row["statistics"]["median_ns"] * 1.5, m=1760 + i),
                "application": "Speech"}, cache="cold", cold="rotation")
        for i, row in enumerate(hot)
    ]  # fmt: skip
    best = [
        with_best_algorithm(timed_gemm(12, 50_000.0), 2.0),
        with_best_algorithm(timed_gemm(13, 60_000.0), 1.0),
    ]
    wrong = {
        **timed_gemm(15, 1_000.0),
        "status": "incorrect",
        "reason": "off by one",
        "rates": None,
    }
    wrong["verification"] = {**wrong["verification"], "status": "failed"}
    lost = without_times(timed_gemm(16), "failed", "the worker crashed: SIGSEGV")
    absent = without_times(timed_gemm(17), "unsupported", "no kernel")
    return [*hot, *cold, *best, make_memory(14), wrong, lost, absent]


def hostile_rows() -> list[dict[str, Any]]:
    """Rows in which every text is an attack."""
    row = with_samples(timed_gemm(0))
    texts = ("problem", "application", "library", "backend")
    row.update(dict.fromkeys(texts, HOSTILE), notes=[HOSTILE])
    row["device"] = {"index": 0, "name": HOSTILE}
    row["algorithm"] = {**row["algorithm"], "name": HOSTILE, "mode": HOSTILE}
    row["attributes"] = {**row["attributes"], "precision": HOSTILE, HOSTILE: HOSTILE}
    row["metrics"] = [{"name": HOSTILE, "value": 1, "unit": HOSTILE}]
    failed = {**without_times(timed_gemm(1), "failed", HOSTILE), "op": HOSTILE}
    return [row, failed]


def hostile_workload() -> dict[str, Any]:
    texts = dict.fromkeys(("layer", "kind", "op", "precision", "problem"), HOSTILE)
    item = {**texts, "count": 10**15, "flops": 1e30, "bytes": 1e30}
    other = {**item, "layer": f"{HOSTILE}2", "problem": None}
    return {
        **dict.fromkeys(("name", "title", "phase", "unit", "unverified"), HOSTILE),
        "price": 1e12,
        "passes": [
            {"parameters": {"batch": batch, HOSTILE: 1}, "items": [item, other]} for batch in (1, 2)
        ],
    }


def hostile_context() -> dict[str, Any]:
    return make_context(
        rows=2,
        command=[HOSTILE],
        set=HOSTILE,
        started=HOSTILE,
        version=HOSTILE,
        device={"index": 0, "name": HOSTILE, HOSTILE: HOSTILE},
        libraries={HOSTILE: {"version": HOSTILE, "path": HOSTILE}},
        environment={HOSTILE: HOSTILE},
        host={HOSTILE: HOSTILE, "environment": {HOSTILE: HOSTILE}},
        options={HOSTILE: HOSTILE},
        warnings=[HOSTILE],
        workload=hostile_workload(),
    )


def result_file_text(rows: list[dict[str, Any]], context: dict[str, Any] | None = None) -> str:
    lines = [context or make_context(rows=len(rows)), *rows]
    return "".join(json.dumps(line) + "\n" for line in lines)


def write_result_file(
    path: Path, rows: list[dict[str, Any]], context: dict[str, Any] | None = None
) -> Path:
    path.write_text(result_file_text(rows, context), encoding="utf-8")
    return path


def content_of(
    *files: list[dict[str, Any]], others: tuple[list[dict[str, Any]], ...] = ()
) -> Content:
    def parse_files(sides: tuple[list[dict[str, Any]], ...], name: str) -> list[Any]:
        return [
            parsed(Path(f"{name}{place}.jsonl"), result_file_text(rows).encode())
            for place, rows in enumerate(sides)
        ]

    return content(parse_files(files, "mine"), parse_files(others, "theirs"), "0.1.0")
