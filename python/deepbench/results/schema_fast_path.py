"""Accepts most valid values in a fraction of the time that schema.py takes to explain an error. A
file has a thousand rows of a hundred values, nearly all of them valid.

True means valid. False means unknown: schema.py checks the value again.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

Schema = Mapping[str, Any]
Test = Callable[[object], bool]

# Exactly the types that the JSON parser produces; schema.py judges any other type.
_CLASSES: Mapping[str, frozenset[type]] = {
    "null": frozenset({type(None)}),
    "boolean": frozenset({bool}),
    "integer": frozenset({int}),
    "number": frozenset({int, float}),
    "string": frozenset({str}),
    "array": frozenset({list}),
    "object": frozenset({dict}),
}
_KEYWORDS = {
    "$ref", "type", "const", "enum", "minimum", "maximum", "required", "properties",
    "additionalProperties", "items", "description", "title",
}  # fmt: skip
_LARGEST_INTEGER = 2**64 - 1  # for integers without a limit in the schema
_LARGEST_REAL = 1e300
_SMALLEST_MAGNITUDE = 1e-100  # a smaller number, except 0, makes quotients overflow
_MAX_DEPTH = 32  # of nested lists and objects


def compiled(schema: Schema, definitions: Mapping[str, Schema]) -> Test:
    """A test for `schema`. If the schema has an unknown keyword, the test accepts nothing."""
    if not schema.keys() <= _KEYWORDS:
        return lambda value: False
    if "$ref" in schema:
        return compiled(definitions[schema["$ref"].rpartition("/")[2]], definitions)
    if "enum" in schema or "const" in schema:
        choices = schema.get("enum", [schema.get("const")])
        return lambda value: value in choices and not isinstance(value, (bool, float))
    names = schema["type"] if isinstance(schema["type"], list) else [schema["type"]]
    classes = frozenset().union(*(_CLASSES[name] for name in names))
    low, high = schema.get("minimum", -_LARGEST_REAL), schema.get("maximum", _LARGEST_REAL)
    whole = "maximum" in schema  # a limit of numbers limits integers too
    inside_dict, inside_list = _members(schema, definitions), _items(schema, definitions)

    def test(value: object) -> bool:
        kind = type(value)
        if kind not in classes:
            return False
        if kind is float:
            return bool(low <= value <= high) and not _is_tiny(value)  # a NaN is not
        if kind is int:
            return bool(low <= value <= high) and (whole or is_within_limits(value))
        if kind is dict:
            return inside_dict(value)
        return kind is not list or inside_list(value)

    return test


def is_within_limits(value: object) -> bool:
    """Whether a value that the schema does not describe can be kept and written: its numbers are in
    range, and it is not nested too deeply."""
    level = [value]
    for _ in range(_MAX_DEPTH):
        below: list[object] = []
        for one in level:
            if isinstance(one, dict):
                below += one.values()
            elif isinstance(one, list):
                below += one
            elif isinstance(one, (int, float)):
                limit = _LARGEST_REAL if isinstance(one, float) else _LARGEST_INTEGER
                if not -limit <= one <= limit or _is_tiny(one):
                    return False
        if not below:
            return True
        level = below
    return False


def _is_tiny(value: object) -> bool:
    return (
        isinstance(value, float)
        and -_SMALLEST_MAGNITUDE < value < _SMALLEST_MAGNITUDE
        and value != 0
    )


def _members(schema: Schema, definitions: Mapping[str, Schema]) -> Callable[[Any], bool]:
    named = {
        name: compiled(part, definitions) for name, part in schema.get("properties", {}).items()
    }
    others = schema.get("additionalProperties")
    otherwise = is_within_limits if others is None else compiled(others, definitions)
    required = frozenset(schema.get("required", ()))

    def test(value: dict[str, object]) -> bool:
        if not required <= value.keys():
            return False
        return all(named.get(name, otherwise)(item) for name, item in value.items())

    return test


def _items(schema: Schema, definitions: Mapping[str, Schema]) -> Callable[[Any], bool]:
    part = schema.get("items")
    if part is None:
        return is_within_limits
    each = compiled(part, definitions)
    if part.get("type") != "number":
        return lambda value: all(map(each, value))

    def numbers(value: list[Any]) -> bool:
        """Checks up to a thousand samples at once. The sum reveals a NaN, which min and max may
        miss."""
        if not value or not set(map(type, value)) <= _CLASSES["number"]:
            return not value
        least = min(value) or min(filter(None, value), default=0)
        return each(least) and each(max(value)) and sum(value) == sum(value)

    return numbers
