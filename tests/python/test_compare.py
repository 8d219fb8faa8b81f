"""Comparing files: which rows belong together, what a ratio is worth, what counts as a change."""

from __future__ import annotations

import math
import random
from typing import Any

import pytest

from deepbench.compare import NothingInCommon, Rules, Side, compare
from deepbench.compare.matching import match
from deepbench.compare.ratios import Ratio, mean, median, ratio
from deepbench.compare.sides import entry
from deepbench.compare.verdicts import decide, strictness
from example_rows import make_gemm, make_row, without_times


def timed(position: int = 0, time_ns: float = 100_000.0, **changes: Any) -> dict[str, Any]:
    """A gemm whose statistics belong together; `sure` is half its interval, as a share."""
    sure = changes.pop("sure", 0.002)
    changes.setdefault("m", 1760 + position)
    row = make_gemm(position, **changes)
    row["statistics"].update(
        median_ns=time_ns,
        low_ns=time_ns * (1 - sure),
        high_ns=time_ns * (1 + sure),
        q1_ns=time_ns * (1 - 2 * sure),
        q3_ns=time_ns * (1 + 2 * sure),
        error=sure / 2,
        n=100,
    )
    return row


def side(*rows: dict[str, Any], name: str = "side") -> Side:
    return Side(name, "", tuple(entry(row) for row in rows))


def regime(row: dict[str, Any], **changes: Any) -> dict[str, Any]:
    return {**row, "regime": {**row["regime"], **changes}}


def verdicts(base: Side, other: Side, **rules: Any) -> list[str]:
    return [row.verdict for row in compare([base, other], Rules(**rules)).others[0].rows]


# ---- which rows belong together ---------------------------------------------------------------


def test_rows_are_matched_by_their_problem_in_any_order() -> None:
    base = side(timed(0), timed(1), timed(2))
    other = side(timed(0, m=1762), timed(1, m=1760), timed(2, m=9))
    found = match(base, other)
    assert [(a.position, b.position) for a, b in found.pairs] == [(0, 1), (2, 0)]
    assert [(row.entry.position, row.reason) for row in found.only_first] == [(1, "not there")]
    assert [row.entry.position for row in found.only_second] == [2]


def test_duplicates_are_matched_one_by_one() -> None:
    base = side(timed(0, m=5), timed(1, m=5), timed(2, m=5))
    found = match(base, side(timed(0, m=5), timed(1, m=5)))
    assert [(a.position, b.position) for a, b in found.pairs] == [(0, 0), (1, 1)]
    assert found.only_first[0].reason == "fewer rows of this problem there"


def test_several_regimes_and_libraries_in_one_file_find_their_like() -> None:
    hot, cold = timed(0, m=5), regime(timed(1, m=5), cache="cold", cold="rotation")
    mkl = timed(2, m=5, library="mkl 2024")
    found = match(side(mkl, cold, hot), side(hot, mkl, cold))
    assert [(a.position, b.position) for a, b in found.pairs] == [(0, 0), (1, 1), (2, 2)] or [
        (a.cache, a.library) == (b.cache, b.library) for a, b in found.pairs
    ] == [True] * 3


def test_other_backends_libraries_and_machines_are_compared() -> None:
    gpu = timed(0, backend="cuda", device={"index": 0, "name": "GPU"}, library="cublas 13")
    gpu = regime(gpu, launch="graph", threads=0, timer="cuda_event")
    assert len(match(side(timed(0)), side(gpu)).pairs) == 1


@pytest.mark.parametrize(
    ("changes", "word"),
    [
        ({"cache": "cold", "cold": "flush"}, "cache"),
        ({"power": "steady"}, "power"),
        ({"launch": "graph"}, "launch"),
        ({"threads": 1}, "threads"),
    ],
)
def test_other_regimes_are_refused_unless_told(changes: dict[str, Any], word: str) -> None:
    base, other = side(timed(0)), side(regime(timed(0), **changes))
    with pytest.raises(NothingInCommon, match=f"other regimes.*--across {word}"):
        match(base, other)
    assert len(match(base, other, [word]).pairs) == 1
    partly = match(side(timed(0), timed(1)), side(regime(timed(0), **changes), timed(1)))
    assert len(partly.pairs) == 1
    assert f"{word} is" in partly.only_first[0].reason


def test_other_inputs_are_another_regime() -> None:
    zeros = Side("zeros", "", (entry(timed(0), inputs="zeros"),))
    with pytest.raises(NothingInCommon, match="--across inputs"):
        match(side(timed(0)), zeros)


def test_other_precisions_and_dimensions_are_refused_unless_told() -> None:
    base, half, larger = (
        side(timed(0)), side(timed(0, precision="half")), side(timed(0, m=1)),
    )  # fmt: skip
    with pytest.raises(NothingInCommon, match=r"float there, half here; --across precision"):
        match(base, half)
    assert len(match(base, half, ["precision"]).pairs) == 1
    with pytest.raises(NothingInCommon, match="no problem in common; --across dimensions"):
        match(base, larger)
    assert len(match(base, larger, ["dimensions"]).pairs) == 1
    memory = side(make_row("memory", {"kind": "copy", "bytes": 1}, 0, 0.0))
    with pytest.raises(NothingInCommon, match="nothing in common: gemm there, memory here"):
        match(base, memory, ["dimensions"])
    with pytest.raises(NothingInCommon, match="has no rows"):
        match(base, side())


