"""Comparing files: pairing of rows, intervals of ratios, and verdicts."""

from __future__ import annotations

import math
import random
from typing import Any

import pytest

from comparison_rows import make_published_row, make_result_set, timed_gemm, with_regime
from deepbench._core import student_quantile
from deepbench.compare import NothingInCommon, ResultSet, Rules, compare
from deepbench.compare.matching import match
from deepbench.compare.ratios import Ratio, geometric_mean, median_interval, ratio
from deepbench.compare.result_set import Entry, to_entry
from deepbench.compare.verdicts import decide_verdict, sidak_factor
from deepbench.report.comparison.content import summary
from deepbench.report.comparison.remarks import remarks
from example_rows import make_row, row_of_members, without_times


def verdicts(base: ResultSet, other: ResultSet, **rules: Any) -> list[str]:
    return [row.verdict for row in compare([base, other], Rules(**rules)).others[0].rows]


# ---- pairing of rows ---------------------------------------------------------------------------


def test_rows_are_matched_by_their_problem_in_any_order() -> None:
    base = make_result_set(timed_gemm(0), timed_gemm(1), timed_gemm(2))
    other = make_result_set(timed_gemm(0, m=1762), timed_gemm(1, m=1760), timed_gemm(2, m=9))
    found = match(base, other)
    assert [(a.position, b.position) for a, b in found.pairs] == [(0, 1), (2, 0)]
    assert [(row.entry.position, row.reason) for row in found.only_first] == [
        (1, "no row of this problem")
    ]
    assert [row.entry.position for row in found.only_second] == [2]


def test_duplicates_are_matched_one_by_one() -> None:
    base = make_result_set(timed_gemm(0, m=5), timed_gemm(1, m=5), timed_gemm(2, m=5))
    found = match(base, make_result_set(timed_gemm(0, m=5), timed_gemm(1, m=5)))
    assert [(a.position, b.position) for a, b in found.pairs] == [(0, 0), (1, 1)]
    assert found.only_first[0].reason == "fewer rows of this problem"


def test_several_regimes_and_libraries_in_one_file_are_paired_with_equals() -> None:
    hot, cold = timed_gemm(0, m=5), with_regime(timed_gemm(1, m=5), cache="cold", cold="rotation")
    mkl = timed_gemm(2, m=5, library="mkl 2024")
    found = match(make_result_set(mkl, cold, hot), make_result_set(hot, mkl, cold))
    assert [(a.position, b.position) for a, b in found.pairs] == [(0, 0), (1, 1), (2, 2)] or [
        (a.cache, a.library) == (b.cache, b.library) for a, b in found.pairs
    ] == [True] * 3


def test_other_backends_libraries_and_machines_are_compared() -> None:
    gpu = timed_gemm(0, backend="cuda", device={"index": 0, "name": "GPU"}, library="cublas 13")
    gpu = with_regime(gpu, launch="graph", threads=0, timer="cuda_event")
    assert len(match(make_result_set(timed_gemm(0)), make_result_set(gpu)).pairs) == 1


@pytest.mark.parametrize(
    ("one", "other", "compared"),
    [
        ("rested", "rested", True),
        ("unrecorded", "rested", True),
        ("unrecorded", "sustained", False),
        ("unrecorded", "steady", False),
        ("steady", "rested", False),
        ("steady", "sustained", False),
        ("steady", "steady", True),
    ],
)
def test_power_regimes_are_not_mixed(one: str, other: str, compared: bool) -> None:
    base = make_result_set(with_regime(timed_gemm(0), power=one))
    new = make_result_set(with_regime(timed_gemm(0), power=other))
    if compared:
        assert len(match(base, new).pairs) == 1
    else:
        with pytest.raises(NothingInCommon, match=r"different regimes.*--across power"):
            match(base, new)


