"""Writes the times of a trace as a result file, so that a run of the suite can be compared with
them. Like published figures they are means that deepbench did not measure or verify."""

from __future__ import annotations

from deepbench import _core
from deepbench.errors import printable_line
from deepbench.json_types import MutableJsonObject
from deepbench.results import schema
from deepbench.results.row import Row, build_row
from deepbench.traces.recording import Recorded, Recording

_FOOTNOTE = (
    "times of a trace were measured in the program that it records and are not verified; they are "
    "means over its calls"
)
_SHARED = "a call computes both gradients, and half of its time counts here"


def time_file(recording: Recording, name: str) -> tuple[MutableJsonObject, list[Row]]:
    """The context and the rows. `name` is that of the trace's file. Problems without a time, which
    launched no kernel, have no row."""
    file = printable_line(name)
    timed = [one for one in recording.problems if one.mean_ns]
    device = recording.device or f"the device of {file}"
    context = {
        "type": "context",
        "schema": schema.VERSION,
        "command": None,
        "started": None,
        "set": None,
        "rows": len(timed),
        "version": _core.version,
        "backend": None,
        "device": {"index": None, "name": device},
        "options": {},
        "footnotes": [_FOOTNOTE],
        "trace": {"file": file, "source": recording.source},
    }
    schema.check_context(context)
    rows = [
        build_row(_members(one, position, device, recording.timer, file))
        for position, one in enumerate(timed)
    ]
    return context, rows


def _members(
    one: Recorded, position: int, device: str, timer: str | None, file: str
) -> MutableJsonObject:
    problem, mean_ns = one.problem, one.mean_ns
    assert mean_ns is not None
    names = [name for name in one.applications if name]
    members = {
        "type": "row",
        "position": position,
        "problem": str(problem),
        "op": problem.op,
        "attributes": problem.attributes,
        "application": names[0] if len(names) == 1 else None,
        "count": one.count,
        "device": {"index": None, "name": device},
        "status": "ok",
        "reason": None,
        "regime": {"timer": timer, "published": {"trace": file}},
        "statistics": {
            "mean_ns": mean_ns,
            "min_ns": one.min_ns,
            "max_ns": one.max_ns,
            "n": one.times,
        },
        "work": {"flops": problem.flops, "bytes": problem.bytes},
        "rates": {"tflops": problem.flops / mean_ns / 1e3, "gbps": problem.bytes / mean_ns},
        "notes": [_SHARED] if one.shares_calls else [],
    }
    if names:
        members["applications"] = [
            {"name": name, "count": one.applications[name]} for name in names
        ]
    return members
