"""A small model file for tests, and its layers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from deepbench.workload.expansion import default_values
from deepbench.workload.expression import evaluate
from deepbench.workload.model_file import Model, from_bytes

Layer = Mapping[str, object]

LAYER: dict[str, object] = {
    "name": '"one"',
    "kind": '"product"',
    "op": '"linear"',
    "tokens": '"tokens"',
    "in": '"hidden"',
    "out": '"2 * hidden / tp"',
}
_HEAD = """\
title = "Mine"
batch_unit = "sequences"
source = "nowhere"
phases = ["prefill", "decode"]

[parameters.batch]
default = 4
maximum = 64
[parameters.seq]
default = 16
maximum = 128
phases = ["prefill"]
[parameters.tp]
values = [1, 2]

[constants]
hidden = 64
[phase_constants.prefill]
tokens = "batch * seq"
[phase_constants.decode]
tokens = "batch"
"""


def model_text(layers: Sequence[Layer] = (LAYER,), head: str = _HEAD) -> str:
    """A model file. The values of a layer are TOML."""
    parts = [head]
    for layer in layers:
        lines = [f"{key} = {value}" for key, value in layer.items()]
        parts.append("\n".join(["[[layers]]", *lines]) + "\n")
    return "\n".join(parts)


def model_of(*layers: Layer, head: str = _HEAD) -> Model:
    return from_bytes(model_text(layers, head).encode(), "mine.toml", "mine")


def constants_of(model: Model, phase: str, **chosen: int) -> dict[str, int]:
    """The values of parameters and constants in a phase."""
    values = default_values(model, phase) | chosen
    for name, expression in (model.constants | model.phase_constants.get(phase, {})).items():
        values[name] = evaluate(expression, values)
    return values
