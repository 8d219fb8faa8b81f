"""`import` of the original's workbooks in all their layouts, regenerated from the published
figures, and of workbooks with similar layouts."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import openpyxl
import pytest

import original_workbooks as originals
from command_line import run_command
from deepbench.results import read
from deepbench.workbook import (
    Imported,
    WorkbookError,
    published_match,
    read_workbook,
    reading,
    xlsx_reader,
)
from deepbench.workbook.cells import Book
from example_rows import members, published_facts

Key = tuple[Any, ...]
Cells = Sequence[Sequence[Any]]

# Doubts that were noted by hand and that no rule can find: 12 times that do not grow with the
# batch, one recurrent layer, and 16 rows of one device.
BY_HAND = ("does not scale", "suspect", "swaps n and c")
GEMM = ["M", "N", "K", "A Transpose", "B Transpose", None, "Time (msec)", "TERAFLOPS"]


def row_key(row: Mapping[str, Any]) -> Key:
    its = published_facts(row)
    phase = {"bwd_params": "bwd_weights"}.get(its["phase"], its["phase"])
    return (row["op"], its["sheet"], its["row"], its.get("algorithm") == "dense baseline",
            None if row["op"] == "all_reduce" else phase)  # fmt: skip


def rows_by_key(rows: Iterable[Mapping[str, Any]]) -> dict[Key, Mapping[str, Any]]:
    return {row_key(row): row for row in rows}


def make_workbook(path: Path, *sheets: Cells, names: Sequence[str] = ("Results - FP32",)) -> Path:
    """A workbook with these cells, starting at A1."""
    made = openpyxl.Workbook()
    made.remove(made.active)
    for name, rows in zip(names, sheets, strict=True):
        sheet = made.create_sheet(name)
        for row in rows:
            sheet.append(row)
    made.save(path)
    return path


def gemm_cells(*lines: Sequence[Any], heading: Sequence[Any] = GEMM) -> Cells:
    return [["Precision: float"], [], heading, *lines]


def remarks_text(imported: Imported) -> str:
    return "\n".join(imported.remarks)


@pytest.fixture(scope="module")
def loaded_workbooks(tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, Book]:
    """The cells of all of the original's workbooks. Each file is read once."""
    found = {}
    for name in originals.figures():
        path = tmp_path_factory.mktemp("books") / "book.xlsx"
        originals.write_workbook(name, path)
        found[name] = xlsx_reader.read_book(path)
    return found


# ---- the original's workbooks ------------------------------------------------------------------


