"""The file of a workbook: a ZIP archive whose parts are unpacked in memory on demand.

Workbooks are untrusted. Large, locked or malformed archives are rejected by their directory before
anything is unpacked, and no part unpacks to more than the directory states. Only parts that are
stored or deflated are unpacked, since zipfile unpacks the data of other methods without a limit.
"""

from __future__ import annotations

import io
import zipfile
import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from deepbench.errors import printable_line
from deepbench.input_files import NotRegularFile, TooLargeFile, read_whole
from deepbench.workbook.errors import WorkbookError

_LARGEST_FILE = 64 << 20  # packed size in bytes
_LARGEST_PARTS = 128 << 20  # unpacked size of all parts in bytes; 2000 rows take about 10 MiB
_MAX_PARTS = 1000
_CHUNK = 1 << 18
_LOCKED = 0x1  # flag of a part that needs a password
_METHODS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)  # those that the format of workbooks permits
_LONGEST_NAME = 100  # characters of a part's name in a message
# The first bytes of an old .xls file or an encrypted .xlsx file.
_OLE = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"
_CURE = "save it as .xlsx and try again"
_DAMAGES = (zipfile.BadZipFile, zlib.error, EOFError, OSError, ValueError, NotImplementedError,
            RuntimeError)  # fmt: skip


@dataclass(frozen=True)
class Package:
    """An archive with a valid directory."""

    path: Path
    archive: zipfile.ZipFile
    parts: Mapping[str, zipfile.ZipInfo]

    @property
    def macros(self) -> bool:
        return any(name.lower().endswith("vbaproject.bin") for name in self.parts)

    def part(self, name: str) -> bytes:
        """The content of a part. It is read piece by piece, since a single read would unpack
        everything before it cuts off what exceeds the size in the directory."""
        pieces = []
        try:
            with self.archive.open(self.parts[name]) as part:
                while piece := part.read(_CHUNK):
                    pieces.append(piece)
        except _DAMAGES as error:
            raise damaged_error(self.path, error) from None
        return b"".join(pieces)


def damaged_error(path: Path, error: object) -> WorkbookError:
    """The error for a file that is not a valid workbook."""
    why = printable_line(str(error))[:200]
    return WorkbookError(f"{path}: is not an .xlsx workbook, or is truncated: {why}; {_CURE}")


def open_package(path: Path) -> Package:
    """Opens the archive. Raises WorkbookError unless its directory is that of a workbook."""
    data = _read_file(path)
    if data.startswith(_OLE):
        raise WorkbookError(
            f"{path}: is encrypted or in the old .xls format; save it as .xlsx without a password"
        )
    try:
        archive = zipfile.ZipFile(io.BytesIO(data))
    except _DAMAGES as error:
        raise damaged_error(path, error) from None
    infos = archive.infolist()
    parts = {info.filename: info for info in infos}
    if "[Content_Types].xml" not in parts:
        raise WorkbookError(f"{path}: is a ZIP archive, but not a workbook; {_CURE}")
    if len(infos) > _MAX_PARTS or len(parts) < len(infos):
        raise WorkbookError(f"{path}: has parts that no spreadsheet program writes; {_CURE}")
    if any(info.flag_bits & _LOCKED for info in infos):
        raise WorkbookError(f"{path}: is encrypted; save it without a password")
    for info in infos:
        if info.compress_type not in _METHODS:
            part = printable_line(info.filename)[:_LONGEST_NAME]
            raise WorkbookError(
                f"{path}: {part}: is compressed by a method other than Deflate; {_CURE}"
            )
    if sum(info.file_size for info in infos) > _LARGEST_PARTS:
        raise WorkbookError(
            f"{path}: would unpack to more than {_LARGEST_PARTS >> 20} MiB, the limit for workbooks"
        )
    return Package(path, archive, parts)


def _read_file(path: Path) -> bytes:
    """All bytes of a regular file. Devices and pipes are rejected, since reading them may not
    end."""
    try:
        data = read_whole(path, _LARGEST_FILE)
    except OSError as error:
        raise WorkbookError(f"{path}: {error.strerror or error}") from None
    except NotRegularFile:
        raise WorkbookError(f"{path}: is not a regular file; name an .xlsx workbook") from None
    except TooLargeFile:
        raise WorkbookError(
            f"{path}: is larger than {_LARGEST_FILE >> 20} MiB, the limit for workbooks"
        ) from None
    except ValueError as error:  # a NUL character in the name
        raise WorkbookError(f"{str(path)!r}: {error}") from None
    if not data:
        raise WorkbookError(f"{path}: is empty; name an .xlsx workbook")
    return data
