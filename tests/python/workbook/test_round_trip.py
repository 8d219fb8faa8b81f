"""Reading back a workbook that deepbench wrote, unchanged and edited."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import openpyxl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as some

from deepbench import _core, references
from deepbench.results import read
from deepbench.workbook import read_workbook, write_workbook
from example_rows import make_gemm, members
from source_tree import ROOT
from workbook_results import FAMILIES, result_of_all_families, result_of_rows

MEASURED = ROOT / "results/h200"


def is_same_row(one: Mapping[str, Any], other: Mapping[str, Any]) -> bool:
    keys = ("position", "problem", "op", "attributes", "application", "status", "reason")
    return all(one.get(key) == other.get(key) for key in keys)


@pytest.mark.parametrize("name", ["gemm_inference_int8_best.jsonl", "gemm_training_half_cold.jsonl",
                                  "memory.jsonl"])  # fmt: skip
def test_measured_rows_survive_the_round_trip(tmp_path: Path, name: str) -> None:
    before = read(MEASURED / name)
    write_workbook(before, tmp_path / "a.xlsx")
    after = read_workbook(tmp_path / "a.xlsx")
    assert not after.remarks
    assert len(after.rows) == len(before.rows)
    for one, other in zip(members(before.rows), members(after.rows), strict=True):
        assert is_same_row(one, other)
        assert other["statistics"]["stop"] == one["statistics"]["stop"]
        for key in ("median_ns", "low_ns", "high_ns", "min_ns", "stdev_ns", "n", "batch"):
            assert other["statistics"].get(key) == pytest.approx(one["statistics"][key], rel=1e-14)
        for key in ("cache", "cold", "power", "threads", "launch"):
            assert other["regime"].get(key) == one["regime"].get(key)
        for part in ("rates", "bound"):
            if part not in other:  # rows without ceilings have none
                assert not any(one[part].values())
                continue
            for key, value in other[part].items():
                close = isinstance(value, str) or pytest.approx(one[part][key], rel=1e-14) == value
                assert close
    for key in ("version", "started", "set", "rows", "threads", "device"):
        kept = {"index", "name"}
        value = before.context.get(key)
        value = {k: v for k, v in value.items() if k in kept} if key == "device" else value
        assert after.context[key] == value


@pytest.mark.parametrize("name", ["titanx maxwell", "raspberry"])
def test_published_figures_survive_the_round_trip(tmp_path: Path, name: str) -> None:
    reference = references.find(name)
    assert reference is not None
    before = references.load(reference)
    write_workbook(before, tmp_path / "a.xlsx")
    after = read_workbook(tmp_path / "a.xlsx")
    assert not after.remarks
    assert after.context["footnotes"] == before.context["footnotes"]
    for one, other in zip(members(before.rows), members(after.rows), strict=True):
        assert is_same_row(one, other)
        assert other["statistics"] == one["statistics"]
        for key in (
            "workbook",
            "sheet",
            "row",
            "status",
            "note",
            "doubt",
            "intended_attributes",
            "set",
        ):
            assert other["regime"]["published"].get(key) == one["regime"]["published"].get(key)


def test_an_edited_published_time_is_reported(tmp_path: Path) -> None:
    reference = references.find("raspberry")
    assert reference is not None
    path = tmp_path / "a.xlsx"
    write_workbook(references.load(reference), path)
    book = openpyxl.load_workbook(path)
    titles = [cell.value for cell in book["Rows"][1]]
    cells = [book["Rows"].cell(line, 1 + titles.index("Mean (ns)")) for line in (2, 3)]
    then_ms = cells[0].value / 1e6
    cells[0].value = 123e6
    book["Rows"].cell(3, 1 + titles.index("Published row")).value = 9999  # not a published place
    cells[1].value = 7e6
    book.save(path)
    imported = read_workbook(path)
    note = f"123 ms here, {then_ms:g} ms as published"
    assert imported.remarks == (f"Rows!2: inconsistent: {note}",)
    changed, elsewhere, *_ = members(imported.rows)
    assert changed["statistics"] == {"mean_ns": 123e6}
    assert changed["regime"]["published"]["doubt"] == note
    assert elsewhere["regime"]["published"].get("doubt") is None


def test_an_edited_time_is_reported(tmp_path: Path) -> None:
    path = tmp_path / "a.xlsx"
    write_workbook(result_of_rows(make_gemm(), make_gemm(m=64)), path)
    book = openpyxl.load_workbook(path)
    titles = [cell.value for cell in book["Rows"][1]]
    book["Rows"].cell(2, 1 + titles.index("Median (ns)")).value = 50_000
    book.save(path)
    imported = read_workbook(path)
    assert imported.remarks == (
        "Rows!2: has a time that contradicts its rate; values derived from the measured time were "
        "removed",
    )
    changed, other = members(imported.rows)
    assert changed["statistics"] == {"median_ns": 50_000}
    assert not {"rates", "bound", "verification"} & changed.keys()
    assert other["verification"] == {"status": "passed"}


def test_invalid_rows_are_reported(tmp_path: Path) -> None:
    """Invalid rows of the sheet `Rows` are skipped and reported, each with its cell."""
    path = tmp_path / "a.xlsx"
    write_workbook(result_of_rows(*(make_gemm(m=m) for m in range(1, 8))), path)
    book = openpyxl.load_workbook(path)
    sheet = book["Rows"]
    column = {cell.value: cell.column for cell in sheet[1]}
    for line, (title, value) in enumerate((
        ("Median (ns)", -1), ("Median (ns)", 0), ("Status", "splendid"), ("Position", 0.5),
        ("Position", 6), ("Cache", "warm"),
    ), start=2):  # fmt: skip
        sheet.cell(line, column[title]).value = value
    sheet.cell(1, 60).value = "Mood"
    book.save(path)
    imported = read_workbook(path)
    assert [row["attributes"]["m"] for row in members(imported.rows)] == [5]
    told = "\n".join(imported.remarks)
    for what in ("!BH1: is an unknown column 'Mood'", "2: holds -1, which is not a valid time",
                 "1 more: Q3", "Rows!4: status is \"splendid\"",
                 "5: holds 0.5, which is not a non-negative integer",
                 "Rows!7: regime.cache is \"warm\"",
                 "Rows!8: has the position of another row"):  # fmt: skip
        assert what in told, told


def test_results_sheets_alone_can_be_read(tmp_path: Path) -> None:
    """If the sheet `Rows` was deleted, the results sheets are read by their headings."""
    path = tmp_path / "a.xlsx"
    write_workbook(result_of_all_families(), path)
    rows = {(row["problem"]): row for row in members(result_of_all_families().rows)}
    book = openpyxl.load_workbook(path)
    del book["Rows"]
    book.save(path)
    imported = read_workbook(path)
    times = {row["problem"]: row["statistics"]["mean_ns"] for row in members(imported.rows)}
    for text in FAMILIES[:5]:
        problem = str(_core.Problem.parse(text.replace(" b_type=u8", "")))
        row = rows[str(_core.Problem.parse(text))] if text in FAMILIES else rows[problem]
        assert times[problem] == pytest.approx(row["statistics"]["median_ns"], abs=0.001)
    assert "saved without its value" in "\n".join(imported.remarks)


TEXTS = some.text(max_size=60)
TIMES = some.floats(min_value=1e-3, max_value=1e15, allow_nan=False)


@settings(max_examples=25)
@given(application=TEXTS, reason=TEXTS, device=TEXTS, time=TIMES)
def test_any_text_and_any_time_survive_the_round_trip(
    tmp_path_factory: pytest.TempPathFactory,
    application: str,
    reason: str,
    device: str,
    time: float,
) -> None:
    path = tmp_path_factory.mktemp("any") / "a.xlsx"
    row = make_gemm(application=application, reason=reason)
    row["statistics"] = {**row["statistics"], "median_ns": time}
    write_workbook(result_of_rows(row, device={"index": 0, "name": device}), path)
    [back] = members(read_workbook(path).rows)
    assert back["statistics"]["median_ns"] == pytest.approx(time, rel=1e-14)
    for cells in openpyxl.load_workbook(path)["Rows"].iter_rows():
        assert not [cell.value for cell in cells if cell.data_type == "f"]
    printed = "".join(c if c.isprintable() else "\ufffd" for c in " ".join(application.split()))
    assert (back.get("application") or "") == printed
