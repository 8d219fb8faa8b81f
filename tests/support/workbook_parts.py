"""A valid workbook as separate parts, for tests that modify them, and the error that a workbook
causes."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Mapping
from functools import cache
from pathlib import Path

import pytest
import xlsxwriter

from deepbench.workbook import WorkbookError, read_workbook

SHEET = "xl/worksheets/sheet1.xml"
GEMM = ["M", "N", "K", "A Transpose", "B Transpose", None, "Time (msec)", "TERAFLOPS"]


@cache
def workbook_parts() -> Mapping[str, bytes]:
    """Two products with 64 and 32 rows, of 1.5 and 2.5 ms."""
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


def zip_archive(files: Mapping[str, bytes], method: int = zipfile.ZIP_DEFLATED) -> bytes:
    """A ZIP archive of these parts."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", method) as archive:
        for name, data in files.items():
            archive.writestr(name, data)
    return buffer.getvalue()


def changed_workbook(path: Path, old: str, new: str, part: str = SHEET) -> Path:
    """The valid workbook with one text replaced in one part."""
    text = workbook_parts()[part].decode()
    assert old in text
    path.write_bytes(zip_archive({**workbook_parts(), part: text.replace(old, new).encode()}))
    return path


def refusal_message(path: Path) -> str:
    """The error message for an invalid workbook."""
    with pytest.raises(WorkbookError) as caught:
        read_workbook(path)
    line = str(caught.value)
    assert "\n" not in line
    return line
