"""Sums over all calls, and what the schema demands of counts."""

from __future__ import annotations

import json
from typing import Any

import pytest

from comparison_rows import make_published_row
from deepbench.results import schema
from deepbench.results.call_totals import ApplicationTotal, CallTotals
from deepbench.results.row import parse_row
from example_rows import make_gemm, row_of_members, without_times

QKV, OUT = {"name": "qkv", "count": 30}, {"name": "out", "count": 6}


def timed(position: int, median_ns: float, **changes: Any) -> dict[str, Any]:
    row = make_gemm(position, m=64 + position, **changes)
    return {**row, "statistics": {**row["statistics"], "median_ns": median_ns}}


def totals_of(*rows: dict[str, Any]) -> CallTotals:
    totals = CallTotals()
    for row in rows:
        totals.add(row_of_members(row))
    return totals


def test_time_is_the_sum_of_counts_times_times() -> None:
    (found,) = totals_of(
        timed(0, 1000.0, count=40, applications=[QKV, OUT]),
        timed(1, 500.0, count=2, application="out"),
    ).regimes
    assert (found.regime, len(found.rows), found.calls) == ("hot, rested", 2, 42)
    assert found.time_ns == 41_000.0
    assert [row.total_ns for row in found.largest_rows()] == [40_000.0, 1_000.0]


def test_the_time_of_a_row_is_divided_by_the_calls_of_its_applications() -> None:
    (found,) = totals_of(
        timed(0, 1000.0, count=40, applications=[QKV, OUT]),
        timed(1, 500.0, count=2, application="out"),
    ).regimes
    assert found.applications() == [
        ApplicationTotal("qkv", 1, 30, 30_000.0),
        ApplicationTotal("out", 2, 8, 7_000.0),
        ApplicationTotal(None, 1, 4, 4_000.0),
    ]


def test_regimes_are_never_added_up() -> None:
    cold = timed(1, 3000.0, count=40)
    cold["regime"] = {**cold["regime"], "cache": "cold", "cold": "rotation"}
    sustained = timed(2, 2000.0, count=40)
    sustained["regime"] = {**sustained["regime"], "power": "sustained"}
    found = totals_of(timed(0, 1000.0, count=40), cold, sustained).regimes
    assert [(one.regime, one.time_ns) for one in found] == [
        ("hot, rested", 40_000.0),
        ("cold by rotation, rested", 120_000.0),
        ("hot, sustained", 80_000.0),
    ]


def test_rows_without_a_time_are_told_and_rows_without_a_count_are_in_no_total() -> None:
    wrong = {**timed(2, 1000.0, count=5), "status": "incorrect", "reason": "off by one"}
    totals = totals_of(
        timed(0, 1000.0),
        without_times(make_gemm(1, count=3), "failed", "it crashed"),
        wrong,
        {**make_published_row(3, time_ns=0.0), "count": 2},
    )
    assert totals.regimes == []
    assert (totals.rows_without_time, totals.calls_without_time) == (3, 10)


BROKEN: dict[str, tuple[dict[str, Any], str]] = {
    "no calls": ({"count": 0}, "count is 0"),
    "too many calls": ({"count": 10**15 + 1}, "count is 1000000000000001"),
    "a fraction": ({"count": 1.5}, "count is 1.5"),
    "a text": ({"count": "3"}, "count is "),
    "no list": ({"count": 3, "applications": {}}, "applications is "),
    "no name": ({"count": 3, "applications": [{"count": 3}]}, "applications\\[0\\].*name"),
    "no count of one": (
        {"count": 3, "applications": [{"name": "a"}]},
        "applications\\[0\\].*count",
    ),
    "more than all": ({"count": 35, "applications": [QKV, OUT]}, "make 36 calls, more than count"),
    "none of all": ({"applications": [OUT]}, "make 6 calls, more than count"),
}


@pytest.mark.parametrize("case", BROKEN)
def test_counts_that_cannot_be_are_refused(case: str) -> None:
    changes, message = BROKEN[case]
    with pytest.raises(schema.SchemaError, match=message):
        parse_row(json.dumps({**make_gemm(), **changes}).encode())


def test_a_row_of_before_counts_has_none() -> None:
    old = {key: value for key, value in make_gemm().items() if key not in ("count", "applications")}
    row = parse_row(json.dumps({**old, "application": "Speech"}).encode())
    assert (row.count, row.applications) == (None, ())
    assert row.calls_by_application == [("Speech", 1)]