@pytest.mark.parametrize(
    ("changes", "word"),
    [
        ({"cache": "cold", "cold": "flush"}, "cache"),
        ({"power": "sustained"}, "power"),
        ({"launch": "graph"}, "launch"),
        ({"threads": 1}, "threads"),
    ],
)
def test_other_regimes_are_refused_without_across(changes: dict[str, Any], word: str) -> None:
    base, other = (
        make_result_set(timed_gemm(0)),
        make_result_set(with_regime(timed_gemm(0), **changes)),
    )
    with pytest.raises(NothingInCommon, match=f"different regimes.*--across {word}"):
        match(base, other)
    assert len(match(base, other, [word]).pairs) == 1
    partly = match(
        make_result_set(timed_gemm(0), timed_gemm(1)),
        make_result_set(with_regime(timed_gemm(0), **changes), timed_gemm(1)),
    )
    assert len(partly.pairs) == 1
    assert f"{word} is" in partly.only_first[0].reason
    assert f"(--across {word})" in partly.only_first[0].reason


def test_other_inputs_are_another_regime() -> None:
    zeros = ResultSet("zeros", "", (to_entry(row_of_members(timed_gemm(0)), inputs="zeros"),))
    with pytest.raises(NothingInCommon, match="--across inputs"):
        match(make_result_set(timed_gemm(0)), zeros)


def test_other_precisions_and_dimensions_are_refused_without_across() -> None:
    base, half, larger = (
        make_result_set(timed_gemm(0, **changes))
        for changes in ({}, {"precision": "half"}, {"m": 1})
    )
    with pytest.raises(
        NothingInCommon, match=r"float in the first, half in the second; --across precision"
    ):
        match(base, half)
    eight_bits = [timed_gemm(0, precision="int8") for _ in range(2)]
    for row, kind in zip(eight_bits, ("s8", "u8"), strict=True):
        row["attributes"]["b_type"] = kind
    signed, unsigned = map(make_result_set, eight_bits)
    with pytest.raises(
        NothingInCommon, match="precisions: b_type is s8 in the first, u8 in the second; "
    ):
        match(signed, unsigned)
    assert len(match(base, half, ["precision"]).pairs) == 1
    with pytest.raises(NothingInCommon, match="no problem in common: ") as caught:
        match(base, larger)
    # Rows of unlike problems never suggest an option together.
    assert "--across" not in str(caught.value)
    assert len(match(base, larger, ["dimensions"]).pairs) == 1
    both = make_result_set(timed_gemm(0, m=1, precision="half"))
    for across in ([], ["dimensions"]):
        with pytest.raises(NothingInCommon, match="no problem in common: "):
            match(base, both, across)
    assert len(match(base, both, ["precision", "dimensions"]).pairs) == 1
    memory = make_result_set(make_row("memory", {"kind": "copy", "bytes": 1}, 0, 0.0))
    with pytest.raises(NothingInCommon, match="no operation in common: gemm in the first, mem"):
        match(base, memory, ["dimensions"])
    with pytest.raises(NothingInCommon, match="has no rows"):
        match(base, make_result_set())


def found_pairs(base: ResultSet, other: ResultSet) -> list[tuple[int, int]]:
    return [(a.position, b.position) for a, b in match(base, other).pairs]


def test_published_figures_are_paired_with_hot_rows_first() -> None:
    """A cold row gets a published figure only if no hot row takes it, in any order of the rows."""
    cold = [with_regime(timed_gemm(i, m=5), cache="cold", cold="rotation") for i in (0, 1)]
    hot = [timed_gemm(i, m=5, application="Vision") for i in (2, 3)]
    figures = make_result_set(
        make_published_row(0, m=5), make_published_row(1, m=5), make_published_row(2, m=5)
    )
    assert found_pairs(make_result_set(*cold, *hot), figures) == [(0, 2), (2, 0), (3, 1)]
    assert found_pairs(figures, make_result_set(*cold, *hot)) == [(0, 2), (1, 3), (2, 0)]


