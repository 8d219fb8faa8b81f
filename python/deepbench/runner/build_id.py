"""The build ID of a library or program (.note.gnu.build-id): a digest that its linker makes, by
default of the linked contents, so that files with the same ID have the same code, apart from
stripped symbols."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

_HEADER = 64  # bytes of the header of a 64-bit file
_ELF64 = b"\x7fELF\x02"
_SEGMENT = "IIQQQQQQ"  # type, flags, offset, two addresses, two lengths, alignment
_NOTES = 4  # the type of a segment of notes
_BUILD_ID = 3  # the type of a note of GNU with the build ID
_MAX_SEGMENTS = 256
_MAX_NOTES_BYTES = 1 << 16


def build_id(path: str | Path | None) -> str | None:
    """The build ID in hexadecimal digits; None if the file cannot be read or has none."""
    try:
        if path is None or not Path(path).is_file():
            return None
        with Path(path).open("rb") as file:
            return next(_build_ids(file), None)
    except (OSError, ValueError, struct.error):
        return None


def _build_ids(file: BinaryIO) -> Iterator[str]:
    header = file.read(_HEADER)
    if len(header) < _HEADER or not header.startswith(_ELF64):
        return
    order = "<" if header[5] == 1 else ">"
    (table,) = struct.unpack_from(f"{order}Q", header, 32)
    size, count = struct.unpack_from(f"{order}HH", header, 54)
    segment = struct.Struct(order + _SEGMENT)
    for index in range(min(count, _MAX_SEGMENTS)):
        file.seek(table + index * size)
        kind, _, begin, _, _, length, _, alignment = segment.unpack(file.read(segment.size))
        if kind == _NOTES:
            file.seek(begin)
            notes = file.read(min(length, _MAX_NOTES_BYTES))
            yield from _build_ids_of_notes(notes, order, 8 if alignment == 8 else 4)


def _build_ids_of_notes(notes: bytes, order: str, alignment: int) -> Iterator[str]:
    place = 0
    while place + 12 <= len(notes):
        name_bytes, value_bytes, kind = struct.unpack_from(f"{order}III", notes, place)
        name = place + 12
        value = _aligned(name + name_bytes, alignment)
        end = value + value_bytes
        if kind == _BUILD_ID and notes[name : name + name_bytes] == b"GNU\0" and end <= len(notes):
            yield notes[value:end].hex()
        place = _aligned(end, alignment)


def _aligned(place: int, alignment: int) -> int:
    return -(-place // alignment) * alignment
