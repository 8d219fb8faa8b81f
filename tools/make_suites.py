"""Writes the suites that are made of the package's models.

    python tools/make_suites.py [--check]

A set of SETS is a list of passes of models. Its suites, python/deepbench/suites/SET/OP.txt, have a
line for each different call of a pass, and how often the pass makes it. With --check
nothing is written, and a suite that differs from its file is an error.
"""

from __future__ import annotations

import sys
import textwrap
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from deepbench import _core
from deepbench.workload import model_file
from deepbench.workload.expansion import Target, default_values, expand
from deepbench.workload.model_file import Model
from deepbench.workload.passes import Item

SUITES = Path(__file__).parent.parent / "python/deepbench/suites"
TARGET = Target(_core.Problem.parse)
WIDTH = 100


@dataclass(frozen=True)
class ModelPass:
    """A pass of a model; parameters that are not given have the model's defaults."""

    model: str
    phase: str
    chosen: Mapping[str, int]

    @property
    def said(self) -> str:
        return " ".join([self.phase, *(f"{name}={value}" for name, value in self.chosen.items())])


@dataclass(frozen=True)
class Set:
    about: str
    passes: Sequence[ModelPass]


def main() -> None:
    if sys.argv[1:] not in ([], ["--check"]):
        sys.exit(__doc__)
    for name, one in SETS.items():
        for path, text in suites(name, one):
            if sys.argv[1:] == []:
                path.parent.mkdir(exist_ok=True)
                path.write_text(text, encoding="utf-8")
            elif not path.exists() or path.read_text(encoding="utf-8") != text:
                sys.exit(f"{path} is not what its models make; run tools/make_suites.py")


def suites(name: str, one: Set) -> Iterator[tuple[Path, str]]:
    """The files of a set, and what they contain."""
    sections: dict[str, list[str]] = {}
    every: list[Item] = []
    for model_pass in one.passes:
        model = model_file.builtin(model_pass.model)
        items = items_of(model, model_pass)
        every += items
        for op, lines in lines_of(model, model_pass, items).items():
            sections.setdefault(op, []).append(
                "\n".join([f"# {model.title}: {model_pass.said}", *lines])
            )
    for op, texts in sections.items():
        header = comment(f"{one.about} These are the problems of {op}.")
        header += comment(
            f"Not measured, and in no file of the set: {', '.join(missing_kinds(every))}."
        )
        if op in PHASES:
            header += f"# phases: {PHASES[op]}\n"
        yield SUITES / name / f"{op}.txt", "\n\n".join([header.rstrip("\n"), *texts]) + "\n"


def items_of(model: Model, model_pass: ModelPass) -> tuple[Item, ...]:
    values = default_values(model, model_pass.phase) | model_pass.chosen
    return expand(model, model_pass.phase, values, TARGET).items


def missing_kinds(items: Sequence[Item]) -> list[str]:
    """The kinds of layers of which something is not measured, in their order."""
    measured = {item.kind for item in items if item.problem is not None}
    missing = dict.fromkeys(item.kind for item in items if item.problem is None)
    return [f"{kind} (in part)" if kind in measured else kind for kind in missing]


def lines_of(model: Model, model_pass: ModelPass, items: Iterable[Item]) -> dict[str, list[str]]:
    """The lines of a pass by operation. Equal calls of several layers are one line."""
    counts: dict[str, Counter[str]] = {}
    for item in items:
        if item.problem is None:
            continue
        problem = _core.Problem.parse(item.problem, "")
        line = problem_line(problem)
        if line is not None:
            counts.setdefault(problem.op, Counter())[line] += item.count
    application = f"{model.title} {model_pass.phase}"
    return {
        op: [f'{line} count={count} application="{application}"' for line, count in lines.items()]
        for op, lines in counts.items()
    }


# Phases that a line without one stands for. Some libraries compute the gradients of a recurrent
# layer in one call, which lines with a phase each do not permit.
PHASES = {"rnn": "fwd bwd_data bwd_weights"}


