"""The words after an operation: a set, a precision and key=value pairs, in any order."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from itertools import product
from math import prod
from typing import TYPE_CHECKING

from deepbench import suites
from deepbench.errors import UsageError, in_quotes, suggestion
from deepbench.problems.ranges import expand_numbers

if TYPE_CHECKING:
    from deepbench._core import Operation

ALL = "all"
_TYPE = re.compile(r"double|(u?int|i|u|fp|float|f|bf|bfloat)\d+\w*")  # usual names of types
_MOST_PROBLEMS = 1_000_000
_SET_WORDS = (
    "training", "train", "inference", "inference-server", "inference-device", "device",
    *suites.MODELS, *suites.AIMATRIX,
)  # fmt: skip


@dataclass(frozen=True)
class ProblemArguments:
    """The parsed words after an operation."""

    set: str | None = None  # by its name in deepbench.suites
    precision: str | None = None  # by its canonical name
    values: dict[str, list[str]] = field(default_factory=dict)  # by key; n=16,32 has two values


def operation_choices() -> list[str]:
    """The names of all operations and 'all', without aliases."""
    return [*(known.name for known in operations()), ALL]


def operation_name(word: str) -> str | None:
    """The operation (or 'all') that a word means, or None."""
    return _names_by_word().get(word)


@cache
def _names_by_word() -> Mapping[str, str]:
    """The operation that each name and each alias means."""
    words = {word: known.name for known in operations() for word in (known.name, *known.aliases)}
    return {**words, ALL: ALL}


def has_suites(op: str) -> bool:
    """Whether a set has problems of an operation, or of any for 'all'."""
    return op == ALL or any(name == op for _, name in suites.available())


def operations() -> Sequence[Operation]:
    """All operations of the native module."""
    from deepbench import _core

    return _core.operations()


def operation(name: str) -> Operation:
    """The operation called `name`, which must exist."""
    return next(op for op in operations() if op.name == name)


def parse_problem_arguments(op: str, words: Sequence[str]) -> ProblemArguments:
    """Reads the words after `op`. Raises UsageError."""
    set_word: str | None = None
    precision: str | None = None
    values: dict[str, list[str]] = {}
    for word in words:
        if "=" in word:
            key, items = _key_values(word)
            if key == "precision":
                items = [precision_name(op, item) or item for item in items]
            if key in values:
                raise UsageError(f"{key} is given twice")
            values[key] = items
        elif suites.set_name(word) is not None:
            if set_word is not None:
                raise UsageError(f"two sets, {set_word} and {word}: give one")
            set_word = word
        elif (found := precision_name(op, word)) is not None:
            if precision is not None:
                both = f"precision={precision},{found}"
                also = (
                    "" if precision == found else f", or {both} beside the attributes of a problem"
                )
                raise UsageError(f"two precisions, {precision} and {found}: give one{also}")
            precision = found
        else:
            raise UsageError(_unknown_word_error(op, word))
    if precision is not None and "precision" in values:
        raise UsageError(f"precision is given twice, as {precision} and as an attribute")
    set_name = None if set_word is None else suites.set_name(set_word)
    return ProblemArguments(set_name, precision, values)


def problem_lines(op: str, words: ProblemArguments) -> list[str]:
    """The problems of key=value words. Lists are expanded; the last key varies fastest. Raises
    UsageError if there are too many."""
    values = dict(words.values)
    if words.precision is not None:
        values["precision"] = [words.precision]
    count = prod(len(items) for items in values.values())
    if count > _MOST_PROBLEMS:
        raise UsageError(
            f"{op}: the lists stand for {count:,} problems; a run has at most {_MOST_PROBLEMS:,}"
        )
    pairs = [[f"{key}={item}" for item in items] for key, items in values.items()]
    return [" ".join([op, *choice]) for choice in product(*pairs)]


def precisions(op: str) -> list[str]:
    """The canonical names of the precisions of an operation, or of all operations for 'all'."""
    of = [known.name for known in operations() if op in (ALL, known.name)]
    return list(dict.fromkeys(choice for name in of for choice in choices_of(name, "precision")))


def parameter_names() -> set[str]:
    """The attributes of all operations."""
    return {parameter.name for known in operations() for parameter in known.parameters}


@cache
def choices_of(op: str, key: str) -> tuple[str, ...]:
    """The choices of an operation's key; empty if the operation has no such key."""
    return tuple(
        choice
        for parameter in operation(op).parameters
        if parameter.name == key
        for choice in parameter.choices
    )


