"""`report --format xlsx`: the original's sheets and columns, and live formulas."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import openpyxl
import pytest

from deepbench.cli import main
from deepbench.results import read
from deepbench.workbook import WorkbookError, read_workbook, write_workbook, writing
from example_rows import make_gemm, make_memory, without_times
from source_tree import ROOT
from workbook_results import family_rows, result_of_all_families, result_of_rows

MEASURED = ROOT / "results/h200"


# ---- formulas ----------------------------------------------------------------------------------


def formulas_with_values(path: Path) -> Iterator[tuple[str, float, float]]:
    """Every formula with its saved value and its computed value."""
    live, saved = openpyxl.load_workbook(path), openpyxl.load_workbook(path, data_only=True)
    for sheet in live:
        for cells in sheet.iter_rows():
            for cell in cells:
                if cell.data_type == "f":
                    value = saved[sheet.title][cell.coordinate].value
                    yield cell.value, value, computed_value(str(cell.value), sheet)


def computed_value(formula: str, sheet: Any) -> float:
    def cell(match: re.Match[str]) -> str:
        found = sheet[match[0]]
        return (
            f"({computed_value(found.value, sheet)})"
            if found.data_type == "f"
            else repr(found.value)
        )

    text = re.sub(r"\b[A-Z]{1,2}[0-9]+\b", cell, formula.removeprefix("="))
    text = re.sub(r'(?<=[\'"\d])=(?=["\'])', "==", text).replace("^", "**")
    names = {"IF": lambda what, one, other: one if what else other,
             "ROUNDDOWN": lambda value, digits: math.trunc(value)}  # fmt: skip
    return float(eval(text, {"__builtins__": {}}, names))


def test_formulas_are_live(tmp_path: Path) -> None:
    write_workbook(result_of_all_families(), tmp_path / "a.xlsx")
    found = list(formulas_with_values(tmp_path / "a.xlsx"))
    assert len(found) > 15
    for text, saved, now in found:
        assert now == pytest.approx(saved, rel=1e-9), text
    texts = [text for text, _, _ in found]
    assert "=(2*C4*D4*E4)/(I4/1000)/10^12" in texts  # of the cells in the same line
    assert any("ROUNDDOWN" in text for text in texts)
    assert any('="LSTM",4' in text for text in texts)


def test_rates_are_those_of_the_rows(tmp_path: Path) -> None:
    write_workbook(read(MEASURED / "gemm_training_half.jsonl"), tmp_path / "a.xlsx")
    rows = read(MEASURED / "gemm_training_half.jsonl").rows
    values = [saved for _, saved, _ in formulas_with_values(tmp_path / "a.xlsx")]
    assert values == pytest.approx([row.rates.tflops for row in rows])


# ---- sheets and columns ------------------------------------------------------------------------


def test_sheets_and_columns_match_the_original(tmp_path: Path) -> None:
    write_workbook(result_of_all_families(), tmp_path / "a.xlsx")
    book = openpyxl.load_workbook(tmp_path / "a.xlsx")
    assert book.sheetnames == [
        "Specs", "Results - FP32", "Results - INT8", "Results - FP16", "Results", "Rows",
    ]  # fmt: skip
    sheet = book["Results - FP32"]
    assert [cell.value for cell in sheet[3]][2:10] == [
        "M", "N", "K", "A Transpose", "B Transpose", "Application", "Time (msec)", "TERAFLOPS",
    ]  # fmt: skip
    assert [sheet.cell(4, column).value for column in range(3, 8)] == [35, 700, 2048, "T", "N"]
    heads = [[cell.value for cell in row] for row in sheet.iter_rows() if row[2].value == "W"]
    assert heads[0][13:20] == [
        "Forward Time (msec)", "Backward inputs Time (msec)", "Backward filter Time (msec)",
        "Forward TERAFLOPS", "Backward inputs TERAFLOPS", "Backward filter TERAFLOPS",
        "Total Time (msec)",
    ]  # fmt: skip


def test_small_rates_are_not_shown_as_zero(tmp_path: Path) -> None:
    row = make_gemm(m=1, n=1)
    write_workbook(result_of_rows(row), tmp_path / "a.xlsx")
    sheet = openpyxl.load_workbook(tmp_path / "a.xlsx", data_only=True)["Results - FP32"]
    assert sheet["J4"].value == pytest.approx(3.52e-5)
    assert sheet["J4"].number_format == "[<0.001]0.00E+00;[<1]0.000000;0.000"
    assert sheet["I4"].number_format == "[<0.001]0.00E+00;[<1]0.000000;0.0000"


def test_all_reduces_state_their_ranks(tmp_path: Path) -> None:
    before = read(MEASURED.parent / "h200x2/all_reduce_sizes_float_nccl.jsonl")
    path = tmp_path / "a.xlsx"
    write_workbook(before, path)
    assert [row.regime.ranks for row in read_workbook(path).rows] == [2] * 4
    book = openpyxl.load_workbook(path)
    sheet = book["Results - FP32"]
    heads = [cell.value for cell in sheet[3]]
    assert heads[2:5] == ["Size (# of floats)", "Number of Processors", "Time (msec)"]
    assert [sheet.cell(line, 4).value for line in range(4, 8)] == [2] * 4
    del book["Rows"]
    book.save(path)
    assert [row.attributes["ranks"] for row in read_workbook(path).rows] == [2] * 4


def test_each_phase_has_its_algorithm(tmp_path: Path) -> None:
    rows = family_rows()
    phases = [row for row in rows if row["attributes"].get("stride_w") == 2]
    for row, name in zip(phases, ("winograd", "direct", "gemm"), strict=True):
        row["algorithm"] = {**row["algorithm"], "name": name}
    write_workbook(result_of_rows(*rows), tmp_path / "a.xlsx")
    sheet = openpyxl.load_workbook(tmp_path / "a.xlsx")["Results - FP32"]
    lines = [[cell.value for cell in line] for line in sheet.iter_rows()]
    heads = next(line for line in lines if "Backward filter Algorithm" in line)
    values = next(line for line in lines if "winograd" in line)
    assert [values[heads.index(f"{name} Algorithm")]
            for name in ("Forward", "Backward inputs", "Backward filter")] == [
        "winograd", "direct", "gemm",
    ]  # fmt: skip


def test_rows_without_a_time_state_the_reason(tmp_path: Path) -> None:
    lost = without_times(make_gemm(m=7), "failed", "=the worker crashed")
    wrong = make_gemm(m=9, status="incorrect", reason="output 3 is 4")
    write_workbook(result_of_rows(make_gemm(), lost, wrong), tmp_path / "a.xlsx")
    sheet = openpyxl.load_workbook(tmp_path / "a.xlsx")["Results - FP32"]
    last = [[cell.value for cell in row] for row in sheet.iter_rows(min_row=4)]
    assert [row[8] for row in last] == [0.1, None, None]
    assert [row[-1] for row in last] == [
        "ok", "failed: =the worker crashed", "incorrect: output 3 is 4",
    ]  # fmt: skip


def column_width(sheet: Any, column: int) -> float:
    """The width of a column, which may be stored together with others."""
    found = [one for one in sheet.column_dimensions.values() if one.min <= column <= one.max]
    return float(found[0].width)


def test_columns_fit_headings_and_contents(tmp_path: Path) -> None:
    """In programs that do not adapt widths and heights themselves."""
    algorithm = "kernel_" * 4
    rows = family_rows()
    rows[0]["algorithm"]["name"] = algorithm
    write_workbook(result_of_rows(*rows), tmp_path / "a.xlsx")
    book = openpyxl.load_workbook(tmp_path / "a.xlsx")
    for sheet in book.worksheets[1:]:
        for cell in (cell for cells in sheet.iter_rows(min_row=3) for cell in cells):
            if cell.alignment.wrap_text:
                assert column_width(sheet, cell.column) >= max(map(len, str(cell.value).split()))
                lines = (sheet.row_dimensions[cell.row].height or 15) / 15
                assert lines * column_width(sheet, cell.column) >= 1.2 * len(str(cell.value))
            elif cell.value == algorithm:
                assert column_width(sheet, cell.column) > len(algorithm)
    sheet = book["Rows"]
    for cell in (cell for cells in sheet.iter_rows(min_row=2) for cell in cells):
        if isinstance(cell.value, str):
            assert column_width(sheet, cell.column) >= min(len(cell.value), 60)


def test_the_same_rows_give_the_same_bytes(tmp_path: Path) -> None:
    write_workbook(result_of_all_families(), tmp_path / "a.xlsx")
    write_workbook(result_of_all_families(), tmp_path / "b.xlsx")
    assert (tmp_path / "a.xlsx").read_bytes() == (tmp_path / "b.xlsx").read_bytes()


def test_more_rows_than_the_reader_accepts_are_not_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(writing, "MOST_ROWS", 1)
    with pytest.raises(WorkbookError, match="has more than 1 rows, the limit for workbooks"):
        write_workbook(result_of_rows(make_gemm(), make_gemm()), tmp_path / "a.xlsx")
    assert not (tmp_path / "a.xlsx").exists()


# ---- the command -------------------------------------------------------------------------------


def run_command(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    status = main(list(arguments))
    said = capsys.readouterr()
    return status, said.out, said.err


def test_report_and_import(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    mine, book = MEASURED / "gemm_training_half.jsonl", tmp_path / "b.xlsx"
    back = tmp_path / "back.jsonl"
    status, out, err = run_command(capsys, "report", str(mine), "--format", "xlsx", "-o", str(book))
    assert (status, out) == (0, "")
    assert err == f"deepbench: {book}: {round(book.stat().st_size / 1e3)} kB\n"
    status, _, err = run_command(capsys, "import", str(book), "-o", str(back))
    said = "NVIDIA H200: 160 figures read; 160 rows; 0 cells left out"
    assert (status, err) == (0, f"deepbench: b.xlsx: {said}\n")
    status, out, _ = run_command(capsys, "compare", str(mine), str(back))
    assert status == 0
    assert "160 rows compared: 160 same" in out


def test_other_operations_have_a_table(tmp_path: Path) -> None:
    write_workbook(result_of_rows(make_memory()), tmp_path / "a.xlsx")
    sheet = openpyxl.load_workbook(tmp_path / "a.xlsx", data_only=True)["Results"]
    table = [[cell.value for cell in row][1:8] for row in sheet.iter_rows(min_row=3)]
    assert table[0] == ["Memory", "kind", "bytes", "Time (msec)", "Bandwidth (GB/s)",
                        "Application", "Cache"]  # fmt: skip
    assert table[1][1:5] == ["copy", 1 << 20, 0.1, pytest.approx(20.97152)]


@pytest.mark.parametrize("file", [MEASURED / "gemm_training_half.jsonl"])
def test_existing_output_needs_overwrite(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], file: Path
) -> None:
    mine = tmp_path / "mine.jsonl"
    mine.write_bytes(file.read_bytes())
    command = ("report", str(mine), "--format", "xlsx", "-o")
    status, _, err = run_command(capsys, *command, str(mine), "--overwrite")
    assert (status, "is also an input" in err) == (2, True)
    assert json.loads(mine.read_text().splitlines()[0])["type"] == "context"
    book = tmp_path / "a.xlsx"
    assert run_command(capsys, *command, str(book))[0] == 0
    assert run_command(capsys, *command, str(book))[0] == 2
    assert run_command(capsys, *command, str(book), "--overwrite")[0] == 0
    status, _, err = run_command(capsys, "import", str(book), "-o", str(book), "--overwrite")
    assert (status, "is also an input" in err) == (2, True)
    assert book.read_bytes().startswith(b"PK")
    for bad, said, what in (("/dev/full", 1, "the disk is full; nothing was written"),
                            (str(tmp_path), 2, "is a folder"),
                            (str(tmp_path / "no/a.xlsx"), 2, "there is no folder")):  # fmt: skip
        status, _, err = run_command(capsys, *command, bad)
        assert (status, err.count("\n"), what in err) == (said, 1, True), err
