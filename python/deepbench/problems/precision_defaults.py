"""Determines the precision of a problem that states none, according to the backend."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

_FALLBACK = "float"


def default_precision(hello: Mapping[str, Any] | None, set_name: str | None, op: str) -> str:
    """The default precision of `op` in a set, by the facts `default_precision.OP` and
    `default_precision.SET.OP` (plugin.h) in the hello message of the backend. A set's name may
    continue that of the fact: inference stands for inference_server and inference_device. A problem
    outside any set counts as training."""
    facts = ((hello or {}).get("planning") or {}).get("default_precisions") or {}
    kind = (set_name or "training").partition("_")[0]
    return str(facts.get(f"{kind}.{op}") or facts.get(op) or _FALLBACK)
