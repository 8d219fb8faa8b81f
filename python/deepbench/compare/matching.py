"""Pairs the rows of two result sets.

A file may hold a problem more than once: the original's sets contain duplicates, and a file may
hold several libraries or regimes. The most similar rows are paired first; equally similar rows are
paired in file order.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Hashable, Iterable, Sequence
from dataclasses import dataclass
from itertools import islice

from deepbench.errors import UserError

from .regimes import cache_state, comparable_kind, differences, problem_keys, regime
from .result_set import TOTAL, Entry, ResultSet
from .unmatched_reasons import UnmatchedReasons, nothing_in_common

Keys = Callable[[Entry, Collection[str]], Iterable[Hashable]]

_MAX_CANDIDATES = 64  # rows with one key that are tried before a row counts as unmatched


class NothingInCommon(UserError):
    """No row of one result set can be compared with a row of the other. The message is one line and
    names what would help."""


@dataclass(frozen=True, slots=True)
class Unmatched:
    """A row without a partner, and the reason."""

    entry: Entry
    reason: str


@dataclass(frozen=True)
class Matching:
    """The pairs and the unmatched rows of two result sets."""

    pairs: tuple[tuple[Entry, Entry], ...]  # in the order of the first result set
    only_first: tuple[Unmatched, ...]
    only_second: tuple[Unmatched, ...]
    derived: int  # omitted sums over phases: they have no partner, but their phases have one


def match(first: ResultSet, second: ResultSet, across: Collection[str] = ()) -> Matching:
    """Pairs the rows of both result sets. Raises NothingInCommon."""
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
        pairing.pair_by_key(relation)
    if not pairing.partners:
        raise NothingInCommon(nothing_in_common(first, second, across))
    pairs = tuple((first.entries[i], pairing.partners[i]) for i in sorted(pairing.partners))
    compared = [entry for pair in pairs for entry in pair if entry.phase not in (None, TOTAL)]
    unpaired_first = [e for index, e in enumerate(first.entries) if index not in pairing.partners]
    only_first, only_second = (
        _without_phase_sums(some, compared)
        for some in (unpaired_first, pairing.unpaired_second.values())
    )
    return Matching(
        pairs,
        _with_reasons(only_first, second, across),
        _with_reasons(only_second, first, across),
        len(unpaired_first) - len(only_first) + len(pairing.unpaired_second) - len(only_second),
    )


def _with_reasons(
    unmatched: Sequence[Entry], others: ResultSet, across: Collection[str]
) -> tuple[Unmatched, ...]:
    if not unmatched:
        return ()
    reasons = UnmatchedReasons(others.entries, across)
    return tuple(Unmatched(entry, reasons.why_unmatched(entry)) for entry in unmatched)


def _without_phase_sums(entries: Iterable[Entry], phases: Sequence[Entry]) -> list[Entry]:
    """Drops the published sums over phases that are compared one by one. A sum has only the
    attributes that its sheet names, fewer than its phases have."""
    known: dict[tuple[str, ...], set[Hashable]] = {}

    def attribute_values(entry: Entry, names: tuple[str, ...]) -> Hashable:
        return entry.op, tuple(entry.attributes.get(name) for name in names)

    def is_sum(entry: Entry) -> bool:
        names = tuple(name for name in entry.attributes if name != "phase")
        if names not in known:
            known[names] = {attribute_values(phase, names) for phase in phases}
        return attribute_values(entry, names) in known[names]

    return [e for e in entries if not (e.published and e.phase == TOTAL and is_sum(e))]


class _Pairing:
    """The pairs found so far, and the unpaired rows of the second result set."""

    def __init__(self, first: ResultSet, second: ResultSet, across: Collection[str]) -> None:
        self.partners: dict[int, Entry] = {}  # by index in the first result set
        self.unpaired_second: dict[int, Entry] = dict(enumerate(second.entries))
        self._entries, self._across = first.entries, across

    def pair_by_key(self, keys: Keys) -> None:
        """Pairs every unpaired row with the first unpaired row of the second set that has the same
        key."""
        # Dicts serve as ordered sets.
        if not self.unpaired_second:
            return
        candidates: dict[Hashable, dict[int, None]] = defaultdict(dict)
        for number, entry in self.unpaired_second.items():
            for key in keys(entry, self._across):
                candidates[key][number] = None
        for index, entry in enumerate(self._entries):
            for key in keys(entry, self._across) if index not in self.partners else ():
                found = self._first_comparable(entry, candidates.get(key) or {})
                if found is not None:
                    self.partners[index] = self.unpaired_second.pop(found)
                    break

    def _first_comparable(self, entry: Entry, candidates: dict[int, None]) -> int | None:
        """The first unpaired candidate in a comparable regime. Drops leading candidates that are
        paired."""
        unpaired = self.unpaired_second
        while candidates and (first := next(iter(candidates))) not in unpaired:
            del candidates[first]
        for number in islice(candidates, _MAX_CANDIDATES):
            if number in unpaired and not differences(entry, unpaired[number], self._across):
                return number
        return None


def _same_setup_keys(entry: Entry, across: Collection[str]) -> list[Hashable]:
    """Keys of rows whose regime, application, library and algorithm mode agree."""
    library = (entry.library or "").split(" ")[0]
    setup = (regime(entry), entry.application, library, entry.algorithm)
    return [(problem, setup) for problem in problem_keys(entry, across)]


def _same_regime_keys(entry: Entry, across: Collection[str]) -> list[Hashable]:
    """Keys of rows whose regime and application agree."""
    setup = (regime(entry), entry.application)
    return [(problem, setup) for problem in problem_keys(entry, across)]


def _same_cache_and_application_keys(entry: Entry, across: Collection[str]) -> list[Hashable]:
    """Keys of rows whose cache state and application agree. Published figures state no other part
    of their regime."""
    setup = (cache_state(entry), entry.application)
    return [(problem, setup) for problem in problem_keys(entry, across)]


def _same_cache_keys(entry: Entry, across: Collection[str]) -> list[Hashable]:
    """Keys of rows whose cache state agrees, so that a hot figure goes to a hot row before a cold
    one."""
    return [(problem, cache_state(entry)) for problem in problem_keys(entry, across)]


def _same_application_keys(entry: Entry, across: Collection[str]) -> list[Hashable]:
    return [(problem, entry.application) for problem in problem_keys(entry, across)]


def _same_kind_keys(entry: Entry, across: Collection[str]) -> list[Hashable]:
    """The key of rows of the same operation, phase and precision, whatever their dimensions."""
    return [comparable_kind(entry, across)]