def test_a_cold_row_paired_with_a_published_figure_gets_a_remark() -> None:
    cold, hot = with_regime(timed_gemm(0), cache="cold", cold="rotation"), timed_gemm(1)
    rows = (
        compare(
            [
                make_result_set(cold, hot),
                make_result_set(make_published_row(0), make_published_row(1)),
            ],
            Rules(),
        )
        .others[0]
        .rows
    )
    assert [list(remarks(row)) for row in rows] == [["published figures are hot in the caches"], []]


@pytest.mark.parametrize("cache", ["hot", "cold"])
def test_published_figures_are_paired_with_rows_of_their_application_first(cache: str) -> None:
    names = ("Vision", "Resnet", None)
    base = make_result_set(*(with_regime(timed_gemm(i, m=5, application=name), cache=cache)
                  for i, name in enumerate(names)))  # fmt: skip
    figures = make_result_set(
        *(make_published_row(i, m=5, application=names[2 - i]) for i in range(3))
    )
    assert found_pairs(base, figures) == [(0, 2), (1, 1), (2, 0)]


# ---- intervals of ratios -----------------------------------------------------------------------


def test_interval_of_a_ratio_has_its_nominal_coverage() -> None:
    """For medians of 41 normal samples with the interval from order statistics that rows carry."""
    chance = random.Random(1)
    held, tries = 0, 2000
    for _ in range(tries):
        rows = [timed_gemm(0), timed_gemm(0)]
        for row, center in zip(rows, (1000.0, 1300.0), strict=True):
            samples = sorted(chance.gauss(center, 40.0) for _ in range(41))
            row["statistics"].update(
                median_ns=samples[20],
                low_ns=samples[14],
                high_ns=samples[27],
                relative_standard_error=0.0,
                n=41,
            )
        found = ratio(*map(to_entry, map(row_of_members, rows)))
        assert found is not None
        assert found.low is not None
        assert found.high is not None
        held += found.low <= 1.3 <= found.high
    assert 0.93 < held / tries < 0.99


def test_correlated_samples_widen_the_interval() -> None:
    row = timed_gemm(0, sure=0.001)
    row["statistics"]["relative_standard_error"] = 0.02
    found = median_interval(to_entry(row_of_members(row)))
    assert found is not None
    degrees = row["statistics"]["n"] - 1
    assert found.above == pytest.approx(math.log1p(student_quantile(degrees) * 0.02))
    row["statistics"].update(relative_standard_error=None, q1_ns=90_000.0, q3_ns=110_000.0)
    found = median_interval(to_entry(row_of_members(row)))
    assert found is not None
    assert found.above == pytest.approx(math.log(1.1))


def test_few_samples_give_wide_intervals_and_one_sample_gives_none() -> None:
    row = timed_gemm(0)
    row["statistics"].update(
        n=3, low_ns=99_000.0, high_ns=101_000.0, stdev_ns=1000.0, relative_standard_error=0.0
    )
    found = median_interval(to_entry(row_of_members(row)))
    assert found is not None
    assert found.above == pytest.approx(math.log1p(student_quantile(2) * 0.01 / math.sqrt(3)))
    row["statistics"].update(n=1)
    assert median_interval(to_entry(row_of_members(row))) is None
    one = ratio(to_entry(row_of_members(timed_gemm(0))), to_entry(row_of_members(row)))
    assert one is not None
    assert one.low is None
    assert decide_verdict(one, 0.03, 1.0) == "unsure"


