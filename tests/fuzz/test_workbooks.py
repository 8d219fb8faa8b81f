"""Damaged workbooks are read or refused in one line, and what is read can be written and read
again."""

from __future__ import annotations

import io
import re
import tempfile
import zipfile
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import xlsxwriter
from hypothesis import strategies as st

from byte_mutations import mutated_bytes
from campaign import Campaign, corpus, require_printable_line
from deepbench.results import ResultWriter, read
from deepbench.workbook import Imported, WorkbookError, read_workbook, write_workbook
from example_rows import make_context, make_gemm, make_memory
from mutated_lines import EVIL, PUBLISHED, write_lines
from workbook_parts import workbook_parts, zip_archive

XML_PIECES = tuple(
    text.encode()
    for text in (
        "<row>", '<row r="20001">', '<c r="A1" t="s">', '<c r="ZZZ9999999">', "</c>", "<v>", "<f/>",
        '<c t="inlineStr"><is><t>', "<v>1e999</v>", "<v>-0</v>", "<v>99999999999999999999</v>",
        "<!DOCTYPE a>", '<!ENTITY b "b">', "&amp;", "&b;", "&#0;", "&#x1b;", "_x001B_", "_xD800_",
        "<![CDATA[", "]]>", "<!--", "<?xml version='1.0' encoding='utf-16'?>",
        "<?xml version='1.0' encoding='utf-7'?>", "encoding='hex'", 'r:id="rId99"',
        'Target="../../../etc/passwd"', 'TargetMode="External"', "\x00", "\xff", "x:", "xmlns:x=''",
    )
)  # fmt: skip
HEADINGS = ("M", "N", "K", "A Transpose", "B Transpose", "Time (msec)", "TERAFLOPS", "W", "H", "C",
            "S (Filter width)", "R (Filter height)", "pad_w", "stride_h", "Sparsity", "Time (us)",
            "Sparse Time (msec)", "Time Backward", "Hidden Units", "Batch Size", "Timesteps",
            "Size (# of floats)", "Number of processors", "Application",
            "Padded Kernels")  # fmt: skip
TITLES = ("Precision", "Float", "Int8 inputs 32 bit math", "Dense Matrix Multiplication",
          "Convolution", "Recurrent Layers - LSTM", "All-Reduce")  # fmt: skip
LONGEST_HEADER = 46  # bytes of an entry of a ZIP directory, before its name
WHOLE_NUMBERS = (1, 2**53 - 1, 2**53, 2**53 + 2, 2**62, 2**63, 2**64)
SHEETS = ("Results - FP32", "Results", "Specs", "Rows", "Kernels", "Results - INT8")
CELLS = (
    st.sampled_from([*HEADINGS, *TITLES, "N", "T", "N/A*", "", " ", "=1+1", "_x0000_"])
    | st.sampled_from([EVIL, "x" * 400, "1" + " " * 400 + "x", "1" * 500])
    | st.sampled_from([0, 1, -1, 0.5, 1760, 1e-300, 1e300, 1e15, True, False, None])
    | st.sampled_from(WHOLE_NUMBERS)
    | st.integers(0, 4000)
    | st.floats(1e-3, 1e4)
    | st.text(max_size=6)
)  # fmt: skip


@cache
def books() -> tuple[Mapping[str, bytes], ...]:
    """The parts of a workbook with the original's tables, and of one that deepbench wrote."""
    return workbook_parts(), parts_of_native_book()


def parts_of_native_book() -> Mapping[str, bytes]:
    rows = [make_gemm(0, application="X"), make_memory(1), {**PUBLISHED, "position": 2}]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "a.xlsx")
        write_workbook(read(write_lines(Path(folder, "a.jsonl"), [make_context(), *rows])), path)
        return parts_of(path.read_bytes())


def parts_of(data: bytes) -> Mapping[str, bytes]:
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def archives() -> list[bytes]:
    return [zip_archive(parts, method) for parts in books()
            for method in (zipfile.ZIP_DEFLATED, zipfile.ZIP_STORED, zipfile.ZIP_BZIP2,
                           zipfile.ZIP_LZMA)]  # fmt: skip


@st.composite
def archives_with_damaged_headers(draw: st.DrawFn, sound: Sequence[bytes]) -> bytes:
    """A sound archive in which a few bytes of the headers of parts and of the directory, a small
    part of it, are others."""
    data = bytearray(draw(st.sampled_from(sound)))
    headers = [found.start() for found in re.finditer(rb"PK(\x01\x02|\x03\x04|\x05\x06)", data)]
    for _ in range(draw(st.integers(1, 3))):
        at = draw(st.sampled_from(headers)) + draw(st.integers(4, LONGEST_HEADER - 1))
        if at < len(data):
            data[at] = draw(st.integers(0, 255))
    return bytes(data)


@st.composite
def archives_with_damaged_parts(draw: st.DrawFn) -> bytes:
    """A sound archive in which one or two parts are damaged."""
    parts = dict(draw(st.sampled_from(books())))
    for _ in range(draw(st.integers(1, 2))):
        name = draw(st.sampled_from(sorted(parts)))
        parts[name] = draw(mutated_bytes([parts[name]], XML_PIECES))
    return zip_archive(parts)


