"""What a result file never says: the values of variables that are secrets. They are left out of
what is written, and of files that hold them when these are read."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

REDACTED = "(redacted)"
_SECRETS = ("DEEPBENCH_RANKS_SECRET",)  # whoever knows it can join a run's ranks


def without_secrets(variables: Mapping[str, str]) -> dict[str, str]:
    """The variables of an environment, by name; of a secret, only that it was set."""
    return {
        name: REDACTED if name in _SECRETS and value else value for name, value in variables.items()
    }


def redacted_context(context: dict[str, Any]) -> dict[str, Any]:
    """A result file's context without secrets: older versions wrote them."""
    redacted = _with_redacted_environment(context)
    host = context.get("host")
    if isinstance(host, dict):
        redacted = redacted | {"host": _with_redacted_environment(host)}
    return redacted


def _with_redacted_environment(facts: dict[str, Any]) -> dict[str, Any]:
    variables = facts.get("environment")
    if not isinstance(variables, dict):
        return facts
    return facts | {"environment": without_secrets(variables)}
