"""Explains why rows have no partner, or why two result sets have no row in common, and names a
cure."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Hashable, Iterable, Iterator, Sequence

from .regimes import describe_regime, differences, problem_keys, regime_value
from .result_set import TYPE_ATTRIBUTES, Entry, ResultSet

_EXAMPLES = 4  # rows of one problem that are examined
_PRECISION = "precision"


class UnmatchedReasons:
    """Explains the unmatched rows of one result set from the rows of the other."""

    def __init__(self, others: Iterable[Entry], across: Collection[str]) -> None:
        self._across = across
        self._by_problem: dict[Hashable, list[Entry]] = defaultdict(list)
        for other in others:
            for problem in problem_keys(other, across):
                if len(self._by_problem[problem]) < _EXAMPLES:
                    self._by_problem[problem].append(other)

    def why_unmatched(self, entry: Entry) -> str:
        """The reason why this row has no partner."""
        same = list(self.rows_with_same_problem(entry))
        for other in same:
            words = differences(entry, other, self._across)
            if words:
                option = _across_option(words, self._across)
                return f"the same problem, but {describe_regime(other, words)} ({option})"
        return "fewer rows of this problem" if same else "no row of this problem"

    def rows_with_same_problem(self, entry: Entry) -> Iterator[Entry]:
        """Rows of the other result set with the same problem, in any regime."""
        for problem in problem_keys(entry, self._across):
            yield from self._by_problem.get(problem, ())


def nothing_in_common(first: ResultSet, second: ResultSet, across: Collection[str]) -> str:
    """One line for two result sets without a comparable row."""
    for result_set in (first, second):
        if not result_set.entries:
            return f"{result_set.name} has no rows to compare"
    names = f"{first.name} and {second.name}"
    needed = _best_across_words(first, second, across)
    if needed:
        a, b, words = needed
        how = f"{_difference_kinds(words)}: {_regimes_of_pair(a, b, words)}"
        return f"{names} were measured in {how}; {_across_option(words, across)} compares them"
    ops = [
        list(dict.fromkeys(entry.op for entry in result_set.entries))
        for result_set in (first, second)
    ]
    if first.workload is not None and second.workload is not None:
        return (
            f"{names} have no problem in common: {first.workload.summary} in the first, "
            f"{second.workload.summary} in the second"
        )
    if set(ops[0]) & set(ops[1]):
        return (
            f"{names} have no problem in common: compare needs rows of the same problems, such as "
            "two runs of one set"
        )
    return (
        f"{names} have no operation in common: {' '.join(ops[0])} in the first, "
        f"{' '.join(ops[1])} in the second"
    )


def _best_across_words(
    first: ResultSet, second: ResultSet, across: Collection[str]
) -> tuple[Entry, Entry, tuple[str, ...]] | None:
    """The words of --across that make the most rows comparable, and an example pair."""
    candidates = UnmatchedReasons(second.entries, {*across, _PRECISION})
    counts: Counter[tuple[str, ...]] = Counter()
    examples: dict[tuple[str, ...], tuple[Entry, Entry]] = {}
    for entry in first.entries:
        for other in candidates.rows_with_same_problem(entry):
            words = tuple(_differences(entry, other, across))
            counts[words] += bool(words)
            examples.setdefault(words, (entry, other))
    if not any(counts.values()):
        return None
    words = min(counts, key=lambda words: (-counts[words], len(words)))
    return (*examples[words], words)


def _differences(a: Entry, b: Entry, across: Collection[str]) -> Iterator[str]:
    if not set(problem_keys(a, across)) & set(problem_keys(b, across)):
        yield _PRECISION
    yield from differences(a, b, across)


def _difference_kinds(words: Sequence[str]) -> str:
    regimes = [word for word in words if word != _PRECISION]
    kinds = [*(["precisions"] if _PRECISION in words else []), *(["regimes"] if regimes else [])]
    return "different " + " and ".join(kinds)


def _regimes_of_pair(a: Entry, b: Entry, words: Sequence[str]) -> str:
    """'cache is hot in the first, cold by flush in the second'."""
    parts: list[tuple[str, object, object]] = []
    if _PRECISION in words:
        types = [(name, a.attributes.get(name), b.attributes.get(name)) for name in TYPE_ATTRIBUTES]
        parts += [(name, x or "none", y or "none") for name, x, y in types if x != y]
    parts += [
        (word, regime_value(a, word), regime_value(b, word)) for word in words if word != _PRECISION
    ]
    return ", ".join(f"{word} is {x} in the first, {y} in the second" for word, x, y in parts)


def _across_option(words: Sequence[str], across: Collection[str]) -> str:
    """The --across option with the missing words added to the words that the user gave."""
    return f"--across {','.join(dict.fromkeys([*across, *words]))}"
