"""Turns the lines of a suite into problems: applies headers and the choices of the command line,
then parses each line.

The parser is a parameter: the native Problem.parse, or the one of a test.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import NoReturn, TypeVar

from deepbench.problems.suite_reader import Entry, Suite, fail

T = TypeVar("T")

_NOTHING: Mapping[str, str] = MappingProxyType({})
_ABOUT_NUMBERS = "in a file numbers are written out, and each problem has a line"


def problems(
    suite: Suite,
    parse: Callable[[str, str], T],
    chosen: Mapping[str, str] = _NOTHING,
    keys: Collection[str] | None = None,
    joint_phases: Mapping[str, str] = _NOTHING,
) -> list[tuple[Entry, T]]:
    """All problems of a suite in their order; the phases of a line follow one another.

    parse(line, defaults) parses a line. `defaults` are key=value words for keys that the line does
    not set; keys that the operation does not have are ignored. `chosen`, from the command line,
    overrides the headers of the file, and a line overrides both. `keys` holds the keys of all
    operations, to find a misspelled header. `joint_phases` maps an operation to a phase that a
    backend computes in one call for all phases whose names begin with it: {"rnn": "bwd"} for
    bwd_data and bwd_weights. A ValueError of `parse` becomes a SuiteError with file and line.
    """
    if keys is not None:
        _check_defaults(suite, keys)
    parsed: list[tuple[Entry, T]] = []
    assignments: dict[str | None, list[str]] = {}  # by the joint phase
    for entry in suite.entries:
        joint = joint_phases.get(entry.text.partition(" ")[0])
        if joint not in assignments:
            assignments[joint] = list(_default_assignments(suite, chosen, joint))
        try:
            of_line = _problems_of_line(entry, assignments[joint], parse)
            parsed += [(entry, problem) for problem in of_line]
        except ValueError as error:
            _fail_at_source(str(error), entry, suite, chosen)
    return parsed


def _fail_at_source(what: str, entry: Entry, suite: Suite, chosen: Mapping[str, str]) -> NoReturn:
    """Raises SuiteError for the line, or for the header that holds the invalid value."""
    right = _ABOUT_NUMBERS if "is not an integer" in what else ""
    said = [("default", key, value) for key, value in suite.defaults.items()]
    said += [("phases", "phase", phase) for phase in suite.phases]
    for header, key, value in said:
        if key in chosen or any(word.startswith(f"{key}=") for word in entry.text.split()):
            continue
        if what.startswith((f"{key}={value}: ", f"{key}={value} is not ")):
            op = entry.text.split(maxsplit=1)[0]
            line = suite.lines[header, value if header == "phases" else key]
            fail(suite.source, line, f"'# {header}:', for {op} in line {entry.line}: {what}", right)
    fail(entry.source, entry.line, what, right)


def _problems_of_line(
    entry: Entry, assignments: Sequence[str], parse: Callable[[str, str], T]
) -> list[T]:
    """The problems of a line: one per phase, or a single one if the line or the command line names
    the phase, or if the operation has no phases."""
    distinct: list[T] = []
    for defaults in assignments:
        problem = parse(entry.text, defaults)
        if problem not in distinct:
            distinct.append(problem)
    return distinct


def _default_assignments(
    suite: Suite, chosen: Mapping[str, str], joint: str | None
) -> Iterator[str]:
    """The defaults of a line's problems, one text per phase."""
    values = {**suite.defaults, **chosen}
    if not suite.phases or "phase" in chosen:
        yield _assignments_text(values)
    else:
        for phase in suite.phases:
            whole = joint if joint and phase.startswith(f"{joint}_") else phase
            yield _assignments_text({**values, "phase": whole})


def _assignments_text(values: Mapping[str, str]) -> str:
    return " ".join(f"{key}={value}" for key, value in values.items())


def _check_defaults(suite: Suite, keys: Collection[str]) -> None:
    for key in suite.defaults:
        if key not in keys:
            fail(
                suite.source,
                suite.lines["default", key],
                f"'# default:' names {key}, which no operation has",
                f"attributes are {', '.join(sorted(keys))}",
            )
