"""The tolerance of a family: the plain percentage, and how often good machines fail."""

from __future__ import annotations

import math

import pytest

from deepbench.accept.tolerance import WITHOUT_SPREAD, tolerance
from deepbench.references import FamilySpread
from source_tree import ROOT


def test_ten_devices_allow_four_deviations() -> None:
    spread = FamilySpread(10, 0.02)
    assert tolerance(spread, 7).log_limit / spread.log_sd == pytest.approx(4.25, abs=0.01)


def test_a_small_spread_allows_three_per_cent() -> None:
    assert tolerance(FamilySpread(10, 0.001), 7).share == pytest.approx(0.03)


def test_fewer_than_five_devices_have_no_spread() -> None:
    allowed = tolerance(FamilySpread(4, 0.2), 7)
    assert allowed.spread is None
    assert allowed.share == pytest.approx(0.05)
    assert tolerance(FamilySpread(5, 0.2), 7).spread is not None


@pytest.mark.parametrize(("devices", "deviation"), [(5, 0.007), (8, 0.011)])
def test_a_large_spread_allows_more_than_the_plain_percentage(
    devices: int, deviation: float
) -> None:
    assert WITHOUT_SPREAD < tolerance(FamilySpread(devices, deviation), 7).share < 0.06


def test_several_devices_share_the_rate_of_false_alarms() -> None:
    spread = FamilySpread(10, 0.02)
    assert tolerance(spread, 28).log_limit > tolerance(spread, 7).log_limit


def test_good_machines_rarely_fail(monkeypatch: pytest.MonkeyPatch) -> None:
    """A short form of the simulation whose result docs/results/log/accept.md states."""
    monkeypatch.syspath_prepend(str(ROOT / "benchmarks"))
    import accept_false_alarms as simulation  # type: ignore[import-not-found]

    machines = 2000
    rate = simulation.false_alarm_rate("normal", 10, 0.1, machines)
    assert abs(rate - 0.01) < 4 * math.sqrt(0.01 * 0.99 / machines)
    assert simulation.false_alarm_rate("normal", 10, 0.005, machines) < rate
