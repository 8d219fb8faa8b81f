"""schema.json, which describes the lines of a result file and which the package carries, and the
checks of a line against it. The file is the only description of a line, and reading a result needs
no further package."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

from deepbench.errors import printable_line
from deepbench.results.schema_check import Check, Schema, Violation, compile_check, shortened_json

VERSION = 3

_KEY = re.compile(r"[a-z]+( [a-z_]+=[\w.-]{1,64}){1,16}", re.ASCII)
# The object and the member that hold the figure of each kind of ceiling.
CEILING_FIGURES: Mapping[str, tuple[str, str]] = {
    "arithmetic": ("rates", "tflops"),
    "bandwidth": ("rates", "gbps"),
    "latency": ("statistics", "median_ns"),
    "serial": ("statistics", "median_ns"),  # of all steps
}


class SchemaError(ValueError):
    """A line violates the schema. The message names the place and the expected value. The place is
    made of keys of the file, which may hold any characters."""

    def __init__(self, message: str) -> None:
        super().__init__(printable_line(message))


@cache
def schema_document() -> Schema:
    """The content of schema.json."""
    path = Path(__file__).with_name("schema.json")
    loaded: Schema = json.loads(path.read_text(encoding="utf-8"))
    return loaded


def check_context(value: object) -> None:
    """Raises SchemaError unless `value` is a context."""
    _check("context", value)


def check_row(value: object) -> None:
    """Raises SchemaError unless `value` is a row."""
    _check("row", value)


def check_ceiling(value: object) -> None:
    """Raises SchemaError unless `value` is a ceiling."""
    _check("ceiling", value)


def check_chain(value: object) -> None:
    """Raises SchemaError unless `value` is a chain."""
    _check("chain", value)


def check_visit(value: object) -> None:
    """Raises SchemaError unless `value` is a visit."""
    _check("visit", value)


def check_ceiling_consistency(line: Mapping[str, Any]) -> None:
    """Raises SchemaError if a valid ceiling is ok without a figure, or has a key that cannot be
    given to a worker."""
    key, kind = line["ceiling"], line["kind"]
    if not _KEY.fullmatch(key) or not key.startswith(f"{kind} "):
        raise SchemaError(f"ceiling is {shortened_json(key)}, not '{kind} NAME=VALUE ...'")
    part, member = CEILING_FIGURES[kind]
    if line["status"] == "ok" and not ((line.get(part) or {}).get(member) or 0) > 0:
        raise SchemaError(f"status is ok, and {part}.{member} has no value")


def _check(name: str, value: object) -> None:
    try:
        _check_of(name)(value)
    except Violation as violation:
        gap = "" if violation.what.startswith(":") else " "
        raise SchemaError(f"{violation.place}{gap}{violation.what}") from None


@cache
def _check_of(name: str) -> Check:
    definitions: Schema = schema_document()["$defs"]
    return compile_check(definitions[name], definitions)
