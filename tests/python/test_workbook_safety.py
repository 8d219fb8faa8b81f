"""Workbooks of strangers, and texts of strangers in workbooks: nothing of them runs, expands, takes
the machine, names files or steers the terminal. Whatever a file is, it ends with rows or a line."""

from __future__ import annotations

import io
import os
import random
import re
import struct
import sys
import tracemalloc
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import openpyxl
import pytest
import xlsxwriter
from hypothesis import given, settings
from hypothesis import strategies as some

from deepbench.cli import main
from deepbench.refusal import one_line
from deepbench.results import ResultFile, read
from deepbench.workbook import WorkbookError, contents, markup, read_workbook, write_workbook
from deepbench.workbook.cells import LAST_ROW
from example_rows import make_context, make_gemm

SHEET = "xl/worksheets/sheet1.xml"
GEMM = ["M", "N", "K", "A Transpose", "B Transpose", None, "Time (msec)", "TERAFLOPS"]
MIB = 1 << 20


@pytest.fixture(scope="module")
def parts() -> Mapping[str, bytes]:
    """A good workbook of two products, as its parts."""
    buffer = io.BytesIO()
    book = xlsxwriter.Workbook(buffer, {"in_memory": True})
    sheet = book.add_worksheet("Results - FP32")
    for number, line in enumerate((["Precision: float"], [], GEMM,
                                   [64, 64, 64, "N", "T", None, 1.5],
                                   [32, 64, 64, "N", "T", None, 2.5])):  # fmt: skip
        sheet.write_row(number, 0, line)
    book.close()
    with zipfile.ZipFile(buffer) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def packed(parts: Mapping[str, bytes], method: int = zipfile.ZIP_DEFLATED) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", method) as archive:
        for name, data in parts.items():
            archive.writestr(name, data)
    return buffer.getvalue()


def changed(path: Path, parts: Mapping[str, bytes], old: str, new: str, part: str = SHEET) -> Path:
    """A workbook in one of whose parts a text is another."""
    text = parts[part].decode()
    assert old in text
    path.write_bytes(packed({**parts, part: text.replace(old, new).encode()}))
    return path


def refusal(path: Path) -> str:
    with pytest.raises(WorkbookError) as caught:
        read_workbook(path)
    line = str(caught.value)
    assert "\n" not in line
    return line


