"""A workbook's file, a ZIP of XML parts, looked through before anything of it is interpreted.

Workbooks come from strangers. What is too large when it is unpacked, declares entities (and with
them expansions and other files), or is locked is refused here; sizes are read from the directory
and held while inflating. What is handed on is a copy in memory of the parts that were looked
through, so that no reader can come to see anything else. Nothing is unpacked into a file.
"""

from __future__ import annotations

import io
import os
import re
import stat
import zipfile
import zlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO
from xml.parsers import expat

from deepbench.refusal import one_line
from deepbench.workbook.errors import WorkbookError

LAST_ROW = 20_000  # of a sheet that is read; the original's have fewer than 400
_LARGEST_FILE = 64 << 20  # bytes, packed
_LARGEST_PARTS = 128 << 20  # bytes of all parts, unpacked; ours have some 10 MiB for 2000 rows
_MOST_PARTS = 1000
_MOST_ELEMENTS = 3_000_000  # of XML, in all parts: each takes memory when it is read
_CHUNK = 1 << 18
_READ = (".xml", ".rels", ".vml")  # parts that a reader may look into
_LOCKED = 0x1  # flag of a part that needs a password
_OLE = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"  # how old .xls files begin, and encrypted .xlsx
_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?", re.ASCII)
_MOST_DIGITS = 400  # of a number: beyond it no reader is to be tried
_RIGHT = "save it as .xlsx and try again"


@dataclass
class PartFacts:
    """What one sheet's part holds that a reader could not tell."""

    bad_cell: tuple[str, str] | None = None  # the first numeric cell without a number, its text
    beyond: str | None = None  # the first cell below LAST_ROW that holds anything


@dataclass(frozen=True)
class Package:
    """The XML parts of a file that was looked through, packed anew."""

    path: Path
    data: bytes
    parts: Mapping[str, PartFacts] = field(default_factory=dict)
    macros: bool = False

    def open(self) -> IO[bytes]:
        return io.BytesIO(self.data)


def checked(path: Path) -> Package:
    """The file's content. Raises WorkbookError unless it is safe to read."""
    data = _content(path)
    if data.startswith(_OLE):
        raise WorkbookError(
            f"{path}: is encrypted, or an .xls of old; save it as .xlsx without a password"
        )
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            return _looked_through(path, archive)
    except WorkbookError:
        raise
    except (zipfile.BadZipFile, zlib.error, EOFError, OSError, ValueError,
            NotImplementedError, RuntimeError) as error:  # fmt: skip
        what = "is no workbook, or cut short" if _is_zip(data) else "is no .xlsx workbook"
        raise WorkbookError(f"{path}: {what}: {one_line(str(error))[:200]}; {_RIGHT}") from None


def _content(path: Path) -> bytes:
    """All bytes of a regular file: what has no end, or waits for a writer, is refused."""
    try:
        with open(path, "rb", opener=_without_waiting) as file:
            if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
                raise WorkbookError(f"{path}: is no regular file; name a workbook, an .xlsx")
            data = file.read(_LARGEST_FILE + 1)
    except OSError as error:
        raise WorkbookError(f"{path}: {error.strerror or error}") from None
    except ValueError as error:  # NUL in the name
        raise WorkbookError(f"{str(path)!r}: {error}") from None
    if len(data) > _LARGEST_FILE:
        raise WorkbookError(f"{path}: is larger than {_LARGEST_FILE >> 20} MiB; no workbook is")
    if not data:
        raise WorkbookError(f"{path}: is empty; name a workbook, an .xlsx")
    return data


def _without_waiting(path: str, flags: int) -> int:
    return os.open(path, flags | getattr(os, "O_NONBLOCK", 0))


def _is_zip(data: bytes) -> bool:
    return data.startswith(b"PK")


