"""Student's t distribution, against printed tables."""

from __future__ import annotations

import pytest

from deepbench.student import student_quantile, two_sided_probability


@pytest.mark.parametrize(
    ("probability", "degrees", "quantile"),
    [
        (0.975, 1, 12.7062),
        (0.995, 1, 63.6567),
        (0.975, 2, 4.3027),
        (0.995, 2, 9.9248),
        (0.99, 4, 3.7469),
        (0.95, 5, 2.0150),
        (0.995, 5, 4.0321),
        (0.999, 5, 5.8934),
        (0.995, 7, 3.4995),
        (0.975, 9, 2.2622),
        (0.995, 21, 2.8314),
        (0.995, 30, 2.7500),
        (0.995, 98, 2.6269),
        (0.975, 100, 1.9840),
    ],
)
def test_quantiles_are_those_of_tables(probability: float, degrees: int, quantile: float) -> None:
    assert student_quantile(probability, degrees) == pytest.approx(quantile, abs=1e-4)
    outside = 2 * (1 - probability)
    assert two_sided_probability(quantile, degrees) == pytest.approx(outside, rel=1e-3)


def test_a_t_of_zero_has_the_probability_one() -> None:
    assert [two_sided_probability(0.0, degrees) for degrees in (1, 2, 5, 6)] == [1, 1, 1, 1]
