"""Merges the lines of one problem: in a suite with counts, a problem is measured once, and its
count is the sum over its lines. A suite without counts keeps its duplicates."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

from deepbench.call_counts import MAX_COUNT, ApplicationCalls, CallCounts
from deepbench.problems.suite_reader import Entry, fail

T = TypeVar("T")


@dataclass(frozen=True)
class MergedProblem(Generic[T]):
    """A problem with the metadata of its lines."""

    problem: T
    application: str | None  # None: no line names one, or lines name several
    place: tuple[str, int]  # the suite and the first line
    counts: CallCounts | None = None  # None: the suite counts no calls


def merged_by_problem(parsed: Sequence[tuple[Entry, T]]) -> list[MergedProblem[T]]:
    """The problems of a suite, in order of appearance. Raises SuiteError for a count that is too
    large."""
    if all(entry.count is None for entry, _ in parsed):
        return [
            MergedProblem(problem, entry.application, (entry.source, entry.line))
            for entry, problem in parsed
        ]
    entries: dict[str, list[Entry]] = {}
    problems: dict[str, T] = {}
    for entry, problem in parsed:
        text = str(problem)
        entries.setdefault(text, []).append(entry)
        problems.setdefault(text, problem)
    merged = []
    for text, lines in entries.items():
        counts = _summed(lines)
        place = (lines[0].source, lines[0].line)
        merged.append(MergedProblem(problems[text], counts.only_application, place, counts))
    return merged


def _summed(lines: Sequence[Entry]) -> CallCounts:
    """The calls of the lines of one problem. A line without a count is one call."""
    total = 0
    by_application: dict[str, int] = {}
    for entry in lines:
        count = entry.count or 1
        total += count
        if total > MAX_COUNT:
            fail(
                entry.source,
                entry.line,
                f"the counts of this problem sum to more than {MAX_COUNT:,} from line "
                f"{lines[0].line} on",
                "write smaller counts",
            )
        if entry.application is not None:
            name = entry.application
            by_application[name] = by_application.get(name, 0) + count
    named = (ApplicationCalls(name, count) for name, count in by_application.items())
    return CallCounts(total, tuple(named))
