"""Parameters and multiplications of the package's models against figures found elsewhere.

tests/data/workload_macs.csv has multiply-adds of one pass, derived layer by layer from published
configurations and reference programs apart from the model files: of linear layers (in training
with both gradients), of batched products and attention (forward only), of experts (with gradients),
and of recurrent layers (forward only, the products of their inputs included).
"""

from __future__ import annotations

import csv
from collections import Counter
from pathlib import Path

import pytest

from deepbench import _core
from deepbench.workload import model_file
from deepbench.workload.expansion import Target, default_values, expand
from deepbench.workload.model_file import Layer, Model
from deepbench.workload.passes import Item
from model_files import constants_of

TARGET = Target(_core.Problem.parse, measures_all=False)
LINEAR, BATCHED, ATTENTION, EXPERTS, RECURRENT = KINDS = (
    "linear", "batched", "attention", "experts", "recurrent",
)  # fmt: skip

PARTS = ("norm", "activation", "sum")  # of layers, without products

with (Path(__file__).parents[2] / "data" / "workload_macs.csv").open(encoding="utf-8") as file:
    PASSES = list(csv.DictReader(file))


@pytest.mark.parametrize(
    ("name", "phase", "parameters"),
    [
        # transformers 5.24 on PyTorch's meta device
        ("bert_large", "train", 336_226_108),
        ("llama3_8b", "train", 8_030_261_248),
        ("llama3_70b", "train", 70_553_706_496),
        ("llama3_405b", "train", 405_853_388_800),
        ("mixtral_8x7b", "train", 46_702_792_704),
        ("gpt_oss_20b", "train", 20_914_757_184),
        ("gpt_oss_120b", "train", 116_829_156_672),
        # without 58 x 256 biases of the router and without the second predicted token
        ("deepseek_v3", "train", 671_026_404_352),
        # comments on MLPerf's references, and layers of the references added up
        ("gnmt", "train", 160_671_297),
        ("ncf", "train", 31_832_577),
        ("transformer_big", "train", 210_804_736),
        ("deepspeech2", "train", 103_841_568),
        ("sentiment", "train", 12_618_754),
        ("dlrm", "train", 2_368_897),
        ("dlrm_dcnv2", "train", 16_044_545),
        ("rnn_t", "train", 49_006_080),
        ("rnn_t", "fwd", 45_323_549),
    ],
)
def test_parameters(name: str, phase: str, parameters: int) -> None:
    assert constants_of(model_file.builtin(name), phase, tp=1)["parameters"] == parameters


@pytest.mark.parametrize(
    ("name", "parameters"), [("dlrm", 22_776_867_200), ("dlrm_dcnv2", 26_135_627_264)]
)
def test_parameters_of_embedding_tables(name: str, parameters: int) -> None:
    assert constants_of(model_file.builtin(name), "train")["table_parameters"] == parameters


@pytest.mark.parametrize(
    "row", PASSES, ids=["-".join(list(row.values())[:6]).replace("--", "-") for row in PASSES]
)
def test_multiplications(row: dict[str, str]) -> None:
    model = model_file.builtin(row["workload"])
    chosen = {name: int(row[name]) for name in ("batch", "seq", "kv", "tp") if row[name]}
    values = default_values(model, row["phase"]) | chosen
    assert multiplications(model, row["phase"], values) == {kind: int(row[kind]) for kind in KINDS}


def multiplications(model: Model, phase: str, values: dict[str, int]) -> dict[str, float]:
    layers = {layer.name: layer for layer in model.layers}
    found = Counter(dict.fromkeys(KINDS, 0.0))
    for item in expand(model, phase, values, TARGET).items:
        if item.op in PARTS:
            continue
        kind = kind_of(layers[item.layer], item)
        if kind is not None:
            found[kind] += item.count * item.flops / 2
    return dict(found)


def kind_of(layer: Layer, item: Item) -> str | None:
    """The column that counts the item, or None."""
    if layer.kind == "recurrent":
        return RECURRENT if is_forward(item) else None
    if layer.op == "linear":
        return LINEAR
    if layer.kind == "experts":
        return EXPERTS
    if layer.phases == ("train",):
        return None
    return {"batched_gemm": BATCHED, "attention": ATTENTION}.get(layer.op)


def is_forward(item: Item) -> bool:
    assert item.problem is not None
    attributes = _core.Problem.parse(item.problem, "").attributes
    return attributes.get("phase", "fwd") == "fwd" and attributes.get("trans_a", "t") == "t"


@pytest.mark.parametrize("name", model_file.available())
@pytest.mark.parametrize("size", ["minimum", "maximum"])
def test_every_model_expands_at_its_limits(name: str, size: str) -> None:
    model = model_file.builtin(name)
    for phase in model.phases:
        values = {key: getattr(one, size) for key, one in model.parameters_of(phase).items()}
        assert expand(model, phase, values, TARGET).items