def problem_line(problem: _core.Problem) -> str | None:
    """The shortest line for a problem, or None if another line stands for it."""
    phase = problem.attributes.get("phase")
    if problem.op in PHASES and problem.attributes["mode"] == "training":
        if phase != "fwd":
            return None
        kept: tuple[str, ...] = ()
    else:
        kept = (f"phase={phase}",)
    words = str(problem).split()
    for word in words[1:]:
        shorter = [other for other in words if other != word]
        if word not in kept and is_same(shorter, problem):
            words = shorter
    return " ".join(words)


def is_same(words: Sequence[str], problem: _core.Problem) -> bool:
    try:
        return _core.Problem.parse(" ".join(words), "") == problem
    except ValueError:
        return False


def comment(text: str) -> str:
    return textwrap.fill(text, WIDTH, initial_indent="# ", subsequent_indent="# ") + "\n"


def language_model(name: str, seq: int = 8192, **sizes: int) -> Iterator[ModelPass]:
    yield ModelPass(name, "prefill", {"batch": 1, "seq": 2048, **sizes})
    for batch in (1, 2, 4, 8, 16, 32, 64, 128, 256):
        yield ModelPass(name, "decode", {"batch": batch, **sizes})
    yield ModelPass(name, "train", {"batch": 1, "seq": seq, **sizes})


def served(name: str) -> Iterator[ModelPass]:
    yield ModelPass(name, "prefill", {"batch": 1, "seq": 2048})
    yield ModelPass(name, "decode", {"batch": 1})
    yield ModelPass(name, "decode", {"batch": 64})


SETS: Mapping[str, Set] = {
    "mlperf-v0.5": Set(
        "MLPerf Training v0.5 (2018): a step of training of each reference. Batches are those "
        "of one device; those of ResNet-50, Mask R-CNN and Minigo are chosen here.",
        [
            ModelPass("resnet50", "train", {"batch": 32}),
            ModelPass("ssd_resnet34", "train", {"batch": 32}),
            ModelPass("mask_rcnn", "train", {"batch": 2}),
            ModelPass("gnmt", "train", {"batch": 128, "seq": 50}),
            ModelPass("transformer_big", "train", {"batch": 64, "seq": 64}),
            ModelPass("ncf", "train", {"batch": 2048}),
            ModelPass("deepspeech2", "train", {"batch": 8, "seq": 1000}),
            ModelPass("minigo", "train", {"batch": 256}),
            ModelPass("sentiment", "train", {"batch": 128, "seq": 256}),
        ],
    ),
    "mlperf": Set(
        "MLPerf's lists of 2026 (training v6.1, inference v6.1), as far as their kernels are "
        "known. Training: Llama 3.1 8B, gpt-oss 20B and DeepSeek-V3; Llama 2 70B LoRA, FLUX.1 "
        "and Qwen 3.5 are missing. Inference: ResNet-50, BERT-large, Llama 3.1 8B, gpt-oss 120B "
        "and DeepSeek-R1, which has the layers of V3; Llama 2 70B, YOLO v11, DLRM v3, 3D U-Net, "
        "Stable Diffusion XL, Wan 2.2, R-GAT, Whisper, Qwen 3 and the retrieval of documents "
        "are missing. Batches are chosen here.",
        [
            ModelPass("llama3_8b", "train", {"batch": 1, "seq": 8192}),
            ModelPass("gpt_oss_20b", "train", {"batch": 1, "seq": 8192}),
            ModelPass("deepseek_v3", "train", {"batch": 1, "seq": 4096}),
            ModelPass("resnet50", "fwd", {"batch": 1}),
            ModelPass("resnet50", "fwd", {"batch": 64}),
            ModelPass("bert_large", "fwd", {"batch": 1, "seq": 384}),
            ModelPass("bert_large", "fwd", {"batch": 32, "seq": 384}),
            *served("llama3_8b"),
            *served("gpt_oss_120b"),
            *served("deepseek_v3"),
        ],
    ),
    "llm": Set(
        "Language models: a prompt of 2,048 tokens, a token of each of 1 to 256 sequences, and "
        "a step of training.",
        [
            *language_model("llama3_8b"),
            *language_model("llama3_70b", tp=8),
            *language_model("llama3_405b", tp=8),
            *language_model("mixtral_8x7b"),
            *language_model("deepseek_v3", seq=4096),
            *language_model("gpt_oss_20b"),
            *language_model("gpt_oss_120b"),
        ],
    ),
}

if __name__ == "__main__":
    main()