@st.composite
def archives_with_other_values(draw: st.DrawFn) -> bytes:
    """A workbook in which a few values of cells, shared texts and attributes are others."""
    parts = dict(draw(st.sampled_from(books())))
    values = st.sampled_from(["", "-1", "1e999", "A1", "s", "str", "b", "e", "0", "64.5", "rId1",
                              "1e-320", "Time (msec)", "N", "_x001B_"])  # fmt: skip
    values |= st.sampled_from(WHOLE_NUMBERS).map(str) | st.integers(-(10**20), 10**20).map(str)
    for _ in range(draw(st.integers(1, 4))):
        name = draw(st.sampled_from([name for name in sorted(parts) if name.startswith("xl/")]))
        text = parts[name].decode()
        places = [found.span(1) for found in re.finditer(r'(?:>|=")([^<>"]{1,80})(?=[<"])', text)]
        if places:
            begin, end = draw(st.sampled_from(places))
            parts[name] = (text[:begin] + draw(values) + text[end:]).encode()
    return zip_archive(parts)


@st.composite
def books_of_cells(draw: st.DrawFn) -> bytes:
    """A workbook of arbitrary cells below headings, as a spreadsheet program would write it."""
    buffer = io.BytesIO()
    book = xlsxwriter.Workbook(buffer, {"in_memory": True, "strings_to_formulas": False})
    for name in draw(st.lists(st.sampled_from(SHEETS), min_size=1, max_size=2, unique=True)):
        sheet = book.add_worksheet(name)
        lines = [draw(st.lists(CELLS, max_size=8)) for _ in range(draw(st.integers(0, 4)))]
        known = ["M", "N", "K", "A Transpose", "B Transpose", "Time (msec)"]
        if draw(st.booleans()):
            time_ms = draw(st.just(1.5) | CELLS)
            lines[1:1] = [known, [1, 1, draw(CELLS), "N", "T", time_ms]]
        for number, line in enumerate(lines):
            for place, value in enumerate(line):
                write_cell(sheet, number, place, value)
    book.close()
    return buffer.getvalue()


def write_cell(sheet: Any, row: int, column: int, value: object) -> None:
    if isinstance(value, bool):
        sheet.write_boolean(row, column, value)
    elif isinstance(value, str):
        sheet.write_string(row, column, value)
    elif isinstance(value, (int, float)):
        sheet.write_number(row, column, value)


def check_book(data: bytes, folder: Path) -> None:
    path = folder / "a.xlsx"
    path.write_bytes(data)
    try:
        imported = read_workbook(path)
    except WorkbookError as error:
        require_printable_line(error)
        return
    for remark in imported.remarks:
        require_printable_line(remark)
    for row in imported.rows:
        require_exact_numbers(row.members)
    check_written(imported, folder)


def require_exact_numbers(value: object) -> None:
    """Fails for a whole number that a cell, which keeps 53 bits, may have rounded."""
    if isinstance(value, Mapping):
        for member in value.values():
            require_exact_numbers(member)
    assert not isinstance(value, int) or abs(value) < 2**53


def check_written(imported: Imported, folder: Path) -> None:
    """The rows are the same in a result file, and in a workbook of that file."""
    path = folder / "rows.jsonl"
    writer = ResultWriter.create(path, overwrite=True)
    try:
        writer.replace(imported.context, (row.line for row in imported.rows))
    finally:
        writer.close()
    result = read(path)
    assert [row.members for row in result.rows] == sorted(
        (row.members for row in imported.rows), key=lambda row: row["position"]
    )
    write_workbook(result, folder / "again.xlsx", overwrite=True)
    again = read_workbook(folder / "again.xlsx")
    assert [facts(row) for row in again.rows] == [facts(row) for row in result.rows]


def facts(row: Any) -> tuple[object, ...]:
    """What a workbook keeps of a row; numbers have 16 digits there."""
    times = (row.statistics.median_ns, row.statistics.mean_ns)
    digits = tuple(None if one is None else f"{one:.14g}" for one in times)
    return (row.position, row.problem, row.op, row.status, row.attributes, digits)


def test_damaged_archives(campaign: Campaign, tmp_path: Path) -> None:
    sound = archives()
    inputs = mutated_bytes(sound, (b"PK\x03\x04", b"PK\x01\x02", b"PK\x05\x06", b"PK\x06\x06"))
    inputs |= archives_with_damaged_headers(sound)
    campaign.run(lambda data: check_book(data, tmp_path), inputs, count=200)


def test_damaged_parts(campaign: Campaign, tmp_path: Path) -> None:
    inputs = archives_with_damaged_parts() | archives_with_other_values()
    campaign.run(lambda data: check_book(data, tmp_path), inputs, count=150)


def test_cells(campaign: Campaign, tmp_path: Path) -> None:
    campaign.run(lambda data: check_book(data, tmp_path), books_of_cells(), count=120)


@pytest.mark.parametrize("path", corpus("workbooks"))
def test_corpus(path: Path, tmp_path: Path) -> None:
    check_book(path.read_bytes(), tmp_path)
