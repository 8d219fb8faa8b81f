"""How often runs err: benchmarks/ab_error_rates.py with few runs. The seeds are fixed."""

from __future__ import annotations

import math
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from source_tree import ROOT

RUNS = 300
ONE_IN_TWENTY = 0.05 + 3 * math.sqrt(0.05 * 0.95 / RUNS)  # as so many runs can tell it


@pytest.fixture
def rates(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.syspath_prepend(str(ROOT / "benchmarks"))
    import ab_error_rates  # type: ignore[import-not-found]

    return ab_error_rates


def drawn_share(rates: Any, scenario: Any, word: str) -> float:
    found: Counter[str] = Counter()
    for seed in range(RUNS):
        found += rates.drawn_outcome(scenario, seed)
    return found[word] / RUNS


@pytest.mark.parametrize(("deviation", "rows"), [(0.003, 1), (0.006, 1), (0.005, 5)])
def test_equal_environments_rarely_differ(rates: Any, deviation: float, rows: int) -> None:
    assert drawn_share(rates, rates.Scenario(deviation, rows=rows), "different") <= ONE_IN_TWENTY


@pytest.mark.parametrize("deviation", [0.003, 0.006, 0.009])
def test_a_slowdown_of_one_per_cent_is_found(rates: Any, deviation: float) -> None:
    scenario = rates.Scenario(deviation, 1.01)
    missed = drawn_share(rates, scenario, "same") + drawn_share(rates, scenario, "faster")
    assert missed <= ONE_IN_TWENTY


def test_pairs_that_repeat_badly_claim_nothing(rates: Any) -> None:
    assert drawn_share(rates, rates.Scenario(0.02), "unresolved") >= 0.95


def test_whole_runs_on_the_scripted_backend_agree(
    rates: Any, plugin: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DEEPBENCH_FAKE_SCRIPT", "")  # and restored
    equal, slower = Counter[str](), Counter[str]()
    for seed in range(8):
        equal += rates.outcome_on_backend(str(plugin), rates.Scenario(0.003, rows=2), seed)
        slower += rates.outcome_on_backend(str(plugin), rates.Scenario(0.003, 1.01), seed)
    # The second in which a run begins decides the order of its rows, and so which row gets which
    # draw. Two rows of a hundred are false alarms: of 16, one test in 10,000 has more than three.
    assert equal["same"] >= 13
    assert equal["different"] <= 3
    assert (slower["slower"], slower["different"]) == (8, 8)
