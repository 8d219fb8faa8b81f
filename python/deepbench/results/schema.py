"""Checks lines of a result file against schema.json, which the package carries.

Understands the few keywords of JSON Schema that schema.json uses and refuses others. The file is
the only description of a line, and reading a result needs no further package.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path
from typing import Any

from deepbench.results import schema_fast_path

VERSION = 2

Schema = Mapping[str, Any]

_ANNOTATIONS = {"description", "title", "$schema", "$id", "$defs"}
_TYPES: Mapping[str, Callable[[object], bool]] = {
    "null": lambda value: value is None,
    "boolean": lambda value: isinstance(value, bool),
    "integer": lambda value: isinstance(value, int) and not isinstance(value, bool),
    "number": lambda value: isinstance(value, (int, float)) and not isinstance(value, bool),
    "string": lambda value: isinstance(value, str),
    "array": lambda value: isinstance(value, list),
    "object": lambda value: isinstance(value, dict),
}


class SchemaError(ValueError):
    """A line violates the schema. The message names the place and the expected value."""


@cache
def document() -> Schema:
    """The content of schema.json."""
    path = Path(__file__).with_name("schema.json")
    loaded: Schema = json.loads(path.read_text(encoding="utf-8"))
    return loaded


def check_context(value: object) -> None:
    """Raises SchemaError unless `value` is a context."""
    if not _fast_check("context")(value):
        _check(value, {"$ref": "#/$defs/context"}, "")


def check_row(value: object) -> None:
    """Raises SchemaError unless `value` is a row."""
    if not _fast_check("row")(value):
        _check(value, {"$ref": "#/$defs/row"}, "")


def check_consistency(row: Mapping[str, Any]) -> None:
    """Raises SchemaError if a valid row contradicts itself, so that a report would show a time that
    was not measured."""
    for name, value in (row.get("attributes") or {}).items():
        if isinstance(value, (int, float)) and value < 0:
            raise SchemaError(f"attributes.{name} is {_shortened_json(value)}, less than 0")
    statistics = row.get("statistics") or {}
    published = (row.get("regime") or {}).get("published")
    if row["status"] == "ok" and not published and not (statistics.get("median_ns") or 0) > 0:
        raise SchemaError("status is ok, and statistics.median_ns is no time")
    low, high = statistics.get("low_ns"), statistics.get("high_ns")
    if low is not None and high is not None and low > high:
        raise SchemaError("statistics.low_ns is above high_ns")


@cache
def _fast_check(name: str) -> Callable[[object], bool]:
    definitions: Schema = document()["$defs"]
    return schema_fast_path.compiled(definitions[name], definitions)


def _check(value: object, schema: Schema, where: str) -> None:
    for keyword, argument in schema.items():
        if keyword not in _ANNOTATIONS:
            _KEYWORDS[keyword](value, argument, where, schema)


def _check_ref(value: object, target: str, where: str, schema: Schema) -> None:
    _check(value, document()["$defs"][target.rpartition("/")[2]], where)


def _check_type(value: object, types: str | list[str], where: str, schema: Schema) -> None:
    names = [types] if isinstance(types, str) else types
    if not any(_TYPES[name](value) for name in names):
        raise SchemaError(
            f"{_path_text(where)} is {_shortened_json(value)}, not {' or '.join(names)}"
        )
    if isinstance(value, float) or (isinstance(value, int) and "maximum" not in schema):
        _check_limits(value, where)
    if isinstance(value, dict) and "additionalProperties" not in schema:
        named = schema.get("properties", {})
        for name, item in value.items():
            if name not in named:
                _check_limits(item, f"{where}.{name}")
    if isinstance(value, list) and "items" not in schema:
        _check_limits(value, where)


def _check_limits(value: object, where: str) -> None:
    """Checks values that the schema does not describe: they are kept and must be writable."""
    if isinstance(value, float) and not math.isfinite(value):
        raise SchemaError(f"{_path_text(where)} is not a finite number")
    if not schema_fast_path.is_within_limits(value):
        if isinstance(value, (int, float)):
            raise SchemaError(
                f"{_path_text(where)} is {_shortened_json(value)}, which is out of range"
            )
        within = "a value within it is out of range or nested too deeply"
        raise SchemaError(f"{_path_text(where)}: {within}")


def _check_const(value: object, right: object, where: str, schema: Schema) -> None:
    if value != right:
        raise SchemaError(
            f"{_path_text(where)} is {_shortened_json(value)}, not {_shortened_json(right)}"
        )


def _check_enum(value: object, choices: list[object], where: str, schema: Schema) -> None:
    if value not in choices or isinstance(value, bool):
        words = " ".join(map(_shortened_json, choices))
        raise SchemaError(f"{_path_text(where)} is {_shortened_json(value)}, not one of {words}")


def _check_minimum(value: object, minimum: float, where: str, schema: Schema) -> None:
    if isinstance(value, (int, float)) and value < minimum:
        raise SchemaError(f"{_path_text(where)} is {_shortened_json(value)}, less than {minimum}")


def _check_maximum(value: object, maximum: float, where: str, schema: Schema) -> None:
    if isinstance(value, (int, float)) and value > maximum:
        raise SchemaError(f"{_path_text(where)} is {_shortened_json(value)}, more than {maximum:g}")


def _check_required(value: object, names: list[str], where: str, schema: Schema) -> None:
    for name in names:
        if isinstance(value, dict) and name not in value:
            raise SchemaError(f"{_path_text(where)} has no {name!r}")


def _check_properties(
    value: object, properties: Mapping[str, Schema], where: str, schema: Schema
) -> None:
    for name, part in properties.items():
        if isinstance(value, dict) and name in value:
            _check(value[name], part, f"{where}.{name}")


def _check_others(value: object, part: Schema, where: str, schema: Schema) -> None:
    named = schema.get("properties", {})
    for name, item in value.items() if isinstance(value, dict) else ():
        if name not in named:
            _check(item, part, f"{where}.{name}")


def _check_items(value: object, part: Schema, where: str, schema: Schema) -> None:
    for index, item in enumerate(value if isinstance(value, list) else ()):
        _check(item, part, f"{where}[{index}]")


_KEYWORDS: Mapping[str, Callable[[object, Any, str, Schema], None]] = {
    "$ref": _check_ref,
    "type": _check_type,
    "const": _check_const,
    "enum": _check_enum,
    "minimum": _check_minimum,
    "maximum": _check_maximum,
    "required": _check_required,
    "properties": _check_properties,
    "additionalProperties": _check_others,
    "items": _check_items,
}


def _path_text(where: str) -> str:
    return where.removeprefix(".")[:80] or "the line"


def _shortened_json(value: object) -> str:
    if value is None:
        return "null"
    try:
        text = json.dumps(value)
    except RecursionError:
        text = "something nested deeply"
    return text if len(text) <= 40 else text[:37] + "..."
