"""Keeps secrets out of result files: the values of environment variables such as NVIDIA_API_KEY, or
DEEPBENCH_RANKS_SECRET, which lets anyone join the ranks of a run. They are redacted when a file is
written, and when a file that contains them is read."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

REDACTED = "(redacted)"
# A variable is a secret if a part of its name, between underscores, is one of these words.
# UCX_IB_PKEY, a network partition, is not a secret.
_SECRET_WORDS = {
    "KEY", "APIKEY", "TOKEN", "SECRET", "PASSWORD", "PASSWD", "PASSPHRASE", "CREDENTIAL",
    "CREDENTIALS",
}  # fmt: skip


def without_secrets(variables: Mapping[str, str]) -> dict[str, str]:
    """The environment variables by name, with the values of secrets redacted."""
    return {
        name: REDACTED if value and _is_secret(name) else value for name, value in variables.items()
    }


def _is_secret(name: str) -> bool:
    return not _SECRET_WORDS.isdisjoint(name.upper().split("_"))


def redacted_context(context: dict[str, Any]) -> dict[str, Any]:
    """The context of a result file with secrets redacted; files of older versions contain them."""
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
