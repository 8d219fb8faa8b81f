"""Comparing files: means of families and applications, and what counts as a regression."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from compared_rows import figure, side, timed
from deepbench.compare import Rules, Side, compare, of_file
from deepbench.report.comparison.remarks import remarks
from deepbench.results import ResultFile
from example_rows import make_context, without_times


def verdicts(base: Side, other: Side) -> list[str]:
    return [row.verdict for row in compare([base, other], Rules()).others[0].rows]


def regressions(base: Side, other: Side, **rules: Any) -> list[str]:
    return compare([base, other], Rules(**rules)).regressions


def test_regressions_are_beyond_what_is_allowed() -> None:
    base = side(timed(0), timed(1))
    other = side(timed(0, 110_000.0), timed(1, 90_000.0))
    assert len(regressions(base, other)) == 1
    assert regressions(base, other, fail_over=0.15) == []
    assert regressions(other, base, fail_over=0.15) == []


def test_a_family_regresses_though_no_row_does() -> None:
    base = side(*(timed(i, sure=0.08) for i in range(40)))
    other = side(*(timed(i, 106_000.0, sure=0.08) for i in range(40)))
    assert verdicts(base, other) == ["noise"] * 40
    assert regressions(base, other) == ["gemm float is slower"]


def test_an_application_regresses_though_no_row_and_no_family_does() -> None:
    names = ["X" if i < 20 else "Y" for i in range(60)]
    base = side(*(timed(i, sure=0.08, application=name) for i, name in enumerate(names)))
    other = side(*(timed(i, 106_000.0 if name == "X" else 100_000.0, sure=0.08)
                   for i, name in enumerate(names)))  # fmt: skip
    against = compare([base, other], Rules()).others[0]
    assert [group.verdict for group in against.families] == ["noise"]
    assert [group.verdict for group in against.applications] == ["slower", "noise"]
    assert regressions(base, other) == ["application X is slower"]
    assert regressions(base, other, fail_over=0.1) == []


def test_everything_together_regresses() -> None:
    """Two precisions and two applications, none of which alone is sure enough."""
    rows: list[dict[str, Any]] = [
        {"precision": p, "application": a} for p in ("float", "half") for a in ("X", "Y")
    ]
    base = side(*(timed(i, sure=0.13, **rows[i % 4]) for i in range(24)))
    other = side(*(timed(i, 106_000.0, sure=0.13, **rows[i % 4]) for i in range(24)))
    assert regressions(base, other) == ["all together is slower"]


def test_a_row_of_one_sample_does_not_hide_that_its_family_is_slower() -> None:
    single = timed(40, 300_000.0)
    single["statistics"]["n"] = 1
    base = side(*(timed(i, sure=0.08) for i in range(40)), timed(40))
    other = side(*(timed(i, 106_000.0, sure=0.08) for i in range(40)), single)
    against = compare([base, other], Rules()).others[0]
    assert against.rows[40].verdict == "unknown"
    for group in (*against.families, *against.applications, against.whole):
        assert group is not None
        assert (group.rows, group.left_out, group.verdict) == (40, 1, "slower")
        assert group.ratio.value == pytest.approx(1.06)
        assert group.ratio.low is not None
    assert regressions(base, other) == ["gemm float is slower"]
    alone = compare([side(timed(40)), side(single)], Rules()).others[0].families[0]
    assert (alone.rows, alone.left_out, alone.verdict) == (1, 0, "unknown")


def test_a_published_row_in_a_file_does_not_make_its_family_published() -> None:
    base = side(*(timed(i) for i in range(3)))
    other = side(timed(0, 110_000.0), timed(1, 110_000.0), figure(2))
    against = compare([base, other], Rules()).others[0]
    family = against.families[0]
    assert (family.rows, family.left_out, family.verdict) == (2, 1, "slower")
    assert family.ratio.value == pytest.approx(1.1)
    assert "gemm float is slower" in regressions(base, other)
    alone = compare([base, side(*(figure(i) for i in range(3)))], Rules()).others[0].families[0]
    assert (alone.rows, alone.left_out, alone.verdict) == (3, 0, "published")


@pytest.mark.parametrize("given", [["zeros"], None])
def test_a_published_row_in_a_file_has_its_footnotes(given: list[str] | None) -> None:
    context = make_context() if given is None else make_context(footnotes=given)
    for rows, expected in (((timed(0), figure(1)), True), ((timed(0),), False)):
        found = of_file(ResultFile(Path("mixed"), context, rows, 0, False))
        assert not found.published
        assert bool(found.footnotes) is expected
        assert not (given and expected) or found.footnotes == ("zeros",)


@pytest.mark.parametrize("status", ["incorrect", "failed"])
def test_what_is_wrong_beside_a_published_figure_is_no_regression(status: str) -> None:
    ours = side({**timed(0), "status": status})
    for sides in ([side(figure(0)), ours], [ours, side(figure(0))]):
        comparison = compare(sides, Rules())
        assert comparison.regressions == []
        assert not comparison.others[0].broken
        assert status in " ".join(remarks(comparison.others[0].rows[0]))


@pytest.mark.parametrize("status", ["incorrect", "mistrusted", "failed", "out_of_memory"])
def test_a_row_that_broke_is_a_regression(status: str) -> None:
    base, other = side(timed(0), timed(1)), side(timed(0), {**timed(1), "status": status})
    assert regressions(base, other) == [f"{base.entries[1].problem} is {status}"]
    assert regressions(other, base) == []
    assert compare([base, other], Rules()).others[0].rows[1].ratio is None


def test_what_a_library_cannot_do_is_no_regression() -> None:
    other = side(timed(0), without_times(timed(1), "unsupported", "no kernel"))
    assert regressions(side(timed(0), timed(1)), other) == []


def test_families_and_applications() -> None:
    rows = [timed(0, application="X"), timed(1, application="Y"), timed(2, precision="half")]
    slower = [{**timed(i, 200_000.0, precision=row["attributes"]["precision"])} for i, row in
              enumerate(rows)]  # fmt: skip
    against = compare([side(*rows), side(*slower)], Rules()).others[0]
    assert [(g.name, g.rows) for g in against.families] == [("gemm float", 2), ("gemm half", 1)]
    assert [(g.name, g.slower) for g in against.applications] == [("X", 1), ("Y", 1), ("none", 1)]
    assert against.whole is not None
    assert against.whole.ratio.value == pytest.approx(2.0)
