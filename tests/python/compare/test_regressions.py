"""Comparing files: means of families and applications, and regressions."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from comparison_rows import make_published_row, make_result_set, timed_gemm
from deepbench.compare import ResultSet, Rules, compare, to_result_set
from deepbench.report.comparison.remarks import remarks
from deepbench.results import ResultFile
from example_rows import make_context, row_of_members, without_times


def verdicts(base: ResultSet, other: ResultSet) -> list[str]:
    return [row.verdict for row in compare([base, other], Rules()).others[0].rows]


def regression_lines(base: ResultSet, other: ResultSet, **rules: Any) -> list[str]:
    return compare([base, other], Rules(**rules)).regressions


def test_regressions_exceed_the_allowed_slowdown() -> None:
    base = make_result_set(timed_gemm(0), timed_gemm(1))
    other = make_result_set(timed_gemm(0, 110_000.0), timed_gemm(1, 90_000.0))
    assert len(regression_lines(base, other)) == 1
    assert regression_lines(base, other, fail_over=0.15) == []
    assert regression_lines(other, base, fail_over=0.15) == []


def test_a_family_regresses_though_no_row_does() -> None:
    base = make_result_set(*(timed_gemm(i, sure=0.08) for i in range(40)))
    other = make_result_set(*(timed_gemm(i, 106_000.0, sure=0.08) for i in range(40)))
    assert verdicts(base, other) == ["same"] * 40
    assert regression_lines(base, other) == ["gemm float is slower"]


def test_an_application_regresses_though_no_row_and_no_family_does() -> None:
    names = ["X" if i < 20 else "Y" for i in range(60)]
    base = make_result_set(
        *(timed_gemm(i, sure=0.08, application=name) for i, name in enumerate(names))
    )
    other = make_result_set(*(timed_gemm(i, 106_000.0 if name == "X" else 100_000.0, sure=0.08)
                   for i, name in enumerate(names)))  # fmt: skip
    against = compare([base, other], Rules()).others[0]
    assert [group.verdict for group in against.families] == ["same"]
    assert [group.verdict for group in against.applications] == ["slower", "same"]
    assert regression_lines(base, other) == ["application X is slower"]
    assert regression_lines(base, other, fail_over=0.1) == []


def test_all_rows_together_regress() -> None:
    """Two precisions and two applications, each of which alone has too wide an interval."""
    rows: list[dict[str, Any]] = [
        {"precision": p, "application": a} for p in ("float", "half") for a in ("X", "Y")
    ]
    base = make_result_set(*(timed_gemm(i, sure=0.13, **rows[i % 4]) for i in range(24)))
    other = make_result_set(
        *(timed_gemm(i, 106_000.0, sure=0.13, **rows[i % 4]) for i in range(24))
    )
    assert regression_lines(base, other) == ["all rows is slower"]


def test_a_row_of_one_sample_does_not_hide_that_its_family_is_slower() -> None:
    single = timed_gemm(40, 300_000.0)
    single["statistics"]["n"] = 1
    base = make_result_set(*(timed_gemm(i, sure=0.08) for i in range(40)), timed_gemm(40))
    other = make_result_set(*(timed_gemm(i, 106_000.0, sure=0.08) for i in range(40)), single)
    against = compare([base, other], Rules()).others[0]
    assert against.rows[40].verdict == "unsure"
    for group in (*against.families, *against.applications, against.overall):
        assert group is not None
        assert (group.rows, group.left_out, group.verdict) == (40, 1, "slower")
        assert group.ratio.value == pytest.approx(1.06)
        assert group.ratio.low is not None
    assert regression_lines(base, other) == ["gemm float is slower"]
    alone = (
        compare([make_result_set(timed_gemm(40)), make_result_set(single)], Rules())
        .others[0]
        .families[0]
    )
    assert (alone.rows, alone.left_out, alone.verdict) == (1, 0, "unsure")


def test_a_published_row_in_a_file_does_not_make_its_family_published() -> None:
    base = make_result_set(*(timed_gemm(i) for i in range(3)))
    other = make_result_set(
        timed_gemm(0, 110_000.0), timed_gemm(1, 110_000.0), make_published_row(2)
    )
    against = compare([base, other], Rules()).others[0]
    family = against.families[0]
    assert (family.rows, family.left_out, family.verdict) == (2, 1, "slower")
    assert family.ratio.value == pytest.approx(1.1)
    assert "gemm float is slower" in regression_lines(base, other)
    alone = (
        compare([base, make_result_set(*(make_published_row(i) for i in range(3)))], Rules())
        .others[0]
        .families[0]
    )
    assert (alone.rows, alone.left_out, alone.verdict) == (3, 0, "published")


@pytest.mark.parametrize("given", [["zeros"], None])
def test_a_published_row_in_a_file_has_its_footnotes(given: list[str] | None) -> None:
    context = make_context() if given is None else make_context(footnotes=given)
    for rows, expected in (
        ((timed_gemm(0), make_published_row(1)), True),
        ((timed_gemm(0),), False),
    ):
        found = to_result_set(
            ResultFile(Path("mixed"), context, tuple(map(row_of_members, rows)), 0, False)
        )
        assert not found.published
        assert bool(found.footnotes) is expected
        assert not (given and expected) or found.footnotes == ("zeros",)


@pytest.mark.parametrize("status", ["incorrect", "failed"])
def test_an_incorrect_row_against_a_published_figure_is_no_regression(status: str) -> None:
    ours = make_result_set({**timed_gemm(0), "status": status})
    for sides in (
        [make_result_set(make_published_row(0)), ours],
        [ours, make_result_set(make_published_row(0))],
    ):
        comparison = compare(sides, Rules())
        assert comparison.regressions == []
        assert not comparison.others[0].broken_rows
        assert status in " ".join(remarks(comparison.others[0].rows[0]))


@pytest.mark.parametrize("status", ["incorrect", "mistrusted", "failed", "out_of_memory"])
def test_a_broken_row_is_a_regression(status: str) -> None:
    base, other = (
        make_result_set(timed_gemm(0), timed_gemm(1)),
        make_result_set(timed_gemm(0), {**timed_gemm(1), "status": status}),
    )
    assert regression_lines(base, other) == [f"{base.entries[1].problem} is {status}"]
    assert regression_lines(other, base) == []
    assert compare([base, other], Rules()).others[0].rows[1].ratio is None


def test_an_unsupported_row_is_no_regression() -> None:
    other = make_result_set(timed_gemm(0), without_times(timed_gemm(1), "unsupported", "no kernel"))
    assert regression_lines(make_result_set(timed_gemm(0), timed_gemm(1)), other) == []


def test_families_and_applications() -> None:
    rows = [
        timed_gemm(0, application="X"),
        timed_gemm(1, application="Y"),
        timed_gemm(2, precision="half"),
    ]
    slower = [{**timed_gemm(i, 200_000.0, precision=row["attributes"]["precision"])} for i, row in
              enumerate(rows)]  # fmt: skip
    against = compare([make_result_set(*rows), make_result_set(*slower)], Rules()).others[0]
    assert [(g.name, g.rows) for g in against.families] == [("gemm float", 2), ("gemm half", 1)]
    assert [(g.name, g.slower) for g in against.applications] == [("X", 1), ("Y", 1), ("none", 1)]
    assert against.overall is not None
    assert against.overall.ratio.value == pytest.approx(2.0)
