"""Facts of the installed backends that planning uses; no device is needed."""

from __future__ import annotations

import json
from functools import cache
from typing import Any

from deepbench import _core


@cache
def planning_facts(backend: str) -> dict[str, Any]:
    """`default_precisions`, `default_libraries` and `estimates` of the backend."""
    facts: dict[str, Any] = json.loads(_core.inspect(backend, []))["planning"]
    return facts


def estimate_facts(context: dict[str, Any]) -> dict[str, Any]:
    """The facts for estimates of the backend that a context names; empty if it names none."""
    name = (context.get("backend") or {}).get("name")
    found: dict[str, Any] = planning_facts(name)["estimates"] if name else {}
    return found
