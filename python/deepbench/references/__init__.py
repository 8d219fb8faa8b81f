"""The figures that the original published, as result files that can be compared with.

One compressed file for each of its 14 processors, made by tools/published_references.py; index.json
says what is in them without opening any.
"""

from __future__ import annotations

import hashlib
import json
import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from deepbench import results
from deepbench.errors import UserError

_FOLDER = Path(__file__).parent
_MAX_FILE_BYTES = 16 << 20  # bytes that a file may have when it is unpacked
_FEWEST_LETTERS = 2  # that can mean a processor
_TUPLES = ("sets", "precisions", "workbooks")
_GZIP = 31  # zlib's word for a gzip header


class UnknownReference(UserError):
    """A reference that there is not, or that is damaged. One line."""


@dataclass(frozen=True)
class Reference:
    """What is known of a reference without opening it."""

    name: str
    file: str
    bytes: int
    sha256: str
    rows: int
    inconsistent: int
    sets: tuple[str, ...]
    ops: Mapping[str, int]  # rows by operation
    precisions: tuple[str, ...]
    workbooks: tuple[str, ...]


@cache
def available() -> tuple[Reference, ...]:
    """Every reference, by name."""
    listed = json.loads((_FOLDER / "index.json").read_text(encoding="utf-8"))
    return tuple(_described(facts) for facts in listed)


def _described(facts: dict[str, Any]) -> Reference:
    return Reference(**{**facts, **{key: tuple(facts[key]) for key in _TUPLES}})


def find(words: str) -> Reference | None:
    """The reference that is called so, or whose last words are these, or else whose name contains
    them: 'v100' is 'NVIDIA Tesla V100'. None if there is none. Raises UnknownReference if there
    are several."""
    wanted = _letters(words)
    if len(wanted) < _FEWEST_LETTERS:
        return None
    ending = [reference for reference in available() if wanted in _endings(reference.name)]
    whole = [reference for reference in ending if wanted == _letters(reference.name)]
    inside = [reference for reference in available() if wanted in _letters(reference.name)]
    found = whole or ending or inside
    if len(found) > 1:
        several = ", ".join(reference.name for reference in found)
        raise UnknownReference(f"{words!r} may be any of {several}: say which")
    return found[0] if found else None


def load(reference: Reference) -> results.ResultFile:
    """The reference's context and rows. Raises UnknownReference."""
    try:
        packed = (_FOLDER / reference.file).read_bytes()
    except OSError as error:
        raise UnknownReference(f"{reference.file}: {error.strerror}; reinstall deepbench") from None
    data = unpacked(packed, min(reference.bytes, _MAX_FILE_BYTES))
    if data is None or hashlib.sha256(data).hexdigest() != reference.sha256:
        raise UnknownReference(f"{reference.file} is damaged; reinstall deepbench")
    return results.parsed(Path(reference.name), data)


def unpacked(packed: bytes, most: int) -> bytes | None:
    """What gzip packed, if that is at most so many bytes; nothing beyond them is unpacked."""
    stream = zlib.decompressobj(_GZIP)
    try:
        data = stream.decompress(packed, most + 1)
    except zlib.error:
        return None
    return data if stream.eof and len(data) <= most else None


def _endings(name: str) -> set[str]:
    """Its last word, its last two words, ... all of it."""
    words = name.split()
    return {_letters("".join(words[first:])) for first in range(len(words))}


def _letters(text: str) -> str:
    return "".join(letter for letter in text.lower() if letter.isalnum())
