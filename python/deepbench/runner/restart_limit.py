"""When a sweep stops trying: three crashes in a row of one operation through one library.

It goes by the rows alone, those of a resumed file included, so that a run that was interrupted
gives up where the whole run does.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from deepbench.report.fields import get
from deepbench.runner.plan import PlannedRow

Json = Mapping[str, Any]
# The libraries that can do a row: rows of an operation that share them go through the same one.
# None: not even that could be asked.
Libraries = frozenset[str] | None

MAX_CRASHES = 3
# A row that was not run, or ended because it took too much, tells nothing about its library.
_UNINFORMATIVE = ("unsupported", "invalid", "out_of_memory")


class RestartLimit:
    """The crashes so far."""

    def __init__(self, libraries: Callable[[PlannedRow], Libraries]) -> None:
        self._libraries = libraries  # asked only once an operation has crashed
        self._crashes: dict[str, dict[Libraries, list[str]]] = {}  # in a row, by operation

    def skip_reason(self, planned: PlannedRow) -> str | None:
        """Why a row is not to be run; None: it is."""
        families = self._crashes.get(planned.op, {})
        if all(len(crashes) < MAX_CRASHES for crashes in families.values()):
            return None
        libraries = self._libraries(planned)
        crashes = families.get(libraries, ())
        if len(crashes) < MAX_CRASHES or libraries == frozenset():  # none: it will say so itself
            return None
        return f"not run after three crashes in a row: {', '.join(crashes)}"

    def record(self, planned: PlannedRow, row: Json) -> str | None:
        """Takes a row into account. Returns what is given up with it."""
        crash = _crash(row)
        families = self._crashes.setdefault(planned.op, {})
        if crash is None and (not families or _is_uninformative(row)):
            return None
        libraries = self._libraries(planned)
        if crash is None:
            for answered in (libraries, None):  # what is given up stays so
                if len(families.get(answered, ())) < MAX_CRASHES:
                    families.pop(answered, None)
            return None
        crashes = families.setdefault(libraries, [])
        crashes.append(f"row {row['position']} {crash}")
        return planned.op + _through(libraries) if len(crashes) == MAX_CRASHES else None


def _crash(row: Json) -> str | None:
    """How the row cost its worker: 'crashed: SIGSEGV'."""
    if row["status"] == "device_lost":
        return "lost the device"
    if get(row, "observed.worker") != "crashed":
        return None
    return str(row["reason"]).removeprefix("the worker ").partition(" (")[0]


def _is_uninformative(row: Json) -> bool:
    return row["status"] in _UNINFORMATIVE or get(row, "observed.worker") is not None


def _through(libraries: Libraries) -> str:
    names = sorted((libraries or frozenset()) - {""})
    if not names:
        return ""
    if len(names) == 1:
        return f" through {names[0]}"
    return f" through the backend's choice of {', '.join(names)}"
