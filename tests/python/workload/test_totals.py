"""The time of a model from rows: sums, shares, estimates, coverage, cost and the knee."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from deepbench.workload.totals import PassTotals, Totals, totals_of
from example_rows import make_context, make_gemm, row_of_members, without_times

Members = dict[str, Any]


def item_of(row: Members, layer: str, count: int = 1, **changes: Any) -> Members:
    """The item that a row measures."""
    return {
        "layer": layer,
        "kind": "product",
        "op": "linear",
        "precision": "float",
        "count": count,
        "flops": row["work"]["flops"],
        "bytes": row["work"]["bytes"],
        "problem": row["problem"],
        **changes,
    }


def unmeasured(layer: str, size: float, count: int = 1, flops: float = 0.0) -> Members:
    return {
        "layer": layer,
        "kind": "norm",
        "op": "other",
        "precision": "float",
        "count": count,
        "flops": flops,
        "bytes": size,
        "problem": None,
    }


def context_of(*passes: tuple[int, list[Members]], **changes: Any) -> Members:
    workload = {
        "name": "mine",
        "title": "Mine",
        "phase": "fwd",
        "unit": "images",
        "price": None,
        "passes": [{"parameters": {"batch": batch}, "items": items} for batch, items in passes],
        **changes,
    }
    return make_context(workload=workload)


def all_totals(context: Mapping[str, Any], *rows: Members) -> list[Totals]:
    return totals_of(context, map(row_of_members, rows))


def only_pass(context: Mapping[str, Any], *rows: Members) -> PassTotals:
    [totals] = all_totals(context, *rows)
    [one] = totals.passes
    return one


def timed(row: Members, time_ns: float, **regime: Any) -> Members:
    statistics = {**row["statistics"], "median_ns": time_ns}
    return {**row, "statistics": statistics, "regime": {**row["regime"], **regime}}


FIRST = make_gemm(0, m=100)  # 100 us, as all examples
SECOND = make_gemm(1, m=200)


def test_a_context_without_a_workload_has_no_totals() -> None:
    assert all_totals(make_context(), FIRST) == []


def test_the_time_is_the_sum_of_the_calls() -> None:
    items = [item_of(FIRST, "one", 3), item_of(SECOND, "two", 2), item_of(FIRST, "three")]
    found = only_pass(context_of((8, items)), FIRST, SECOND)
    assert found.regime == ("hot", "rested")
    assert found.coverage == 1
    assert found.time_ns == 600_000
    assert found.unit_ns == 75_000
    assert found.units_per_s == pytest.approx(8 / 600e-6)
    assert found.all.calls == 6
    flops = 4 * FIRST["work"]["flops"] + 2 * SECOND["work"]["flops"]
    assert found.all.tflops == pytest.approx(flops / 600_000 / 1e3)
    assert found.all.gbps == pytest.approx(6 * 2_097_152 / 600_000)


def test_groups_have_the_longest_first() -> None:
    items = [item_of(FIRST, "one"), item_of(SECOND, "two", 2), item_of(SECOND, "one", 4)]
    found = only_pass(context_of((1, items)), FIRST, SECOND)
    layers = found.all.grouped(lambda item: item.layer)
    assert {name: times.measured_ns for name, times in layers.items()} == {
        "one": 500_000,
        "two": 200_000,
    }


def test_what_is_not_measured_is_estimated_from_ceilings() -> None:
    """The example rows have 25 GB/s and 1.25 TFLOP/s."""
    items = [item_of(FIRST, "one", 100), unmeasured("bytes", 25_000, 4)]
    items.append(unmeasured("flops", 25_000, flops=5e9))
    found = only_pass(context_of((1, items)), FIRST)
    times = {one.item.layer: one.known_ns for one in found.all.times}
    assert times == {"one": 10_000_000, "bytes": 4_000, "flops": 4_000_000}
    assert [one.item.layer for one in found.unmeasured] == ["flops", "bytes"]
    assert found.coverage == pytest.approx(10_000 / 14_004)
    assert found.ceilings.memory == ("memory", 25.0)


def test_estimates_take_the_memory_or_else_the_slowest_level() -> None:
    def at_level(row: Members, level: str, gbps: float) -> Members:
        return {**row, "bound": {**row["bound"], "level": level, "memory_gbps": gbps}}

    context = context_of((1, [item_of(FIRST, "one"), item_of(SECOND, "two")]))
    caches = (at_level(FIRST, "l1", 100), at_level(SECOND, "l2", 50))
    assert only_pass(context, *caches).ceilings.memory == ("l2", 50)
    with_memory = (at_level(FIRST, "l1", 10), at_level(SECOND, "memory", 50))
    assert only_pass(context, *with_memory).ceilings.memory == ("memory", 50)


@pytest.mark.parametrize(("size", "is_complete"), [(125_000, True), (150_000, False)])
def test_a_total_needs_most_of_the_time(size: float, is_complete: bool) -> None:
    items = [item_of(FIRST, "one"), unmeasured("other", size)]
    found = only_pass(context_of((1, items), price=3.6), FIRST)
    assert found.is_complete is is_complete
    if is_complete:
        assert found.time_ns == 105_000
        assert found.units_per_s == pytest.approx(1e9 / 105_000)
        assert found.cost_per_million == pytest.approx(1e6 * 105e-6 / 3600 * 3.6)
    else:
        assert found.time_ns == 100_000
        assert found.units_per_s is None
        assert found.cost_per_million is None


def test_without_ceilings_the_coverage_is_unknown() -> None:
    row = {**FIRST, "bound": None}
    found = only_pass(context_of((1, [item_of(FIRST, "one"), unmeasured("other", 10)])), row)
    assert found.coverage is None
    assert not found.is_complete
    assert only_pass(context_of((1, [item_of(FIRST, "one")])), row).is_complete


def test_work_in_a_precision_without_ceiling_is_not_estimated() -> None:
    other = {**unmeasured("other", 10, flops=100.0), "precision": "half"}
    found = only_pass(context_of((1, [item_of(FIRST, "one"), other])), FIRST)
    assert found.coverage is None


@pytest.mark.parametrize(
    ("row", "reason"),
    [
        (without_times(SECOND, "unsupported", "no kernel"), "unsupported: no kernel"),
        (without_times(SECOND, "out_of_memory", "too large"), "out of memory: too large"),
        ({**SECOND, "status": "mistrusted", "reason": "odd"}, "mistrusted: odd"),
        (None, "not run"),
    ],
)
def test_a_row_that_is_not_ok_counts_as_not_measured(row: Members | None, reason: str) -> None:
    context = context_of((1, [item_of(FIRST, "one"), item_of(SECOND, "two", 3)]))
    found = only_pass(context, FIRST, *([row] if row else []))
    assert [(one.item.layer, one.reason) for one in found.unmeasured] == [("two", reason)]
    estimate_ns = max(2_097_152 / 25, SECOND["work"]["flops"] / 1.25e3)
    assert found.unmeasured[0].estimate_ns == pytest.approx(3 * estimate_ns)


def test_no_row_is_ok() -> None:
    failed = without_times(FIRST, "failed", "the worker crashed")
    found = only_pass(context_of((1, [item_of(FIRST, "one")])), failed)
    assert (found.regime, found.time_ns, found.coverage) == (None, 0, None)
    assert found.all.tflops is None


def test_each_regime_has_totals() -> None:
    cold = timed(make_gemm(1, m=100), 300_000, cache="cold")
    context = context_of((1, [item_of(FIRST, "one", 2)]))
    found = {one.passes[0].regime: one.passes[0].time_ns for one in
             all_totals(context, FIRST, cold)}  # fmt: skip
    assert found == {("hot", "rested"): 200_000, ("cold", "rested"): 600_000}


def test_the_share_of_the_ceilings_is_weighted_by_time() -> None:
    def with_share(row: Members, part: float) -> Members:
        return {**row, "bound": {**row["bound"], "share_roofline": part}}

    third = make_gemm(2, m=300)
    items = [item_of(FIRST, "one", 3), item_of(SECOND, "two"), item_of(third, "above")]
    rows = (with_share(FIRST, 0.8), with_share(SECOND, 0.4), with_share(third, 1.5))
    found = only_pass(context_of((1, items)), *rows)
    assert found.all.share_roofline == pytest.approx((3 * 0.8 + 0.4) / 4)
    assert found.all.above_ceiling == 1


def test_energy() -> None:
    joules = {"metrics": [{"name": "energy", "value": 0.5, "unit": "J"}]}
    context = context_of((1, [item_of(FIRST, "one", 3), item_of(SECOND, "two")]))
    assert only_pass(context, {**FIRST, **joules}, {**SECOND, **joules}).all.energy_j == 2
    assert only_pass(context, {**FIRST, **joules}, SECOND).all.energy_j is None


def test_several_devices_cost_several_times_as_much() -> None:
    context = context_of((1, [item_of(FIRST, "one")]), price=3.6)
    alone = only_pass(context, FIRST).cost_per_million
    context["workload"]["passes"][0]["parameters"]["tp"] = 8
    assert only_pass(context, FIRST).cost_per_million == pytest.approx(8 * (alone or 0))


@pytest.mark.parametrize(
    ("times_us", "knee"),
    [
        ([10, 12, 16, 31, 62], 4),  # 5.0, 3.0, 2.0, 1.94, 1.94 us each
        ([10, 20, 40, 80, 160], 1),
        ([16, 16, 16, 16, 16], 16),
        ([10, 30, 20, 60, 100], 4),  # the second batch is an outlier
    ],
)
def test_the_knee_is_the_smallest_batch_near_the_best_throughput(
    times_us: list[int], knee: int
) -> None:
    rows = [make_gemm(place, n=1 << place) for place in range(5)]
    passes = [(1 << place, [item_of(row, "one")]) for place, row in enumerate(rows)]
    measured = [timed(row, 1e3 * time) for row, time in zip(rows, times_us, strict=True)]
    [totals] = all_totals(context_of(*passes), *measured)
    assert totals.knee is not None
    assert totals.knee.what.batch == knee


def test_a_pass_with_a_failed_row_is_not_compared() -> None:
    """Without the row that failed, the pass would be the best."""
    rows = [make_gemm(place, n=1 << place) for place in range(4)]
    passes = [
        (1, [item_of(rows[0], "one")]),
        (2, [item_of(rows[1], "one")]),
        (4, [item_of(rows[2], "one"), item_of(rows[3], "two")]),
    ]
    failed = without_times(rows[3], "failed", "the worker crashed")
    [totals] = all_totals(context_of(*passes), rows[0], rows[1], rows[2], failed)
    assert totals.knee is None
    assert [totals.share_of_best(one) for one in totals.passes] == [0.5, 1, None]


def test_passes_are_compared_by_the_same_kind_of_time() -> None:
    """The second pass has no total, so that the first counts with its measured time, too."""
    rows = [timed(make_gemm(place, n=1 << place), 100_000) for place in range(2)]
    passes = [
        (1, [item_of(rows[0], "one"), unmeasured("other", 100_000)]),
        (2, [item_of(rows[1], "one"), unmeasured("other", 1_000_000)]),
    ]
    [totals] = all_totals(context_of(*passes), *rows)
    assert [one.is_complete for one in totals.passes] == [True, False]
    assert [totals.time_ns(one) for one in totals.passes] == [100_000, 100_000]
    assert [totals.share_of_best(one) for one in totals.passes] == [0.5, 1]
    assert totals.knee is None


def test_an_estimate_is_no_shorter_than_the_smallest_product() -> None:
    found = only_pass(context_of((1, [item_of(FIRST, "one"), unmeasured("small", 4, 10)])), FIRST)
    [small] = found.unmeasured
    assert found.ceilings.latency_ns > 0
    assert small.estimate_ns == 10 * found.ceilings.latency_ns


def test_a_collective_has_no_estimate_and_leaves_no_total() -> None:
    sums = {**unmeasured("sums", 4e6), "op": "all_reduce"}
    found = only_pass(context_of((1, [item_of(FIRST, "one"), sums])), FIRST)
    assert [(one.estimate_ns, one.reason) for one in found.unmeasured] == [
        (None, "needs one rank for each device (--ranks)")
    ]
    assert found.coverage is None
    assert found.units_per_s is None


def test_a_damaged_workload_without_passes_is_none() -> None:
    assert all_totals(context_of(), FIRST) == []


def test_one_pass_has_no_knee() -> None:
    [totals] = all_totals(context_of((4, [item_of(FIRST, "one")])), FIRST)
    assert totals.knee is None
