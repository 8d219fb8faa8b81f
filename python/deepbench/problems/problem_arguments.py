"""The words after an operation: a set, a precision and key=value pairs, in any order."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import product
from typing import TYPE_CHECKING

from deepbench import suites
from deepbench.errors import UsageError, shown, suggestion
from deepbench.problems.ranges import numbers

if TYPE_CHECKING:
    from deepbench._core import Operation

ALL = "all"
_TYPE = re.compile(r"double|(u?int|i|u|fp|float|f|bf|bfloat)\d+\w*")  # as types are called
_SET_WORDS = ("training", "train", "inference", "inference-server", "inference-device", "device")


@dataclass(frozen=True)
class ProblemArguments:
    """What the words after an operation say."""

    set: str | None = None  # as suites names it
    precision: str | None = None  # canonical
    values: dict[str, list[str]] = field(default_factory=dict)  # several: a list, n=16,32


def operation_names() -> list[str]:
    """Every word that can come first, but for aliases."""
    return [*(known.name for known in operations()), ALL]


def operation_name(word: str) -> str | None:
    """The operation (or 'all') that a word means, or None."""
    if word == ALL:
        return ALL
    return next(
        (known.name for known in operations() if word in (known.name, *known.aliases)), None
    )


def operations() -> Sequence[Operation]:
    """All that the core knows."""
    from deepbench import _core

    return _core.operations()


def operation(name: str) -> Operation:
    """The operation called `name`, which exists."""
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
                also = "" if precision == found else f", or {both} beside the keys of a problem"
                raise UsageError(f"two precisions, {precision} and {found}: give one{also}")
            precision = found
        else:
            raise UsageError(_unknown(op, word))
    if precision is not None and "precision" in values:
        raise UsageError(f"precision is given twice, as {precision} and as a key")
    set_name = None if set_word is None else suites.set_name(set_word)
    return ProblemArguments(set_name, precision, values)


def problem_lines(op: str, words: ProblemArguments) -> list[str]:
    """The problems that key=value words mean, lists expanded, the last key's values fastest."""
    values = dict(words.values)
    if words.precision is not None:
        values["precision"] = [words.precision]
    pairs = [[f"{key}={item}" for item in items] for key, items in values.items()]
    return [" ".join([op, *choice]) for choice in product(*pairs)]


def precisions(op: str) -> list[str]:
    """The precisions of an operation ('all': of any), by their canonical names."""
    of = [known.name for known in operations() if op in (ALL, known.name)]
    return list(dict.fromkeys(choice for name in of for choice in choices_of(name, "precision")))


def parameter_names() -> set[str]:
    """Every key that some operation has."""
    return {parameter.name for known in operations() for parameter in known.parameters}


def choices_of(op: str, key: str) -> list[str]:
    """What an operation's key may be, if it has one of that name."""
    return [
        choice
        for parameter in operation(op).parameters
        if parameter.name == key
        for choice in parameter.choices
    ]


def default_values(key: str) -> set[str]:
    """What operations that have the key take where it is not given."""
    of = [parameter for known in operations() for parameter in known.parameters]
    return {one.default for one in of if one.name == key and one.default is not None}


def require_constant(where: str, name: str, ops: Iterable[str]) -> None:
    """Refuses an operand that none of these operations may have constant. Raises UsageError."""
    ops = list(dict.fromkeys(ops))
    known = list(dict.fromkeys(name for op in ops for name in operation(op).constants))
    if name not in known:
        raise UsageError(
            f"{where} {' '.join(ops)} has no operand {shown(name)} that may be constant"
            f"{suggestion(name, known)}; it has {' '.join(known) or 'none'}"
        )


def precision_name(op: str, word: str) -> str | None:
    """The precision that a word means to an operation ('all': to any): its name or an alias."""
    for known in operations():
        if op in (ALL, known.name) and (found := canonical_choice(known.name, "precision", word)):
            return found
    return None


def canonical_choice(op: str, key: str, word: str) -> str | None:
    """The choice that a word means as the value of an operation's key, as the native parser reads
    it: in capitals too, or by an alias."""
    lower = word.lower()
    for parameter in operation(op).parameters:
        if parameter.name == key:
            return lower if lower in parameter.choices else dict(parameter.aliases).get(lower)
    return None


def _key_values(word: str) -> tuple[str, list[str]]:
    key, _, value = word.partition("=")
    if not key:
        raise UsageError(f"{shown(word)} has no key before '='")
    if key == "application":
        return key, [quoted(value)]
    items = value.split(",")
    if not all(items):
        raise UsageError(f"{shown(word)} has an empty value; write {key}=VALUE or {key}=A,B")
    for item in items[1:]:
        if item.isdigit() and item.startswith("0") and len(item) > 1:
            raise UsageError(
                f"{shown(word)}: {item} begins with 0; a number has no comma, "
                f"{key}={''.join(items)}, and a list has its numbers as they are, {key}=16,32"
            )
    return key, [number for item in items for number in numbers(item)]


def _unknown(op: str, word: str) -> str:
    keys = [] if op == ALL else [f"{p.name}=" for p in operation(op).parameters]
    near = suggestion(word, [*_SET_WORDS, *precisions(op), *keys])
    if precisions(op) and _TYPE.fullmatch(word.lower()):
        return f"there is no precision {shown(word)}; there are {' '.join(precisions(op))}"
    wanted = "a set, a precision" if precisions(op) else "a set"
    if word.startswith("-"):
        return f"there is no option {shown(word)}"
    if op != ALL and operation_name(word) not in (None, op):
        return f"two operations, {op} and {word}: give one; 'all' runs every operation of a set"
    return f"{shown(word)} is neither {wanted} nor KEY=VALUE{near}; '{op} --help' lists them"


def quoted(value: str) -> str:
    """A value as key=value text has it: in quotes where it must be."""
    if value and not any(character.isspace() or character in '"\\;' for character in value):
        return value
    return '"' + value.replace("\\", "\\\\").replace('"', '\\"') + '"'
