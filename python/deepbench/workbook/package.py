"""A workbook's file: a ZIP of parts, of which those that are asked for are unpacked in memory.

Workbooks come from strangers. What is too large, locked or oddly made is refused by the ZIP's
directory before anything is inflated, and no part inflates to more than the directory says.
"""

from __future__ import annotations

import io
import os
import stat
import zipfile
import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from deepbench.errors import printable_line
from deepbench.workbook.errors import WorkbookError

_LARGEST_FILE = 64 << 20  # bytes, packed
_LARGEST_PARTS = 128 << 20  # bytes of all parts, unpacked; ours have some 10 MiB for 2000 rows
_MOST_PARTS = 1000
_CHUNK = 1 << 18
_LOCKED = 0x1  # flag of a part that needs a password
_OLE = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"  # how old .xls files begin, and encrypted .xlsx
_RIGHT = "save it as .xlsx and try again"
_DAMAGES = (zipfile.BadZipFile, zlib.error, EOFError, OSError, ValueError, NotImplementedError,
            RuntimeError)  # fmt: skip


@dataclass(frozen=True)
class Package:
    """A file whose directory is in order."""

    path: Path
    archive: zipfile.ZipFile
    parts: Mapping[str, zipfile.ZipInfo]

    @property
    def macros(self) -> bool:
        return any(name.lower().endswith("vbaproject.bin") for name in self.parts)

    def part(self, name: str) -> bytes:
        """A part's content. Read piece by piece: asked for all at once, zipfile inflates what
        there is before it cuts off what is more than the directory says."""
        pieces = []
        try:
            with self.archive.open(self.parts[name]) as part:
                while piece := part.read(_CHUNK):
                    pieces.append(piece)
        except _DAMAGES as error:
            raise damaged_error(self.path, error) from None
        return b"".join(pieces)


def damaged_error(path: Path, error: object) -> WorkbookError:
    """What is said of a file that is no good workbook."""
    why = printable_line(str(error))[:200]
    return WorkbookError(f"{path}: is no .xlsx workbook, or is cut short: {why}; {_RIGHT}")


def open_package(path: Path) -> Package:
    """The file's directory. Raises WorkbookError unless it is that of a workbook."""
    data = _content(path)
    if data.startswith(_OLE):
        raise WorkbookError(
            f"{path}: is encrypted, or an .xls of old; save it as .xlsx without a password"
        )
    try:
        archive = zipfile.ZipFile(io.BytesIO(data))
    except _DAMAGES as error:
        raise damaged_error(path, error) from None
    infos = archive.infolist()
    parts = {info.filename: info for info in infos}
    if "[Content_Types].xml" not in parts:
        raise WorkbookError(f"{path}: is a ZIP, but no workbook; {_RIGHT}")
    if len(infos) > _MOST_PARTS or len(parts) < len(infos):
        raise WorkbookError(f"{path}: has parts that no spreadsheet program writes; {_RIGHT}")
    if any(info.flag_bits & _LOCKED for info in infos):
        raise WorkbookError(f"{path}: is encrypted; save it without a password")
    if sum(info.file_size for info in infos) > _LARGEST_PARTS:
        raise WorkbookError(
            f"{path}: would unpack to more than {_LARGEST_PARTS >> 20} MiB; no result workbook does"
        )
    return Package(path, archive, parts)


def _content(path: Path) -> bytes:
    """All bytes of a regular file: what has no end, or waits for a writer, is refused."""
    try:
        with open(path, "rb", opener=_without_waiting) as file:
            facts = os.fstat(file.fileno())
            if not stat.S_ISREG(facts.st_mode):
                raise WorkbookError(f"{path}: is no regular file; name a workbook, an .xlsx")
            data = file.read(min(facts.st_size, _LARGEST_FILE) + 1)
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
