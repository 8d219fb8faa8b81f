"""Rows that the parent writes: for problems whose worker failed, and for problems that are skipped
because of the restart limit."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from deepbench.results import schema

Json = Mapping[str, Any]


def failed_row(
    *,
    position: int,
    problem: str,
    op: str,
    attributes: Json,
    application: str | None,
    work: Json,
    hello: Json,
    status: str,
    reason: str,
    worker: str | None = None,
) -> dict[str, Any]:
    """The row of a problem without a valid answer; all measured members are null. `worker` is
    crashed, hung, killed or skipped, or None if the worker is still running."""
    row: dict[str, Any] = dict.fromkeys(schema.document()["$defs"]["row"]["properties"])
    device = hello.get("device") or {}
    row.update(
        type="row",
        position=position,
        problem=problem,
        op=op,
        attributes=dict(attributes),
        application=application,
        backend=(hello.get("backend") or {}).get("name"),
        device={"index": device.get("index"), "name": device.get("name")},
        status=status,
        reason=reason,
        work=dict(work),
        metrics=[],
        observed={"worker": worker} if worker else None,
        notes=[],
    )
    return row
