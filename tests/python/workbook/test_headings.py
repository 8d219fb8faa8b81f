"""Headings of a workbook's tables, and remarks on cells."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import openpyxl
import pytest

from deepbench.workbook import Imported, WorkbookError, read_workbook
from deepbench.workbook.cell_remarks import CellRemarks
from deepbench.workbook.headings import column_meaning, operation_of_headings

CONV = ["W", "H", "C", "N", "K", "S", "R", "pad_w", "pad_h", "Horizontal stride", "Vertical stride"]
SIZES = [7, 7, 512, 16, 512, 3, 3, 1, 1, 1, 1]


def import_rows(path: Path, *rows: Sequence[Any], sheet: str = "Results - FP32") -> Imported:
    """Imports a workbook with these rows."""
    book = openpyxl.Workbook()
    book.active.title = sheet
    for row in rows:
        book.active.append(row)
    book.save(path / "a.xlsx")
    return read_workbook(path / "a.xlsx")


# ---- headings ----------------------------------------------------------------------------------


@pytest.mark.parametrize(("headings", "op"), [
    ("W (input - time)|H (input)|C (channels)|N (batch size)|K  (number of filters)|"
     "S (filter width)|R (filter height)|pad_w|pad_h|Horizontal Stride|Vertical Stride", "conv"),
    ("W|H|C|N|K |S (Fitler width)|R (Filter height)|pad_w|pad_h|Horizontal stride|Vertical stride",
     "conv"),
    ("Width|Height|Chanels|Batch|# of filters|Filter w|Filter h|Pad w|Pad h|Stride (horizontal)|"
     "Stride (vertical)", "conv"),
    ("Hidden units|N|Timesteps", "rnn"), ("Input|N|Time steps", "rnn"),
    ("Hiden units|Batch size|Timesteps (T)", "rnn"),
    ("Size # floats|# chips / accelerator cards", "all_reduce"),
    ("Size # floats|# nodes (1 process per node)", "all_reduce"),
    ("Size (# of floats)|Number of Processors", "all_reduce"),
    ("# floats|# of Titan X GPUs", "all_reduce"),
    ("M|N|K|A Transpose|B Transpose|Sparsity", "sparse_gemm"), ("M|N|K", "gemm"),
    ("Size|Window|Step|Time", None), ("Hidden units|N", None), ("Model|N|K", None),
])  # fmt: skip
def test_headings_identify_the_operation(headings: str, op: str | None) -> None:
    assert operation_of_headings(headings.split("|")) == op


@pytest.mark.parametrize(("op", "heading", "kind", "name", "unit"), [
    ("conv", "Forward", "time", "fwd", 1e6), ("conv", "Forward (usec)", "time", "fwd", 1e3),
    ("conv", "wrt Inputs (msec)", "time", "bwd_data", 1e6),
    ("conv", "wrt Parameters (msec)", "time", "bwd_filter", 1e6),
    ("conv", "Total Time (msec)", "time", "total", 1e6),
    ("conv", "BWD PARMS TERAFLOPS", "rate", "bwd_filter", 1.0),
    ("conv", "FWD GIGAFLOPS", "rate", "fwd", 1e-3), ("conv", "P", "output", "P", 1.0),
    ("conv", "Forward Algorithm", "algorithm", "", 1.0),
    ("conv", "Padded Kernels", "padded", "", 1.0),
    ("rnn", "Time Forward (msec) ", "time", "fwd", 1e6),
    ("rnn", "Time Backward (msec)", "time", "backward", 1e6),
    ("rnn", "Time Backwards wrt weights (msec)", "time", "bwd_weights", 1e6),
    ("rnn", "TERAFLOPS BWD Params", "rate", "bwd_weights", 1.0),
    ("rnn", "Total Time", "time", "total", 1e6), ("rnn", "Source", "application", "", 1.0),
    ("sparse_gemm", "SparseTERAFLOPS", "rate", "", 1.0),
    ("sparse_gemm", "Dense Time (msec)", "time", "dense", 1e6),
    ("sparse_gemm", "Speedup wrt dense", "speedup", "", 1.0),
    ("gemm", "Total time (ms)", "time", "", 1e6),
    ("all_reduce", "Mean All Reduce Time (msec)", "time", "", 1e6),
    ("all_reduce", "Gigabytes/sec", "bandwidth", "", 1.0),
    ("all_reduce", "Std Dev All Reduce Time (msec)", "stddev", "", 1e6),
    ("gemm", "Time (\N{MICRO SIGN}s)", "time", "", 1e3),
    ("gemm", "Time (\N{GREEK SMALL LETTER MU}sec)", "time", "", 1e3),
    ("gemm", "GFLOP/s", "rate", "", 1e-3), ("gemm", "ms per call", "time", "", 1e6),
    ("conv", "Forward + backward (ms)", "time", "total", 1e6),
])  # fmt: skip
def test_headings_identify_the_columns(
    op: str, heading: str, kind: str, name: str, unit: float
) -> None:
    found = column_meaning(op, heading)
    assert found is not None
    assert (found.kind, found.name, found.unit) == (kind, name, unit)


@pytest.mark.parametrize("heading", ["Recurrent Layers - LSTM", "Notches", "Samples", "x" * 200])
def test_unknown_headings_have_no_meaning(heading: str) -> None:
    assert column_meaning("rnn", heading) is None


@pytest.mark.parametrize("heading", [
    "Images/s", "Throughput (samples per second)", "MB/s", "Bandwidth (MB/s)", "Time (cycles)",
    "Time (minutes)", "Compile time (s)", "Max time (ms)", "Size (bytes)", "Message size (MB)",
])  # fmt: skip
def test_headings_of_other_quantities_and_units_are_not_used(heading: str) -> None:
    """Figures that are not a time, a number of elements, or a bandwidth in GB/s."""
    assert column_meaning("all_reduce", heading) is None


# ---- tables ------------------------------------------------------------------------------------


@pytest.mark.parametrize("title_in_headings_row", [True, False])
def test_the_title_names_the_recurrent_cell(tmp_path: Path, title_in_headings_row: bool) -> None:
    """The cell's name is in the row of headings or above it, and applies to its table only."""
    headings = ["Hidden units", "N", "Timesteps", "Time Forward (msec)"]
    rows: list[list[Any]] = []
    for cell in ("Vanilla", "LSTM", "GRU"):
        title = f"Recurrent Layers - {cell}"
        rows += [[title, *headings]] if title_in_headings_row else [[title], [None, *headings]]
        rows += [[], [None, 512, 16, 25, 1.5]]
    found = import_rows(tmp_path, *rows)
    assert [row.attributes["cell"] for row in found.rows] == ["vanilla", "lstm", "gru"]
    assert not found.remarks