# ---- what a ratio is worth --------------------------------------------------------------------


def test_interval_of_a_ratio_holds_the_truth_as_often_as_it_says() -> None:
    """Medians of 41 normal samples with the order statistics that rows have."""
    chance = random.Random(1)
    held, tries = 0, 2000
    for _ in range(tries):
        rows = [timed(0), timed(0)]
        for row, center in zip(rows, (1000.0, 1300.0), strict=True):
            samples = sorted(chance.gauss(center, 40.0) for _ in range(41))
            row["statistics"].update(
                median_ns=samples[20], low_ns=samples[14], high_ns=samples[27], error=0.0, n=41
            )
        found = ratio(*map(entry, rows))
        assert found is not None
        assert found.low is not None
        assert found.high is not None
        held += found.low <= 1.3 <= found.high
    assert 0.93 < held / tries < 0.99


def test_correlated_samples_widen_the_interval() -> None:
    row = timed(0, sure=0.001)
    row["statistics"]["error"] = 0.02
    found = median(entry(row))
    assert found is not None
    assert found.above == pytest.approx(math.log1p(1.96 * 0.02))
    row["statistics"].update(error=None, q1_ns=90_000.0, q3_ns=110_000.0)
    found = median(entry(row))
    assert found is not None
    assert found.above == pytest.approx(math.log(1.1))


def test_few_samples_are_worth_little_and_one_nothing() -> None:
    row = timed(0)
    row["statistics"].update(n=3, low_ns=99_000.0, high_ns=101_000.0, stdev_ns=1000.0, error=0.0)
    found = median(entry(row))
    assert found is not None
    assert found.above == pytest.approx(math.log1p(4.303 * 0.01 / math.sqrt(3)))
    row["statistics"].update(n=1)
    assert median(entry(row)) is None
    one = ratio(entry(timed(0)), entry(row))
    assert one is not None
    assert one.low is None
    assert decide(one, 0.03, 1.0) == "unknown"


def test_geometric_mean() -> None:
    found = mean([Ratio(2.0, None), Ratio(0.5, None)])
    assert found == Ratio(1.0, None)
    pairs = [ratio(entry(timed(0)), entry(timed(0, 200_000.0))) for _ in range(4)]
    one, of_four = pairs[0], mean([pair for pair in pairs if pair])
    assert one is not None
    assert one.interval is not None
    assert of_four.value == pytest.approx(2.0)
    assert of_four.interval is not None
    assert of_four.interval.above == pytest.approx(one.interval.above / 2)


# ---- what counts as a change ------------------------------------------------------------------


def test_inside_the_noise_nothing_is_faster_or_slower() -> None:
    base = side(*(timed(i) for i in range(5)))
    times = (97_500.0, 102_500.0, 110_000.0, 90_000.0, 110_000.0)
    sure = (0.001, 0.001, 0.001, 0.001, 0.2)
    other = side(*(timed(i, times[i], sure=sure[i]) for i in range(5)))
    assert verdicts(base, other) == ["noise", "noise", "slower", "faster", "noise"]
    assert verdicts(base, other, noise=0.01)[:2] == ["faster", "slower"]
    assert verdicts(base, other, noise=0.2) == ["noise"] * 5


def test_the_clock_of_the_device_explains_a_ratio() -> None:
    slow = timed(0, 110_000.0, observed={"sm_clock_mhz": 1500.0})
    base = side(timed(0, observed={"sm_clock_mhz": 1650.0}))
    assert verdicts(base, side(slow)) == ["noise"]
    assert verdicts(base, side({**slow, "observed": {"sm_clock_mhz": 1650.0}})) == ["slower"]
    elsewhere = {**slow, "device": {"index": 0, "name": "Another"}}
    assert verdicts(base, side(elsewhere)) == ["slower"]


def test_runs_of_one_setup_that_lie_apart_are_noise() -> None:
    """A machine that is 10 % off in either direction from run to run says nothing of 15 %; of
    another library's rows that spread is no noise."""
    chance, called = random.Random(2), 0
    base = side(*(timed(i) for i in range(40)))
    for _ in range(20):
        rows = [timed(i, 100_000.0 * math.exp(chance.gauss(0, 0.1))) for i in range(40)]
        called += set(verdicts(base, side(*rows))) != {"noise"}
        others = [{**row, "library": "mkl 2024"} for row in rows]
        assert {"faster", "slower"} <= set(verdicts(base, side(*others)))
    assert called <= 3


def test_a_change_of_all_rows_alike_is_no_noise() -> None:
    base = side(*(timed(i) for i in range(40)))
    other = side(*(timed(i, 110_000.0) for i in range(40)))
    assert verdicts(base, other) == ["slower"] * 40


def test_many_rows_need_more_certainty() -> None:
    assert strictness(1) == pytest.approx(1.0, abs=1e-3)
    assert 1.9 < strictness(500) < 2.1
    chance, found = random.Random(3), 0
    for _ in range(40):  # files of 100 rows of which nothing changed
        base = side(*(timed(i, 100_000 * math.exp(chance.gauss(0, 0.02)), sure=0.04)
                      for i in range(100)))  # fmt: skip
        other = side(*(timed(i, 100_000 * math.exp(chance.gauss(0, 0.02)), sure=0.04)
                       for i in range(100)))  # fmt: skip
        found += set(verdicts(base, other, noise=0.0)) != {"noise"}
    assert found <= 8


# ---- regressions ------------------------------------------------------------------------------


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
