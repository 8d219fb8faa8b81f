"""The recorded traces and logs, and traces that tests make of events."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from deepbench.traces import Recording, read_trace
from source_tree import ROOT

SAMPLES = ROOT / "tests/samples/traces"
TORCH, STACK = "torch-2.14.1.json.gz", "torch-2.14.1-stack.json.gz"
# One program on an H100: its trace, the log of its products, and a replay of its graph.
GPU, GPU_LOG = "torch-2.11.0-h100.json.gz", "cublaslt-torch-2.11.0-h100.log"
GPU_GRAPH = "torch-2.11.0-h100-graph.json.gz"


def read_sample(name: str) -> Recording:
    return read_trace(SAMPLES / name)


def operator(
    name: str, start: float, duration: float, thread: int = 1, **arguments: Any
) -> dict[str, Any]:
    """An event of an operator. Arguments are named with _ for blanks."""
    named = {key.replace("_", " "): value for key, value in arguments.items()}
    return {"ph": "X", "cat": "cpu_op", "name": name, "pid": 1, "tid": thread, "ts": start,
            "dur": duration, "args": named}  # fmt: skip


def product_operator(
    start: float, duration: float, name: str = "aten::mm", **arguments: Any
) -> dict[str, Any]:
    """An event of a product of 5 x 7 and 7 x 6 floats."""
    shown = {
        "Input_Dims": [[5, 7], [7, 6]],
        "Input_Strides": [[7, 1], [6, 1]],
        "Input_type": ["float", "float"],
        "Concrete_Inputs": ["", ""],
    }
    return operator(name, start, duration, **{**shown, **arguments})


def kernel(name: str, start: float, duration: float, **arguments: Any) -> dict[str, Any]:
    event = operator(name, start, duration, **arguments)
    return {**event, "cat": "kernel", "pid": 0}


def write_trace(path: Path, events: list[Any], **members: Any) -> Path:
    path.write_text(json.dumps({"traceEvents": events, **members}))
    return path


def lines_of(recording: Recording) -> list[str]:
    """Each problem and its count."""
    return [f"{one.words} x{one.count}" for one in recording.problems]
