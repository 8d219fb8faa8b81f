"""The summary of a fleet's rows: which ranks are out of line, among few and many ranks, and in
files with contradictory values."""

from __future__ import annotations

from typing import Any

import pytest

from deepbench.report.fleet import fleet_section
from deepbench.report.remarks import plain_remarks
from deepbench.results import Row
from deepbench.results.fleet import FleetSummary
from example_rows import make_gemm, row_of_members


def ranks_of_row(
    medians: list[float | None], slow: dict[int, float], **more: Any
) -> dict[str, Any]:
    outliers = [{"rank": rank, "deviation": off} for rank, off in slow.items()]
    return {"count": len(medians), "middle_ns": 100.0, "median_ns": medians,
            "outliers": outliers, "status": None, **more}  # fmt: skip


def row_of(ranks: dict[str, Any] | None, problem: str = "gemm") -> Row:
    return row_of_members(make_gemm(problem=problem, ranks=ranks))


def fleet_summary_of(*rows: dict[str, Any], size: int = 4) -> FleetSummary:
    made = FleetSummary()
    devices = [{"index": rank % 2} for rank in range(size)]
    made.begin({"ranks": {"machines": [f"n{rank // 2}" for rank in range(size)],
                          "devices": devices}})  # fmt: skip
    for index, one in enumerate(rows):
        made.add(row_of(one, f"gemm m={index}"))
    return made


def test_means_and_worst_rows() -> None:
    made = fleet_summary_of(
        ranks_of_row([100, 100, 110, 90], {2: 0.1, 3: -0.1}),
        ranks_of_row([100, 100, 121, 100], {2: 0.21}),
    )
    third, last = made.ranks()[2:]
    assert third.mean == pytest.approx((1.1 * 1.21) ** 0.5)
    assert third.worst == (pytest.approx(1.21), "gemm m=1")
    assert (third.slow, third.quick, third.is_flagged) == (2, 0, True)
    assert (last.slow, last.quick, last.is_flagged) == (0, 1, False)
    assert made.findings() == ["rank 2 (n1, device 0) is 21.0 % slow on 2 of 2 rows"]


def test_one_slow_row_of_many_is_chance() -> None:
    good = ranks_of_row([100, 100, 100, 100], {})
    made = fleet_summary_of(ranks_of_row([100, 105, 100, 100], {1: 0.05}), *[good] * 9)
    assert made.findings() == []


def test_a_rank_that_fails_what_others_can_is_flagged() -> None:
    both = ["unsupported"] * 4
    one = ["ok", "incorrect", "ok", "ok"]
    made = fleet_summary_of(
        ranks_of_row([None] * 4, {}, status=both), ranks_of_row([100, 50, 100, 100], {}, status=one)
    )
    assert made.findings() == ["rank 1 (n0, device 1) failed 1 row of others"]
    assert made.ranks()[1].rows == 0  # its time counts for nothing


def test_a_rank_that_ran_another_algorithm_counts_for_nothing() -> None:
    both = ranks_of_row([100, 100, 170, 100], {}, mismatched=[2])
    made = fleet_summary_of(both, ranks_of_row([100, 100, 110, 100], {2: 0.1}))
    third = made.ranks()[2]
    assert (third.rows, third.failed) == (1, 0)
    assert third.mean == pytest.approx(1.1)
    assert third.worst == (pytest.approx(1.1), "gemm m=1")


def test_a_row_says_of_how_many_ranks_its_spread_is() -> None:
    statuses = ["ok", "failed", "ok", "ok", "ok", "ok"]
    one = ranks_of_row(
        [100, 90, 170, 102, None, 104], {}, status=statuses, mismatched=[2], spread=0.04
    )
    assert "3 ranks within 4.0 %" in plain_remarks(row_of(one))


def test_of_a_thousand_the_slowest_are_shown() -> None:
    medians: list[float | None] = [100.0] * 1000
    medians[700] = 108.0
    section = fleet_section(fleet_summary_of(ranks_of_row(medians, {700: 0.08}), size=1000))
    assert section is not None
    assert len(section.rows) == 16
    assert section.rows[0].cells[:3] == ("700", "n350", "0")
    assert section.lines[1] == "984 more ranks between +0.0 % and +0.0 %"


def test_rows_of_no_fleet_say_nothing() -> None:
    made = FleetSummary()
    made.begin({})
    made.add(row_of(None))
    assert (made.rows, made.findings(), fleet_section(made)) == (0, [], None)


def test_lists_that_do_not_fit_together() -> None:
    made = FleetSummary()
    made.begin({"ranks": {"machines": None, "devices": [{}]}})
    made.add(row_of(ranks_of_row([100, None], {5: 0.2}, status=["ok", "failed", "ok"])))
    made.add(row_of({"outliers": [{"rank": None, "deviation": None}]}))
    made.add(row_of({"middle_ns": 1e15, "median_ns": [1e-100]}))  # no share that is a number
    assert [one.rank for one in made.ranks()] == [0, 1, 2, 5]
    assert made.findings() == [
        "rank 1 failed 1 row of others",
        "rank 5 is 20.0 % slow on 1 of 0 rows",
    ]
    assert fleet_section(made) is not None
