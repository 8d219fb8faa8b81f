"""`import` of the original's workbooks, if they exist in ../shared/data/workbooks beside the
checkout or in a parent folder. They are not part of the project."""

from __future__ import annotations

import csv
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from deepbench.cli import main
from deepbench.results import read
from deepbench.workbook import published_match, read_workbook
from example_rows import members
from source_tree import ROOT

FOLDER = next((parent / "shared/data" for parent in ROOT.parents
               if (parent / "shared/data/workbooks").is_dir()), None)  # fmt: skip
pytestmark = pytest.mark.skipif(FOLDER is None, reason="no ../shared/data/workbooks")

# Each file with its remarks: the first address of each kind, and the text.
PQ = "inconsistent: MISMATCH_PQ"
DIMS_1530 = "inconsistent: DIMS_1530"
UNHEADED = "which is not below a known heading"
OTHER_SET = "inconsistent: dimensions differ from those of the original's set"
REMARKS: Mapping[str, Sequence[tuple[str, str]]] = {
    "inference_device_DeepBench_iPhone_7": (),
    "inference_server_DeepBench_NV_1080Ti": (
        ("Results - Mixed Precision!I52", DIMS_1530),
        ("Results - Mixed Precision!J84", "inconsistent: sheet m=7680, header m=7860; published"),
        ("Results - Mixed Precision!K84", "inconsistent: sheet m=7680, header m=7860; 7 more"),
    ),
    "train_DeepBench_AMD_MI25": (
        ("Results FP32!N170", PQ),
        ("Results FP32!T224", "total 1.549 ms is not the sum of its phases 2.325 ms"),
    ),
    "train_DeepBench_IA_KNL7250": (
        ("Results - FP32!I132", DIMS_1530),
        ("Results - FP32!P175", "inconsistent: time does not scale with batch"),
        ("Results - FP32!T229", "total 15.63 ms is not the sum of its phases 26.66 ms"),
        ("Results - FP32!G365", OTHER_SET),
    ),
    "train_DeepBench_NV_P100": (
        ("Results FP32!E348", UNHEADED),
        ("Results FP32!I132", DIMS_1530),
        ("Results FP32!N175", PQ),
        ("Results FP32!T229", "total 1.374 ms is not the sum of its phases 2.175 ms; 1 more"),
        ("Results FP32!G361", OTHER_SET),
        ("Results - Psuedo FP16!H314", 'inconsistent: sheet column is "Time Backward"'),
    ),
    "train_DeepBench_NV_V100": (
        ("Results FP32!E344", UNHEADED),
        ("Results FP32!I133", DIMS_1530),
    ),
}
FIGURES = {
    "inference_device_DeepBench_iPhone_7": 29, "inference_server_DeepBench_NV_1080Ti": 299,
    "train_DeepBench_AMD_MI25": 548, "train_DeepBench_IA_KNL7250": 468,
    "train_DeepBench_NV_P100": 1177, "train_DeepBench_NV_V100": 1182,
}  # fmt: skip
Key = tuple[str, int, str, str]  # sheet, row, operation, phase


def original_workbook(name: str) -> Path:
    assert FOLDER is not None
    return FOLDER / "workbooks" / f"{name}.xlsx"


@pytest.fixture(scope="module")
def published_figures() -> Sequence[Mapping[str, str]]:
    """The table of all published figures."""
    assert FOLDER is not None
    with (FOLDER / "published_results.csv").open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def figure_key(sheet: str, row: int, op: str, phase: str, algorithm: str | None) -> Key:
    phase = {"bwd_params": "bwd_weights"}.get(phase, phase)
    phase = "fwd" if op == "all_reduce" else phase
    return sheet, row, op, "dense" if algorithm == "dense baseline" else phase


def rows_by_place(rows: Sequence[Mapping[str, Any]]) -> dict[Key, Mapping[str, Any]]:
    found = {}
    for row in rows:
        its = row["regime"]["published"]
        place = figure_key(its["sheet"], its["row"], row["op"], its["phase"], its.get("algorithm"))
        found[place] = row
    return found


def dimension_value(value: str) -> float | str:
    try:
        return float(value)
    except ValueError:
        return value


@pytest.mark.parametrize("by_rule", [False, True])
@pytest.mark.parametrize("name", REMARKS)
def test_exactly_the_published_figures_are_read(
    published_figures: Sequence[Mapping[str, str]],
    monkeypatch: pytest.MonkeyPatch,
    name: str,
    by_rule: bool,
) -> None:
    """Reads each workbook twice: with the published figures of the package, and with its headings
    alone."""
    if by_rule:
        monkeypatch.setattr(published_match, "_FEWEST", 1 << 60)
    imported = read_workbook(original_workbook(name))
    workbook = name.replace("inference_", "inference/", 1).replace("train_", "train/", 1)
    workbook = workbook.replace("device_", "device/", 1).replace("server_", "server/", 1)
    lines = [
        line for line in published_figures if line["source_workbook"] == f"results/{workbook}.xlsx"
    ]
    sums = [line for line in lines if line["phase"] == "total" and line["op"] != "all_reduce"]
    wanted = {
        figure_key(
            line["sheet"], int(line["row"]), line["op"], line["phase"], line["algorithm"]
        ): line
        for line in lines
        if line not in sums
    }
    found = rows_by_place(members(imported.rows))
    assert len(imported.rows) == len(found) == len(wanted) == FIGURES[name]
    assert imported.sums == len(sums)
    assert found.keys() == wanted.keys()
    for place, line in wanted.items():
        row = found[place]
        assert row["statistics"]["mean_ns"] == pytest.approx(float(line["time_ms"]) * 1e6, rel=1e-9)
        assert row["attributes"]["precision"] == line["precision"], place
        assert row["regime"]["published"]["status"] == line["status"], place
        assert (row["application"] or "") == line["application"], place
        for word in line["dims"].split():
            what, _, value = word.partition("=")
            value = {"0": "n", "1": "t"}[value] if what.startswith("trans") else value
            assert row["attributes"][what] == dimension_value(value), (place, what)
    assert imported.recognized == (None if by_rule else f"results/{workbook}.xlsx")
    assert len(imported.remarks) <= 6


@pytest.mark.parametrize("name", REMARKS)
def test_each_original_has_few_remarks(name: str) -> None:
    remarks = read_workbook(original_workbook(name)).remarks
    assert len(remarks) == len(REMARKS[name])
    for remark, (place, what) in zip(remarks, REMARKS[name], strict=True):
        assert remark.startswith(f"{place}: ")
        assert what in remark


def test_the_last_line_counts_the_figures(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    mine = tmp_path / "mine.jsonl"
    name = "train_DeepBench_NV_P100"
    assert main(["import", str(original_workbook(name)), "-o", str(mine)]) == 0
    *warnings, last = capsys.readouterr().err.splitlines()
    assert len(warnings) == 6
    assert last == (
        f"deepbench: {name}.xlsx: NVIDIA Tesla P100: 1418 figures read; 1177 rows (93 inconsistent)"
        "; 241 sums over phases left out as derived; 7 cells left out (is not below a known "
        "heading: 7); the original's results/train/DeepBench_NV_P100.xlsx"
    )
    assert len(read(mine).rows) == 1177
