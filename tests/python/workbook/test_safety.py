"""Untrusted workbooks: no code runs, nothing expands, and resources stay bounded."""

from __future__ import annotations

import io
import re
import struct
import tracemalloc
import zipfile
from pathlib import Path

import pytest
import xlsxwriter

from deepbench.workbook import WorkbookError, read_workbook, xlsx_reader, xml_parts
from deepbench.workbook.cells import LAST_ROW
from workbook_parts import SHEET, changed_workbook, refusal_message, workbook_parts, zip_archive

MIB = 1 << 20


# ---- formulas and macros -----------------------------------------------------------------------


def test_saved_values_are_read_and_formulas_ignored(tmp_path: Path) -> None:
    old = '<c r="G4"><v>1.5</v></c>'
    for new, times in (
        ('<c r="G4"><f>1/0</f><v>7</v></c>', [7e6, 2.5e6]),
        ('<c r="G4"><f>WEBSERVICE("http://x")</f></c>', [2.5e6]),
        ('<c r="G4" t="e"><f>1/0</f><v>#DIV/0!</v></c>', [2.5e6]),
        ('<c r="G4" t="str"><f>A1</f><v>3</v></c>', [3e6, 2.5e6]),
    ):
        imported = read_workbook(changed_workbook(tmp_path / "a.xlsx", old, new))
        assert [row.statistics.mean_ns for row in imported.rows] == times
        assert len(times) == 2 or imported.remarks[0].startswith("Results - FP32!G4: ")


def test_macros_are_ignored(tmp_path: Path) -> None:
    path = tmp_path / "a.xlsm"
    path.write_bytes(
        zip_archive({**workbook_parts(), "xl/vbaProject.bin": b"\xd0\xcf\x11\xe0not a project"})
    )
    imported = read_workbook(path)
    assert len(imported.rows) == 2
    assert "the workbook's macros were ignored" in imported.context["warnings"]


def test_links_to_other_files_are_not_followed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    relations = "xl/_rels/workbook.xml.rels"
    for target in ("../../../../etc/passwd", "/etc/passwd", "file:///etc/passwd"):
        path = changed_workbook(tmp_path / "a.xlsx", "worksheets/sheet1.xml", target, relations)
        assert "has no table of results" in refusal_message(path)
    inside = 'Target="worksheets/sheet1.xml"'
    external = f'TargetMode="External" {inside}'
    path = changed_workbook(tmp_path / "a.xlsx", inside, external, relations)
    assert "has no table of results" in refusal_message(path)


# ---- XML that expands or reads files -----------------------------------------------------------

LAUGHS = '<!DOCTYPE l [<!ENTITY a "ha">' + "".join(
    f'<!ENTITY {b} "{f"&{a};" * 10}">' for a, b in zip("abcdefgh", "bcdefghi", strict=True)
) + "]>"  # fmt: skip
EXTERNAL = '<!DOCTYPE x [<!ENTITY i SYSTEM "file:///etc/passwd">]>'


@pytest.mark.parametrize("part", [
    SHEET, "xl/workbook.xml", "xl/sharedStrings.xml", "_rels/.rels", "xl/_rels/workbook.xml.rels",
])  # fmt: skip
@pytest.mark.parametrize("declaration", [LAUGHS, EXTERNAL, '<!DOCTYPE x SYSTEM "http://x/y.dtd">'])
def test_document_types_are_refused(tmp_path: Path, part: str, declaration: str) -> None:
    text = re.sub(r"^<\?xml[^>]*>", "", workbook_parts()[part].decode())
    entity = "&i;" if "ENTITY i " in declaration else ""
    text = declaration + re.sub(r"(<[^>]*[^/]>)", rf"\1{entity}", text, count=1)
    for encoding in ("utf-8", "utf-16"):
        path = tmp_path / "a.xlsx"
        path.write_bytes(zip_archive({**workbook_parts(), part: text.encode(encoding)}))
        line = refusal_message(path)
        assert f"{part}: declares a document type" in line


def test_invalid_xml_is_refused(tmp_path: Path) -> None:
    path = changed_workbook(tmp_path / "a.xlsx", "</sheetData>", "</sheetDate>")
    assert "sheet1.xml: is not valid XML" in refusal_message(path)
    path.write_bytes(
        zip_archive({**workbook_parts(), SHEET: b'<?xml version="1.0" encoding="x-evil"?><a/>'})
    )
    assert "sheet1.xml: is not valid XML" in refusal_message(path)