def default_values(key: str) -> set[str]:
    """The default values of an attribute over all operations that have it."""
    of = [parameter for known in operations() for parameter in known.parameters]
    return {one.default for one in of if one.name == key and one.default is not None}


def require_constant(where: str, name: str, ops: Iterable[str]) -> None:
    """Raises UsageError unless one of these operations accepts `name` as a constant operand."""
    ops = list(dict.fromkeys(ops))
    known = list(dict.fromkeys(name for op in ops for name in operation(op).constants))
    if name not in known:
        raise UsageError(
            f"{where} {' '.join(ops)} has no operand {in_quotes(name)} that may be constant"
            f"{suggestion(name, known)}; it has {' '.join(known) or 'none'}"
        )


def precision_name(op: str, word: str) -> str | None:
    """The precision that a word names for an operation, or for any operation with 'all'. Aliases
    count."""
    for known in operations():
        if op in (ALL, known.name) and (found := canonical_choice(known.name, "precision", word)):
            return found
    return None


def canonical_choice(op: str, key: str, word: str) -> str | None:
    """The choice that a word names as the value of an operation's key. As in the native parser,
    case does not matter and aliases count."""
    lower = word.lower()
    for parameter in operation(op).parameters:
        if parameter.name == key:
            return lower if lower in parameter.choices else dict(parameter.aliases).get(lower)
    return None


def _key_values(word: str) -> tuple[str, list[str]]:
    key, _, value = word.partition("=")
    if not key:
        raise UsageError(f"{in_quotes(word)} has no attribute before '='")
    if key == "application":
        return key, [quoted(value)]
    if key == "count":
        raise UsageError(
            f"{in_quotes(word)}: counts belong to the lines of a suite; write the problems to a "
            "file and run it with 'deepbench run FILE'"
        )
    items = value.split(",")
    if not all(items):
        raise UsageError(f"{in_quotes(word)} has an empty value; write {key}=VALUE or {key}=A,B")
    for item in items[1:]:
        if item.isdigit() and item.startswith("0") and len(item) > 1:
            raise UsageError(
                f"{in_quotes(word)}: {item} begins with 0; write numbers without commas, as in "
                f"{key}={''.join(items)}; write a list as {key}=16,32"
            )
    return key, [number for item in items for number in expand_numbers(item)]


def _unknown_word_error(op: str, word: str) -> str:
    keys = [] if op == ALL else [f"{p.name}=" for p in operation(op).parameters]
    near = suggestion(word, [*_SET_WORDS, *precisions(op), *keys])
    if precisions(op) and _TYPE.fullmatch(word.lower()):
        return f"there is no precision {in_quotes(word)}; there are {' '.join(precisions(op))}"
    wanted = "a set, a precision" if precisions(op) else "a set"
    if word.startswith("-"):
        return f"there is no option {in_quotes(word)}"
    if op != ALL and operation_name(word) not in (None, op):
        return f"two operations, {op} and {word}: give one; 'all' runs every operation of a set"
    lists = f"'deepbench {op} --help' lists them"
    return f"{in_quotes(word)} is neither {wanted} nor KEY=VALUE{near}; {lists}"


def quoted(value: str) -> str:
    """A value for key=value text, in quotes if it needs them."""
    if value and not any(character.isspace() or character in '"\\;' for character in value):
        return value
    return '"' + value.replace("\\", "\\\\").replace('"', '\\"') + '"'