@pytest.mark.parametrize("name", originals.figures())
def test_the_originals_are_recognized(
    loaded_workbooks: Mapping[str, Book], monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    """Every figure has the problem, time, source, status and doubt of the package's published
    figure."""
    monkeypatch.setattr(reading, "read_book", lambda path: loaded_workbooks[name])
    imported = read_workbook(Path(name))
    published = [row for row in originals.figures()[name] if not originals.is_sum(row)]
    sums = [row for row in originals.figures()[name] if originals.is_sum(row)]
    assert imported.recognized == name
    assert (len(imported.rows), imported.sums) == (len(published), len(sums))
    found = rows_by_key(members(imported.rows))
    for row in published:
        got = {**found[row_key(row)], "position": row["position"]}
        got.pop("rates", None)
        assert got == row
    assert imported.doubted == sum(bool(published_facts(row)["doubt"]) for row in published)
    strays = [place for (file, _), (place, _) in originals.STRAY.items() if file in name]
    assert all(re.search(rf"\b{place}\b", remarks_text(imported)) for place in strays)
    assert sum(imported.left_out.values()) == len(strays) + unheaded_node_counts(published)
    kinds = {shared_part_of_doubt(row) for row in published if published_facts(row)["doubt"]}
    wrong = any(published_facts(row)["status"] == "MISMATCH_TOTAL" for row in sums)
    assert len(imported.remarks) == len(kinds) + wrong + len(imported.left_out) <= 8
    assert imported.context["specs"]


def unheaded_node_counts(rows: Iterable[Mapping[str, Any]]) -> int:
    """How many numbers of nodes are printed beside all-reduces without a heading."""
    device = next(iter(rows))["device"]["name"]
    if device == "NVIDIA Tesla V100":  # an empty table
        return 2 * 14
    reduced = [row for row in rows if row["op"] == "all_reduce" and "Intel" not in device]
    return sum(row["attributes"]["ranks"] > 8 for row in reduced)


def shared_part_of_doubt(row: Mapping[str, Any]) -> str:
    """The part of a remark on a row that remarks of the same kind share."""
    status, colon, _ = published_facts(row)["doubt"].partition(": ")
    return str(status) if colon else str(published_facts(row)["doubt"])


def test_layouts_of_the_originals_are_read_without_the_published_figures(
    loaded_workbooks: Mapping[str, Book], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without the published figures, as for an unknown processor, reading gives the same problems,
    times, positions in the sets, precisions, and all doubts that follow from a rule."""
    monkeypatch.setattr(published_match, "_FEWEST", 1 << 60)
    by_hand = 0
    for name in originals.figures():
        published = [row for row in originals.figures()[name] if not originals.is_sum(row)]
        monkeypatch.setattr(reading, "read_book", lambda path: loaded_workbooks[path.as_posix()])
        imported = read_workbook(Path(name))
        assert imported.recognized is None
        assert len(imported.remarks) <= 6
        found = rows_by_key(members(imported.rows))
        assert len(found) == len(imported.rows) == len(published)
        for row in published:
            got = found[row_key(row)]
            for what in ("problem", "attributes", "statistics", "work"):
                assert got[what] == row[what], (name, row_key(row))
            its, theirs = published_facts(got), published_facts(row)
            assert row["application"] in (None, got["application"])
            assert its.get("tflops") == pytest.approx(theirs.get("tflops"))
            for what in ("set", "status", "intended_attributes"):
                assert its.get(what) == theirs.get(what), (name, row_key(row))
            if theirs["doubt"] and any(words in theirs["doubt"] for words in BY_HAND):
                by_hand += 1
            else:
                assert bool(its["doubt"]) == bool(theirs["doubt"]), (name, row_key(row))
    assert by_hand == 12 + 1 + 16


def test_changes_to_an_original_are_reported(tmp_path: Path) -> None:
    name = "results/inference/device/DeepBench_iPhone_7.xlsx"
    path = tmp_path / "book.xlsx"
    originals.write_workbook(name, path)
    changed = openpyxl.load_workbook(path)
    changed["Kernels"]["I4"] = 123.0
    changed["Kernels"]["D6"] = 7  # another problem
    changed.save(path)  # saving drops the values of its formulas
    imported = read_workbook(path)
    assert imported.recognized == name
    first = next(row for row in members(imported.rows) if published_facts(row)["row"] == 4)
    assert first["statistics"]["mean_ns"] == 123e6
    assert "123 ms here" in published_facts(first)["doubt"]
    other = next(row for row in members(imported.rows) if published_facts(row)["row"] == 6)
    assert other["attributes"]["n"] == 7
    assert published_facts(other)["workbook"] == "book.xlsx"
    assert "Kernels!J4: is a formula that was saved without its value" in remarks_text(imported)
    assert "J5:J16" in remarks_text(imported)


def test_a_workbook_of_another_processor_is_not_an_original(tmp_path: Path) -> None:
    path = tmp_path / "mine.xlsx"
    originals.write_workbook("results/train/DeepBench_NV_V100.xlsx", path, scale=0.5)
    imported = read_workbook(path)
    assert imported.recognized is None
    assert (len(imported.rows), imported.sums) == (1182, 294)
    assert imported.context["device"]["name"] == "NVIDIA V100"


def test_show_and_compare_accept_imported_files(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    name = "results/inference/DeepBench_NV_T4.xlsx"
    path, mine = tmp_path / "t4.xlsx", tmp_path / "mine.jsonl"
    originals.write_workbook(name, path)
    status, out, err = run_command(capsys, "import", str(path), "-o", str(mine))
    assert (status, out) == (0, "")
    line = ("NVIDIA T4: 182 figures read; 182 rows (6 inconsistent); 0 cells left out; "
            "the original's results/inference/")  # fmt: skip
    assert line in err
    assert read(mine).rows
    status, out, _ = run_command(capsys, "show", str(mine))
    assert status == 0
    assert "999.0 µs" in out
    assert "inconsistent: DIMS_1530" in out
    status, out, _ = run_command(capsys, "show", str(mine), "--format", "legacy")
    assert status == 0
    assert " 999" in out
    status, out, _ = run_command(capsys, "compare", "NVIDIA T4", str(mine))
    assert status == 0
    assert "182 rows compared: 176 published, 6 inconsistent" in out


# ---- other workbooks ---------------------------------------------------------------------------


def test_units_and_wording_of_headings(tmp_path: Path) -> None:
    lines = [
        ["m", "n", "k", "a_t", "b_t", "time (usec)", "GFLOPS"], [64, 32, 16, 1, 0, 5, 13.1072],
        [], ["W", "H", "C", "N", "K", "R", "S", "Pad W", "Pad H", "Stride W", "Stride H",
             "Samples", None, "Memory", None],
        [7, 7, 512, 16, 512, 3, 3, 1, 1, 1, 1, 0.5, None, 0.75],
    ]  # fmt: skip
    imported = read_workbook(make_workbook(tmp_path / "a.xlsx", [*lines]))
    [row] = members(imported.rows)
    assert row["problem"].startswith("gemm m=64 n=32 k=16 trans_a=t trans_b=n precision=float")
    assert row["statistics"] == {"mean_ns": 5000.0}
    assert published_facts(row)["tflops"] == pytest.approx(0.0131072)
    assert published_facts(row)["status"] == "ok"
    assert "no times" in remarks_text(imported)


def test_phases_above_units(tmp_path: Path) -> None:
    """Two lines of headings: the phases above, the units below."""
    dimensions = ["W", "H", "C", "N", "K", "R", "S", "pad_w", "pad_h", "stride_w", "stride_h"]
    above = [*([None] * 11), "Forward", None, "Backward inputs", None]
    heading = [*dimensions, "Time (ms)", "TFLOPS", "Time (ms)", "TFLOPS"]
    line = [7, 7, 512, 16, 512, 3, 3, 1, 1, 1, 1, 0.5, None, 0.75, None]
    imported = read_workbook(make_workbook(tmp_path / "a.xlsx", [above, heading, line]))
    times = {row.attributes["phase"]: row.statistics.mean_ns for row in imported.rows}
    assert times == {"fwd": 0.5e6, "bwd_data": 0.75e6}


def test_an_unknown_table_is_not_part_of_the_previous_one(tmp_path: Path) -> None:
    heading = ["M", "N", "K", "Time (msec)"]
    lines = [["FP32"], heading, [64, 64, 64, 1.0], ["Pooling"], ["Size", "Window", "Step", "Time"],
             [56, 3, 2, 0.5], [28, 3, 2, 0.25], heading, [32, 32, 32, 0.125]]  # fmt: skip
    imported = read_workbook(make_workbook(tmp_path / "a.xlsx", lines))
    assert [row["attributes"]["m"] for row in members(imported.rows)] == [64, 32]
    [report] = imported.remarks
    assert report == ("Results - FP32!A5: begins a table of an unknown operation "
                      "(Size, Window, Step, Time); all 8 numbers were skipped")  # fmt: skip


def test_a_missing_precision_is_reported(tmp_path: Path) -> None:
    lines = [GEMM, [64, 64, 64, "N", "N", None, 1.0]]
    with pytest.raises(WorkbookError, match="G2: has no precision"):
        read_workbook(make_workbook(tmp_path / "a.xlsx", lines, names=["Results"]))


@pytest.mark.parametrize(("said_above", "sheet", "found"), [
    ("Precision: 8 bit multiply, 32 bit accumulate", "Results", "int8"),
    ("", "Results - BF16", "bfloat16"), ("Half precision", "Sheet1", "half"),
    ("Float", "Results - FP16", "half"),
])  # fmt: skip
def test_precisions(tmp_path: Path, said_above: str, sheet: str, found: str) -> None:
    lines = [[said_above], GEMM, [64, 64, 64, "N", "N", None, 1.0]]
    imported = read_workbook(make_workbook(tmp_path / "a.xlsx", lines, names=[sheet]))
    assert members(imported.rows)[0]["attributes"]["precision"] == found
    contradicts = bool(said_above) and sheet == "Results - FP16"
    assert ("the title of the table says float" in remarks_text(imported)) == contradicts


# ---- invalid cells -----------------------------------------------------------------------------

WRONG: Sequence[tuple[Any, str]] = [
    (-1.0, "holds -1, which is not a valid time"), (0, "holds 0, which is not a valid time"),
    ("fast", "holds 'fast', which is not a number"), (True, "holds 'True', which is not a number"),
    ("#DIV/0!", "holds '#DIV/0!', which is not a number"), (1e12, "which is not a valid time"),
    ("NaN", "holds 'NaN', which is not a number"), ("1e400", "out of range"),
    (1e-294, "out of range"), ("1e-101", "out of range"),
    ("=1+1", "is a formula that was saved without its value"),
]  # fmt: skip


@pytest.mark.parametrize(("content", "what"), WRONG)
def test_invalid_times_are_reported(tmp_path: Path, content: object, what: str) -> None:
    good = [64, 64, 64, "N", "T", None, 1.0]
    lines = gemm_cells(good, [32, 64, 64, "N", "N", None, content])
    imported = read_workbook(make_workbook(tmp_path / "a.xlsx", lines))
    assert [row["attributes"]["m"] for row in members(imported.rows)] == [64]
    assert "Results - FP32!G5: " in remarks_text(imported)
    assert what in remarks_text(imported)


@pytest.mark.parametrize(("line", "what"), [
    ([64.5, 64, 64, "N", "N", None, 1.0], "A5: holds 64.5, which is not a non-negative integer"),
    ([-64, 64, 64, "N", "N", None, 1.0], "A5: holds -64, which is not a non-negative integer"),
    ([0, 64, 64, "N", "N", None, 1.0], "G5: m=0"),
    ([2**53, 64, 64, "N", "N", None, 1.0], "A5: holds 9007199254740992"),
    (["many", 64, 64, "N", "N", None, 1.0], "A5: holds 'many', which is not a number"),
    ([64, 64, None, "N", "N", None, 1.0], "5: has no k; the row was skipped"),
    ([64, 64, 64, "X", "N", None, 1.0], "D5: holds 'X', which is not one of N or T"),
])  # fmt: skip
def test_invalid_problems_are_reported(tmp_path: Path, line: Sequence[Any], what: str) -> None:
    good = [64, 64, 64, "N", "T", None, 1.0]
    imported = read_workbook(make_workbook(tmp_path / "a.xlsx", gemm_cells(good, line)))
    assert len(imported.rows) == 1
    assert what in remarks_text(imported)


def test_rates_that_contradict_the_time_are_reported(tmp_path: Path) -> None:
    lines = gemm_cells(
        [64, 64, 64, "N", "T", None, 1.0, 0.5], [64, 64, 64, "N", "N", None, 1.0, -2]
    )
    imported = read_workbook(make_workbook(tmp_path / "a.xlsx", lines))
    assert published_facts(members(imported.rows)[0])["status"] == "MISMATCH_RATE"
    assert "rates" not in members(imported.rows)[0]
    assert "G4: inconsistent: MISMATCH_RATE" in remarks_text(imported)
    assert "H5: holds -2, which is not a valid rate; the rate was skipped" in remarks_text(imported)
    assert members(imported.rows)[1]["rates"]["tflops"] == pytest.approx(2 * 64**3 / 1e6 / 1e3)


def test_every_remark_is_in_the_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    lines = gemm_cells([64, 64, 64, "N", "N", None, 1.0], *[[1, 2, 3, "?", "N", None, 1.0]] * 30)
    path, mine = make_workbook(tmp_path / "a.xlsx", lines), tmp_path / "mine.jsonl"
    status, _, err = run_command(capsys, "import", str(path), "-o", str(mine))
    assert status == 0
    warning = ("Results - FP32!D5: holds '?', which is not one of N or T; the row was skipped; "
               "29 more: D6:D34")  # fmt: skip
    assert err.splitlines() == [
        f"deepbench: warning: {warning}",
        "deepbench: a.xlsx: a: 1 figures read; 1 rows; "
        "30 cells left out (is not one of N or T: 30)",
    ]
    context = json.loads(mine.read_text().splitlines()[0])
    assert context["warnings"] == [warning]
