"""References: result files inside the package, one compressed file for each kind of device.

Published references have the figures of 14 processors that the original benchmark published;
tools/published_references.py creates them and index.json. Measured references have the rows of
devices that deepbench measured; tools/measured_references.py creates them and measured.json. The
indexes describe the files, so that listing them opens none.
"""

from __future__ import annotations

import hashlib
import json
import re
import zlib
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from typing import Any

from deepbench import results
from deepbench.errors import UserError, counted
from deepbench.results.reader import WHOLE, Detail

_FOLDER = Path(__file__).parent
_MAX_FILE_BYTES = 16 << 20  # limit of an unpacked file
_FEWEST_LETTERS = 2  # of a word that names a processor
PUBLISHED, MEASURED = "published", "measured"
_INDEXES = {PUBLISHED: "index.json", MEASURED: "measured.json"}
# Fewer devices do not show the deviation between devices well enough to judge another one.
FEWEST_DEVICES = 5
_MACHINE = re.compile(r"(dmi|os)-[0-9a-f]{16}")  # the identity of a machine
_GZIP = 31  # the `wbits` of zlib for data with a gzip header


class UnknownReference(UserError):
    """A reference does not exist or is damaged. The message is one line."""


@dataclass(frozen=True)
class FamilySpread:
    """By how much devices of one kind differ in the rows of an operation and precision."""

    devices: int
    log_sd: float  # the standard deviation of the logarithm of a device's time


@dataclass(frozen=True)
class Reference:
    """The facts of a reference that an index holds. Those with a default exist for one kind of
    reference only."""

    kind: str  # PUBLISHED or MEASURED
    name: str  # the kind of device
    file: str
    bytes: int
    sha256: str
    rows: int
    sets: Sequence[str]
    ops: Mapping[str, int]  # rows by operation
    precisions: Sequence[str]
    inconsistent: int = 0
    workbooks: Sequence[str] = ()
    backend: str | None = None
    libraries: Mapping[str, str] = field(default_factory=dict)  # versions by name
    driver: str | None = None
    power: Sequence[str] = ()  # the power regimes of its rows
    builds: Sequence[str] = ()  # of deepbench: versions and revisions
    date: str | None = None
    devices: int | None = None  # number of devices that measured its rows
    sources: str | None = None  # a digest of the result files from which it was made
    spread: Mapping[str, FamilySpread] | None = None  # by family, where devices share rows

    @property
    def judging_spread(self) -> Mapping[str, FamilySpread]:
        """The spread of the families that enough devices measured to judge another device by it."""
        known = self.spread or {}
        return {name: one for name, one in known.items() if one.devices >= FEWEST_DEVICES}


def family_of(op: str | None, attributes: Mapping[str, object]) -> str:
    """The key of `spread`: operation and precision, such as 'gemm half'."""
    return " ".join(str(word) for word in (op, attributes.get("precision")) if word is not None)


def kind_of_device(device: Mapping[str, Any]) -> str | None:
    """The kind of a device by its facts: its name, and of a processor also its number of cores, as
    in 'AMD EPYC with 16 cores', because a name does not imply it. None: it has no name."""
    name, cores = device.get("name"), device.get("cores")
    if not name or not cores or not device.get("shares_host_memory"):
        return str(name) if name else None
    return f"{name} with {counted(cores, 'core')}"


def processor_identity(context: Mapping[str, Any]) -> str | None:
    """The identity of the device of a result file if it is a processor, which has no serial number
    that programs can read: the identity of its machine. None: it is no processor, or the identity
    is unknown."""
    device, host = context.get("device") or {}, context.get("host") or {}
    machine = host.get("machine") if device.get("shares_host_memory") else None
    return machine if kind_of_identity(machine) else None


def kind_of_identity(identity: object) -> str | None:
    """`dmi` for the identity that root sees of a machine, `os` for the one that all other users
    see; None for anything else, such as the serial number of a device."""
    found = _MACHINE.fullmatch(identity) if isinstance(identity, str) else None
    return found[1] if found else None


@cache
def available() -> tuple[Reference, ...]:
    """All references, sorted by name."""
    found = [
        _reference_of_facts(kind, facts)
        for kind, index in _INDEXES.items()
        for facts in json.loads((_FOLDER / index).read_text(encoding="utf-8"))
    ]
    return tuple(sorted(found, key=lambda reference: reference.name))


def published() -> tuple[Reference, ...]:
    """The references with figures that the original published."""
    return tuple(reference for reference in available() if reference.kind == PUBLISHED)


def _reference_of_facts(kind: str, facts: dict[str, Any]) -> Reference:
    spread = facts.pop("spread", None)
    by_family = (
        None if spread is None else {key: FamilySpread(**one) for key, one in spread.items()}
    )
    return Reference(kind=kind, spread=by_family, **facts)


def find(words: str) -> Reference | None:
    """The reference whose name is `words`, else ends with these words, else contains them: 'v100'
    finds 'NVIDIA Tesla V100'. None if nothing matches. Raises UnknownReference if several match."""
    wanted = _searchable_letters(words)
    if len(wanted) < _FEWEST_LETTERS:
        return None
    ending = [reference for reference in available() if wanted in _name_endings(reference.name)]
    whole = [reference for reference in ending if wanted == _searchable_letters(reference.name)]
    inside = [
        reference for reference in available() if wanted in _searchable_letters(reference.name)
    ]
    found = whole or ending or inside
    if len(found) > 1:
        several = ", ".join(reference.name for reference in found)
        raise UnknownReference(f"{words!r} may be any of {several}: say which")
    return found[0] if found else None


def load(
    reference: Reference, ops: Collection[str] = (), detail: Detail = WHOLE
) -> results.ResultFile:
    """The reference's context and rows, of these operations alone if there are any: a comparison
    needs no others, and reading takes most of its time. Raises UnknownReference."""
    try:
        packed = (_FOLDER / reference.file).read_bytes()
    except OSError as error:
        raise UnknownReference(f"{reference.file}: {error.strerror}; reinstall deepbench") from None
    data = decompressed_if_small(packed, min(reference.bytes, _MAX_FILE_BYTES))
    if data is None or hashlib.sha256(data).hexdigest() != reference.sha256:
        raise UnknownReference(f"{reference.file} is damaged; reinstall deepbench")
    lines = _lines_of_ops(data, ops) if ops else data
    # The digest says that these are the bytes that the package was made with, whose rows are valid.
    return results.parsed(Path(reference.name), lines, replace(detail, validation=False))


def _lines_of_ops(data: bytes, ops: Collection[str]) -> bytes:
    """The context and the rows of these operations; all rows if there is none of them."""
    context, *rows = data.splitlines(keepends=True)
    members = [f'"op": "{op}"'.encode() for op in ops]
    wanted = [row for row in rows if any(member in row for member in members)]
    return b"".join([context, *(wanted or rows)])


def decompressed_if_small(packed: bytes, most: int) -> bytes | None:
    """The unpacked content of gzip data, or None if it has more than `most` bytes."""
    stream = zlib.decompressobj(_GZIP)
    try:
        data = stream.decompress(packed, most + 1)
    except zlib.error:
        return None
    return data if stream.eof and len(data) <= most else None


def _name_endings(name: str) -> set[str]:
    """The last word of a name, the last two words, and so on up to the whole name."""
    words = name.split()
    return {_searchable_letters("".join(words[first:])) for first in range(len(words))}


def _searchable_letters(text: str) -> str:
    return "".join(letter for letter in text.lower() if letter.isalnum())