def test_quantiles_match_the_student_distribution() -> None:
    """The probability beyond each quantile is 2.5 %, by Simpson's rule for the density."""
    for freedom in (*range(1, 41), 99, 200):
        quantile = student_quantile(freedom)
        scale = math.exp(math.lgamma((freedom + 1) / 2) - math.lgamma(freedom / 2))
        step = quantile / 1000
        heights = [(1 + (i * step) ** 2 / freedom) ** (-(freedom + 1) / 2) for i in range(1001)]
        area = heights[0] + heights[-1] + 4 * sum(heights[1:-1:2]) + 2 * sum(heights[2:-1:2])
        half = area * step / 3 * scale / math.sqrt(freedom * math.pi)
        assert half == pytest.approx(0.475, abs=3e-5), freedom


def visited(error: float, deviation: float | None, degrees: float | None) -> Entry:
    """A row of three visits with a standard error, and what its class shows."""
    row = timed_gemm(0)
    row["statistics"].update(
        relative_standard_error=error,
        low_ns=100_000 * math.exp(-9 * error),
        high_ns=100_000 * math.exp(9 * error),
        visits={
            "count": 3,
            "medians_ns": [99_000, 100_000, 101_000],
            "class_deviation": deviation,
            "class_degrees_of_freedom": degrees,
        },
    )
    return to_entry(row_of_members(row))


@pytest.mark.parametrize(
    ("deviation", "degrees", "together"), [(None, None, 4), (0.01, 3.0, 10), (0.01, None, math.inf)]
)
def test_rows_of_visits_are_compared_by_their_variances_and_degrees_of_freedom(
    deviation: float | None, degrees: float | None, together: float
) -> None:
    one = visited(0.01, deviation, degrees)
    found = ratio(one, one)
    assert found is not None
    assert found.interval is not None
    half = student_quantile(together) * 0.01 * math.sqrt(2)
    assert found.interval.below == pytest.approx(half)
    assert found.interval.above == pytest.approx(half)


def test_a_row_of_visits_has_its_own_interval_beside_a_row_without() -> None:
    one = visited(0.01, 0.01, 3.0)
    interval = median_interval(one)
    assert interval is not None
    assert interval.below == pytest.approx(0.09)
    plain = to_entry(row_of_members(timed_gemm(0, sure=0.02)))
    found = ratio(plain, one)
    assert found is not None
    assert found.interval is not None
    assert found.interval.below > 0.09


def test_student_quantiles_apply_to_any_number_of_samples() -> None:
    """Beyond thirty degrees of freedom the quantile falls on, and does not jump to that of the
    normal distribution, with which an interval would be 4 % too narrow."""
    for n, quantile in ((12, 2.20099), (31, 2.04227), (32, 2.03951), (101, 1.98397)):
        row = timed_gemm(0)
        row["statistics"].update(n=n, relative_standard_error=0.02)
        found = median_interval(to_entry(row_of_members(row)))
        assert found is not None
        assert found.above == pytest.approx(math.log1p(quantile * 0.02), rel=1e-5)


def test_geometric_mean() -> None:
    found = geometric_mean([Ratio(2.0, None), Ratio(0.5, None)])
    assert found == Ratio(1.0, None)
    pairs = [
        ratio(
            to_entry(row_of_members(timed_gemm(0))),
            to_entry(row_of_members(timed_gemm(0, 200_000.0))),
        )
        for _ in range(4)
    ]
    one, of_four = pairs[0], geometric_mean([pair for pair in pairs if pair])
    assert one is not None
    assert one.interval is not None
    assert of_four.value == pytest.approx(2.0)
    assert of_four.interval is not None
    assert of_four.interval.above == pytest.approx(one.interval.above / 2)


# ---- verdicts ----------------------------------------------------------------------------------


def test_changes_within_the_noise_have_no_verdict() -> None:
    base = make_result_set(*(timed_gemm(i) for i in range(5)))
    times = (97_500.0, 102_500.0, 110_000.0, 90_000.0, 110_000.0)
    sure = (0.001, 0.001, 0.001, 0.001, 0.2)
    other = make_result_set(*(timed_gemm(i, times[i], sure=sure[i]) for i in range(5)))
    assert verdicts(base, other) == ["same", "same", "slower", "faster", "same"]
    assert verdicts(base, other, noise=0.01)[:2] == ["faster", "slower"]
    assert verdicts(base, other, noise=0.2) == ["same"] * 5


