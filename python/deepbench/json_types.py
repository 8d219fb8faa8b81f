"""The types of members that were read from JSON, or that become JSON."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

JsonObject = Mapping[str, Any]
MutableJsonObject = dict[str, Any]
