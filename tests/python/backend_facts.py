"""What the backends of this installation tell for planning, with or without their devices."""

from __future__ import annotations

import json
from functools import cache
from typing import Any

from deepbench import _core


@cache
def planning(backend: str) -> dict[str, Any]:
    """`default_precisions`, `default_libraries` and `estimates` of the backend."""
    facts: dict[str, Any] = json.loads(_core.inspect(backend, []))["planning"]
    return facts


def estimates(context: dict[str, Any]) -> dict[str, Any]:
    """Of the backend that a context names; none where it names none."""
    name = (context.get("backend") or {}).get("name")
    found: dict[str, Any] = planning(name)["estimates"] if name else {}
    return found