def test_changes_that_the_clock_explains_are_counted_separately() -> None:
    base = make_result_set(*(timed_gemm(i, observed={"sm_clock_mhz": 1980.0}) for i in range(4)))
    slow = make_result_set(
        *(timed_gemm(i, 300_000.0, observed={"sm_clock_mhz": 600.0}) for i in range(4))
    )
    excused = compare([base, slow], Rules())
    assert excused.regressions == []
    said = " ".join(summary(excused))
    assert "4 same only at equal clocks, which differ by -69.7 % in the median (--any-clock" in said
    strict = compare([base, slow], Rules(any_clock=True))
    assert len([text for text in strict.regressions if text.endswith("is slower")]) > 4
    assert "equal clocks" not in " ".join(summary(strict))


def test_broken_and_fixed_rows_are_counted_once() -> None:
    failed = {**without_times(timed_gemm(0), "failed", "the worker crashed"), "algorithm": None}
    base, other = (
        make_result_set(timed_gemm(0), timed_gemm(1)),
        make_result_set(failed, timed_gemm(1)),
    )
    line = next(summary(compare([base, other], Rules())))
    assert "2 rows compared: 1 same, 1 broken" in line
    assert "unknown" not in " ".join(remarks(compare([base, other], Rules()).others[0].rows[0]))
    line = next(summary(compare([other, base], Rules())))
    assert "2 rows compared: 1 same, 1 fixed" in line


def test_the_device_clock_can_explain_a_ratio() -> None:
    slow = timed_gemm(0, 110_000.0, observed={"sm_clock_mhz": 1500.0})
    base = make_result_set(timed_gemm(0, observed={"sm_clock_mhz": 1650.0}))
    assert verdicts(base, make_result_set(slow)) == ["same"]
    assert verdicts(base, make_result_set({**slow, "observed": {"sm_clock_mhz": 1650.0}})) == [
        "slower"
    ]
    elsewhere = {**slow, "device": {"index": 0, "name": "Another"}}
    assert verdicts(base, make_result_set(elsewhere)) == ["slower"]


def test_drift_between_runs_of_one_setup_is_noise() -> None:
    """If runs of one setup differ by 10 % in both directions, 15 % is noise. This spread does not
    apply to rows of another library."""
    chance, called = random.Random(2), 0
    base = make_result_set(*(timed_gemm(i) for i in range(40)))
    for _ in range(20):
        rows = [timed_gemm(i, 100_000.0 * math.exp(chance.gauss(0, 0.1))) for i in range(40)]
        called += set(verdicts(base, make_result_set(*rows))) != {"same"}
        others = [{**row, "library": "mkl 2024"} for row in rows]
        assert {"faster", "slower"} <= set(verdicts(base, make_result_set(*others)))
    assert called <= 3


def test_a_common_change_of_all_rows_is_not_noise() -> None:
    base = make_result_set(*(timed_gemm(i) for i in range(40)))
    other = make_result_set(*(timed_gemm(i, 110_000.0) for i in range(40)))
    assert verdicts(base, other) == ["slower"] * 40


def test_more_rows_widen_the_intervals() -> None:
    assert sidak_factor(1) == pytest.approx(1.0, abs=1e-3)
    assert 1.9 < sidak_factor(500) < 2.1
    chance, found = random.Random(3), 0
    for _ in range(40):  # pairs of files with 100 unchanged rows each
        base, other = (
            make_result_set(
                *(
                    timed_gemm(i, 100_000 * math.exp(chance.gauss(0, 0.02)), sure=0.04)
                    for i in range(100)
                )
            )
            for _ in range(2)
        )
        found += set(verdicts(base, other, noise=0.0)) != {"same"}
    assert found <= 8
