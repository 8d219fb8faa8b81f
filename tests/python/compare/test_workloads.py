"""Two machines side by side for a model."""

from __future__ import annotations

import json
from typing import Any

import pytest

from comparison_rows import make_result_set, render, timed_gemm
from deepbench.compare import (
    Comparison,
    NothingInCommon,
    ResultSet,
    Rules,
    WorkloadComparison,
    compare,
    compare_workloads,
)
from example_rows import without_times
from workload_files import model_results, model_rows

US = 1000.0


def workloads(base: ResultSet, other: ResultSet, *across: str) -> WorkloadComparison:
    found = compare_workloads(base, other, across)
    assert found is not None
    return found


def compared(base: ResultSet, other: ResultSet, *across: str) -> Comparison:
    return compare([base, other], Rules(across=across))


BASE = model_results({1: model_rows(1, 10 * US, 5 * US), 4: model_rows(4, 20 * US, 10 * US)}, "a")
FAST = model_results({1: model_rows(1, 6 * US, 2 * US), 4: model_rows(4, 9 * US, 3 * US)}, "b")


def test_totals_weigh_the_calls() -> None:
    found = workloads(BASE, FAST)
    assert [(one.base_ns, one.other_ns) for one in found.pairs] == [
        (35_000.0, 20_000.0),
        (70_000.0, 30_000.0),
    ]
    assert all(one.is_total for one in found.pairs)
    assert found.pairs[0].ratio == pytest.approx(20 / 35)
    assert found.only_base == found.only_other == found.apart == ()


def test_the_text_has_totals_ratio_coverage_and_kinds() -> None:
    text = render(compared(BASE, FAST), "table")
    lines = [line.split() for line in text.splitlines()]
    assert "Mine fwd, float, cache hot, power rested, B against A:" in text
    expected = "batch=1 total 35.00 µs 20.00 µs 0.571 100.0 % 100.0 %"
    assert expected.split() in lines
    # The knee of the baseline is its batch of 4.
    assert "Time by kind of layer, batch=4, float, cache hot, power rested:" in text
    assert ["product", "60.00", "µs", "85.7", "27.00", "µs", "90.0", "0.450", "yes"] in lines
    assert ["output", "10.00", "µs", "14.3", "3.000", "µs", "10.0", "0.300", "yes"] in lines
    for name in ("markdown", "html"):
        assert "B against A" in render(compared(BASE, FAST), name)


def test_what_is_estimated_is_a_part_of_totals() -> None:
    """The example rows have 25 GB/s: 25,000 bytes take 1 µs."""
    base = model_results({1: model_rows(1, 10 * US, 5 * US)}, norm_bytes=25_000)
    other = model_results({1: model_rows(1, 10 * US, 5 * US)}, norm_bytes=25_000)
    [pair] = workloads(base, other).pairs
    assert pair.is_total
    assert pair.base_ns == 36_000.0
    assert ["norm", "1.000", "µs", "2.8", "1.000", "µs", "2.8", "-", "estimated"] in [
        line.split() for line in render(compared(base, other), "table").splitlines()
    ]


def test_without_totals_only_kernels_that_both_measured_are_compared() -> None:
    lost = without_times(model_rows(1, 10 * US, 5 * US)[1], "failed", "it crashed")
    base = model_results({1: model_rows(1, 10 * US, 500 * US)})
    other = model_results({1: [model_rows(1, 5 * US)[0], lost]})
    found = workloads(base, other)
    [pair] = found.pairs
    assert not pair.is_total
    assert (pair.base_ns, pair.other_ns) == (30_000.0, 15_000.0)
    text = render(compared(base, other), "table")
    assert "kernels: those that both have measured" in text
    assert "output" in text
    assert "yes in A, estimated in B" in text


def test_totals_of_other_layers_are_not_compared() -> None:
    """Another version of a model may have more layers."""
    base = model_results({1: model_rows(1, 10 * US)})
    other = model_results({1: model_rows(1, 10 * US, 5 * US)})
    [pair] = workloads(base, other).pairs
    assert not pair.is_total
    assert pair.base_ns == pair.other_ns == 30_000.0