# ---- limits on tables --------------------------------------------------------------------------


def test_too_many_tables_are_refused(tmp_path: Path) -> None:
    """A row of headings costs as much time as a hundred rows of figures."""
    path = tmp_path / "a.xlsx"
    book = xlsxwriter.Workbook(path)
    for name in ("FP32", "FP16"):
        sheet = book.add_worksheet(name)
        for row in range(0, 600, 2):
            sheet.write_row(row, 0, ["M", "N", "K", "Time (ms)"])
            sheet.write_row(row + 1, 0, [64, 64, 64, 1.5])
    book.close()
    assert "has more than 500 tables" in refusal_message(path)


# ---- archives that expand ----------------------------------------------------------------------


def peak_memory(path: Path) -> int:
    """The peak memory of reading, in bytes."""
    tracemalloc.start()
    try:
        read_workbook(path)
    except WorkbookError:
        pass
    finally:
        _, peak = tracemalloc.get_traced_memory()
        tracemalloc.stop()
    return peak


def test_archives_that_unpack_to_much_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "a.xlsx"
    path.write_bytes(zip_archive({**workbook_parts(), "xl/media/image1.png": bytes(129 * MIB)}))
    assert path.stat().st_size < MIB
    assert "would unpack to more than 128 MiB" in refusal_message(path)
    assert peak_memory(path) < 8 * MIB


def test_false_sizes_are_detected(tmp_path: Path) -> None:
    """The directory claims 1000 bytes with a valid checksum, but the part unpacks to 60 MiB."""
    whole = b" " * 60 * MIB
    data = zip_archive({**workbook_parts(), SHEET: whole})
    lie = struct.pack("<II", zipfile.crc32(whole[:1000]), 1000)
    place = data.rindex(SHEET.encode()) - 46
    assert data[place : place + 4] == b"PK\1\2"
    data = (
        data[: place + 16] + lie[:4] + data[place + 20 : place + 24] + lie[4:] + data[place + 28 :]
    )
    path = tmp_path / "a.xlsx"
    path.write_bytes(data)
    assert peak_memory(path) < 8 * MIB
    assert "not valid XML" in refusal_message(path)


