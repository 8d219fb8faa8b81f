"""Good machines raise no alarm: the rows of each measured GPU, held against those of others."""

from __future__ import annotations

import math
from pathlib import Path

import pytest

from deepbench import references
from deepbench.accept.families import COMPUTE, ENERGY, SUSTAINED_CLOCKS, Choice, chosen_rows
from deepbench.accept.measurement import Measured, MeasuredRow
from deepbench.accept.reference import Reference, read_reference
from deepbench.accept.verdict import Judgment, Machine, decide
from deepbench.references import FamilySpread, family_of
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
    spread = COMPUTE.spread(reference, COMPUTE.rows(reference, 3))
    assert spread is not None
    assert spread.devices == 4
    assert 0.005 < spread.log_sd < 0.02


def test_a_reference_may_state_its_spreads() -> None:
    from_file = read_reference([str(FLEET)])
    spreads = {"gemm half": FamilySpread(10, 0.004), "conv half": FamilySpread(8, 0.006)}
    stated = Reference("h200", from_file.rows, from_file.contexts, spreads)
    products, convolutions = (
        [row for row in stated.rows if family_of(row.entry.op, row.entry.attributes) == name]
        for name in spreads
    )
    # Each row is that of one device: tolerance() is to double the variance.
    found = COMPUTE.spread(stated, products)
    assert found is not None
    assert found.devices == 10
    assert found.log_sd == pytest.approx(0.004 * math.sqrt(2 / 1.1))
    both = COMPUTE.spread(stated, [products[0], convolutions[0]])
    assert both is not None
    assert both.devices == 8
    assert both.log_sd == pytest.approx(0.005 * math.sqrt(2 / 1.125))
    # No regime is stated, and the files have no energy.
    assert SUSTAINED_CLOCKS.spread(stated, products) == COMPUTE.spread(from_file, products)
    assert ENERGY.spread(stated, products) is None


def test_a_reference_of_the_package_states_its_spreads_and_counts_no_row_of_best() -> None:
    packaged = references.find("h200")
    assert packaged is not None
    reference = read_reference(["h200"])
    assert reference.spreads == packaged.spread
    rows = references.load(packaged).rows
    default = {row.statistics.median_ns for row in rows if row.algorithm.mode == "default"}
    best = {row.statistics.median_ns for row in rows if row.algorithm.mode == "best"} - default
    assert best
    assert not best & {row.time_ns for row in reference.rows}
    assert len(chosen_rows(reference, SECONDS, 1)[COMPUTE]) > 6
