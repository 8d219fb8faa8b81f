"""The statistics of pairs, by their definitions."""

from __future__ import annotations

import math

import pytest

from deepbench.ab.paired_test import (
    LEAST_PAIRS,
    MOST_PAIRS,
    PairedTest,
    decisive,
    logarithms,
    pairs_needed,
)


@pytest.mark.parametrize(
    ("deviation", "pairs"), [(0.0, 6), (0.003, 6), (0.005, 8), (0.0099, 22), (0.05, 22)]
)
def test_the_number_of_pairs_finds_one_per_cent(deviation: float, pairs: int) -> None:
    assert pairs_needed(deviation) == pairs


def test_numbers_of_pairs_are_even_so_that_both_begin_as_often() -> None:
    numbers = {pairs_needed(deviation / 1e4) for deviation in range(200)}
    assert numbers == set(range(LEAST_PAIRS, MOST_PAIRS + 1, 2))


def test_what_22_pairs_cannot_find_is_not_resolved() -> None:
    assert PairedTest(22, 0.0, 0.0099).can_resolve
    assert not PairedTest(22, 0.0, 0.0105).can_resolve


@pytest.mark.parametrize("mean", [-0.02, -0.005, 0.0, 0.004, 0.0066, 0.0068, 0.02])
def test_the_interval_leaves_one_out_if_and_only_if_the_row_differs(mean: float) -> None:
    test = PairedTest(6, mean, 0.0041)
    low, high = test.interval
    assert test.is_different == (not low <= 1 <= high)
    assert math.log(low * high) / 2 == pytest.approx(mean)


def test_pairs_that_repeat_exactly_differ_by_any_amount() -> None:
    assert PairedTest(6, 1e-3, 0.0).is_different
    assert not PairedTest(6, 0.0, 0.0).is_different


def test_one_pair_says_nothing() -> None:
    assert PairedTest.of([0.5]) is None


def test_the_drift_of_a_machine_cancels_in_pairs() -> None:
    test = PairedTest.of(logarithms([(100.0, 102.0), (150.0, 153.0), (90.0, 91.8)]))
    assert test is not None
    assert test.ratio == pytest.approx(1.02)
    assert test.deviation == pytest.approx(0, abs=1e-12)


@pytest.mark.parametrize(
    ("probabilities", "found"),
    [
        ([], set()),
        ([0.009], {0}),
        ([0.011], set()),  # alone it would be below 5 %, and its row says 'same'
        ([0.009] * 40, set()),  # 40 rows have one of these by chance in a third of all runs
        ([0.0009] + [0.5] * 39, {0}),
        ([0.0011] + [0.5] * 39, set()),
        ([0.5, 0.001, 0.0012, 0.5], {1, 2}),
    ],
)
def test_holms_rule_decides_over_all_rows(probabilities: list[float], found: set[int]) -> None:
    assert decisive(probabilities) == found