def run(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    status = main(list(arguments))
    said = capsys.readouterr()
    return status, said.out, said.err


# ---- formulas and macros -------------------------------------------------------------------------


def test_saved_values_count_and_formulas_do_not(tmp_path: Path, parts: Mapping[str, bytes]) -> None:
    old = '<c r="G4"><v>1.5</v></c>'
    for new, times in (
        ('<c r="G4"><f>1/0</f><v>7</v></c>', [7e6, 2.5e6]),
        ('<c r="G4"><f>WEBSERVICE("http://x")</f></c>', [2.5e6]),
        ('<c r="G4" t="e"><f>1/0</f><v>#DIV/0!</v></c>', [2.5e6]),
        ('<c r="G4" t="str"><f>A1</f><v>3</v></c>', [3e6, 2.5e6]),
    ):
        imported = read_workbook(changed(tmp_path / "a.xlsx", parts, old, new))
        assert [row["statistics"]["mean_ns"] for row in imported.rows] == times
        assert len(times) == 2 or imported.reports[0].startswith("Results - FP32!G4: ")


def test_macros_are_not_looked_at(tmp_path: Path, parts: Mapping[str, bytes]) -> None:
    path = tmp_path / "a.xlsm"
    path.write_bytes(packed({**parts, "xl/vbaProject.bin": b"\xd0\xcf\x11\xe0not a project"}))
    imported = read_workbook(path)
    assert len(imported.rows) == 2
    assert "its macros were not looked at" in imported.context["warnings"]


def test_links_to_other_files_are_not_followed(
    tmp_path: Path, parts: Mapping[str, bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    relations = "xl/_rels/workbook.xml.rels"
    for target in ("../../../../etc/passwd", "/etc/passwd", "file:///etc/passwd"):
        path = changed(tmp_path / "a.xlsx", parts, "worksheets/sheet1.xml", target, relations)
        assert "has no table of results" in refusal(path)
    inside = 'Target="worksheets/sheet1.xml"'
    external = f'TargetMode="External" {inside}'
    path = changed(tmp_path / "a.xlsx", parts, inside, external, relations)
    assert "has no table of results" in refusal(path)


# ---- XML that expands or reads files -------------------------------------------------------------

LAUGHS = '<!DOCTYPE l [<!ENTITY a "ha">' + "".join(
    f'<!ENTITY {b} "{f"&{a};" * 10}">' for a, b in zip("abcdefgh", "bcdefghi", strict=True)
) + "]>"  # fmt: skip
EXTERNAL = '<!DOCTYPE x [<!ENTITY i SYSTEM "file:///etc/passwd">]>'


@pytest.mark.parametrize("part", [
    SHEET, "xl/workbook.xml", "xl/sharedStrings.xml", "_rels/.rels", "xl/_rels/workbook.xml.rels",
])  # fmt: skip
@pytest.mark.parametrize("declaration", [LAUGHS, EXTERNAL, '<!DOCTYPE x SYSTEM "http://x/y.dtd">'])
def test_document_types_are_refused(
    tmp_path: Path, parts: Mapping[str, bytes], part: str, declaration: str
) -> None:
    text = re.sub(r"^<\?xml[^>]*>", "", parts[part].decode())
    entity = "&i;" if "ENTITY i " in declaration else ""
    text = declaration + re.sub(r"(<[^>]*[^/]>)", rf"\1{entity}", text, count=1)
    for encoding in ("utf-8", "utf-16"):
        path = tmp_path / "a.xlsx"
        path.write_bytes(packed({**parts, part: text.encode(encoding)}))
        line = refusal(path)
        assert f"{part}: declares a document type" in line


def test_xml_that_is_none(tmp_path: Path, parts: Mapping[str, bytes]) -> None:
    path = changed(tmp_path / "a.xlsx", parts, "</sheetData>", "</sheetDate>")
    assert "sheet1.xml: is no good XML" in refusal(path)
    path.write_bytes(packed({**parts, SHEET: b'<?xml version="1.0" encoding="x-evil"?><a/>'}))
    assert "sheet1.xml: is no good XML" in refusal(path)


# ---- ZIPs that swell -----------------------------------------------------------------------------


def traced(path: Path) -> int:
    """The most memory that reading took, in bytes."""
    tracemalloc.start()
    try:
        read_workbook(path)
    except WorkbookError:
        pass
    finally:
        _, peak = tracemalloc.get_traced_memory()
        tracemalloc.stop()
    return peak


def test_what_would_unpack_to_much_is_refused(tmp_path: Path, parts: Mapping[str, bytes]) -> None:
    path = tmp_path / "a.xlsx"
    path.write_bytes(packed({**parts, "xl/media/image1.png": bytes(129 * MIB)}))
    assert path.stat().st_size < MIB
    assert "would unpack to more than 128 MiB" in refusal(path)
    assert traced(path) < 8 * MIB


def test_sizes_that_lie(tmp_path: Path, parts: Mapping[str, bytes]) -> None:
    """The directory says 1000 bytes and their checksum is right; 60 MiB would come of it."""
    whole = b" " * 60 * MIB
    data = packed({**parts, SHEET: whole})
    lie = struct.pack("<II", zipfile.crc32(whole[:1000]), 1000)
    place = data.rindex(SHEET.encode()) - 46
    assert data[place : place + 4] == b"PK\1\2"
    data = (
        data[: place + 16] + lie[:4] + data[place + 20 : place + 24] + lie[4:] + data[place + 28 :]
    )
    path = tmp_path / "a.xlsx"
    path.write_bytes(data)
    assert traced(path) < 8 * MIB
    assert "no good XML" in refusal(path)


def test_parts_beyond_number_or_twice(tmp_path: Path, parts: Mapping[str, bytes]) -> None:
    path = tmp_path / "a.xlsx"
    path.write_bytes(packed({**parts, **{f"xl/{i}.xml": b"" for i in range(1000)}}))
    assert "parts that no spreadsheet program writes" in refusal(path)
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for name in parts:
            archive.writestr(name, parts[name])
        with pytest.warns(UserWarning, match="Duplicate"):
            archive.writestr(SHEET, parts[SHEET])
    path.write_bytes(buffer.getvalue())
    assert "parts that no spreadsheet program writes" in refusal(path)


def test_cells_beyond_number(
    tmp_path: Path, parts: Mapping[str, bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(markup, "MOST_ELEMENTS", 1000)
    path = changed(tmp_path / "a.xlsx", parts, "</sheetData>", "<row/>" * 1000 + "</sheetData>")
    assert "more than 1000 cells and other elements" in refusal(path)


# ---- sheets that claim to be large ---------------------------------------------------------------


def test_dimensions_that_a_sheet_claims(tmp_path: Path, parts: Mapping[str, bytes]) -> None:
    path = changed(tmp_path / "a.xlsx", parts, 'ref="A1:H5"', 'ref="A1:XFD1048576"')
    merged = '<mergeCells><mergeCell ref="A1:XFD1048576"/></mergeCells>'
    data = parts[SHEET].decode().replace("A1:H5", "A1:XFD1048576")
    path.write_bytes(packed({**parts, SHEET: data.replace("</sheetData>", "</sheetData>" + merged)
                             .encode()}))  # fmt: skip
    assert len(read_workbook(path).rows) == 2
    assert traced(path) < 8 * MIB


@pytest.mark.parametrize(("cell", "place"), [
    (f'<row r="{LAST_ROW + 1}"><c r="A{LAST_ROW + 1}"><v>1</v></c></row>', f"A{LAST_ROW + 1}"),
    ('<row r="1048576"><c r="B1048576"><v>1</v></c></row>', "B1048576"),
    ('<row r="9"><c r="XFD9"><v>1</v></c></row>', "XFD9"),
    ('<row r="99999999999"><c><v>1</v></c></row>', "A99999999999"),
    ('<row r="-7"><c><v>1</v></c></row>', "A-7"),
])  # fmt: skip
def test_cells_that_lie_far_out(
    tmp_path: Path, parts: Mapping[str, bytes], cell: str, place: str
) -> None:
    path = changed(tmp_path / "a.xlsx", parts, "</sheetData>", cell + "</sheetData>")
    imported = read_workbook(path)
    assert len(imported.rows) == 2
    assert any(report.startswith(f"Results - FP32!{place}: ") for report in imported.reports)


def test_rows_in_any_order_and_without_places(tmp_path: Path, parts: Mapping[str, bytes]) -> None:
    text = parts[SHEET].decode()
    rows = re.findall(r"<row .*?</row>", text)
    turned = text.replace("".join(rows), "".join(reversed(rows)))
    bare = re.sub(r' r="[A-Z0-9]+"', "", text.replace('<row r="2"', '<row r="2"'))
    path = tmp_path / "a.xlsx"
    for sheet in (turned, bare):
        path.write_bytes(packed({**parts, SHEET: sheet.encode()}))
        cells = contents.load(path).sheets[0].rows
        assert next(iter(cells[max(cells)].values())).value == 32
    twice = text.replace("</sheetData>", '<row><c r="G4"><v>9</v></c></row></sheetData>')
    path.write_bytes(packed({**parts, SHEET: twice.encode()}))
    assert "Results - FP32!G4: stands in the workbook twice" in refusal(path)


# ---- numbers -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "text", ["NaN", "INF", "-1", "0", "-0", "1e400", "1e-400", "1" * 5000, "١٢"]
)
def test_times_out_of_range(tmp_path: Path, parts: Mapping[str, bytes], text: str) -> None:
    path = changed(tmp_path / "a.xlsx", parts, "<v>1.5</v>", f"<v>{text}</v>")
    imported = read_workbook(path)
    assert [row["attributes"]["m"] for row in imported.rows] == [32]
    [report] = imported.reports
    assert report.startswith("Results - FP32!G4: holds ")
    assert len(report) < 400


def test_texts_that_are_not_there(tmp_path: Path, parts: Mapping[str, bytes]) -> None:
    for number in ("99", "-1", "x"):
        good = re.search(r'<c r="D4" t="s"><v>\d+</v>', parts[SHEET].decode())
        assert good
        bad = f'<c r="D4" t="s"><v>{number}</v>'
        path = changed(tmp_path / "a.xlsx", parts, good[0], bad)
        assert "D4: names a text that is not in the workbook" in refusal(path)


# ---- names and texts -----------------------------------------------------------------------------

EVIL = "../../etc/\u009b2J\u202e\u2028\u0085=1+1"


def test_names_are_no_paths_and_steer_nothing(
    tmp_path: Path, parts: Mapping[str, bytes], capsys: pytest.CaptureFixture[str]
) -> None:
    path = changed(tmp_path / "a.xlsx", parts, 'name="Results - FP32"',
                   f'name="{EVIL} FP32"', "xl/workbook.xml")  # fmt: skip
    with zipfile.ZipFile(path) as archive:
        evil = {name: archive.read(name) for name in archive.namelist()}
    evil[SHEET] = evil[SHEET].replace(b"<v>1.5</v>", b"<v>-1</v>")
    strings = evil["xl/sharedStrings.xml"].decode().replace("<t>T</t>", f"<t>{EVIL}_x001B_[2J</t>")
    path.write_bytes(packed({**evil, "xl/sharedStrings.xml": strings.encode()}))
    before = sorted(one.name for one in tmp_path.iterdir())
    status, out, err = run(capsys, "import", str(path), "-o", str(tmp_path / "mine.jsonl"))
    assert (status, out) == (2, "")
    assert sorted(one.name for one in tmp_path.iterdir()) == before
    path.write_bytes(packed(evil))
    status, out, err = run(capsys, "import", str(path), "-o", str(tmp_path / "mine.jsonl"))
    assert status == 0
    assert all(line.isprintable() for line in err.splitlines())
    assert sorted(one.name for one in tmp_path.iterdir()) == sorted([*before, "mine.jsonl"])
    row = read(tmp_path / "mine.jsonl").rows[0]
    assert row["regime"]["published"]["sheet"].isprintable()
    status, out, err = run(capsys, "show", str(tmp_path / "mine.jsonl"))
    assert all(line.isprintable() for line in (out + err).splitlines())


@pytest.mark.parametrize("text", [
    "=1+1", "+1+1", "-1+1", "@SUM(1,1)", "\t=1+1", "\r=1+1", "=cmd|' /C calc'!A0", " =1", "\n=1",
    "https://example.com", "=HYPERLINK(\"http://x\")", "{=1}", "#REF!", "TRUE", "'=1",
])  # fmt: skip
def test_texts_are_written_as_texts(tmp_path: Path, text: str) -> None:
    """Wherever a text of a result file may go: rows, tables, headings, Specs."""
    row = make_gemm(application=text, reason=text, library=text, backend=text)
    row["attributes"] = {**row["attributes"], "precision": "float", text: text}
    row["problem"] = text
    other = make_gemm(position=1)
    other.update(op=text, attributes={"precision": text, "n": text})
    lost = {**make_gemm(position=2), "status": "failed", "reason": text}
    context = make_context(rows=3, device={"index": 0, "name": text}, options={text: text},
                           command=[text], host={text: text})  # fmt: skip
    rows = (row, other, lost)
    write_workbook(ResultFile(Path("rows.jsonl"), context, rows, 0, False), tmp_path / "a.xlsx")
    book = openpyxl.load_workbook(tmp_path / "a.xlsx")
    seen = 0
    for sheet in book:
        for cell in (cell for cells in sheet.iter_rows() for cell in cells):
            if cell.data_type == "f":
                assert re.fullmatch(r"=[\d.e+*()/^C-Z]+", str(cell.value)), cell.value
            assert cell.hyperlink is None
            if cell.value == one_line(text):
                seen += 1
                assert cell.data_type == "s"
                risky = one_line(text)[0] in "=+-@" or text[0] in "\t\r"
                assert cell.quotePrefix == risky
    assert seen >= 8
    with zipfile.ZipFile(tmp_path / "a.xlsx") as archive:
        assert not any("external" in name.lower() for name in archive.namelist())
    assert set(book.sheetnames) <= {
        "Specs", "Results - FP32", "Results - Other", "Results", "Rows",
    }  # fmt: skip


def test_long_texts_are_cut(tmp_path: Path) -> None:
    row = make_gemm(application="x" * 100_000, reason="\U0001f600" * 40_000)
    write_workbook(
        ResultFile(Path("r"), make_context(rows=1), (row,), 0, False), tmp_path / "a.xlsx"
    )
    sheet = openpyxl.load_workbook(tmp_path / "a.xlsx")["Rows"]
    longest = max(len(str(cell.value)) for cells in sheet.iter_rows() for cell in cells)
    assert longest == 32_000


def test_extreme_numbers_are_written(tmp_path: Path) -> None:
    row = make_gemm()
    row["work"] = {"flops": 1e30, "bytes": 1e30}
    row["statistics"] = {**row["statistics"], "median_ns": 1e-300}
    huge = {**make_gemm(position=1, m=2**52), "work": {"flops": 1e30, "bytes": 1.0}}
    huge["statistics"] = {**huge["statistics"], "median_ns": 1e-9}
    result = ResultFile(Path("r"), make_context(rows=2), (row, huge), 0, False)
    write_workbook(result, tmp_path / "a.xlsx")
    assert len(read_workbook(tmp_path / "a.xlsx").rows) == 2


# ---- files that are no workbooks -----------------------------------------------------------------


def test_files_of_other_kinds(
    tmp_path: Path, parts: Mapping[str, bytes], capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "text.xlsx").write_text("M,N,K\n1,2,3\n")
    (tmp_path / "empty.xlsx").write_bytes(b"")
    (tmp_path / "old.xls").write_bytes(b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(512))
    (tmp_path / "zip.xlsx").write_bytes(packed({"a.txt": b"a"}))
    (tmp_path / "none.xlsx").write_bytes(packed({"[Content_Types].xml": b"<Types/>"}))
    (tmp_path / "cut.xlsx").write_bytes(packed(parts)[:-100])
    locked = bytearray(packed(parts))
    for place in re.finditer(rb"PK\x01\x02", bytes(locked)):
        locked[place.start() + 8] |= 1
    (tmp_path / "locked.xlsx").write_bytes(bytes(locked))
    os.mkfifo(tmp_path / "pipe.xlsx")
    for name, what in (
        ("text.xlsx", "is no .xlsx workbook"), ("empty.xlsx", "is empty"),
        ("old.xls", "is encrypted, or an .xls of old"), ("zip.xlsx", "is a ZIP, but no workbook"),
        ("none.xlsx", "has no part that lists sheets"), ("cut.xlsx", "is no .xlsx workbook"),
        ("locked.xlsx", "is encrypted; save it without a password"),
        ("pipe.xlsx", "is no regular file"), ("missing.xlsx", "No such file"),
        ("a\0b", ": "), ("\x1b[2J.xlsx", "No such file"),
    ):  # fmt: skip
        status, out, err = run(capsys, "import", str(tmp_path / name), "-o", str(tmp_path / "o"))
        assert (status, out, err.count("\n")) == (2, "", 1), (name, err)
        assert what in err
        assert err.strip().isprintable()
        assert not (tmp_path / "o").exists()
    for path in ("/dev/zero", str(tmp_path)):
        assert run(capsys, "import", path, "-o", str(tmp_path / "o"))[0] == 2


def test_a_workbook_without_tables(tmp_path: Path, parts: Mapping[str, bytes]) -> None:
    path = changed(tmp_path / "a.xlsx", parts, "<t>M</t>", "<t>Rows</t>", "xl/sharedStrings.xml")
    line = refusal(path)
    assert "none of its sheets (Results - FP32) has headings such as M N K Time (msec)" in line


def test_outputs_that_cannot_be_written(
    tmp_path: Path, parts: Mapping[str, bytes], capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "a.xlsx"
    path.write_bytes(packed(parts))
    for output, what in (("/dev/full", "the disk is full"), (str(tmp_path), "is a folder"),
                         (str(tmp_path / "no/a.jsonl"), "there is no folder"),
                         (str(path), "is the workbook that is read")):  # fmt: skip
        status, _, err = run(capsys, "import", str(path), "-o", output)
        assert (status, what in err, err.count("\n")) == (2, True, 1), err
    for words in (["import"], ["import", str(path)], ["import", "-o", "x"], ["report", str(path)],
                  ["report", str(path), "--format", "xls", "-o", "x"]):  # fmt: skip
        status, _, err = run(capsys, *words)
        assert (status, err.count("\n")) == (2, 1)
    assert len(list(tmp_path.iterdir())) == 1


def test_without_the_library(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(sys.modules, "xlsxwriter", None)
    status, _, err = run(capsys, "report", "t4", "--format", "xlsx", "-o", str(tmp_path / "a.xlsx"))
    assert (status, err.count("\n")) == (2, 1)
    assert "pip install 'deepbench[xlsx]'" in err
    assert not list(tmp_path.iterdir())


def outcome(path: Path) -> None:
    """Rows or one line; nothing else."""
    try:
        read_workbook(path)
    except WorkbookError as error:
        line = str(error)
    else:
        line = ""
    assert "\n" not in line


def test_files_cut_anywhere(tmp_path: Path, parts: Mapping[str, bytes]) -> None:
    data, path = packed(parts), tmp_path / "a.xlsx"
    for length in range(0, len(data), max(1, len(data) // 150)):
        path.write_bytes(data[:length])
        outcome(path)


def test_files_with_any_byte_changed(tmp_path: Path, parts: Mapping[str, bytes]) -> None:
    dice, path = random.Random(5), tmp_path / "a.xlsx"
    for method in (zipfile.ZIP_DEFLATED, zipfile.ZIP_STORED):
        data = packed(parts, method)
        for _ in range(150):
            damaged = bytearray(data)
            for _ in range(dice.randint(1, 4)):
                damaged[dice.randrange(len(data))] = dice.randrange(256)
            path.write_bytes(bytes(damaged))
            outcome(path)


ATTRIBUTES = some.sampled_from(["r", "t", "s", "x"])
VALUES = some.sampled_from(["A1", "ZZZ9999999", "s", "n", "b", "e", "d", "str", "inlineStr", "-1",
                            "1e999", "99999999999999999999", "", "é"])  # fmt: skip


@settings(max_examples=60, deadline=None)
@given(some.data())
def test_any_elements_in_a_sheet(
    tmp_path_factory: pytest.TempPathFactory, parts: Mapping[str, bytes], data: Any
) -> None:
    """Elements of a sheet anywhere, with any attributes."""
    names = some.sampled_from(["row", "c", "v", "f", "is", "t", "si", "rPh", "sheetData"])
    pieces = []
    for _ in range(data.draw(some.integers(1, 6))):
        name = data.draw(names)
        given_ = data.draw(some.dictionaries(ATTRIBUTES, VALUES, max_size=3))
        text = "".join(f' {key}="{value}"' for key, value in given_.items())
        pieces.append(f"<{name}{text}>{data.draw(VALUES)}</{name}>")
    sheet = parts[SHEET].decode().replace("</sheetData>", "".join(pieces) + "</sheetData>")
    path = tmp_path_factory.mktemp("any") / "a.xlsx"
    path.write_bytes(packed({**parts, SHEET: sheet.encode()}))
    outcome(path)


def test_cells_are_those_that_another_reader_sees(tmp_path: Path) -> None:
    """openpyxl, of a workbook that holds every kind of cell that we write."""
    row = make_gemm(application="_x0041_ \x01\ud800 é\u2028 ''", reason=None)
    result = ResultFile(Path("r"), make_context(rows=1), (row,), 0, False)
    write_workbook(result, tmp_path / "a.xlsx")
    theirs = openpyxl.load_workbook(tmp_path / "a.xlsx", data_only=True)
    for sheet in contents.load(tmp_path / "a.xlsx").sheets:
        expected = {(cell.row, cell.column): cell.value
                    for cells in theirs[sheet.name].iter_rows() for cell in cells
                    if cell.value is not None}  # fmt: skip
        found = {(cell.row, cell.column): cell.value
                 for cells in sheet.rows.values() for cell in cells.values()}  # fmt: skip
        assert found == expected