def test_a_recurrent_cell_without_a_name_is_reported(tmp_path: Path) -> None:
    found = import_rows(tmp_path, ["M", "N", "K", "Time (ms)"], [64, 64, 64, 1.0], ["LSTM and GRU"],
                     ["Hidden units", "N", "Timesteps", "Time (ms)"], [512, 16, 25, 1.5],
                     [512, 32, 25, 1.5])  # fmt: skip
    assert [row.op for row in found.rows] == ["gemm"]
    assert found.remarks == (
        "Results - FP32!5: names no recurrent cell, and neither does the table's title; the row "
        "was skipped; 1 more: 6",
    )


def test_a_footnote_above_a_table_is_not_a_heading(tmp_path: Path) -> None:
    note = "* = The backward pass wrt inputs is excluded for the input layers of a network"
    headings = ["Hidden units", "N", "Timesteps", "Time (ms)"]
    rows = (["LSTM"], [note], headings, [512, 16, 25, 1.5])
    assert import_rows(tmp_path, *rows).rows[0].attributes["phase"] == "fwd"


def test_applications_without_a_heading(tmp_path: Path) -> None:
    rows = ([None, "M", "N", "K", "Time (ms)"], ["Mine", 3, 5, 7, 1.0], [None, 3, 5, 9, 1.0])
    assert [row.application for row in import_rows(tmp_path, *rows).rows] == ["Mine", None]


# ---- sums over phases --------------------------------------------------------------------------


def test_sums_over_phases_are_checked_and_omitted(tmp_path: Path) -> None:
    headings = [*CONV, "Forward (ms)", "wrt Inputs (ms)", "wrt Parameters (ms)", "Total Time (ms)"]
    rows = [[*SIZES, 0.5, 0.25, 0.25, 1.0], [*SIZES, 0.5, 0.25, 0.25, 0.5],
            [*SIZES, 0.5, "N/A*", 0.25, 0.75], [*SIZES, 0.5, 0.25, 0.25, 0.75],
            [*SIZES, None, None, None, 0.75]]  # fmt: skip
    found = import_rows(tmp_path, headings, *rows)
    assert (len(found.rows), found.sums) == (3 + 3 + 2 + 3, 5)
    assert {row.attributes["phase"] for row in found.rows} == {"fwd", "bwd_data", "bwd_filter"}
    assert not found.doubted
    assert found.remarks == (
        "Results - FP32!O3: total 0.5 ms is not the sum of its phases 1 ms; 2 more: O5:O6",
    )


