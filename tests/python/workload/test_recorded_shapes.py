"""The package's models against the calls that PyTorch makes, and against published layers.

tests/data/recorded_shapes has what tools/record_shapes.py recorded. tests/data/published_shapes has
the layers of networks that no package has, listed from their sources apart from the model files.
"""

from __future__ import annotations

import importlib
import json
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from deepbench.runner.plan import make_parser
from deepbench.workload import model_file
from deepbench.workload.expansion import Pass, Target, default_values, expand

ROOT = Path(__file__).parents[3]
FILES = [
    path
    for path in sorted((ROOT / "tests/data").glob("*_shapes/*.json"))
    # test_recorded_language_models.py compares these
    if "transformers" not in json.loads(path.read_text("utf-8")).get("versions", {})
]
RECORDED = [path for path in FILES if path.parent.name == "recorded_shapes"]
PARSE = make_parser(None, None)
TARGET = Target(PARSE, measures_all=False)  # products and convolutions, and what others move

# What a layer reads and writes for each element that PyTorch's operations of its kind work on
# (docs/explanation/workloads.md). A norm that computes statistics reads its input once more.
FROZEN_NORMS = ("mask_rcnn", "retinanet")
NOT_RECORDED_NORMS = (*FROZEN_NORMS, "alexnet")
MOVED = {
    "norm": {"norm": 2, "norm gradient": 5},
    "activation": {"activation": 2, "activation gradient": 3},
    "sum": {"sum": 3},
    "concatenation": {"concatenation": 2},
    "pool": {"pool": 1, "pool gradient": 1},
}


def named(paths: list[Path]) -> Any:
    ids = [f"{path.parent.name}-{path.stem}" for path in paths]
    return pytest.mark.parametrize("path", paths, ids=ids)


def passes(path: Path, has_ranks: bool = False) -> Iterator[tuple[str, dict[str, Any], Pass]]:
    """For each phase of a file: its name, what the file has, and the expansion of our model."""
    model = model_file.builtin(path.stem)
    for phase, found in json.loads(path.read_text("utf-8"))["phases"].items():
        values = default_values(model, phase) | found["parameters"]
        target = replace(TARGET, has_ranks=has_ranks)
        yield phase, found, expand(model, phase, values, target)


@named(FILES)
def test_calls(path: Path) -> None:
    for phase, found, ours in passes(path):
        expected: Counter[str] = Counter()
        for line, count in found["calls"].items():
            expected[str(PARSE(line, ""))] += count
        calls: Counter[str] = Counter()
        for item in ours.items:
            if item.problem is not None:
                calls[str(item.problem)] += item.count
        assert calls == expected, phase


@named(FILES)
def test_a_step_of_training_adds_a_gradient_for_each_trained_weight(path: Path) -> None:
    weights = json.loads(path.read_text("utf-8"))["weights"]
    [gradients] = [
        item
        for phase, _, ours in passes(path, has_ranks=True)
        if phase == "train"
        for item in ours.items
        if item.layer == "gradients"
    ]
    assert gradients.bytes == 4 * weights


def moved(found: Pass, kind: str) -> float:
    """Elements that the layers of a kind move. The mean over a map is not recorded."""
    return sum(
        item.count * item.bytes / 4
        for item in found.items
        if item.kind == kind and item.layer != "average pooling"
    )


def sums_of_frozen_norms(name: str, parameters: dict[str, int]) -> float:
    """PyTorch computes a norm that is not trained as a product and a sum."""
    if name not in FROZEN_NORMS:
        return 0
    model = model_file.builtin(name)
    values = default_values(model, "fwd") | parameters
    return moved(expand(model, "fwd", values, TARGET), "norm") / 2


@named(RECORDED)
def test_elements_of_layers_without_products(path: Path) -> None:
    for phase, found, ours in passes(path):
        recorded = Counter(found["elements"])
        recorded["sum"] -= sums_of_frozen_norms(path.stem, found["parameters"])
        for kind, rates in MOVED.items():
            if kind == "norm" and path.stem in NOT_RECORDED_NORMS:
                continue
            expected = sum(rate * recorded[name] for name, rate in rates.items())
            if kind == "norm" and phase == "train":
                expected += recorded["norm"]
            assert moved(ours, kind) == expected, (phase, kind)


@pytest.mark.parametrize(
    ("name", "gmac"),
    [
        ("googlenet", 1.498),  # torchvision's documentation, as for all without a comment
        ("vgg16", 15.47),
        ("resnet50", 4.089),
        ("resnet152", 11.514),
        ("densenet121", 2.834),
        ("mobilenet_v1", 0.569),  # Howard et al. 2017, table 4
        ("mobilenet_v2", 0.301),
        ("squeezenet", 0.349),
        ("ssd_resnet34", 216.5),  # MLPerf Inference Benchmark (arXiv 1911.02549): 433 GOPs
    ],
)
def test_published_work(name: str, gmac: float) -> None:
    model = model_file.builtin(name)
    found = expand(model, "fwd", default_values(model, "fwd"), TARGET)
    flops = sum(item.count * item.flops for item in found.items if item.problem is not None)
    assert flops / 2e9 == pytest.approx(gmac, rel=0.001, abs=0.0005)


@pytest.fixture
def record_shapes(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """The tool, where the packages that it records are installed."""
    pytest.importorskip("torch", reason="PyTorch is not installed")
    monkeypatch.syspath_prepend(str(ROOT / "tools"))
    return importlib.import_module("record_shapes")


def test_ci_installs_the_versions_of_the_recordings() -> None:
    folder = ROOT / "tests/data/recorded_shapes"
    lines = (folder / "pytorch.txt").read_text("utf-8").splitlines()
    installed = dict(line.split("==") for line in lines if not line.startswith("#"))
    for path in folder.glob("*.json"):
        versions = json.loads(path.read_text("utf-8"))["versions"]
        versions.pop("torchvision", None)
        assert versions.items() <= installed.items(), path.name


@pytest.mark.parametrize(
    ("package", "name"),
    [
        ("torchvision", "resnet50"), ("torchvision", "mask_rcnn"),
        ("transformers", "bert_large"), ("transformers", "gpt_oss_20b"),
    ],
)  # fmt: skip
def test_recording_again_gives_the_same(package: str, name: str, record_shapes: ModuleType) -> None:
    pytest.importorskip(package, reason=f"{package} is not installed")
    committed = json.loads((ROOT / f"tests/data/recorded_shapes/{name}.json").read_text("utf-8"))
    again = record_shapes.record(record_shapes.MODELS[name])
    del again["versions"], committed["versions"]
    assert again == committed
