"""Texts of untrusted workbooks, and files that are not workbooks. Texts never name files, control
the terminal or become formulas, and every file gives either rows or one line."""

from __future__ import annotations

import os
import random
import re
import sys
import zipfile
from pathlib import Path
from typing import Any

import openpyxl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as some

from command_line import run_command
from deepbench.errors import printable_line
from deepbench.installation import install_command
from deepbench.results import ResultFile, read
from deepbench.workbook import WorkbookError, read_workbook, write_workbook, xlsx_reader
from example_rows import make_context, make_gemm, row_of_members
from workbook_parts import SHEET, changed_workbook, refusal_message, workbook_parts, zip_archive

# ---- names and texts ---------------------------------------------------------------------------

EVIL = "../../etc/\u009b2J\u202e\u2028\u0085=1+1"


def test_names_are_not_paths_and_cannot_control_a_terminal(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = changed_workbook(tmp_path / "a.xlsx", 'name="Results - FP32"',
                   f'name="{EVIL} FP32"', "xl/workbook.xml")  # fmt: skip
    with zipfile.ZipFile(path) as archive:
        evil = {name: archive.read(name) for name in archive.namelist()}
    evil[SHEET] = evil[SHEET].replace(b"<v>1.5</v>", b"<v>-1</v>")
    strings = evil["xl/sharedStrings.xml"].decode().replace("<t>T</t>", f"<t>{EVIL}_x001B_[2J</t>")
    path.write_bytes(zip_archive({**evil, "xl/sharedStrings.xml": strings.encode()}))
    before = sorted(one.name for one in tmp_path.iterdir())
    status, out, err = run_command(capsys, "import", str(path), "-o", str(tmp_path / "mine.jsonl"))
    assert (status, out) == (2, "")
    assert sorted(one.name for one in tmp_path.iterdir()) == before
    path.write_bytes(zip_archive(evil))
    status, out, err = run_command(capsys, "import", str(path), "-o", str(tmp_path / "mine.jsonl"))
    assert status == 0
    assert all(line.isprintable() for line in err.splitlines())
    assert sorted(one.name for one in tmp_path.iterdir()) == sorted([*before, "mine.jsonl"])
    row = read(tmp_path / "mine.jsonl").rows[0]
    assert row.regime.published.sheet.isprintable()
    status, out, err = run_command(capsys, "show", str(tmp_path / "mine.jsonl"))
    assert all(line.isprintable() for line in (out + err).splitlines())


@pytest.mark.parametrize("text", [
    "=1+1", "+1+1", "-1+1", "@SUM(1,1)", "\t=1+1", "\r=1+1", "=cmd|' /C calc'!A0", " =1", "\n=1",
    "https://example.com", "=HYPERLINK(\"http://x\")", "{=1}", "#REF!", "TRUE", "'=1",
])  # fmt: skip
def test_texts_are_written_as_texts(tmp_path: Path, text: str) -> None:
    """In every place where a text of a result file can appear: rows, tables, headings, Specs."""
    row = make_gemm(application=text, reason=text, library=text, backend=text)
    row["attributes"] = {**row["attributes"], "precision": "float", text: text}
    row["problem"] = text
    other = make_gemm(position=1)
    other.update(op=text, attributes={"precision": text, "n": text})
    lost = {**make_gemm(position=2), "status": "failed", "reason": text}
    context = make_context(rows=3, device={"index": 0, "name": text}, options={text: text},
                           command=[text], host={text: text})  # fmt: skip
    rows = (row_of_members(row), row_of_members(other), row_of_members(lost))
    write_workbook(ResultFile(Path("rows.jsonl"), context, rows, 0, False), tmp_path / "a.xlsx")
    book = openpyxl.load_workbook(tmp_path / "a.xlsx")
    seen = 0
    for sheet in book:
        for cell in (cell for cells in sheet.iter_rows() for cell in cells):
            if cell.data_type == "f":
                assert re.fullmatch(r"=[\d.e+*()/^C-Z]+", str(cell.value)), cell.value
            assert cell.hyperlink is None
            if cell.value == printable_line(text):
                seen += 1
                assert cell.data_type == "s"
                risky = printable_line(text)[0] in "=+-@" or text[0] in "\t\r"
                assert cell.quotePrefix == risky
                assert cell.number_format == ("@" if risky else "General")
    assert seen >= 8
    with zipfile.ZipFile(tmp_path / "a.xlsx") as archive:
        assert not any("external" in name.lower() for name in archive.namelist())
    assert set(book.sheetnames) <= {
        "Specs", "Results - FP32", "Results - Other", "Results", "Rows",
    }  # fmt: skip


def test_long_texts_are_truncated(tmp_path: Path) -> None:
    row = make_gemm(application="x" * 100_000, reason="\U0001f600" * 40_000)
    write_workbook(
        ResultFile(Path("r"), make_context(rows=1), (row_of_members(row),), 0, False),
        tmp_path / "a.xlsx",
    )
    sheet = openpyxl.load_workbook(tmp_path / "a.xlsx")["Rows"]
    longest = max(len(str(cell.value)) for cells in sheet.iter_rows() for cell in cells)
    assert longest == 32_000


def test_extreme_numbers_are_written(tmp_path: Path) -> None:
    row = make_gemm()
    row["work"] = {"flops": 1e30, "bytes": 1e30}
    row["statistics"] = {**row["statistics"], "median_ns": 1e-100}
    huge = {**make_gemm(position=1, m=2**52), "work": {"flops": 1e30, "bytes": 1.0}}
    huge["statistics"] = {**huge["statistics"], "median_ns": 1e-9}
    result = ResultFile(
        Path("r"), make_context(rows=2), (row_of_members(row), row_of_members(huge)), 0, False
    )
    write_workbook(result, tmp_path / "a.xlsx")
    assert len(read_workbook(tmp_path / "a.xlsx").rows) == 2


# ---- files that are not workbooks --------------------------------------------------------------


def test_files_of_other_kinds_are_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "text.xlsx").write_text("M,N,K\n1,2,3\n")
    (tmp_path / "empty.xlsx").write_bytes(b"")
    (tmp_path / "old.xls").write_bytes(b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(512))
    (tmp_path / "zip.xlsx").write_bytes(zip_archive({"a.txt": b"a"}))
    (tmp_path / "none.xlsx").write_bytes(zip_archive({"[Content_Types].xml": b"<Types/>"}))
    (tmp_path / "cut.xlsx").write_bytes(zip_archive(workbook_parts())[:-100])
    locked = bytearray(zip_archive(workbook_parts()))
    for place in re.finditer(rb"PK\x01\x02", bytes(locked)):
        locked[place.start() + 8] |= 1
    (tmp_path / "locked.xlsx").write_bytes(bytes(locked))
    os.mkfifo(tmp_path / "pipe.xlsx")
    for name, what in (
        ("text.xlsx", "is not an .xlsx workbook"), ("empty.xlsx", "is empty"),
        ("old.xls", "is encrypted or in the old"), ("zip.xlsx", "is a ZIP archive, but not"),
        ("none.xlsx", "no part lists its sheets"), ("cut.xlsx", "is not an .xlsx workbook"),
        ("locked.xlsx", "is encrypted; save it without a password"),
        ("pipe.xlsx", "is not a regular file"), ("missing.xlsx", "No such file"),
        ("a\0b", ": "), ("\x1b[2J.xlsx", "No such file"),
    ):  # fmt: skip
        status, out, err = run_command(
            capsys, "import", str(tmp_path / name), "-o", str(tmp_path / "o")
        )
        assert (status, out, err.count("\n")) == (2, "", 1), (name, err)
        assert what in err
        assert err.strip().isprintable()
        assert not (tmp_path / "o").exists()
    for path in ("/dev/zero", str(tmp_path)):
        assert run_command(capsys, "import", path, "-o", str(tmp_path / "o"))[0] == 2


