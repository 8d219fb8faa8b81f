"""Which row of one side belongs to which of the other.

A file may hold a problem more than once: duplicates of the original's sets, several libraries or
regimes. Closest relatives are paired first, and rows of equal rank in their order.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Hashable, Iterable, Sequence
from dataclasses import dataclass
from itertools import islice, takewhile

from deepbench.refusal import Refusal

from .reasons import Reasons, nothing_in_common
from .regimes import differences, kind, problems, regime, warmth
from .sides import TOTAL, Entry, Side

Keys = Callable[[Entry, Collection[str]], Iterable[Hashable]]

_CLOSE = 64  # rows of one key that are tried before a row counts as alone


class NothingInCommon(Refusal):
    """Sides of which no row can be compared. One line that names what would help."""


@dataclass(frozen=True)
class Unmatched:
    """A row without a partner, and why."""

    entry: Entry
    reason: str


@dataclass(frozen=True)
class Matching:
    """The rows of two sides."""

    pairs: tuple[tuple[Entry, Entry], ...]  # in the order of the first side
    only_first: tuple[Unmatched, ...]
    only_second: tuple[Unmatched, ...]
    derived: int  # sums over phases without a partner, while their phases have one


def match(first: Side, second: Side, across: Collection[str] = ()) -> Matching:
    """Finds the rows that belong together. Raises NothingInCommon."""
    pairing = _Pairing(first, second, across)
    relations = [_twins, _siblings, _cousins, _of_cache, _of_application, problems]
    relations += [*([_kind] if "dimensions" in across else [])]
    for relation in relations:
        pairing.join(relation)
    if not pairing.partners:
        raise NothingInCommon(nothing_in_common(first, second, across))
    pairs = tuple((first.entries[i], pairing.partners[i]) for i in sorted(pairing.partners))
    compared = [entry for pair in pairs for entry in pair if entry.phase not in (None, TOTAL)]
    lonely = [e for index, e in enumerate(first.entries) if index not in pairing.partners]
    alone, left = (_without_sums(some, compared) for some in (lonely, pairing.left.values()))
    there, here = Reasons(second.entries, across), Reasons(first.entries, across)
    return Matching(
        pairs,
        tuple(Unmatched(entry, there.alone(entry)) for entry in alone),
        tuple(Unmatched(entry, here.alone(entry)) for entry in left),
        len(lonely) - len(alone) + len(pairing.left) - len(left),
    )


def _without_sums(entries: Iterable[Entry], phases: Sequence[Entry]) -> list[Entry]:
    """Without published figures that only add up phases that are compared one by one. A sum has
    fewer attributes than the phases have: those that its sheet names."""
    known: dict[tuple[str, ...], set[Hashable]] = {}

    def values(entry: Entry, names: tuple[str, ...]) -> Hashable:
        return entry.op, tuple(entry.attributes.get(name) for name in names)

    def is_sum(entry: Entry) -> bool:
        names = tuple(name for name in entry.attributes if name != "phase")
        if names not in known:
            known[names] = {values(phase, names) for phase in phases}
        return values(entry, names) in known[names]

    return [e for e in entries if not (e.published and e.phase == TOTAL and is_sum(e))]


class _Pairing:
    """Pairs found so far, and what is left of the second side."""

    def __init__(self, first: Side, second: Side, across: Collection[str]) -> None:
        self.partners: dict[int, Entry] = {}  # by index in the first side
        self.left: dict[int, Entry] = dict(enumerate(second.entries))
        self._entries, self._across = first.entries, across

    def join(self, keys: Keys) -> None:
        """Gives every row without a partner the first that is left of the same key."""
        waiting: dict[Hashable, dict[int, None]] = defaultdict(dict)  # ordered sets
        for number, entry in self.left.items():
            for key in keys(entry, self._across):
                waiting[key][number] = None
        for index, entry in enumerate(self._entries):
            for key in keys(entry, self._across) if index not in self.partners else ():
                found = self._first(entry, waiting.get(key) or {})
                if found is not None:
                    self.partners[index] = self.left.pop(found)
                    break

    def _first(self, entry: Entry, waiting: dict[int, None]) -> int | None:
        """The first of the waiting rows that may be compared; those that are gone are dropped."""
        gone = list(takewhile(lambda number: number not in self.left, waiting))
        for number in gone:
            del waiting[number]
        for number in islice(waiting, _CLOSE):
            if number in self.left and not differences(entry, self.left[number], self._across):
                return number
        return None


def _twins(entry: Entry, across: Collection[str]) -> list[Hashable]:
    """Regime, application, library and choice of algorithm agree."""
    library = (entry.library or "").split(" ")[0]
    own = (regime(entry), entry.application, library, entry.algorithm)
    return [(problem, own) for problem in problems(entry, across)]


def _siblings(entry: Entry, across: Collection[str]) -> list[Hashable]:
    """Regime and application agree."""
    own = (regime(entry), entry.application)
    return [(problem, own) for problem in problems(entry, across)]


def _cousins(entry: Entry, across: Collection[str]) -> list[Hashable]:
    """Caches and application agree: all of the regime that published figures tell."""
    own = (warmth(entry), entry.application)
    return [(problem, own) for problem in problems(entry, across)]


def _of_cache(entry: Entry, across: Collection[str]) -> list[Hashable]:
    """Of figures that are hot, none is for a cold row while a hot one has none."""
    return [(problem, warmth(entry)) for problem in problems(entry, across)]


def _of_application(entry: Entry, across: Collection[str]) -> list[Hashable]:
    return [(problem, entry.application) for problem in problems(entry, across)]


def _kind(entry: Entry, across: Collection[str]) -> list[Hashable]:
    """What is left of an operation, whatever its dimensions."""
    return [kind(entry, across)]
