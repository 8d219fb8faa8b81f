"""The sets that tools/make_suites.py makes of the package's models."""

from __future__ import annotations

import subprocess
import sys
from math import prod

import pytest

from deepbench import _core, suites
from deepbench.problems.suite_counts import merged_by_problem
from source_tree import ROOT

# Elements of all maps of AI Matrix's pool.params, normal.params and active.params.
POOL, NORMAL, ACTIVE = 135_516_032, 37_751_252, 131_036_244
PAIRS = [pair for pair in suites.available() if pair[0] in suites.MODELS]


def test_suites_are_what_their_models_make() -> None:
    command = [sys.executable, ROOT / "tools/make_suites.py", "--check"]
    made = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (made.returncode, made.stdout, made.stderr) == (0, "", "")


def test_every_set_has_suites() -> None:
    assert {name for name, _ in PAIRS} == set(suites.MODELS)


@pytest.mark.parametrize("pair", PAIRS, ids="/".join)
def test_every_line_counts_calls_of_an_application(pair: tuple[str, str]) -> None:
    for entry in suites.builtin(*pair).entries:
        assert entry.text.split()[0] == pair[1]
        assert entry.count
        assert entry.application


@pytest.mark.parametrize("pair", PAIRS, ids="/".join)
def test_every_problem_has_one_row(pair: tuple[str, str]) -> None:
    parsed = suites.problems(suites.builtin(*pair), _core.Problem.parse)
    merged = merged_by_problem(parsed)
    assert len({str(one.problem) for one in merged}) == len(merged)
    assert sum(one.counts.count for one in merged if one.counts) == sum(
        entry.count or 0 for entry, _ in parsed
    )


def flops_of(pair: tuple[str, str], application: str) -> float:
    parsed = suites.problems(suites.builtin(*pair), _core.Problem.parse)
    return sum(
        (entry.count or 0) * problem.flops
        for entry, problem in parsed
        if entry.application == application
    )


def test_decoding_multiplies_with_every_matrix_of_llama() -> None:
    """All parameters but those of the embedding and the norms, for batches of 1 to 256."""
    matrices = 8_030_261_248 - 128256 * 4096 - 65 * 4096
    tokens = sum(2**power for power in range(9))
    assert flops_of(("llm", "gemm"), "Llama 3 8B decode") == 2 * matrices * tokens


def test_training_a_recurrent_layer_has_three_phases() -> None:
    """GNMT has eight layers, the first in both directions, of 50 steps for 128 sentences."""
    forward = 2 * 9 * 4 * 1024 * 1024 * 128 * 50
    assert flops_of(("mlperf-v0.5", "rnn"), "GNMT train") == 3 * forward


def test_decoding_attends_to_every_cached_token_of_llama() -> None:
    """32 layers of 32 heads, whose keys and values have 128 elements, for batches of 1 to 256."""
    tokens = sum(2**power for power in range(9))
    of_a_token = 32 * 32 * 2048 * 2 * (128 + 128)
    assert flops_of(("llm", "attention"), "Llama 3 8B decode") == tokens * of_a_token


def test_suites_name_what_they_have_no_problems_of() -> None:
    text = (ROOT / "python/deepbench/suites/llm/gemm.txt").read_text(encoding="utf-8")
    header = " ".join(line.removeprefix("# ") for line in text.partition("\n\n")[0].splitlines())
    missing = header.partition("Not measured, and in no file of the set: ")[2].split(", ")
    assert "loss" in missing
    assert "norm" not in missing  # norm.txt has all of them


def test_sets_of_ai_matrix() -> None:
    sweep = suites.problems(suites.builtin("ai-matrix-micro", "gemm"), _core.Problem.parse)
    rows, terms = (1024, 5120, 9216, 13312, 17408, 21504), (1024, 5120, 9216, 13312, 17408)
    assert len(sweep) == len(rows) * len(terms)
    flops = sum(problem.flops for _, problem in sweep)
    assert flops == 2 * sum(terms) * sum(m * m for m in rows)
    layers = suites.problems(suites.builtin("ai-matrix-layers", "rnn"), _core.Problem.parse)
    assert len({str(problem) for _, problem in layers}) == 3 * 2 * 2 * 10
    assert {problem.attributes["phase"] for _, problem in layers} == {"fwd"}
    convolutions = suites.problems(suites.builtin("ai-matrix-layers", "conv"), _core.Problem.parse)
    assert len(convolutions) == 109
    assert len({str(problem) for _, problem in convolutions}) == 101
    flops = sum(problem.flops for _, problem in convolutions)
    assert flops == 2 * 142_865_494_656  # without padding; with it, 166.0 G


@pytest.mark.parametrize(
    ("op", "lines", "distinct", "elements"),
    [
        # twice the maps of pool.params, 77 of normal.params, 96 of active.params
        ("pool", 48, 48, 2 * POOL),
        ("norm", 77, 77, NORMAL),
        ("lrn", 77, 77, NORMAL),
        ("softmax", 96, 93, ACTIVE),
        ("activation", 288, 264, 3 * ACTIVE),
    ],
)
def test_layers_of_ai_matrix_without_products(
    op: str, lines: int, distinct: int, elements: int
) -> None:
    parsed = suites.problems(suites.builtin("ai-matrix-layers", op), _core.Problem.parse)
    problems = [problem for _, problem in parsed]
    assert (len(problems), len({str(one) for one in problems})) == (lines, distinct)
    sizes = ("n", "c", "h", "w", "rows", "columns", "elements")
    inputs = [prod(int(one.attributes.get(key, 1)) for key in sizes) for one in problems]
    assert sum(inputs) == elements
    assert {one.attributes.get("phase", "fwd") for one in problems} <= {"fwd", "inference"}
