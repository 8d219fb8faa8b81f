"""Which row of one side belongs to which of the other.

A file may hold a problem more than once: duplicates of the original's sets, several libraries or
regimes. Closest relatives are paired first, and rows of equal rank in their order.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Hashable, Iterable, Sequence
from dataclasses import dataclass
from itertools import islice, takewhile

from deepbench.errors import UserError

from .regimes import cache_state, differences, kind, problem_keys, regime
from .result_set import TOTAL, Entry, ResultSet
from .unmatched_reasons import UnmatchedReasons, nothing_in_common

Keys = Callable[[Entry, Collection[str]], Iterable[Hashable]]

_MAX_CANDIDATES = 64  # rows of one key that are tried before a row counts as alone


class NothingInCommon(UserError):
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


def match(first: ResultSet, second: ResultSet, across: Collection[str] = ()) -> Matching:
    """Finds the rows that belong together. Raises NothingInCommon."""
    pairing = _Pairing(first, second, across)
    relations = [
        _same_setup_keys,
        _same_regime_keys,
        _same_cache_and_application_keys,
        _same_cache_keys,
        _same_application_keys,
        problem_keys,
    ]
    relations += [*([_same_kind_keys] if "dimensions" in across else [])]
    for relation in relations:
        pairing.join(relation)
    if not pairing.partners:
        raise NothingInCommon(nothing_in_common(first, second, across))
    pairs = tuple((first.entries[i], pairing.partners[i]) for i in sorted(pairing.partners))
    compared = [entry for pair in pairs for entry in pair if entry.phase not in (None, TOTAL)]
    unpaired_first = [e for index, e in enumerate(first.entries) if index not in pairing.partners]
    only_first, only_second = (
        _without_sums(some, compared) for some in (unpaired_first, pairing.unpaired_second.values())
    )
    there, here = UnmatchedReasons(second.entries, across), UnmatchedReasons(first.entries, across)
    return Matching(
        pairs,
        tuple(Unmatched(entry, there.why_unmatched(entry)) for entry in only_first),
        tuple(Unmatched(entry, here.why_unmatched(entry)) for entry in only_second),
        len(unpaired_first) - len(only_first) + len(pairing.unpaired_second) - len(only_second),
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

    def __init__(self, first: ResultSet, second: ResultSet, across: Collection[str]) -> None:
        self.partners: dict[int, Entry] = {}  # by index in the first side
        self.unpaired_second: dict[int, Entry] = dict(enumerate(second.entries))
        self._entries, self._across = first.entries, across

    def join(self, keys: Keys) -> None:
        """Gives every row without a partner the first that is left of the same key."""
        candidates: dict[Hashable, dict[int, None]] = defaultdict(dict)  # ordered sets
        for number, entry in self.unpaired_second.items():
            for key in keys(entry, self._across):
                candidates[key][number] = None
        for index, entry in enumerate(self._entries):
            for key in keys(entry, self._across) if index not in self.partners else ():
                found = self._first(entry, candidates.get(key) or {})
                if found is not None:
                    self.partners[index] = self.unpaired_second.pop(found)
                    break

    def _first(self, entry: Entry, candidates: dict[int, None]) -> int | None:
        """The first of the waiting rows that may be compared; those that are gone are dropped."""
        gone = list(takewhile(lambda number: number not in self.unpaired_second, candidates))
        for number in gone:
            del candidates[number]
        for number in islice(candidates, _MAX_CANDIDATES):
            if number in self.unpaired_second and not differences(
                entry, self.unpaired_second[number], self._across
            ):
                return number
        return None


def _same_setup_keys(entry: Entry, across: Collection[str]) -> list[Hashable]:
    """Regime, application, library and choice of algorithm agree."""
    library = (entry.library or "").split(" ")[0]
    setup = (regime(entry), entry.application, library, entry.algorithm)
    return [(problem, setup) for problem in problem_keys(entry, across)]


def _same_regime_keys(entry: Entry, across: Collection[str]) -> list[Hashable]:
    """Regime and application agree."""
    setup = (regime(entry), entry.application)
    return [(problem, setup) for problem in problem_keys(entry, across)]


def _same_cache_and_application_keys(entry: Entry, across: Collection[str]) -> list[Hashable]:
    """Caches and application agree: all of the regime that published figures tell."""
    setup = (cache_state(entry), entry.application)
    return [(problem, setup) for problem in problem_keys(entry, across)]


def _same_cache_keys(entry: Entry, across: Collection[str]) -> list[Hashable]:
    """Of figures that are hot, none is for a cold row while a hot one has none."""
    return [(problem, cache_state(entry)) for problem in problem_keys(entry, across)]


def _same_application_keys(entry: Entry, across: Collection[str]) -> list[Hashable]:
    return [(problem, entry.application) for problem in problem_keys(entry, across)]


def _same_kind_keys(entry: Entry, across: Collection[str]) -> list[Hashable]:
    """What is left of an operation, whatever its dimensions."""
    return [kind(entry, across)]
