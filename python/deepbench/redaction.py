"""What a result file never says: the values of variables that are secrets, such as NVIDIA_API_KEY
or DEEPBENCH_RANKS_SECRET, with which anyone can join a run's ranks. They are left out of what is
written, and of files that hold them when these are read."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

REDACTED = "(redacted)"
# A variable is a secret whose name has one of these between its underscores; UCX_IB_PKEY, a
# partition of a network, is none.
_SECRET_WORDS = {
    "KEY", "APIKEY", "TOKEN", "SECRET", "PASSWORD", "PASSWD", "PASSPHRASE", "CREDENTIAL",
    "CREDENTIALS",
}  # fmt: skip


def without_secrets(variables: Mapping[str, str]) -> dict[str, str]:
    """The variables of an environment, by name; of a secret, only that it was set."""
    return {
        name: REDACTED if value and _is_secret(name) else value for name, value in variables.items()
    }


def _is_secret(name: str) -> bool:
    return not _SECRET_WORDS.isdisjoint(name.upper().split("_"))


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
