"""`report --format xlsx`: the original's sheets and columns, live formulas, and the way back."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import openpyxl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as some

from deepbench import _core, references
from deepbench.cli import main
from deepbench.results import ResultFile, read
from deepbench.workbook import WorkbookError, read_workbook, write_workbook, writing
from example_rows import make_context, make_gemm, make_memory, make_row, without_times

MEASURED = Path(__file__).parents[2] / "results/h200"


def result(*rows: dict[str, Any], **changes: Any) -> ResultFile:
    for position, row in enumerate(rows):
        row["position"] = position
    return ResultFile(Path("rows.jsonl"), make_context(rows=len(rows), **changes), rows, 0, False)


def of_problem(text: str, **changes: Any) -> dict[str, Any]:
    problem = _core.Problem.parse(text)
    return make_row(problem.op, dict(problem.attributes), 0, problem.flops, **changes)


FAMILIES = [
    "gemm m=35 n=700 k=2048 trans_a=t",
    "gemm m=64 n=64 k=64 precision=int8 b_type=u8",
    *(f"conv w=700 h=161 c=1 n=4 k=32 s=20 r=5 stride_w=2 stride_h=2 phase={phase}"
      for phase in ("fwd", "bwd_data", "bwd_filter")),
    "conv w=14 h=14 c=64 n=4 k=64 s=3 r=3 pad_w=1 pad_h=1 groups=32 dilation_w=2",
    "rnn cell=lstm hidden=512 batch=16 timesteps=25",
    "rnn cell=lstm hidden=512 batch=16 timesteps=25 phase=bwd",
    "rnn cell=vanilla hidden=1760 batch=16 timesteps=50 precision=half",
    "rnn cell=gru_reset_before hidden=64 batch=1 timesteps=5 mode=inference",
    "sparse_gemm m=7680 n=1 k=2560 sparsity=0.95",
    "all_reduce elements=100000",
    "memory kind=copy bytes=1048576",
]  # fmt: skip


def families() -> ResultFile:
    rows = [of_problem(text) for text in FAMILIES]
    for i, row in enumerate(rows):
        row["statistics"] = {**row["statistics"], "median_ns": 1e5 * (i + 1) / 3}
    rows[10]["metrics"] = [{"name": "dense_time", "value": 1234.5, "unit": "us", "better": None}]
    return result(*rows)


# ---- formulas ------------------------------------------------------------------------------------


def formulas(path: Path) -> Iterator[tuple[str, float, float]]:
    """Every formula with the value that it was saved with, and the one that it has."""
    live, saved = openpyxl.load_workbook(path), openpyxl.load_workbook(path, data_only=True)
    for sheet in live:
        for cells in sheet.iter_rows():
            for cell in cells:
                if cell.data_type == "f":
                    value = saved[sheet.title][cell.coordinate].value
                    yield cell.value, value, computed(str(cell.value), sheet)


def computed(formula: str, sheet: Any) -> float:
    def cell(match: re.Match[str]) -> str:
        found = sheet[match[0]]
        return f"({computed(found.value, sheet)})" if found.data_type == "f" else repr(found.value)

    text = re.sub(r"\b[A-Z]{1,2}[0-9]+\b", cell, formula.removeprefix("="))
    text = re.sub(r'(?<=[\'"\d])=(?=["\'])', "==", text).replace("^", "**")
    names = {"IF": lambda what, one, other: one if what else other,
             "ROUNDDOWN": lambda value, digits: math.trunc(value)}  # fmt: skip
    return float(eval(text, {"__builtins__": {}}, names))


def test_formulas_live(tmp_path: Path) -> None:
    write_workbook(families(), tmp_path / "a.xlsx")
    found = list(formulas(tmp_path / "a.xlsx"))
    assert len(found) > 15
    for text, saved, now in found:
        assert now == pytest.approx(saved, rel=1e-9), text
    texts = [text for text, _, _ in found]
    assert "=(2*C4*D4*E4)/(I4/1000)/10^12" in texts  # of the cells beside it
    assert any("ROUNDDOWN" in text for text in texts)
    assert any('="LSTM",4' in text for text in texts)


def test_rates_are_those_of_the_rows(tmp_path: Path) -> None:
    write_workbook(read(MEASURED / "gemm_training_half.jsonl"), tmp_path / "a.xlsx")
    rows = read(MEASURED / "gemm_training_half.jsonl").rows
    values = [saved for _, saved, _ in formulas(tmp_path / "a.xlsx")]
    assert values == pytest.approx([row["rates"]["tflops"] for row in rows])


# ---- sheets and columns --------------------------------------------------------------------------


def test_sheets_and_columns_are_the_originals(tmp_path: Path) -> None:
    write_workbook(families(), tmp_path / "a.xlsx")
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


def test_small_rates_are_not_shown_as_none(tmp_path: Path) -> None:
    row = make_gemm(m=1, n=1)
    write_workbook(result(row), tmp_path / "a.xlsx")
    sheet = openpyxl.load_workbook(tmp_path / "a.xlsx", data_only=True)["Results - FP32"]
    assert sheet["J4"].value == pytest.approx(3.52e-5)
    assert sheet["J4"].number_format == "[<0.001]0.00E+00;[<1]0.000000;0.000"
    assert sheet["I4"].number_format == "[<0.001]0.00E+00;[<1]0.000000;0.0000"


def test_sums_say_over_how_many_ranks(tmp_path: Path) -> None:
    before = read(MEASURED.parent / "h200x2/all_reduce_sizes_float_nccl.jsonl")
    path = tmp_path / "a.xlsx"
    write_workbook(before, path)
    assert [row["regime"]["ranks"] for row in read_workbook(path).rows] == [2] * 4
    book = openpyxl.load_workbook(path)
    sheet = book["Results - FP32"]
    heads = [cell.value for cell in sheet[3]]
    assert heads[2:5] == ["Size (# of floats)", "Number of Processors", "Time (msec)"]
    assert [sheet.cell(line, 4).value for line in range(4, 8)] == [2] * 4
    del book["Rows"]
    book.save(path)
    assert [row["attributes"]["ranks"] for row in read_workbook(path).rows] == [2] * 4


def test_what_has_no_time_says_why(tmp_path: Path) -> None:
    lost = without_times(make_gemm(m=7), "failed", "=the worker crashed")
    wrong = make_gemm(m=9, status="incorrect", reason="output 3 is 4")
    write_workbook(result(make_gemm(), lost, wrong), tmp_path / "a.xlsx")
    sheet = openpyxl.load_workbook(tmp_path / "a.xlsx")["Results - FP32"]
    last = [[cell.value for cell in row] for row in sheet.iter_rows(min_row=4)]
    assert [row[8] for row in last] == [0.1, None, None]
    assert [row[-1] for row in last] == [
        "ok", "failed: =the worker crashed", "incorrect: output 3 is 4",
    ]  # fmt: skip


def width(sheet: Any, column: int) -> float:
    """Of a column that may be one of several written together."""
    found = [one for one in sheet.column_dimensions.values() if one.min <= column <= one.max]
    return float(found[0].width)


def test_headings_and_contents_can_be_read(tmp_path: Path) -> None:
    """Without a program that finds heights and widths itself."""
    algorithm = "kernel_" * 4
    rows = families()
    rows.rows[0]["algorithm"]["name"] = algorithm
    write_workbook(rows, tmp_path / "a.xlsx")
    book = openpyxl.load_workbook(tmp_path / "a.xlsx")
    for sheet in book.worksheets[1:]:
        for cell in (cell for cells in sheet.iter_rows(min_row=3) for cell in cells):
            if cell.alignment.wrap_text:
                assert width(sheet, cell.column) >= max(map(len, str(cell.value).split()))
                lines = (sheet.row_dimensions[cell.row].height or 15) / 15
                assert lines * width(sheet, cell.column) >= 1.2 * len(str(cell.value))
            elif cell.value == algorithm:
                assert width(sheet, cell.column) > len(algorithm)
    sheet = book["Rows"]
    for cell in (cell for cells in sheet.iter_rows(min_row=2) for cell in cells):
        if isinstance(cell.value, str):
            assert width(sheet, cell.column) >= min(len(cell.value), 60)


def test_the_same_rows_give_the_same_bytes(tmp_path: Path) -> None:
    write_workbook(families(), tmp_path / "a.xlsx")
    write_workbook(families(), tmp_path / "b.xlsx")
    assert (tmp_path / "a.xlsx").read_bytes() == (tmp_path / "b.xlsx").read_bytes()


def test_more_rows_than_can_be_read_are_not_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(writing, "MOST_ROWS", 1)
    with pytest.raises(WorkbookError, match="has more than 1 rows; no workbook is written"):
        write_workbook(result(make_gemm(), make_gemm()), tmp_path / "a.xlsx")
    assert not (tmp_path / "a.xlsx").exists()


# ---- the way back --------------------------------------------------------------------------------


def same(one: Mapping[str, Any], other: Mapping[str, Any]) -> bool:
    keys = ("position", "problem", "op", "attributes", "application", "status", "reason")
    return all(one.get(key) == other.get(key) for key in keys)


@pytest.mark.parametrize("name", ["gemm_inference_int8_best.jsonl", "gemm_training_half_cold.jsonl",
                                  "memory.jsonl"])  # fmt: skip
def test_what_was_measured_comes_back(tmp_path: Path, name: str) -> None:
    before = read(MEASURED / name)
    write_workbook(before, tmp_path / "a.xlsx")
    after = read_workbook(tmp_path / "a.xlsx")
    assert not after.reports
    assert len(after.rows) == len(before.rows)
    for one, other in zip(before.rows, after.rows, strict=True):
        assert same(one, other)
        assert other["statistics"]["stop"] == one["statistics"]["stop"]
        for key in ("median_ns", "low_ns", "high_ns", "min_ns", "stdev_ns", "n", "batch"):
            assert other["statistics"].get(key) == pytest.approx(one["statistics"][key], rel=1e-14)
        for key in ("cache", "cold", "power", "threads", "launch"):
            assert other["regime"].get(key) == one["regime"].get(key)
        for part in ("rates", "bound"):
            for key, value in other[part].items():
                close = isinstance(value, str) or pytest.approx(one[part][key], rel=1e-14) == value
                assert close
    for key in ("version", "started", "set", "rows", "threads", "device"):
        kept = {"index", "name"}
        value = before.context.get(key)
        value = {k: v for k, v in value.items() if k in kept} if key == "device" else value
        assert after.context[key] == value


@pytest.mark.parametrize("name", ["titanx maxwell", "raspberry"])
def test_published_figures_come_back(tmp_path: Path, name: str) -> None:
    reference = references.find(name)
    assert reference is not None
    before = references.load(reference)
    write_workbook(before, tmp_path / "a.xlsx")
    after = read_workbook(tmp_path / "a.xlsx")
    assert not after.reports
    for one, other in zip(before.rows, after.rows, strict=True):
        assert same(one, other)
        assert other["statistics"] == one["statistics"]
        for key in ("workbook", "sheet", "row", "status", "note", "doubt", "meant", "set"):
            assert other["regime"]["published"].get(key) == one["regime"]["published"].get(key)


def test_a_time_that_was_changed_is_told(tmp_path: Path) -> None:
    path = tmp_path / "a.xlsx"
    write_workbook(result(make_gemm(), make_gemm(m=64)), path)
    book = openpyxl.load_workbook(path)
    titles = [cell.value for cell in book["Rows"][1]]
    book["Rows"].cell(2, 1 + titles.index("Median (ns)")).value = 50_000
    book.save(path)
    imported = read_workbook(path)
    assert imported.reports == (
        "Rows!2: has a time that its rate does not follow from; what followed from the time that "
        "was measured was left out",
    )
    changed, other = imported.rows
    assert changed["statistics"] == {"median_ns": 50_000}
    assert not {"rates", "bound", "verification"} & changed.keys()
    assert other["verification"] == {"status": "passed"}


def test_rows_that_are_none(tmp_path: Path) -> None:
    """In the sheet that is read back: left out and told, each with its cell."""
    path = tmp_path / "a.xlsx"
    write_workbook(result(*(make_gemm(m=m) for m in range(1, 8))), path)
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
    assert [row["attributes"]["m"] for row in imported.rows] == [5]
    told = "\n".join(imported.reports)
    for what in ("!BH1: is a column 'Mood' that is not ours", "2: holds -1, which is no time",
                 "3: holds 0, which is no time", "Rows!4: status is \"splendid\"",
                 "5: holds 0.5, which is no dimension", "Rows!7: regime.cache is \"warm\"",
                 "Rows!8: has a position that another row has"):  # fmt: skip
        assert what in told, told


def test_results_sheets_alone_are_a_layout_too(tmp_path: Path) -> None:
    """As somebody's who deleted the sheet of rows: read by their headings."""
    path = tmp_path / "a.xlsx"
    write_workbook(families(), path)
    rows = {(row["problem"]): row for row in families().rows}
    book = openpyxl.load_workbook(path)
    del book["Rows"]
    book.save(path)
    imported = read_workbook(path)
    times = {row["problem"]: row["statistics"]["mean_ns"] for row in imported.rows}
    for text in FAMILIES[:5]:
        problem = str(_core.Problem.parse(text.replace(" b_type=u8", "")))
        row = rows[str(_core.Problem.parse(text))] if text in FAMILIES else rows[problem]
        assert times[problem] == pytest.approx(row["statistics"]["median_ns"], abs=0.001)
    assert "saved without its value" in "\n".join(imported.reports)


