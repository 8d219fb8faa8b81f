"""What there is to say about cells: a line for each kind of remark, with the addresses it concerns.

A mistake of a workbook stands in a whole column more often than in one cell: what is said of all of
them is said once.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from deepbench.workbook.cells import CellError

_MAX_ADDRESSES = 10_000  # of a kind that are remembered; all are counted
_MOST_KINDS = 500
_OTHERS = "is wrong in other ways"  # the kind of those beyond that many
_MOST_RANGES = 20  # of a line
_ADDRESS = re.compile(r"(.*)!([A-Z]*)(\d+)", re.DOTALL)


@dataclass
class _Kind:
    """Remarks that differ in their addresses and values alone."""

    what: str  # of the first, with its value
    left_out: bool
    cells: int = 0
    addresses: list[str] = field(default_factory=list)
    count: int = 0


class CellRemarks:
    """Remarks about cells, by kind."""

    def __init__(self) -> None:
        self._kinds: dict[str, _Kind] = {}
        self.sums = 0  # over phases: they follow from other times and are no rows

    def add(self, address: str, what: str, kind: str | None = None) -> None:
        """`kind`: what the remark has in common with others, where it holds values."""
        self._add(address, _Kind(what, False), kind or what, 1)

    def add_left_out(
        self,
        address: str,
        why: CellError | str,
        what: str = "it was",
        cells: int = 1,
        said: str = "",
    ) -> None:
        """`what` is the subject and verb of "left out", of so many cells; `said` is the reason with
        values that others of its kind do not share."""
        reason = why.reason if isinstance(why, CellError) else why
        line = f"{said or why}; {what} left out"
        self._add(address, _Kind(line, True), reason, cells)

    def _add(self, address: str, new: _Kind, key: str, cells: int) -> None:
        known = key in self._kinds or len(self._kinds) < _MOST_KINDS
        kind = self._kinds.setdefault(key if known else _OTHERS, new)
        kind.cells += cells
        kind.count += 1
        if len(kind.addresses) < _MAX_ADDRESSES:
            kind.addresses.append(address)

    @property
    def lines(self) -> tuple[str, ...]:
        """One for each kind, in their order: the first remark in full and where the others are."""
        return tuple(_line(kind) for kind in self._kinds.values())

    @property
    def reasons(self) -> Mapping[str, int]:
        """How many cells were left out, by reason."""
        return {reason: kind.cells for reason, kind in self._kinds.items() if kind.left_out}


def _line(kind: _Kind) -> str:
    first, *others = kind.addresses
    line = f"{first}: {kind.what}"
    if not others:
        return line
    ranges = list(_ranges(first.rpartition("!")[0], others))
    shown = ", ".join(ranges[:_MOST_RANGES])
    cut = len(ranges) > _MOST_RANGES or kind.count > len(kind.addresses)
    return f"{line}; {kind.count - 1} more like it: {shown}{', ...' if cut else ''}"


def _ranges(sheet: str, addresses: Sequence[str]) -> Iterator[str]:
    """Places with those below each other as one: 'L84:L106'. A sheet is named where it is another
    than that of the address before."""
    columns: defaultdict[tuple[str, str], list[int]] = defaultdict(list)
    for address in addresses:
        if found := _ADDRESS.fullmatch(address):
            columns[found[1], found[2]].append(int(found[3]))
    for (its, letters), rows in columns.items():
        begin = last = 0
        for row in [*sorted(set(rows)), 0]:
            if row == last + 1 and begin:
                last = row
                continue
            if begin:
                end = f":{letters}{last}" if last > begin else ""
                yield f"{'' if its == sheet else f'{its}!'}{letters}{begin}{end}"
                sheet = its
            begin = last = row
