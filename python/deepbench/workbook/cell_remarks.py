"""Remarks about cells: one line for each kind of remark, with the addresses of its cells.

A mistake in a workbook often affects a whole column, so cells with the same kind of remark share
one line.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from deepbench.workbook.cells import CellError

_MAX_ADDRESSES = 10_000  # stored for each kind; all are counted
_MAX_KINDS = 500
_OTHERS = "is wrong in other ways"  # the kind of all further kinds
_MAX_RANGES = 20  # in one line
_ADDRESS = re.compile(r"(.*)!([A-Z]*)(\d+)", re.DOTALL)


@dataclass
class _RemarkKind:
    """Remarks that differ only in addresses and values."""

    what: str  # the text of the first remark, with its value
    skipped: bool
    cells: int = 0
    addresses: list[str] = field(default_factory=list)
    count: int = 0


class CellRemarks:
    """Remarks about cells, grouped by kind."""

    def __init__(self) -> None:
        self._kinds: dict[str, _RemarkKind] = {}
        self.sums = 0  # sums over phases, which follow from other times and are not rows

    def add(self, address: str, what: str, kind: str | None = None) -> None:
        """`kind` identifies the kind of the remark if `what` contains values."""
        self._add(address, _RemarkKind(what, False), kind or what, 1)

    def add_skipped(
        self,
        address: str,
        why: CellError | str,
        what: str = "it was",
        cells: int = 1,
        detail: str = "",
    ) -> None:
        """Adds a remark on `cells` cells that were skipped. `what` precedes the word "skipped".
        `detail` is the reason with values that other remarks of the kind do not share."""
        reason = why.reason if isinstance(why, CellError) else why
        line = f"{detail or why}; {what} skipped"
        self._add(address, _RemarkKind(line, True), reason, cells)

    def _add(self, address: str, new: _RemarkKind, key: str, cells: int) -> None:
        known = key in self._kinds or len(self._kinds) < _MAX_KINDS
        kind = self._kinds.setdefault(key if known else _OTHERS, new)
        kind.cells += cells
        kind.count += 1
        if len(kind.addresses) < _MAX_ADDRESSES:
            kind.addresses.append(address)

    @property
    def lines(self) -> tuple[str, ...]:
        """One line for each kind: the first remark in full, then the addresses of the others."""
        return tuple(_remark_line(kind) for kind in self._kinds.values())

    @property
    def reasons(self) -> Mapping[str, int]:
        """How many cells were skipped, by reason."""
        return {reason: kind.cells for reason, kind in self._kinds.items() if kind.skipped}


def _remark_line(kind: _RemarkKind) -> str:
    first, *others = kind.addresses
    line = f"{first}: {kind.what}"
    if not others:
        return line
    ranges = list(_address_ranges(first.rpartition("!")[0], others))
    shown = ", ".join(ranges[:_MAX_RANGES])
    cut = len(ranges) > _MAX_RANGES or kind.count > len(kind.addresses)
    return f"{line}; {kind.count - 1} more: {shown}{', ...' if cut else ''}"


def _address_ranges(sheet: str, addresses: Sequence[str]) -> Iterator[str]:
    """Joins adjacent addresses of a column: 'L84:L106'. The sheet is named where it changes."""
    columns: defaultdict[tuple[str, str], list[int]] = defaultdict(list)
    for address in addresses:
        if found := _ADDRESS.fullmatch(address):
            columns[found[1], found[2]].append(int(found[3]))
    for (name, letters), rows in columns.items():
        begin = last = 0
        for row in [*sorted(set(rows)), 0]:
            if row == last + 1 and begin:
                last = row
                continue
            if begin:
                end = f":{letters}{last}" if last > begin else ""
                yield f"{'' if name == sheet else f'{name}!'}{letters}{begin}{end}"
                sheet = name
            begin = last = row
