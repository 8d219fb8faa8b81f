"""Converts a figure of a workbook to a row of a result file. Its regime is `published`, and its
time is a mean."""

from __future__ import annotations

from collections.abc import Mapping

from deepbench import _core
from deepbench.json_types import MutableJsonObject
from deepbench.workbook.consistency import Consistency
from deepbench.workbook.figures import Figure, Value, phase_of
from deepbench.workbook.suite_alignment import SuitePosition


def printed_attributes(figure: Figure, precision: str, training: bool) -> dict[str, Value]:
    """The problem as printed."""
    found = {**figure.dimensions, "precision": precision}
    if figure.op in ("conv", "rnn"):
        found["phase"] = phase_of(figure)
    if figure.op == "rnn":
        found["mode"] = "training" if training else "inference"
    return found


def parse_problem(figure: Figure, values: Mapping[str, Value]) -> _core.Problem | None:
    """The problem; None if deepbench has no such operation. Raises InvalidProblem for invalid
    values."""
    if figure.op == "all_reduce" or phase_of(figure) == "dense":
        return None
    words = [f"{name}={value}" for name, value in values.items()]
    return _core.Problem.parse(" ".join([figure.op, *words]))


def make_row(
    figure: Figure,
    values: Mapping[str, Value],
    parsed: _core.Problem | None,
    device: str,
    regime: MutableJsonObject,
) -> MutableJsonObject:
    """The members of the row without its position."""
    return {
        "type": "row",
        "position": 0,
        "problem": None if parsed is None else str(parsed),
        "op": figure.op,
        "attributes": dict(values) if parsed is None else parsed.attributes,
        "application": figure.texts.get("application"),
        "device": {"index": None, "name": device},
        "status": "ok",
        "reason": None,
        "regime": {"cache": "hot", "timer": "host clock", "published": regime},
        "statistics": {"mean_ns": figure.time_ns},
        "work": None if parsed is None else {"flops": parsed.flops, "bytes": parsed.bytes},
    }


def with_rates(row: MutableJsonObject) -> MutableJsonObject:
    """Adds rates by deepbench's formulas, unless the time is doubtful."""
    work, time_ns = row["work"], row["statistics"]["mean_ns"]
    if work and row["regime"]["published"]["doubt"] is None:
        row["rates"] = {
            "tflops": work["flops"] / time_ns / 1e3 or None,
            "gbps": work["bytes"] / time_ns,
        }
    return row


def published_members(
    figure: Figure,
    workbook: str,
    position: SuitePosition,
    consistency: Consistency,
    precision_text: str,
) -> MutableJsonObject:
    """The place of the figure, the printed values, and the result of its check. `precision_text` is
    the precision in the workbook's words."""
    facts: MutableJsonObject = {
        "workbook": workbook,
        "sheet": figure.sheet,
        "row": figure.row,
        "set": position.set,
        "index": position.index,
        "phase": phase_of(figure),
        "status": consistency.status,
        "note": consistency.note,
        "doubt": consistency.doubt,
        "precision": precision_text,
    }
    if figure.tflops is not None:
        facts["tflops"] = figure.tflops
    optional = ("bandwidth_gbs", "stddev_ms", "speedup")
    facts |= {name: figure.numbers[name] for name in optional if name in figure.numbers}
    if figure.padded is not None:
        facts["padded"] = figure.padded
    if "algorithm" in figure.texts and phase_of(figure) not in ("bwd_data", "bwd_filter"):
        facts["algorithm"] = figure.texts["algorithm"]
    if figure.op == "sparse_gemm":
        dense = phase_of(figure) == "dense"
        facts |= {"phase": "fwd", "algorithm": "dense baseline" if dense else "sparse (CSR)"}
    if position.meant:
        facts["intended_attributes"] = {
            name: _as_integer_if_whole(value) for name, value in position.meant.items()
        }
    return facts


def _as_integer_if_whole(value: Value) -> Value:
    return int(value) if isinstance(value, float) and value.is_integer() else value
