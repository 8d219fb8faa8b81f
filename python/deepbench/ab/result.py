"""The result of a run: each row with its pairs, the means of families, and the rows that differ."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property

from deepbench.ab.paired_test import PairedTest, decisive, logarithms
from deepbench.ab.side import Setup
from deepbench.compare.groups import family
from deepbench.compare.result_set import Entry
from deepbench.json_types import JsonObject

# Statuses that do not count against an environment: other work on the machine can make a row
# mistrusted.
_INNOCENT = ("ok", "mistrusted")


@dataclass(frozen=True)
class RowResult:
    """A row in both environments."""

    a: Entry
    b: Entry
    pairs: tuple[tuple[float, float], ...]  # the times in A and B, in ns
    disturbed: int  # number of pairs that other work disturbed

    @cached_property
    def logarithms(self) -> Sequence[float]:
        return logarithms(self.pairs)

    @cached_property
    def test(self) -> PairedTest | None:
        """None: the row has fewer than two pairs."""
        return PairedTest.of(self.logarithms) if self.failed_in is None else None

    @property
    def failed_in(self) -> str | None:
        """The sides in which the row does not run, or is wrong: A, B or both."""
        sides = (("A", self.a), ("B", self.b))
        failed = [name for name, one in sides if one.status not in _INNOCENT]
        return " and ".join(failed) or None

    @property
    def verdict(self) -> str:
        """The verdict of its test, or failed. A row with fewer than two pairs is unresolved."""
        if self.failed_in is not None:
            return "failed"
        return "unresolved" if self.test is None else verdict(self.test)


@dataclass(frozen=True)
class Mean:
    """The geometric mean of rows. It is computed for each pair, and these means are tested like the
    pairs of a row."""

    name: str
    rows: int
    test: PairedTest


@dataclass(frozen=True)
class Library:
    """A library of one name on both sides; None where a side has none."""

    name: str
    a: JsonObject | None
    b: JsonObject | None

    @property
    def is_same(self) -> bool:
        return self.a is not None and self.b is not None and _identity(self.a) == _identity(self.b)


@dataclass(frozen=True)
class AbResult:
    """The whole result."""

    setups: tuple[Setup, Setup]
    contexts: tuple[JsonObject, JsonObject]
    rows: tuple[RowResult, ...]
    pairs: int  # number of pairs that were made

    @property
    def tested(self) -> list[RowResult]:
        return [row for row in self.rows if row.test is not None]

    @cached_property
    def decisive(self) -> list[RowResult]:
        """The rows that decide: those that differ by Holm's rule."""
        tested = self.tested
        found = decisive([row.test.probability for row in tested if row.test is not None])
        return [row for index, row in enumerate(tested) if index in found]

    @property
    def one_sided(self) -> list[RowResult]:
        """The rows that one side alone can run."""
        return [row for row in self.rows if row.failed_in in ("A", "B")]

    @property
    def unresolved(self) -> list[RowResult]:
        return [row for row in self.rows if row.verdict == "unresolved"]

    @property
    def is_different(self) -> bool:
        return bool(self.decisive or self.one_sided)

    @property
    def same_environment(self) -> bool:
        a, b = (setup.variables for setup in self.setups)
        return dict(a) == dict(b)

    @cached_property
    def libraries(self) -> list[Library]:
        """The libraries that a side loaded; if rows name libraries, only these."""
        sides = [_loaded(context) for context in self.contexts]
        names = dict.fromkeys(name for side in sides for name in side)
        used = {_first_word(one.library) for row in self.rows for one in (row.a, row.b)}
        shown = [name for name in names if name in used] or list(names)
        return [Library(name, sides[0].get(name), sides[1].get(name)) for name in shown]

    @cached_property
    def families(self) -> list[Mean]:
        """The means by operation, phase and precision."""
        return _means(self.tested, self.pairs, lambda row: family(row.a, row.b))

    @cached_property
    def mean(self) -> Mean | None:
        return next(iter(_means(self.tested, self.pairs, lambda row: "all")), None)


def verdict(test: PairedTest) -> str:
    """faster or slower in B, same, or unresolved."""
    if test.is_different:
        return "slower" if test.mean > 0 else "faster"
    return "same" if test.can_resolve else "unresolved"


def _means(
    rows: Iterable[RowResult], pairs: int, name_of: Callable[[RowResult], str]
) -> list[Mean]:
    """The means of rows that have all pairs, since each pair has a mean of the same rows."""
    groups: dict[str, list[Sequence[float]]] = {}
    for row in rows:
        if len(row.logarithms) == pairs:
            groups.setdefault(name_of(row), []).append(row.logarithms)
    means = []
    for name, found in groups.items():
        of_pairs = [statistics.fmean(of_pair) for of_pair in zip(*found, strict=True)]
        test = PairedTest.of(of_pairs)
        if test is not None:
            means.append(Mean(name, len(found), test))
    return means


def _loaded(context: JsonObject) -> dict[str, JsonObject]:
    libraries = context.get("libraries") or {}
    return {name: facts for name, facts in libraries.items() if "reason" not in facts}


def _identity(facts: JsonObject) -> tuple[object, ...]:
    """The identity of a build of a library: its build ID, or else its version and its file."""
    if facts.get("build_id"):
        return (facts["build_id"],)
    return facts.get("version"), facts.get("path")


def _first_word(text: str | None) -> str:
    return (text or "").partition(" ")[0]