TEXTS = some.text(max_size=60)
TIMES = some.floats(min_value=1e-3, max_value=1e15, allow_nan=False)


@settings(max_examples=25)
@given(application=TEXTS, reason=TEXTS, device=TEXTS, time=TIMES)
def test_any_text_and_any_time(
    tmp_path_factory: pytest.TempPathFactory,
    application: str,
    reason: str,
    device: str,
    time: float,
) -> None:
    path = tmp_path_factory.mktemp("any") / "a.xlsx"
    row = make_gemm(application=application, reason=reason)
    row["statistics"] = {**row["statistics"], "median_ns": time}
    write_workbook(result(row, device={"index": 0, "name": device}), path)
    [back] = read_workbook(path).rows
    assert back["statistics"]["median_ns"] == pytest.approx(time, rel=1e-14)
    for cells in openpyxl.load_workbook(path)["Rows"].iter_rows():
        assert not [cell.value for cell in cells if cell.data_type == "f"]
    printed = "".join(c if c.isprintable() else "\ufffd" for c in " ".join(application.split()))
    assert (back.get("application") or "") == printed


# ---- the command ---------------------------------------------------------------------------------


def run(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    status = main(list(arguments))
    said = capsys.readouterr()
    return status, said.out, said.err


def test_report_and_import(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    mine, book = MEASURED / "gemm_training_half.jsonl", tmp_path / "b.xlsx"
    back = tmp_path / "back.jsonl"
    assert run(capsys, "report", str(mine), "--format", "xlsx", "-o", str(book)) == (0, "", "")
    status, _, err = run(capsys, "import", str(book), "-o", str(back))
    assert (status, err) == (0, "deepbench: b.xlsx: NVIDIA H200: 160 rows\n")
    status, out, _ = run(capsys, "compare", str(mine), str(back))
    assert status == 0
    assert "160 rows compared: 160 same" in out


def test_other_operations_have_their_own_table(tmp_path: Path) -> None:
    write_workbook(result(make_memory()), tmp_path / "a.xlsx")
    sheet = openpyxl.load_workbook(tmp_path / "a.xlsx", data_only=True)["Results"]
    table = [[cell.value for cell in row][1:8] for row in sheet.iter_rows(min_row=3)]
    assert table[0] == ["Memory", "kind", "bytes", "Time (msec)", "Bandwidth (GB/s)",
                        "Application", "Cache"]  # fmt: skip
    assert table[1][1:5] == ["copy", 1 << 20, 0.1, pytest.approx(20.97152)]


@pytest.mark.parametrize("file", [MEASURED / "gemm_training_half.jsonl"])
def test_output_is_not_lightly_replaced(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], file: Path
) -> None:
    mine = tmp_path / "mine.jsonl"
    mine.write_bytes(file.read_bytes())
    command = ("report", str(mine), "--format", "xlsx", "-o")
    status, _, err = run(capsys, *command, str(mine), "--overwrite")
    assert (status, "is a file that is read" in err) == (2, True)
    assert json.loads(mine.read_text().splitlines()[0])["type"] == "context"
    book = tmp_path / "a.xlsx"
    assert run(capsys, *command, str(book))[0] == 0
    assert run(capsys, *command, str(book))[0] == 2
    assert run(capsys, *command, str(book), "--overwrite")[0] == 0
    status, _, err = run(capsys, "import", str(book), "-o", str(book), "--overwrite")
    assert (status, "is a file that is read" in err) == (2, True)
    assert book.read_bytes().startswith(b"PK")
    for bad, said, what in (("/dev/full", 1, "the disk is full; nothing was written"),
                            (str(tmp_path), 2, "is a folder"),
                            (str(tmp_path / "no/a.xlsx"), 2, "there is no folder")):  # fmt: skip
        status, _, err = run(capsys, *command, bad)
        assert (status, err.count("\n"), what in err) == (said, 1, True), err