def test_of_two_equal_columns_the_first_counts(tmp_path: Path) -> None:
    """The first column counts. The other one is skipped with a remark and does not become a
    title."""
    rows = (["Float"], ["M", "N", "K", "Time (ms)", "FP16 time (ms)"], [64, 64, 64, 1.0, 2.0])
    found = import_rows(tmp_path, *rows, sheet="Times")
    assert [row.statistics.mean_ns for row in found.rows] == [1e6]
    assert found.rows[0].attributes["precision"] == "float"
    assert found.left_out == {"is not below a known heading": 1}
    assert found.remarks[0].startswith("Times!E3: holds '2', which is not below a known heading")


def test_the_heading_of_the_time_names_the_precision(tmp_path: Path) -> None:
    rows = (["Float"], ["M", "N", "K", "FP16 time (ms)"], [64, 64, 64, 1.0])
    assert import_rows(tmp_path, *rows).rows[0].attributes["precision"] == "half"


def test_the_phase_of_a_heading_overrides_the_heading_above(tmp_path: Path) -> None:
    above = [None] * len(CONV) + ["Forward and backward (usec)"]
    rows = (above, [*CONV, "Forward", "wrt Inputs"], [*SIZES, 500, 250])
    found = import_rows(tmp_path, *rows).rows
    assert [row.attributes["phase"] for row in found] == ["fwd", "bwd_data"]
    assert [row.statistics.mean_ns for row in found] == [5e5, 2.5e5]


# ---- skipped cells are reported ----------------------------------------------------------------


def test_numbers_that_were_entered_as_text_are_read(tmp_path: Path) -> None:
    rows = [["M", "N", "K", "Time (ms)"], ["64", "64", "64", "1.5"], ["64", "32", "64", 2.5]]
    found = import_rows(tmp_path, *rows)
    assert [row.statistics.mean_ns for row in found.rows] == [1.5e6, 2.5e6]
    assert not found.remarks


def test_every_time_of_a_skipped_row_counts(tmp_path: Path) -> None:
    rows = [[*CONV, "Forward", "wrt Inputs"], [*SIZES, 1, 2], [None, *SIZES[1:], 3, 4]]
    found = import_rows(tmp_path, *rows)
    assert found.left_out == {"has no w": 2}
    assert found.remarks == ("Results - FP32!3: has no w; the row with its 2 times was skipped",)


def test_numbers_of_a_sheet_without_a_table_are_reported(tmp_path: Path) -> None:
    book = openpyxl.Workbook()
    book.active.title = "Results - FP32"
    for row in (["M", "N", "K", "Time (ms)"], [64, 64, 64, 1.5]):
        book.active.append(row)
    other = book.create_sheet("All-Reduce")
    for row in (["Size (KB)", "Time (ms)"], [64, 0.1], [128, 0.2]):
        other.append(row)
    specs = book.create_sheet("Specs")
    specs.append(["Clock", 1380])
    book.save(tmp_path / "two.xlsx")
    found = read_workbook(tmp_path / "two.xlsx")
    assert len(found.rows) == 1
    assert found.left_out == {"is in a sheet without a known table": 4}


def test_a_missing_precision_error_names_the_cure(tmp_path: Path) -> None:
    rows = [["M", "N", "K", "Time (ms)"], [64, 64, 64, 1.5]]
    with pytest.raises(WorkbookError, match=r"has no precision \(name the sheet like 'Results - F"):
        import_rows(tmp_path, *rows, sheet="Times")


# ---- remarks -----------------------------------------------------------------------------------


def test_remarks_of_one_kind_share_a_line() -> None:
    remarks = CellRemarks()
    for place in ("A!B3", "A!C3", "A!B4", "A!B5", "A!B9", "Other!B1", "Other!B2"):
        remarks.add_skipped(
            place, "is not a valid time", detail=f"holds {place}, which is not a valid time"
        )
    remarks.add("A!7", "has no times")
    assert remarks.lines == (
        "A!B3: holds A!B3, which is not a valid time; it was skipped; 6 more: C3, B4:B5, B9, "
        "Other!B1:B2",
        "A!7: has no times",
    )
    assert remarks.reasons == {"is not a valid time": 7}


def test_length_and_number_of_remark_lines_are_bounded() -> None:
    remarks = CellRemarks()
    for row in range(1, 60_001, 2):
        remarks.add_skipped(f"A!B{row}", "is not a valid time")
    [line] = remarks.lines
    assert line.endswith(", ...")
    assert "29999 more: B3, B5, " in line
    assert len(line) < 400
    for number in range(2_000):
        remarks.add("A!B1", f"is strange in the way {number}")
    assert len(remarks.lines) <= 501