def _looked_through(path: Path, archive: zipfile.ZipFile) -> Package:
    infos = archive.infolist()
    names = [info.filename for info in infos]
    if "[Content_Types].xml" not in names:
        raise WorkbookError(f"{path}: is a ZIP, but no workbook; {_RIGHT}")
    if len(infos) > _MOST_PARTS or len(set(names)) < len(names):
        raise WorkbookError(f"{path}: has parts that no spreadsheet program writes; {_RIGHT}")
    if any(info.flag_bits & _LOCKED for info in infos):
        raise WorkbookError(f"{path}: is encrypted; save it without a password")
    if sum(info.file_size for info in infos) > _LARGEST_PARTS:
        raise WorkbookError(
            f"{path}: would unpack to more than {_LARGEST_PARTS >> 20} MiB; no result workbook does"
        )
    macros = any(name.lower().endswith("vbaproject.bin") for name in names)
    copy, budget, parts = io.BytesIO(), _Budget(path), {}
    with zipfile.ZipFile(copy, "w", zipfile.ZIP_STORED) as packed:
        for info in infos:
            if info.filename.lower().endswith(_READ):
                data = _inflated(archive, info)
                parts[info.filename] = _scanned(path, info.filename, data, budget)
                packed.writestr(info.filename, data)
    return Package(path, copy.getvalue(), parts, macros)


def _inflated(archive: zipfile.ZipFile, info: zipfile.ZipInfo) -> bytes:
    """As many bytes as the directory says and no more, piece by piece: asked for all at once,
    zipfile inflates what there is before it cuts that off."""
    pieces = []
    with archive.open(info) as part:
        while piece := part.read(_CHUNK):
            pieces.append(piece)
    return b"".join(pieces)


class _Budget:
    """How much XML there may still be."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._elements = 0

    def element(self) -> None:
        self._elements += 1
        if self._elements > _MOST_ELEMENTS:
            raise WorkbookError(
                f"{self._path}: has more than {_MOST_ELEMENTS} cells and other elements; "
                "no result workbook has"
            )


def _scanned(path: Path, name: str, data: bytes, budget: _Budget) -> PartFacts:
    """Parses a part once, keeping nothing."""
    scan = _Scan(f"{path}: {one_line(name)[:80]}", budget)
    parser = expat.ParserCreate()
    parser.buffer_text = True
    parser.StartDoctypeDeclHandler = scan.doctype
    parser.StartElementHandler = scan.begin
    parser.EndElementHandler = scan.end
    parser.CharacterDataHandler = scan.text
    try:
        parser.Parse(data, True)
    except expat.ExpatError as error:
        raise WorkbookError(f"{scan.where} is no good XML: {error}; {_RIGHT}") from None
    return scan.facts


class _Scan:
    """Handlers that find what is refused, and cells that a reader would trip over."""

    def __init__(self, where: str, budget: _Budget) -> None:
        self.where = where
        self.facts = PartFacts()
        self._budget = budget
        self._cell = ""
        self._numeric = False
        self._value: list[str] | None = None  # text of the value that is open
        self._length = 0

    def doctype(self, *_: object) -> None:
        raise WorkbookError(
            f"{self.where} declares a document type, and may declare entities: refused; no "
            "spreadsheet program writes that"
        )

    def begin(self, name: str, attributes: dict[str, str]) -> None:
        self._budget.element()
        local = name.rpartition(":")[2]
        if local == "c":
            self._cell = attributes.get("r", "")
            self._numeric = attributes.get("t", "n") == "n"
        elif local == "v":
            self._value, self._length = [], 0

    def text(self, text: str) -> None:
        if self._value is not None and self._length <= _MOST_DIGITS:
            self._value.append(text)
            self._length += len(text)

    def end(self, name: str) -> None:
        if self._value is None or name.rpartition(":")[2] != "v":
            return
        text, self._value = "".join(self._value), None
        facts, number = self.facts, text.strip()
        good = len(number) <= _MOST_DIGITS and _NUMBER.fullmatch(number)
        if number and self._numeric and not good and facts.bad_cell is None:
            facts.bad_cell = (one_line(self._cell)[:20], one_line(number)[:40])
        digits = self._cell.lstrip("ABCDEFGHIJKLMNOPQRSTUVWXYZ")[:10]
        if facts.beyond is None and digits.isdigit() and int(digits) > LAST_ROW:
            facts.beyond = one_line(self._cell)[:20]
