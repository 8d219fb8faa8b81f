"""Published sums over phases that only one of the two result sets has."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import original_workbooks
from comparison_rows import make_published_row, make_result_set, render
from deepbench.cli import main
from deepbench.compare import PairwiseComparison, ResultSet, Rules, compare
from deepbench.compare.headline import headline

PHASES = ("fwd", "bwd_data", "bwd_filter")
SIZES = {"w": 700, "h": 161, "c": 1, "precision": "float"}
DEFAULTS = {"groups": 1, "layout": "library"}


def conv_sum(position: int, phase: str, n: int = 4) -> dict[str, Any]:
    """A sum has only the attributes that its sheet names."""
    more = {} if phase == "total" else DEFAULTS
    attributes = {**SIZES, "n": n, **more, "phase": phase}
    problem = " ".join(["conv", *(f"{name}={value}" for name, value in attributes.items())])
    return {
        **make_published_row(position),
        "op": "conv",
        "problem": problem,
        "attributes": attributes,
    }


def conv_sums(*phases: str, n: int = 4) -> list[dict[str, Any]]:
    return [conv_sum(place, phase, n) for place, phase in enumerate(phases)]


def compare_pair(a: ResultSet, b: ResultSet) -> PairwiseComparison:
    return compare([a, b], Rules()).others[0]


def test_sums_of_compared_phases_are_omitted_and_counted() -> None:
    whole, phases = (
        make_result_set(*conv_sums(*PHASES, "total")),
        make_result_set(*conv_sums(*PHASES)),
    )
    for a, b in ((whole, phases), (phases, whole)):
        found = compare_pair(a, b)
        assert (found.missing, found.extra, found.derived) == ((), (), 1)
        text = render(compare([a, b], Rules()), "table")
        assert "; 1 sum over phases omitted, since the phases are compared" in text
        assert "only in" not in text
        assert "geometric mean of 3 rows;" in text
        assert headline(found, 0.03).rows == 3


def test_sums_in_both_result_sets_are_compared() -> None:
    whole = make_result_set(*conv_sums(*PHASES, "total"))
    found = compare_pair(whole, whole)
    assert (len(found.rows), found.derived) == (4, 0)


def test_a_sum_without_its_phases_has_no_partner() -> None:
    other = make_result_set(*conv_sums(*PHASES), *conv_sums("total", n=8))
    found = compare_pair(other, make_result_set(*conv_sums(*PHASES)))
    assert [row.entry.attributes["n"] for row in found.missing] == [8]
    assert found.derived == 0


def test_a_measured_row_is_not_a_published_sum() -> None:
    own = conv_sum(3, "total")
    own["regime"] = {"cache": "hot"}
    own["statistics"] = {"median_ns": 5e4}
    found = compare_pair(
        make_result_set(*conv_sums(*PHASES), own), make_result_set(*conv_sums(*PHASES))
    )
    assert len(found.missing) == 1
    assert found.derived == 0


def test_a_workbook_is_compared_with_its_reference(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    workbook = "results/train/DeepBench_NV_V100.xlsx"
    book, file = tmp_path / "book.xlsx", tmp_path / "v100.jsonl"
    original_workbooks.write_workbook(workbook, book)
    assert main(["import", str(book), "-o", str(file)]) == 0
    capsys.readouterr()
    assert main(["compare", "NVIDIA Tesla V100", str(file), "--format", "json"]) == 0
    [found] = json.loads(capsys.readouterr().out)["against"]
    assert (found["only_in_base"], found["not_in_base"]) == ([], [])
    assert found["sums_left_out"] == 294
