"""Good machines raise no alarm: the rows of each measured GPU, held against those of others."""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from deepbench import references
from deepbench.accept.families import COMPUTE, ENERGY, Choice, chosen_rows
from deepbench.accept.measurement import Measured, MeasuredRow
from deepbench.accept.reference import Reference, ReferenceRow, read_reference
from deepbench.accept.tolerance import WITHOUT_SPREAD, tolerance
from deepbench.accept.verdict import Judgment, Machine, decide
from deepbench.results import Row, read
from source_tree import ROOT

RESULTS = ROOT / "results"
# Tables of one kind of device and one set, measured on different devices.
PAIRS = [
    ("h200/gemm_training_half", "h200_power/gemm_training_half_rested"),
    ("h200/gemm_training_bfloat16", "h200_power/gemm_training_bfloat16_rested"),
    ("h100/gemm_training_half", "h100_power/gemm_training_half_rested"),
    ("h100/gemm_training_bfloat16", "h100_power/gemm_training_bfloat16_rested"),
]
FLEET = RESULTS / "h200x4/fleet_all_half_quick.jsonl"
SECONDS = 225.0


def file_of(name: str) -> Path:
    return RESULTS / f"{name}.jsonl"


def compute_judgments(reference: Reference, rows: tuple[Row, ...], ranks: int) -> list[Judgment]:
    """The judgments of the family compute on rows that were measured before."""
    choice: Choice = {
        family: found if family is COMPUTE else ()
        for family, found in chosen_rows(reference, SECONDS, ranks).items()
    }
    measured = Measured()
    by_problem = {row.problem: row for row in rows}
    for one in choice[COMPUTE]:
        for rank in range(ranks):
            row = MeasuredRow(by_problem[one.entry.problem], rank if ranks > 1 else None)
            measured.rows[COMPUTE.name, one.key, rank] = row
    machine = Machine(dict.fromkeys(range(ranks), reference.device), {}, {}, "0.1.0")
    verdict = decide(reference, choice, machine, measured)
    assert not verdict.alarms, verdict.alarms
    return [one for one in verdict.judgments if one.family is COMPUTE]


@pytest.mark.parametrize("pair", [*PAIRS, *(pair[::-1] for pair in PAIRS)])
def test_another_good_device_raises_no_alarm(pair: tuple[str, str]) -> None:
    reference = read_reference([str(file_of(pair[0]))])
    [found] = compute_judgments(reference, read(file_of(pair[1])).rows, 1)
    assert len(found.log_ratios) == len(found.pairs) == 6
    assert found.tolerance.spread is None


def test_no_device_of_a_fleet_raises_an_alarm() -> None:
    found = compute_judgments(read_reference([str(FLEET)]), read(FLEET).rows, 4)
    assert len(found) == 4
    assert all(len(one.log_ratios) == 6 for one in found)


def test_a_fleet_is_a_reference_of_all_of_its_devices() -> None:
    reference = read_reference([str(FLEET)])
    spread = COMPUTE.spread(COMPUTE.rows(reference, 3))
    assert spread is not None
    assert spread.devices == 4
    assert 0.005 < spread.log_sd < 0.02


def with_times(row: ReferenceRow, deviations: Sequence[float], first: int = 0) -> ReferenceRow:
    """The row as devices measured it whose times deviate by these logarithms."""
    times: dict[object, float] = {
        f"GPU-{first + number}": 1000.0 * math.exp(deviation)
        for number, deviation in enumerate(deviations)
    }
    return replace(row, times_ns=times)


def two_precisions() -> tuple[Reference, ReferenceRow, ReferenceRow, ReferenceRow]:
    """A reference, two of its rows in half, and one in float."""
    fleet = read_reference([str(FLEET)])
    first, second, other = COMPUTE.rows(fleet, 2)[:3]
    entry = replace(other.entry, attributes={**other.entry.attributes, "precision": "float"})
    return fleet, first, second, replace(other, entry=entry)


