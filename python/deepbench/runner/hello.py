"""The first message of a worker: the backend, its device and its facts for planning. A backend is
foreign code, so that the types of the message are checked before anything relies on them."""

from __future__ import annotations

from functools import cache

from deepbench.json_types import JsonObject
from deepbench.results import schema
from deepbench.results.schema_check import Check, Violation, compile_check

_TEXTS_BY_NAME: JsonObject = {
    "type": ["object", "null"],
    "additionalProperties": {"type": "string"},
}
_FIGURES_BY_NAME: JsonObject = {
    "type": ["object", "null"],
    "additionalProperties": {"type": "number"},
}
_PLANNING: JsonObject = {
    "type": ["object", "null"],
    "properties": {
        "default_precisions": _TEXTS_BY_NAME,
        "default_libraries": _TEXTS_BY_NAME,
        "estimates": _FIGURES_BY_NAME,
    },
}
# The members that the context of a result file takes over, to which its rules apply.
_OF_THE_CONTEXT = ("version", "backend", "device", "device_count", "libraries", "environment",
                   "threads", "ranks", "warnings")  # fmt: skip


def check_hello(hello: JsonObject) -> None:
    """Raises SchemaError if a member of the message has a wrong type."""
    try:
        _check()(hello)
        joint_phases = (hello.get("backend") or {}).get("joint_phases")
        _check_joint_phases()(joint_phases)
    except Violation as violation:
        raise schema.SchemaError(f"{violation.place} {violation.what}") from None


@cache
def _check() -> Check:
    definitions = schema.schema_document()["$defs"]
    context = definitions["context"]["properties"]
    members = {name: context[name] for name in _OF_THE_CONTEXT}
    return compile_check(
        {"type": "object", "properties": {**members, "planning": _PLANNING}}, definitions
    )


@cache
def _check_joint_phases() -> Check:
    return compile_check(_TEXTS_BY_NAME, {})
