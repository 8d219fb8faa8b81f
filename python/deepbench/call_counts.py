"""How often the applications of a suite make a call: the `count=` of its lines, by which totals and
weighted speedups weigh times."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

MAX_COUNT = 10**15  # limit for a line and for a row, so that sums of a suite are exact in JSON


@dataclass(frozen=True)
class ApplicationCalls:
    """How often one application makes the call of a row."""

    name: str
    count: int


@dataclass(frozen=True)
class CallCounts:
    """How often the call of a row is made, and by which applications. Lines without an application
    are in the count alone."""

    count: int
    applications: tuple[ApplicationCalls, ...] = ()  # in order of appearance, each once

    @property
    def only_application(self) -> str | None:
        """The name of the application if there is exactly one."""
        return self.applications[0].name if len(self.applications) == 1 else None


def calls_by_application(
    application: str | None, count: int | None, applications: Sequence[ApplicationCalls]
) -> list[tuple[str | None, int]]:
    """The calls of a row by the application that makes them; None: no application is named. A row
    without a count has one call."""
    if not applications:
        return [(application, count or 1)]
    calls: list[tuple[str | None, int]] = [(one.name, one.count) for one in applications]
    unnamed = (count or 0) - sum(one.count for one in applications)
    return [*calls, (None, unnamed)] if unnamed > 0 else calls


def application_names(
    application: str | None, applications: Sequence[ApplicationCalls]
) -> str | None:
    """The applications of a row as one text."""
    return ", ".join(one.name for one in applications) or application
