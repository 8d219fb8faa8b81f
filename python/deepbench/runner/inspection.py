"""Queries a backend about itself without running a row."""

from __future__ import annotations

from typing import Any

from deepbench.runner.ranks import worker_command
from deepbench.runner.session import Session
from deepbench.runner.worker_process import SessionError

_TIMEOUT_S = 30.0


def inspect_backend(path: str) -> dict[str, Any]:
    """The hello message of a plugin, with the `reason` why it cannot be used, or None. The query
    runs in a separate process, because a broken backend may crash it."""
    session = Session(worker_command("--inspect", (path,)), start_timeout_s=_TIMEOUT_S)
    try:
        facts = dict(session.start())
    except SessionError as error:
        return {"reason": str(error)}
    finally:
        session.close()
    return {**facts, "reason": (facts.get("backend") or {}).get("reason")}
