"""Why rows have no partner, and why two sides have nothing in common: in words, with what helps."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Hashable, Iterable, Sequence

from .regimes import described, differences, kind, problems
from .sides import TYPES, Entry, Side

_EXAMPLES = 4  # rows of one problem that are looked at


class Reasons:
    """Answers for the rows of one side, by the rows of the other."""

    def __init__(self, others: Iterable[Entry], across: Collection[str]) -> None:
        self._across = across
        self._by_problem: dict[Hashable, list[Entry]] = defaultdict(list)
        for other in others:
            for problem in problems(other, across):
                if len(self._by_problem[problem]) < _EXAMPLES:
                    self._by_problem[problem].append(other)

    def alone(self, entry: Entry) -> str:
        """Why a row has no partner on the other side."""
        same = self._same(entry)
        for other in same:
            words = differences(entry, other, self._across)
            if words:
                return f"{described(other, words)} there"
        return "fewer rows of this problem there" if same else "not there"

    def differing(self, entries: Iterable[Entry]) -> tuple[Entry, Entry, list[str]] | None:
        """The first row whose problem the other side has in another regime only."""
        for entry in entries:
            for other in self._same(entry):
                words = differences(entry, other, self._across)
                if words:
                    return entry, other, words
        return None

    def _same(self, entry: Entry) -> list[Entry]:
        return [
            other
            for problem in problems(entry, self._across)
            for other in self._by_problem.get(problem, ())
        ]


def nothing_in_common(first: Side, second: Side, across: Collection[str]) -> str:
    """One line for two sides of which no row can be compared."""
    for side in (first, second):
        if not side.entries:
            return f"{side.name} has no rows: there is nothing to compare"
    differing = Reasons(second.entries, across).differing(first.entries)
    if differing:
        a, b, words = differing
        return (
            f"{first.name} and {second.name} were measured in other regimes: {described(a, words)} "
            f"there, {described(b, words)} here; {_told(words, across)}"
        )
    sides = f"{first.name} and {second.name}"
    loose = {problem for entry in first.entries for problem in problems(entry, ("precision",))}
    if any(problem in loose for entry in second.entries
           for problem in problems(entry, ("precision",))):  # fmt: skip
        types = _types(first, second)
        return f"{sides} have other precisions: {types}; {_told(['precision'], across)}"
    ops = [list(dict.fromkeys(entry.op for entry in side.entries)) for side in (first, second)]
    for words in (["dimensions"], ["precision", "dimensions"]):
        if not set(words) <= set(across) and _kinds(first, across, words) & _kinds(
            second, across, words
        ):
            return f"{sides} have no problem in common; {_told(words, across)}, row by row"
    return f"{sides} have nothing in common: {' '.join(ops[0])} there, {' '.join(ops[1])} here"


def _kinds(side: Side, across: Collection[str], words: Sequence[str]) -> set[Hashable]:
    return {kind(entry, [*across, *words]) for entry in side.entries}


def _types(first: Side, second: Side) -> str:
    """The types of operands in which two sides differ: 'precision float there, half here'."""
    pairs = {name: (_values(first, name), _values(second, name)) for name in TYPES}
    return ", ".join(f"{name} {one} there, {other} here"
                     for name, (one, other) in pairs.items() if one != other)  # fmt: skip


def _told(words: Sequence[str], across: Collection[str]) -> str:
    return f"--across {','.join(dict.fromkeys([*across, *words]))} compares them all the same"


def _values(side: Side, attribute: str) -> str:
    found = (entry.attributes.get(attribute) for entry in side.entries)
    values = dict.fromkeys(str(value) for value in found if value is not None)
    return " ".join(list(values)[:_EXAMPLES]) or "none"
