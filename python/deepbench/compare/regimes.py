"""Decides which rows are comparable: rows of the same problem, measured in the same regime.

Everything else (backend, library, algorithm, machine) may differ, since it is what users compare.
"""

from __future__ import annotations

from collections.abc import Collection, Hashable, Mapping, Sequence
from operator import attrgetter

from .result_set import OPERAND_TYPES, TYPE_ATTRIBUTES, Entry, Value

# The parts of a regime, which `--across` may name. Launch and threads are compared only on the same
# device: other devices and backends differ in them by nature.
_REGIME = ("cache", "power", "inputs", "launch", "threads", "ranks")
_stated_regime = attrgetter(*_REGIME)
_OF_ONE_DEVICE = ("launch", "threads")
# The power regime of a file without rests. Its device might have rested if its clock had fallen.
_UNRECORDED = "unrecorded"

# A remark on pairs whose measured row is cold.
PUBLISHED_IS_HOT = "published figures are hot in the caches"

ACROSS = (*_REGIME, "precision", "dimensions")


def problem_keys(entry: Entry, across: Collection[str]) -> list[Hashable]:
    """The keys under which a row's problem finds partners. A published figure with a misprint has
    two: the problem as printed and the problem as intended."""
    named = [entry.attributes]
    if entry.meant:
        named.append({**entry.attributes, **entry.meant})
    if entry.published:  # published figures state only the width of their operands' types
        named += [
            {**attributes, name: "u8"}
            for attributes in named
            for name in OPERAND_TYPES
            if name in attributes
        ]
    return [_problem_key(entry, attributes, across) for attributes in named]


def _problem_key(
    entry: Entry, attributes: Mapping[str, Value], across: Collection[str]
) -> Hashable:
    if not attributes:
        return entry.op, entry.problem
    items = attributes.items()
    if "precision" in across:
        return entry.op, frozenset(item for item in items if item[0] not in TYPE_ATTRIBUTES)
    return entry.op, frozenset(items)


def regime(entry: Entry) -> tuple[object, ...]:
    """The whole regime."""
    if entry.power != _UNRECORDED:
        stated: tuple[object, ...] = _stated_regime(entry)
        return stated
    return tuple(regime_value(entry, word) for word in _REGIME)


def compares_hot_with_cold(a: Entry, b: Entry) -> bool:
    """Whether a hot published figure is compared with a cold row."""
    hot, cold = (a, b) if a.published else (b, a)
    return hot.published and not cold.published and cache_state(cold) == "cold" != cache_state(hot)


def cache_state(entry: Entry) -> str | None:
    """'hot' or 'cold', however the operands were kept cold."""
    return entry.cache and entry.cache.split(" ")[0]


def comparable_kind(entry: Entry, across: Collection[str]) -> Hashable:
    """The properties in which two rows must agree so that they can be compared in spite of
    different dimensions."""
    precision = None if "precision" in across else entry.attributes.get("precision")
    return entry.op, entry.phase, precision


def differences(a: Entry, b: Entry, across: Collection[str] = ()) -> list[str]:
    """The words of ACROSS in which the regimes of two rows differ, except those in `across`.
    Published figures never count as different: a footnote states their regime."""
    if a.published or b.published:
        return []
    of_a, of_b = regime(a), regime(b)
    if of_a == of_b:
        return []
    same_device = a.backend == b.backend and a.device == b.device
    return [
        word
        for word, part_a, part_b in zip(_REGIME, of_a, of_b, strict=True)
        if word not in across
        and (same_device or word not in _OF_ONE_DEVICE)
        and None not in (part_a, part_b)
        and part_a != part_b
    ]


def describe_regime(entry: Entry, words: Sequence[str]) -> str:
    """'cache is cold by rotation, power is sustained'."""
    return ", ".join(f"{word} is {regime_value(entry, word)}" for word in words)


def regime_value(entry: Entry, word: str) -> object:
    """The part of a row's regime that a word of ACROSS names."""
    value: object = getattr(entry, word)
    return "rested" if word == "power" and value == _UNRECORDED else value