@pytest.mark.parametrize("method", [zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
def test_other_methods_of_compression_are_refused(tmp_path: Path, method: int) -> None:
    """zipfile unpacks a whole piece of such a part at once: 1,192 bytes became 984 MiB."""
    path = tmp_path / "a.xlsx"
    buffer = io.BytesIO(zip_archive(workbook_parts()))
    with zipfile.ZipFile(buffer, "a") as archive:
        archive.writestr("xl/media/\n" + "a" * 200, bytes(20 * MIB), method)
    path.write_bytes(buffer.getvalue())
    part = "xl/media/ " + "a" * 90
    assert f"{part}: is compressed by a method other than Deflate" in refusal_message(path)
    assert peak_memory(path) < 8 * MIB


def test_damaged_data_of_other_methods_is_refused(tmp_path: Path) -> None:
    data = zip_archive(workbook_parts(), zipfile.ZIP_LZMA)
    path = tmp_path / "a.xlsx"
    path.write_bytes(data[:60] + bytes(20) + data[80:])
    assert "is compressed by a method other than Deflate" in refusal_message(path)


def test_stored_parts_are_read(tmp_path: Path) -> None:
    path = tmp_path / "a.xlsx"
    path.write_bytes(zip_archive(workbook_parts(), zipfile.ZIP_STORED))
    assert len(read_workbook(path).rows) == 2


def test_too_many_or_duplicate_parts_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "a.xlsx"
    path.write_bytes(zip_archive({**workbook_parts(), **{f"xl/{i}.xml": b"" for i in range(1000)}}))
    assert "parts that no spreadsheet program writes" in refusal_message(path)
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for name in workbook_parts():
            archive.writestr(name, workbook_parts()[name])
        with pytest.warns(UserWarning, match="Duplicate"):
            archive.writestr(SHEET, workbook_parts()[SHEET])
    path.write_bytes(buffer.getvalue())
    assert "parts that no spreadsheet program writes" in refusal_message(path)


def test_too_many_cells_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(xml_parts, "MOST_ELEMENTS", 1000)
    path = changed_workbook(tmp_path / "a.xlsx", "</sheetData>", "<row/>" * 1000 + "</sheetData>")
    assert "more than 1000 cells and other elements" in refusal_message(path)


# ---- claimed sizes of sheets -------------------------------------------------------------------


def test_claimed_dimensions_of_a_sheet_are_ignored(tmp_path: Path) -> None:
    path = changed_workbook(tmp_path / "a.xlsx", 'ref="A1:H5"', 'ref="A1:XFD1048576"')
    merged = '<mergeCells><mergeCell ref="A1:XFD1048576"/></mergeCells>'
    data = workbook_parts()[SHEET].decode().replace("A1:H5", "A1:XFD1048576")
    path.write_bytes(
        zip_archive(
            {
                **workbook_parts(),
                SHEET: data.replace("</sheetData>", "</sheetData>" + merged).encode(),
            }
        )
    )
    assert len(read_workbook(path).rows) == 2
    assert peak_memory(path) < 8 * MIB


@pytest.mark.parametrize(("cell", "place"), [
    (f'<row r="{LAST_ROW + 1}"><c r="A{LAST_ROW + 1}"><v>1</v></c></row>', f"A{LAST_ROW + 1}"),
    ('<row r="1048576"><c r="B1048576"><v>1</v></c></row>', "B1048576"),
    ('<row r="9"><c r="XFD9"><v>1</v></c></row>', "XFD9"),
    ('<row r="99999999999"><c><v>1</v></c></row>', "A99999999999"),
    ('<row r="-7"><c><v>1</v></c></row>', "A-7"),
])  # fmt: skip
def test_distant_cells_are_reported(tmp_path: Path, cell: str, place: str) -> None:
    path = changed_workbook(tmp_path / "a.xlsx", "</sheetData>", cell + "</sheetData>")
    imported = read_workbook(path)
    assert len(imported.rows) == 2
    assert any(report.startswith(f"Results - FP32!{place}: ") for report in imported.remarks)


def test_rows_in_any_order_and_without_addresses_are_read(tmp_path: Path) -> None:
    text = workbook_parts()[SHEET].decode()
    rows = re.findall(r"<row .*?</row>", text)
    turned = text.replace("".join(rows), "".join(reversed(rows)))
    bare = re.sub(r' r="[A-Z0-9]+"', "", text.replace('<row r="2"', '<row r="2"'))
    path = tmp_path / "a.xlsx"
    for sheet in (turned, bare):
        path.write_bytes(zip_archive({**workbook_parts(), SHEET: sheet.encode()}))
        cells = xlsx_reader.read_book(path).sheets[0].rows
        assert next(iter(cells[max(cells)].values())).value == 32
    twice = text.replace("</sheetData>", '<row><c r="G4"><v>9</v></c></row></sheetData>')
    path.write_bytes(zip_archive({**workbook_parts(), SHEET: twice.encode()}))
    assert "Results - FP32!G4: occurs twice in the workbook" in refusal_message(path)


# ---- numbers -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "text", ["NaN", "INF", "-1", "0", "-0", "1e400", "1e-400", "1" * 5000, "١٢"]
)
def test_times_out_of_range_are_reported(tmp_path: Path, text: str) -> None:
    path = changed_workbook(tmp_path / "a.xlsx", "<v>1.5</v>", f"<v>{text}</v>")
    imported = read_workbook(path)
    assert [row.attributes["m"] for row in imported.rows] == [32]
    [report] = imported.remarks
    assert report.startswith("Results - FP32!G4: holds ")
    assert len(report) < 400


def test_missing_shared_texts_are_refused(tmp_path: Path) -> None:
    for number in ("99", "-1", "x"):
        good = re.search(r'<c r="D4" t="s"><v>\d+</v>', workbook_parts()[SHEET].decode())
        assert good
        bad = f'<c r="D4" t="s"><v>{number}</v>'
        path = changed_workbook(tmp_path / "a.xlsx", good[0], bad)
        assert "D4: refers to a text that is not in the workbook" in refusal_message(path)