def test_passes_of_one_side_are_named() -> None:
    other = model_results({4: model_rows(4, 20 * US, 10 * US), 8: model_rows(8, 30 * US, 10 * US)})
    found = workloads(BASE, other)
    assert [one.base.what.batch for one in found.pairs] == [4]
    text = render(compared(BASE, other), "table")
    assert "only in A: batch=1\n" in text
    assert "only in B: batch=8\n" in text


def test_other_phases_and_models_have_no_pass_in_common() -> None:
    rows = {1: model_rows(1, 10 * US, 5 * US)}
    text = render(compared(BASE, model_results(rows, phase="train")), "table")
    assert (
        "A is Mine fwd batch=1,4 and B is Mine train batch=1: they have no pass in common" in text
    )
    strange = model_results({2: model_rows(2, 1 * US, 1 * US)}, "c", title="Other")
    with pytest.raises(NothingInCommon) as error:
        compared(BASE, strange)
    assert str(error.value) == (
        "a.jsonl and c.jsonl have no problem in common: Mine fwd batch=1,4 in the first, Other fwd "
        "batch=2 in the second"
    )


def test_regimes_are_not_mixed() -> None:
    cold = {1: model_rows(1, 30 * US, 15 * US, cache="cold", cold="rotation")}
    found = workloads(BASE, model_results(cold))
    assert found.pairs == ()
    assert found.apart == ("cache",)
    [across] = workloads(BASE, model_results(cold), "cache").pairs
    assert across.ratio == pytest.approx(3)
    # A file with both regimes is compared regime by regime.
    both = model_results({1: model_rows(1, 10 * US, 5 * US) + cold[1]})
    ratios = [(one.base.regime, one.ratio) for one in workloads(both, both, "cache").pairs]
    assert ratios == [(("hot", "rested"), 1.0), (("cold", "rested"), 1.0)]


def test_precisions_are_compared_on_request() -> None:
    half = model_results({1: model_rows(1, 5 * US, 5 * US, precision="half")})
    found = workloads(BASE, half)
    assert found.pairs == ()
    assert found.apart == ("precision",)
    [pair] = workloads(BASE, half, "precision").pairs
    assert (pair.base_ns, pair.other_ns) == (35_000.0, 20_000.0)
    text = render(compared(BASE, half, "precision"), "table")
    assert "float, cache hot, power rested against half, cache hot, power rested" in text


def test_passes_without_a_common_kernel_are_named() -> None:
    lost = [without_times(row, "failed", "it crashed") for row in model_rows(4, US, US)]
    other = model_results({1: model_rows(1, US, US), 4: lost})
    assert [one.base.what.batch for one in workloads(BASE, other).pairs] == [1]
    assert "no kernel is measured in both: batch=4" in render(compared(BASE, other), "table")


def test_impossible_times_are_no_times() -> None:
    """A file may hold any number that the schema allows."""
    rows = [*model_rows(1, 1e-90, 5 * US), *model_rows(2, 1e-90, 1e-90)]
    base = model_results({1: rows[:2], 2: rows[2:]})
    [pair] = workloads(base, base).pairs
    assert [a.item.layer for a, _ in pair.kernels] == ["out"]
    assert "no kernel is measured in both: batch=2" in render(compared(base, base), "table")


def test_rows_of_no_model_are_compared_alone() -> None:
    plain = make_result_set(timed_gemm(0, m=10))
    assert compare_workloads(BASE, plain) is None
    assert "coverage" not in render(compared(BASE, plain), "table")
    [against] = json.loads(render(compared(BASE, plain), "json"))["against"]
    assert against["workload"] is None


def test_programs_get_every_pass_unrounded() -> None:
    [against] = json.loads(render(compared(BASE, FAST), "json"))["against"]
    found: dict[str, Any] = against["workload"]
    assert (found["base"], found["other"]) == ("Mine fwd batch=1,4",) * 2
    first, second = found["passes"]
    assert first["parameters"] == {"batch": 1}
    assert first["total"] is True
    assert first["ratio"] == pytest.approx(20 / 35)
    assert first["base"] == {"cache": "hot", "power": "rested", "coverage": 1.0, "complete": True}
    assert second["kinds"][0] == {
        "name": "product",
        "base_measured_ns": 60_000.0,
        "base_estimated_ns": 0.0,
        "other_measured_ns": 27_000.0,
        "other_estimated_ns": 0.0,
        "ratio": 0.45,
    }
