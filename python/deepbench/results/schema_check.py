"""Compiles a part of schema.json to a function that checks a value, and names the place of a value
that violates it.

A file has a thousand rows of a hundred values, nearly all of them valid. A check of a valid value
therefore makes no text and follows no reference: both happen when the function is made, or when a
value is refused. Understands the few keywords of JSON Schema that schema.json uses and refuses
others.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Mapping
from typing import Any

Schema = Mapping[str, Any]
Check = Callable[[Any], None]  # raises Violation

# Exactly the types that the JSON parser produces.
_CLASSES: Mapping[str, frozenset[type]] = {
    "null": frozenset({type(None)}),
    "boolean": frozenset({bool}),
    "integer": frozenset({int}),
    "number": frozenset({int, float}),
    "string": frozenset({str}),
    "array": frozenset({list}),
    "object": frozenset({dict}),
}
_ANNOTATIONS = {"description", "title", "$schema", "$id", "$defs"}
_KEYWORDS = _ANNOTATIONS | {
    "$ref", "type", "const", "enum", "minimum", "maximum", "required", "properties",
    "additionalProperties", "items", "pattern",
}  # fmt: skip
_LARGEST_INTEGER = 2**64 - 1  # for integers without a limit in the schema
_LARGEST_REAL = 1e300
_SMALLEST_MAGNITUDE = 1e-100  # a smaller number, except 0, makes quotients overflow
_MAX_DEPTH = 32  # of nested lists and objects


class Violation(Exception):
    """A violation of the schema. `what` follows the place in a message."""

    def __init__(self, what: str) -> None:
        super().__init__(what)
        self.what = what
        self.path: list[str | int] = []  # the keys and indices that lead to the value, inmost first

    @property
    def place(self) -> str:
        keys = (f"[{key}]" if isinstance(key, int) else f".{key}" for key in reversed(self.path))
        return "".join(keys).removeprefix(".")[:80] or "the line"


def compile_check(schema: Schema, definitions: Mapping[str, Schema]) -> Check:
    """The check of a part of the schema. Raises ValueError for an unknown keyword."""
    if unknown := schema.keys() - _KEYWORDS:
        raise ValueError(f"unknown keywords in the schema: {', '.join(sorted(unknown))}")
    if "$ref" in schema:
        return compile_check(_referenced(schema, definitions), definitions)
    if "enum" in schema or "const" in schema:
        return _choice_check(schema)
    classes = _permitted_classes(schema)

    def refuse_type(value: object) -> None:
        raise Violation(f"is {shortened_json(value)}, not {' or '.join(_type_names(schema))}")

    check = _scalar_check(schema, classes, refuse_type)
    if "pattern" in schema:
        check = _pattern_check(schema, check)
    if list in classes:
        check = _list_check(schema, definitions, check)
    return _object_check(schema, definitions, check) if dict in classes else check


def _referenced(schema: Schema, definitions: Mapping[str, Schema]) -> Schema:
    return definitions[schema["$ref"].rpartition("/")[2]]


def _type_names(schema: Schema) -> list[str]:
    names: str | list[str] = schema["type"]
    return [names] if isinstance(names, str) else names


def _permitted_classes(schema: Schema) -> frozenset[type]:
    return frozenset().union(*(_CLASSES[name] for name in _type_names(schema)))


def shortened_json(value: object) -> str:
    """The value for a message."""
    try:
        text = json.dumps(value)
    except RecursionError:
        text = "something nested deeply"
    return text if len(text) <= 40 else text[:37] + "..."


def _choice_check(schema: Schema) -> Check:
    choices = schema.get("enum", [schema.get("const")])
    words = " ".join(map(shortened_json, choices))
    not_one = f"not one of {words}" if "enum" in schema else f"not {words}"

    def check(value: object) -> None:
        if value not in choices or isinstance(value, (bool, float)):
            raise Violation(f"is {shortened_json(value)}, {not_one}")

    return check


def _scalar_check(schema: Schema, classes: frozenset[type], refuse_type: Check) -> Check:
    """The check of a value that is no object and no list."""
    low, high = schema.get("minimum", -math.inf), schema.get("maximum", math.inf)
    least, most = max(low, -_LARGEST_REAL), min(high, _LARGEST_REAL)
    is_limited = "maximum" in schema  # a limit of numbers limits integers too
    least_integer = low if is_limited else max(low, -_LARGEST_INTEGER)
    most_integer = high if is_limited else _LARGEST_INTEGER

    def check(value: Any) -> None:
        kind = type(value)
        if kind not in classes:
            refuse_type(value)
        elif kind is float:
            if not (
                least <= value <= most and (value >= _SMALLEST_MAGNITUDE or not _is_tiny(value))
            ):
                refuse_number(value)
        elif kind is int and not least_integer <= value <= most_integer:
            refuse_number(value)

    def refuse_number(value: int | float) -> None:
        if isinstance(value, float) or not is_limited:
            _check_limits(value)
        if value < low:
            raise Violation(f"is {shortened_json(value)}, less than {low}")
        raise Violation(f"is {shortened_json(value)}, more than {high:g}")

    return check


def _pattern_check(schema: Schema, check_other: Check) -> Check:
    """The check of a text in which the pattern occurs; `check_other` is that of another value."""
    pattern = re.compile(schema["pattern"])

    def check(value: object) -> None:
        if not isinstance(value, str):
            check_other(value)
        elif not pattern.search(value):
            raise Violation(f"is {shortened_json(value)}, which does not match {pattern.pattern}")

    return check


def _object_check(schema: Schema, definitions: Mapping[str, Schema], check_other: Check) -> Check:
    """The check of an object; `check_other` is that of another value."""
    properties = schema.get("properties", {})
    named = {
        name: (*_permitted_at_once(part, definitions), compile_check(part, definitions))
        for name, part in properties.items()
    }
    others = schema.get("additionalProperties")
    otherwise = (
        *_permitted_at_once({} if others is None else others, definitions),
        _check_limits if others is None else compile_check(others, definitions),
    )
    required = tuple(schema.get("required", ()))

    def check(value: Any) -> None:
        if type(value) is not dict:
            return check_other(value)
        for name in required:
            if name not in value:
                raise Violation(f"has no {name!r}")
        name = ""
        try:
            for name, item in value.items():
                whole, numbers, least, most, check_item = named.get(name, otherwise)
                kind = type(item)
                if not (kind in whole or (kind in numbers and least <= item <= most)):
                    check_item(item)
        except Violation as violation:
            violation.path.append(name)
            raise

    return check


def _permitted_at_once(
    schema: Schema, definitions: Mapping[str, Schema]
) -> tuple[frozenset[type], frozenset[type], float, float]:
    """The values of a part of the schema that nearly every row has, which need no further check:
    the classes of which it permits every value, and the classes of which it permits every number
    between two limits."""
    if "$ref" in schema:
        return _permitted_at_once(_referenced(schema, definitions), definitions)
    if "type" not in schema or "enum" in schema or "const" in schema:
        return frozenset(), frozenset(), 0, 0
    classes = _permitted_classes(schema)
    least = max(schema.get("minimum", 0), _SMALLEST_MAGNITUDE if float in classes else 0)
    most = min(schema.get("maximum", _LARGEST_INTEGER), _LARGEST_INTEGER)
    whole = {bool, type(None)} if "pattern" in schema else {str, bool, type(None)}
    return classes & whole, classes & {int, float}, least, most


def _list_check(schema: Schema, definitions: Mapping[str, Schema], check_other: Check) -> Check:
    """The check of a list; `check_other` is that of another value."""
    part = schema.get("items")
    each = _check_limits if part is None else compile_check(part, definitions)
    are_numbers = part is not None and part.get("type") == "number"

    def check(value: Any) -> None:
        if type(value) is not list:
            check_other(value)
        elif part is None:
            _check_limits(value)
        elif not (are_numbers and _are_within(value, each)):
            check_items(value)

    def check_items(value: list[Any]) -> None:
        index = -1
        try:
            for item in value:
                index += 1
                each(item)
        except Violation as violation:
            violation.path.append(index)
            raise

    return check


def _are_within(values: list[Any], each: Check) -> bool:
    """Checks up to a thousand samples at once: whether all are numbers that `each` accepts. The sum
    reveals a NaN, which min and max may miss. It comes last, because an integer beyond the limits
    may not fit a sum of floats."""
    if not values:
        return True
    if not set(map(type, values)) <= _CLASSES["number"]:
        return False
    least = min(values)
    try:
        each(least)
        if least <= 0:
            each(min(filter(None, values), default=0))
        each(max(values))
        total = sum(values)
    except Violation:
        return False
    return bool(total == total)


def _check_limits(value: object) -> None:
    """Checks a value that the schema does not describe: it is kept and must be writable."""
    if _is_within_limits(value):
        return
    if isinstance(value, float) and not math.isfinite(value):
        raise Violation("is not a finite number")
    if isinstance(value, (int, float)):
        raise Violation(f"is {shortened_json(value)}, which is out of range")
    raise Violation(": a value within it is out of range or nested too deeply")


def _is_within_limits(value: object) -> bool:
    """Whether the numbers of a value are in range, and it is not nested too deeply."""
    if value is None or isinstance(value, (str, bool)):
        return True
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
    if not isinstance(value, float) or value >= _SMALLEST_MAGNITUDE:
        return False
    return value > -_SMALLEST_MAGNITUDE and value != 0
