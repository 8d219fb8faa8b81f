"""Selects suites in a precision that the command line names, which not every operation has."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from deepbench.problems.problem_arguments import choices_of, operation_name
from deepbench.problems.suite_reader import Entry, Suite

# tf32 is a precision of products only. Other operations read and write the same numbers as in
# float.
STORED_AS = {"tf32": "float"}


def in_precision(suites: Sequence[Suite], precision: str) -> tuple[Sequence[Suite], list[str]]:
    """The suites without the problems of operations that do not have the precision, and the names
    of these operations. Suites of which nothing remains stay as they are, since their precision is
    then an error."""
    left_out: dict[str, None] = {}
    kept = [replace(suite, entries=tuple(_entries(suite, precision, left_out))) for suite in suites]
    remaining = [suite for suite in kept if suite.entries]
    return (remaining, list(left_out)) if remaining else (suites, [])


def left_out_text(operations: Sequence[str], precision: str) -> str:
    """'norm and pool are left out, because they have no precision fp8_e4m3'."""
    *others, last = operations
    names, are = (f"{', '.join(others)} and {last}", "are") if others else (last, "is")
    they = "they have" if others else "it has"
    return f"{names} {are} left out, because {they} no precision {precision}"


def _entries(suite: Suite, precision: str, left_out: dict[str, None]) -> Iterator[Entry]:
    for entry in suite.entries:
        op = operation_name(entry.text.partition(" ")[0])
        choices = choices_of(op, "precision") if op else ()
        if not choices or precision in choices or " precision=" in entry.text:
            yield entry
        elif (stored := STORED_AS.get(precision)) in choices:
            yield replace(entry, text=f"{entry.text} precision={stored}")
        else:
            left_out[str(op)] = None