DEVIATIONS = [-0.02, -0.01, 0.0, 0.01, 0.02]
SD = statistics.stdev(DEVIATIONS)


def test_groups_of_different_devices_have_the_mean_spread_of_their_rows() -> None:
    _, first, second, single = two_precisions()
    doubled = [2 * one for one in DEVIATIONS]
    rows = [with_times(one, DEVIATIONS) for one in (first, second)]
    found = COMPUTE.spread([*rows, with_times(single, doubled, 5)])
    assert found is not None
    assert (found.devices, found.log_sd) == (5, pytest.approx((2 * SD + 2 * SD) / 3))
    # Devices that measured all rows have a mean over all of them.
    alike = COMPUTE.spread([rows[0], with_times(single, DEVIATIONS[::-1])])
    assert alike is not None
    assert (alike.devices, alike.log_sd) == (5, pytest.approx(0, abs=1e-12))
    # A group of one device has no spread, and the family neither.
    assert COMPUTE.spread([rows[0], with_times(single, [0.0], 5)]) is None
    assert COMPUTE.spread([]) is None


def at_rate(row: ReferenceRow, share: float) -> ReferenceRow:
    """The row with a share of its work."""
    return replace(row, entry=replace(row.entry, flops=share * 1e9))


def test_rows_of_enough_devices_come_before_slightly_faster_ones() -> None:
    fleet, fast, slow, _ = two_precisions()
    fast = at_rate(with_times(fast, [0.0]), 1)
    for share, expected in ((0.81, "slow"), (0.79, "fast")):
        shared = at_rate(with_times(slow, [0.0] * 5), share)
        [row] = COMPUTE.rows(replace(fleet, rows=(fast, shared)), 1)[:1]
        assert row == {"slow": shared, "fast": fast}[expected]


def test_rows_that_the_same_devices_measured_are_chosen_together() -> None:
    fleet, first, second, third = two_precisions()
    third = replace(third, entry=replace(third.entry, attributes=first.entry.attributes))
    rows = [
        at_rate(with_times(first, [0.0] * 8), 1.0),
        at_rate(with_times(second, [0.0] * 5, 4), 0.99),  # shares four devices with the first
        at_rate(with_times(third, [0.0] * 6, 1), 0.98),  # shares six
    ]
    chosen = COMPUTE.rows(replace(fleet, rows=tuple(rows)), 1)
    assert chosen == (rows[0], rows[2])
    spread = COMPUTE.spread(chosen)
    assert spread is not None
    assert spread.devices == 6


def test_a_reference_of_the_package_has_the_times_of_its_devices() -> None:
    reference = read_reference(["h200"])
    chosen = chosen_rows(reference, SECONDS, 1)
    half = [row for row in chosen[COMPUTE] if row.entry.attributes["precision"] == "half"]
    assert len(half) == 6
    spread = COMPUTE.spread(half)
    assert spread is not None
    assert spread.devices >= references.FEWEST_DEVICES
    assert 0.002 < spread.log_sd < 0.02
    # A spread that too few devices state, of a time or of an energy, judges nothing.
    for family, rows in chosen.items():
        counts = [len(family.by_device(row)) for row in rows]
        allowed = tolerance(family.spread(rows), 7)
        if any(count < references.FEWEST_DEVICES for count in counts):
            assert (allowed.spread, allowed.share) == (None, pytest.approx(WITHOUT_SPREAD))
    assert all(len(row.energies_j) >= references.FEWEST_DEVICES for row in chosen[ENERGY])


def test_a_reference_of_the_package_counts_no_row_of_best() -> None:
    packaged = references.find("h200")
    assert packaged is not None
    reference = read_reference(["h200"])
    rows = references.load(packaged).rows
    default = {row.statistics.median_ns for row in rows if row.algorithm.mode == "default"}
    best = {row.statistics.median_ns for row in rows if row.algorithm.mode == "best"} - default
    assert best
    assert not best & {row.time_ns for row in reference.rows}
    assert len(chosen_rows(reference, SECONDS, 1)[COMPUTE]) > 6
