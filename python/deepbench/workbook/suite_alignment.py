"""Aligns the rows of a table with the original's sets: identifies the set and each row's problem,
and finds misprinted dimensions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache

from deepbench import suites

Value = int | float | str


@dataclass(frozen=True)
class SuitePosition:
    """The position of a row in a set."""

    set: str | None
    index: int | None
    application: str | None = None
    meant: Mapping[str, Value] | None = None  # the set's values of misprinted dimensions


class SuiteAlignment:
    """Aligns the rows of a table in their order. `set` is None if they belong to no set."""

    def __init__(self, op: str, set: str | None) -> None:
        self.set = set
        self._suite_problems = _suite_problems(set, op)
        self._entries = self._suite_problems.entries
        self._next = 0

    def align(self, problem: Mapping[str, Value]) -> SuitePosition:
        """The position of the next row."""
        wanted = _comparable_problem(problem)
        found = self._suite_problems.indices_of(wanted)
        if not found:
            return self._misprinted(problem, wanted)
        index = next((one for one in found if one >= self._next), found[0])
        self._advance_behind(index, problem)
        return SuitePosition(self.set, index, self._entries[index][1])

    def _advance_behind(self, index: int, problem: Mapping[str, Value]) -> None:
        """Continues with the next problem, or with the same one if the rows differ in ranks."""
        self._next = index if "ranks" in problem else index + 1

    def _misprinted(
        self, problem: Mapping[str, Value], wanted: Mapping[str, Value]
    ) -> SuitePosition:
        """The current problem or the one after it, if exactly one dimension differs. If both
        qualify, the one with the smaller difference."""
        found = []
        for index in range(self._next, min(self._next + 2, len(self._entries))):
            entry = self._entries[index][0]
            differing = {key: right for key, right in entry.items() if wanted.get(key) != right}
            if len(differing) == 1:
                [(key, right)] = differing.items()
                found.append((_relative_difference(wanted.get(key), right), index, differing))
        if not found:
            return SuitePosition(self.set, None)
        _, index, meant = min(found, key=lambda one: one[:2])
        self._advance_behind(index, problem)
        return SuitePosition(self.set, index, self._entries[index][1], meant)


def best_matching_set(
    problems: Sequence[tuple[str, Mapping[str, Value]]], training: bool
) -> str | None:
    """The set that contains most of these problems, given by operation and dimensions. Tables with
    gradients belong to the training set."""
    if training:
        return suites.SETS[0]
    counts = dict.fromkeys(suites.SETS, 0)
    for op, problem in problems:
        wanted = _comparable_problem(problem)
        for name in suites.SETS:
            counts[name] += bool(_suite_problems(name, op).indices_of(wanted))
    best = max(counts, key=lambda name: counts[name])
    return best if counts[best] else None


def _relative_difference(one: Value | None, other: Value) -> float:
    """The relative difference of two values of a dimension; 1 for different words."""
    if not isinstance(one, float) or not isinstance(other, float):
        return 1.0
    return abs(one - other) / max(abs(one), abs(other), 1.0)


class _SuiteProblems:
    """The problems of an operation in a set, with their applications."""

    def __init__(self, entries: Sequence[tuple[dict[str, Value], str | None]]) -> None:
        self.entries = entries
        # In practice there is nearly always a single one.
        self._keys = {frozenset(entry) for entry, _ in entries}
        self._indices_by_problem: dict[frozenset[tuple[str, Value]], list[int]] = {}
        for index, (entry, _) in enumerate(entries):
            self._indices_by_problem.setdefault(frozenset(entry.items()), []).append(index)

    def indices_of(self, wanted: Mapping[str, Value]) -> Sequence[int]:
        """The indices of a problem in the set. Dimensions that the set does not have are
        ignored."""
        for keys in self._keys:
            items = frozenset((key, value) for key, value in wanted.items() if key in keys)
            if items in self._indices_by_problem:
                return self._indices_by_problem[items]
        return ()


@cache
def _suite_problems(name: str | None, op: str) -> _SuiteProblems:
    exists = (name, op) in suites.available()
    found = []
    entries = suites.builtin(str(name), op).entries if exists else ()
    for entry in entries:
        words = dict(word.split("=", 1) for word in entry.text.split()[1:] if "=" in word)
        found.append((_comparable_problem(words), entry.application))
    return _SuiteProblems(found)


def _comparable_problem(problem: Mapping[str, Value]) -> dict[str, Value]:
    return {key: _number_or_text(value) for key, value in problem.items()}


def _number_or_text(value: Value) -> Value:
    try:
        return float(value)
    except ValueError:
        return value
