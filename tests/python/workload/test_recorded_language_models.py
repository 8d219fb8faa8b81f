"""Language models against the products that PyTorch makes of transformers' models, which
tools/record_shapes.py records.

Two differences in what a product is are undone here. Projections of one input are several products
in transformers and one in a model file. transformers' `eager` attention is two batched products
over all pairs of a query and a key, masked or not, and their gradients; a model file has a layer
for attention. Which of their operands are transposed depends on copies that transformers makes of
heads, and is left out. The recordings leave experts out.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from deepbench import _core
from deepbench.workload import model_file
from deepbench.workload.expansion import Target, expand
from deepbench.workload.expression import evaluate
from deepbench.workload.model_file import Layer, Model
from model_files import constants_of

TARGET = Target(_core.Problem.parse, measures_all=False)
RECORDINGS = Path(__file__).parents[2] / "data" / "recorded_shapes"

# The outputs of the products that transformers makes of a layer.
KEYS = "kv_heads * head_dim"
ATTENTION = {"qkv": ("heads * head_dim", KEYS, KEYS)}
DENSE = ATTENTION | {"gate and up": ("intermediate",) * 2}
PARTS: Mapping[str, Mapping[str, tuple[str, ...]]] = {
    "bert_large": {"qkv": ("hidden",) * 3},
    "llama3_8b": DENSE,
    "llama3_70b": DENSE,
    "llama3_405b": DENSE,
    "mixtral_8x7b": ATTENTION,
    "gpt_oss_20b": ATTENTION,
    "gpt_oss_120b": ATTENTION,
    "deepseek_v3": {
        "q_a and kv_a": ("q_rank", "kv_rank + rope_dim"),
        "dense gate and up": ("dense_intermediate",) * 2,
        "shared expert gate and up": ("expert_intermediate",) * 2,
    },
}


def recording(name: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((RECORDINGS / f"{name}.json").read_text(encoding="utf-8"))
    return found


PHASES = [(name, phase) for name in PARTS for phase in recording(name)["phases"]]


@pytest.mark.parametrize(("name", "phase"), PHASES, ids=["-".join(one) for one in PHASES])
def test_products_are_those_that_pytorch_makes(name: str, phase: str) -> None:
    model = model_file.builtin(name)
    recorded = recording(name)["phases"][phase]
    chosen = recorded["parameters"] | ({"tp": 1} if "tp" in model.parameters else {})
    found = linear_products(model, phase, chosen) + attention_products(model, phase, chosen)
    assert found == without_transposed_heads(recorded["calls"])


@pytest.mark.parametrize("name", PARTS)
def test_parameters_are_those_of_transformers(name: str) -> None:
    phases = model_file.builtin(name).phases
    parameters = constants_of(model_file.builtin(name), phases[0], tp=1)["parameters"]
    assert parameters == recording(name)["weights"]


def linear_products(model: Model, phase: str, chosen: dict[str, int]) -> Counter[str]:
    names = constants_of(model, phase, **chosen)
    parts = PARTS[model.name]
    layers = [part for layer in model.layers for part in parts_of(layer, parts, names)]
    calls: Counter[str] = Counter()
    for item in expand(replace(model, layers=tuple(layers)), phase, chosen, TARGET).items:
        if item.op == "linear":
            assert item.problem is not None
            a = _core.Problem.parse(item.problem, "").attributes
            calls[
                f"gemm m={a['m']} n={a['n']} k={a['k']} "
                f"trans_a={a['trans_a']} trans_b={a['trans_b']}"
            ] += item.count
    return calls


def parts_of(
    layer: Layer, parts: Mapping[str, tuple[str, ...]], names: Mapping[str, int]
) -> Iterator[Layer]:
    outputs = parts.get(layer.name)
    if outputs is None:
        yield layer
        return
    whole = evaluate(layer.sizes["out"], names)
    assert sum(evaluate(output, names) for output in outputs) == whole
    for output in outputs:
        yield replace(layer, sizes={**layer.sizes, "out": output})


def attention_products(model: Model, phase: str, chosen: dict[str, int]) -> Counter[str]:
    names = constants_of(model, phase, **chosen)
    calls: Counter[str] = Counter()
    for layer in model.layers:
        if layer.op == "attention" and phase in layer.phases:
            sizes = {key: evaluate(value, names) for key, value in layer.sizes.items()}
            products = eager_attention(phase, names["batch"], sizes)
            for product in products:
                calls[product] += evaluate(layer.count, names)
    return calls


def eager_attention(phase: str, batch: int, sizes: Mapping[str, int]) -> list[str]:
    queries, keys, dim = sizes["seq_q"], sizes["seq_kv"], sizes["dim"]
    dim_v = sizes.get("dim_v", dim)
    if phase == "decode":  # the cache of a layer with a window keeps no more
        keys = min(keys, sizes.get("window", keys))
    products = [(keys, queries, dim), (dim_v, queries, keys)]
    if phase == "train":  # of the second product, then of the first
        products += [(keys, queries, dim_v), (dim_v, keys, queries)]
        products += [(dim, queries, keys), (keys, dim, queries)]
    return [
        f"batched_gemm batch_count={batch * sizes['heads']} m={m} n={n} k={k}"
        for m, n, k in products
    ]


def without_transposed_heads(recorded: Mapping[str, int]) -> Counter[str]:
    calls: Counter[str] = Counter()
    for call, count in recorded.items():
        batched = call.startswith("batched_gemm ")
        calls[call.partition(" trans_a=")[0] if batched else call] += count
    return calls
