"""The weighted speedup: the time of all calls of one side over that of the other."""

from __future__ import annotations

import json
from typing import Any

import pytest

from comparison_rows import make_published_row, make_result_set, render, timed_gemm, with_regime
from deepbench.compare import AllCalls, Comparison, PairwiseComparison, ResultSet, Rules, compare
from example_rows import without_times


def compared(base: ResultSet, other: ResultSet) -> Comparison:
    return compare([base, other], Rules())


def against(base: ResultSet, other: ResultSet) -> PairwiseComparison:
    return compared(base, other).others[0]


def all_calls(base: list[dict[str, Any]], other: list[dict[str, Any]]) -> AllCalls | None:
    overall = against(make_result_set(*base), make_result_set(*other)).overall
    return overall.all_calls if overall else None


def named(**calls: int) -> list[dict[str, Any]]:
    return [{"name": name, "count": count} for name, count in calls.items()]


BASE = [
    timed_gemm(0, 1000.0, count=90, applications=named(qkv=30, out=60)),
    timed_gemm(1, 5000.0, count=2, application="head", applications=named(head=2)),
]
OTHER = [timed_gemm(0, 500.0), timed_gemm(1, 10_000.0)]


def test_it_is_the_quotient_of_the_sums_of_counts_times_times() -> None:
    found = all_calls(BASE, OTHER)
    assert found == AllCalls(rows=2, calls=92, base_ns=100_000.0, other_ns=65_000.0)
    assert found.speedup == pytest.approx(100 / 65)


def test_both_sums_are_of_the_calls_of_the_baseline() -> None:
    others = [{**row, "count": 7} for row in OTHER]
    assert all_calls(BASE, others) == all_calls(BASE, OTHER)
    # A side without counts, such as published figures, takes those of the other one.
    found = all_calls(OTHER, BASE)
    assert found == AllCalls(rows=2, calls=92, base_ns=65_000.0, other_ns=100_000.0)


def test_counts_are_no_part_of_what_pairs_rows() -> None:
    """Rows are paired in file order, although their counts would suit the other order."""
    base = [timed_gemm(0, 1000.0, m=5, count=3), timed_gemm(1, 2000.0, m=5, count=4)]
    other = [timed_gemm(0, 1000.0, m=5, count=4), timed_gemm(1, 2000.0, m=5, count=3)]
    rows = against(make_result_set(*base), make_result_set(*other)).rows
    assert [(row.base.position, row.other.position) for row in rows] == [(0, 0), (1, 1)]


def test_there_is_none_without_counts() -> None:
    assert all_calls(OTHER, OTHER) is None
    comparison = compared(make_result_set(*OTHER), make_result_set(*OTHER))
    for name in ("table", "markdown", "html"):
        assert "weighted" not in render(comparison, name)
        assert "calls" not in render(comparison, name)


def test_rows_without_a_count_are_no_part_of_it() -> None:
    plain = timed_gemm(2, 1e9)
    assert all_calls([*BASE, plain], [*OTHER, plain]) == all_calls(BASE, OTHER)


def test_rows_that_means_exclude_are_in_neither_sum() -> None:
    lost = without_times(timed_gemm(2), "failed", "it crashed")
    disturbed = timed_gemm(2, 9000.0)
    disturbed["statistics"]["waited_share"] = 0.5
    doubted = make_published_row(2)
    doubted["regime"]["published"]["doubt"] = "it is twice another figure"
    for bad in (lost, disturbed, doubted):
        assert all_calls([*BASE, timed_gemm(2, count=5)], [*OTHER, bad]) == all_calls(BASE, OTHER)


def test_a_row_without_an_interval_is_part_of_the_sum_and_not_of_the_mean() -> None:
    once = timed_gemm(2, 1000.0, count=1000)
    once["statistics"] = {"median_ns": 1000.0, "n": 1}
    group = against(make_result_set(*BASE, once), make_result_set(*OTHER, once)).overall
    assert group is not None
    assert (group.rows, group.left_out) == (2, 1)
    assert group.all_calls == AllCalls(3, 1092, 1_100_000.0, 1_065_000.0)


