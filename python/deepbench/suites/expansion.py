"""From a suite's lines to problems: headers and the command line's choices applied, then parsed.

The parser is handed in: the native Problem.parse, or whatever a test puts in its place.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from types import MappingProxyType
from typing import TypeVar

from .reader import Entry, Suite, fail

T = TypeVar("T")

_NOTHING: Mapping[str, str] = MappingProxyType({})


def problems(
    suite: Suite,
    parse: Callable[[str, str], T],
    chosen: Mapping[str, str] = _NOTHING,
    keys: Collection[str] | None = None,
) -> list[tuple[Entry, T]]:
    """Every problem of a suite in its order, the phases of a line one after the other.

    parse(line, defaults) reads a line; `defaults` are key=value words for what the line leaves
    open, of which it ignores those that the operation does not know. `chosen`, the command line's,
    wins over the file's headers, and the line over both. `keys`, every key that an operation may
    have, lets a misspelt header be found. A ValueError of `parse` becomes a SuiteError that names
    file and line.
    """
    if keys is not None:
        _check_defaults(suite, keys)
    parsed: list[tuple[Entry, T]] = []
    for entry in suite.entries:
        try:
            parsed += [(entry, problem) for problem in _of_line(entry, suite, parse, chosen)]
        except ValueError as error:
            fail(entry.source, entry.line, str(error))
    return parsed


def _of_line(
    entry: Entry, suite: Suite, parse: Callable[[str, str], T], chosen: Mapping[str, str]
) -> list[T]:
    """The problems that a line stands for.

    One for each phase, unless all phases give the same: when the line or the command line names
    the phase, or the operation knows none.
    """
    distinct: list[T] = []
    for defaults in _defaults(suite, chosen):
        problem = parse(entry.text, defaults)
        if problem not in distinct:
            distinct.append(problem)
    return distinct


def _defaults(suite: Suite, chosen: Mapping[str, str]) -> Iterator[str]:
    values = {**suite.defaults, **chosen}
    if not suite.phases or "phase" in chosen:
        yield _words(values)
    else:
        for phase in suite.phases:
            yield _words({**values, "phase": phase})


def _words(values: Mapping[str, str]) -> str:
    return " ".join(f"{key}={value}" for key, value in values.items())


def _check_defaults(suite: Suite, keys: Collection[str]) -> None:
    for key in suite.defaults:
        if key not in keys:
            fail(
                suite.entries[0].source,
                None,
                f"'# default:' names {key}, which no operation has",
                f"keys are {', '.join(sorted(keys))}",
            )
