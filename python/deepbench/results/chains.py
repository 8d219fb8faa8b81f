"""The chains of a result file: all kernels of a pass of a model, timed as one call."""

from __future__ import annotations

from typing import Any

from deepbench.json_types import JsonObject
from deepbench.results import schema, strict_json
from deepbench.results.member_line import MemberLine
from deepbench.results.row import text_of_line


class ChainLine(MemberLine):
    """A chain as it stands in a file."""

    @property
    def is_failure(self) -> bool:
        """Whether it could have been measured and was not."""
        return self.status not in ("ok", "unsupported")

    @property
    def median_ns(self) -> float | None:
        """The time of all calls together; None if the chain has none."""
        statistics = self.members.get("statistics") or {}
        return statistics.get("median_ns") if self.status == "ok" else None

    def is_of(self, parameters: JsonObject, power: str) -> bool:
        """Whether it is the chain of the pass with these parameters in this power regime."""
        return bool(self.members["parameters"] == parameters and self.members["power"] == power)


def chain_of_answer(text: str, parameters: JsonObject) -> ChainLine:
    """The chain that a worker measured, as the chain of the pass with these parameters. Raises
    JsonError or SchemaError."""
    value = strict_json.parsed(text.encode("utf-8"))
    if not isinstance(value, dict) or value.get("type") != "chain":
        raise schema.SchemaError("it is no chain")
    members = {"type": "chain", "parameters": dict(parameters), **value}
    _check(members)
    return ChainLine(members)


def failed_chain(
    parameters: JsonObject, power: str, calls: int, kernels: int, status: str, reason: str
) -> ChainLine:
    """The chain of a pass that no worker answered."""
    members = {
        "type": "chain",
        "parameters": dict(parameters),
        "calls": calls,
        "kernels": kernels,
        "status": status,
        "reason": reason,
        "power": power,
    }
    return ChainLine(members)


def chain_of_json_value(value: Any, line: bytes) -> ChainLine:
    """The chain in a line whose JSON is `value`. Raises SchemaError."""
    _check(value)
    return ChainLine(value, text_of_line(value, line.decode("utf-8").strip()))


def _check(value: Any) -> None:
    schema.check_chain(value)
    if value["status"] == "ok" and not (value.get("statistics") or {}).get("median_ns"):
        raise schema.SchemaError("status is ok, and statistics.median_ns has no value")