def test_an_application_has_its_calls_of_a_row() -> None:
    found = against(make_result_set(*BASE), make_result_set(*OTHER))
    by_name = {group.name: (group.rows, group.all_calls) for group in found.applications}
    assert by_name == {
        "qkv": (1, AllCalls(1, 30, 30_000.0, 15_000.0)),
        "out": (1, AllCalls(1, 60, 60_000.0, 30_000.0)),
        "head": (1, AllCalls(1, 2, 10_000.0, 20_000.0)),
    }
    (family,) = found.families
    assert family.all_calls == all_calls(BASE, OTHER)


def test_calls_of_no_application_are_told_apart() -> None:
    base = [timed_gemm(0, 1000.0, count=90, applications=named(qkv=30, out=40))]
    found = against(make_result_set(*base), make_result_set(*OTHER[:1]))
    calls = {group.name: group.all_calls.calls for group in found.applications if group.all_calls}
    assert calls == {"qkv": 30, "out": 40, "none": 20}


def test_the_other_side_names_applications_where_the_baseline_has_none() -> None:
    found = against(make_result_set(*OTHER), make_result_set(*BASE))
    assert {group.name for group in found.applications} == {"qkv", "out", "head"}


def test_it_is_printed_beside_the_geometric_means() -> None:
    comparison = compared(make_result_set(*BASE), make_result_set(*OTHER))
    text = render(comparison, "table")
    assert "all 92 calls of 2 rows (hot, rested): 100.0 µs in A, 65.00 µs in B, " in text
    assert ", weighted speedup 1.538\n" in text
    lines = [line.split() for line in text.splitlines()]
    (titles,) = [line for line in lines if line[:1] == ["application"]]
    assert titles[-3:] == ["calls", "weighted", "speedup"]
    assert [line[-2:] for line in lines if line[:1] in (["qkv"], ["out"], ["head"])] == [
        ["30", "2.000"],
        ["60", "2.000"],
        ["2", "0.500"],
    ]


def test_regimes_are_summed_on_their_own() -> None:
    def cold(rows: list[dict[str, Any]], factor: float) -> list[dict[str, Any]]:
        slower = [
            timed_gemm(row["position"] + 2, factor * row["statistics"]["median_ns"],
                       m=row["attributes"]["m"], count=row["count"])
            for row in rows
        ]  # fmt: skip
        return [with_regime(row, cache="cold", cold="flush") for row in slower]

    base = make_result_set(*BASE, *cold(BASE, 2))
    other = make_result_set(*OTHER, *cold(OTHER, 4))
    assert against(base, other).calls_by_regime == {
        "hot, rested": AllCalls(2, 92, 100_000.0, 65_000.0),
        "cold by flush, rested": AllCalls(2, 92, 200_000.0, 260_000.0),
    }
    text = render(compared(base, other), "table")
    assert [
        line.partition(": ")[0] for line in text.splitlines() if "weighted speedup " in line
    ] == [
        "all 92 calls of 2 rows (hot, rested)",
        "all 92 calls of 2 rows (cold by flush, rested)",
    ]


def test_it_decides_nothing() -> None:
    """All calls together are slower, although the geometric mean is not."""
    base = [timed_gemm(0, 1000.0, count=1), timed_gemm(1, 1000.0, count=100)]
    other = [timed_gemm(0, 500.0), timed_gemm(1, 1020.0)]
    comparison = compared(make_result_set(*base), make_result_set(*other))
    overall = comparison.others[0].overall
    assert overall is not None
    assert overall.all_calls is not None
    assert overall.all_calls.speedup < 1
    assert comparison.regressions == []


def test_programs_get_the_sums() -> None:
    comparison = compared(make_result_set(*BASE), make_result_set(*OTHER))
    (found,) = json.loads(render(comparison, "json"))["against"]
    sums = {"rows": 2, "calls": 92, "base_ns": 100_000.0, "other_ns": 65_000.0}
    whole = {**sums, "speedup": pytest.approx(100 / 65)}
    assert found["mean"]["all_calls"] == whole
    assert found["calls_by_regime"] == {"hot, rested": whole}
    first = found["rows"][0]
    assert first["base"]["count"] == 90
    assert first["base"]["applications"] == named(qkv=30, out=60)
    assert (first["other"]["count"], first["other"]["applications"]) == (None, [])