def test_a_workbook_without_tables_is_refused(tmp_path: Path) -> None:
    path = changed_workbook(tmp_path / "a.xlsx", "<t>M</t>", "<t>Rows</t>", "xl/sharedStrings.xml")
    line = refusal_message(path)
    assert "none of its sheets (Results - FP32) has headings like M N K Time (msec)" in line


def test_unwritable_outputs_are_reported(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "a.xlsx"
    path.write_bytes(zip_archive(workbook_parts()))
    for output, what in (("/dev/full", "the disk is full"), (str(tmp_path), "is a folder"),
                         (str(tmp_path / "no/a.jsonl"), "there is no folder"),
                         (str(path), "is also an input")):  # fmt: skip
        status, _, err = run_command(capsys, "import", str(path), "-o", output)
        assert (status, what in err, err.count("\n")) == (2, True, 1), err
    for words in (["import"], ["import", str(path)], ["import", "-o", "x"], ["report", str(path)],
                  ["report", str(path), "--format", "xls", "-o", "x"]):  # fmt: skip
        status, _, err = run_command(capsys, *words)
        assert (status, err.count("\n")) == (2, 1)
    assert len(list(tmp_path.iterdir())) == 1


def test_a_missing_library_error_names_the_cure(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(sys.modules, "xlsxwriter", None)
    status, _, err = run_command(
        capsys, "report", "t4", "--format", "xlsx", "-o", str(tmp_path / "a.xlsx")
    )
    assert (status, err.count("\n")) == (2, 1)
    assert install_command("xlsx") in err
    assert not list(tmp_path.iterdir())


def check_outcome(path: Path) -> None:
    """Reading gives either rows or an error of one line."""
    try:
        read_workbook(path)
    except WorkbookError as error:
        line = str(error)
    else:
        line = ""
    assert "\n" not in line


def test_truncated_files_give_rows_or_one_line(tmp_path: Path) -> None:
    data, path = zip_archive(workbook_parts()), tmp_path / "a.xlsx"
    for length in range(0, len(data), max(1, len(data) // 150)):
        path.write_bytes(data[:length])
        check_outcome(path)


def test_corrupted_files_give_rows_or_one_line(tmp_path: Path) -> None:
    dice, path = random.Random(5), tmp_path / "a.xlsx"
    for method in (zipfile.ZIP_DEFLATED, zipfile.ZIP_STORED):
        data = zip_archive(workbook_parts(), method)
        for _ in range(150):
            damaged = bytearray(data)
            for _ in range(dice.randint(1, 4)):
                damaged[dice.randrange(len(data))] = dice.randrange(256)
            path.write_bytes(bytes(damaged))
            check_outcome(path)


ATTRIBUTES = some.sampled_from(["r", "t", "s", "x"])
VALUES = some.sampled_from(["A1", "ZZZ9999999", "s", "n", "b", "e", "d", "str", "inlineStr", "-1",
                            "1e999", "99999999999999999999", "", "é"])  # fmt: skip


@settings(max_examples=60)
@given(some.data())
def test_arbitrary_elements_give_rows_or_one_line(
    tmp_path_factory: pytest.TempPathFactory, data: Any
) -> None:
    """Elements of a sheet in any place and with any attributes."""
    names = some.sampled_from(["row", "c", "v", "f", "is", "t", "si", "rPh", "sheetData"])
    pieces = []
    for _ in range(data.draw(some.integers(1, 6))):
        name = data.draw(names)
        given_ = data.draw(some.dictionaries(ATTRIBUTES, VALUES, max_size=3))
        text = "".join(f' {key}="{value}"' for key, value in given_.items())
        pieces.append(f"<{name}{text}>{data.draw(VALUES)}</{name}>")
    sheet = (
        workbook_parts()[SHEET].decode().replace("</sheetData>", "".join(pieces) + "</sheetData>")
    )
    path = tmp_path_factory.mktemp("any") / "a.xlsx"
    path.write_bytes(zip_archive({**workbook_parts(), SHEET: sheet.encode()}))
    check_outcome(path)


def test_phonetic_annotations_are_ignored(tmp_path: Path) -> None:
    name = "xl/sharedStrings.xml"
    spoken = "<si><r><t>Float </t></r><rPh><t>flout</t></rPh><r><t>here</t></r></si>"
    path = changed_workbook(tmp_path / "a.xlsx", "<si><t>Precision: float</t></si>", spoken, name)
    assert xlsx_reader.read_book(path).sheets[0].rows[1][1].value == "Float here"


def test_element_names_may_have_prefixes(tmp_path: Path) -> None:
    """Some programs write prefixes: <x:row>, <x:c>."""
    prefixed = {}
    for name in workbook_parts():
        text = workbook_parts()[name].decode()
        if name.startswith("xl/") and name.endswith(".xml") and "main" in text:
            text = re.sub(r"<(/?)([a-zA-Z])", r"<\1x:\2", text).replace("xmlns=", "xmlns:x=")
        prefixed[name] = text.encode()
    assert b"<x:row" in prefixed[SHEET]
    path = tmp_path / "a.xlsx"
    path.write_bytes(zip_archive(prefixed))
    assert [row.attributes["m"] for row in read_workbook(path).rows] == [64, 32]


def test_contexts_may_hold_unexpected_values(tmp_path: Path) -> None:
    """The schema leaves parts of a context open, so they may hold anything."""
    context = make_context(rows=1, specs=["a"], footnotes={"b": 1}, command=None, host=None)
    result = ResultFile(Path("r"), context, (row_of_members(make_gemm()),), 0, False)
    write_workbook(result, tmp_path / "a.xlsx")
    assert len(read_workbook(tmp_path / "a.xlsx").rows) == 1


def test_cells_match_those_of_another_reader(tmp_path: Path) -> None:
    """Compares with openpyxl for a workbook with every kind of cell that deepbench writes."""
    row = make_gemm(application="_x0041_ \x01\ud800 é\u2028 ''", reason=None)
    result = ResultFile(Path("r"), make_context(rows=1), (row_of_members(row),), 0, False)
    write_workbook(result, tmp_path / "a.xlsx")
    theirs = openpyxl.load_workbook(tmp_path / "a.xlsx", data_only=True)
    for sheet in xlsx_reader.read_book(tmp_path / "a.xlsx").sheets:
        expected = {(cell.row, cell.column): cell.value
                    for cells in theirs[sheet.name].iter_rows() for cell in cells
                    if cell.value is not None}  # fmt: skip
        found = {(cell.row, cell.column): cell.value
                 for cells in sheet.rows.values() for cell in cells.values()}  # fmt: skip
        assert found == expected
