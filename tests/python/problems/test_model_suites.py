"""The sets that tools/make_suites.py makes of the package's models."""

from __future__ import annotations

import subprocess
import sys

import pytest

from deepbench import _core, suites
from deepbench.problems.suite_counts import merged_by_problem
from source_tree import ROOT

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


def test_sets_of_ai_matrix() -> None:
    sweep = suites.problems(suites.builtin("ai-matrix-micro", "gemm"), _core.Problem.parse)
    rows, terms = (1024, 5120, 9216, 13312, 17408, 21504), (1024, 5120, 9216, 13312, 17408)
    assert len(sweep) == len(rows) * len(terms)
    flops = sum(problem.flops for _, problem in sweep)
    assert flops == 2 * sum(terms) * sum(m * m for m in rows)
    layers = suites.problems(suites.builtin("ai-matrix-layers", "rnn"), _core.Problem.parse)
    assert len({str(problem) for _, problem in layers}) == 3 * 2 * 2 * 10
    assert {problem.attributes["phase"] for _, problem in layers} == {"fwd"}
