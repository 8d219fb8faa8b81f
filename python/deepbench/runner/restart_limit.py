"""The restart limit: after three consecutive crashes of one operation in one library, a run skips
the rest of its rows.

The limit depends on the rows only, including those of a resumed file, so that an interrupted run
skips the same rows as an uninterrupted one.
"""

from __future__ import annotations

from collections.abc import Callable

from deepbench.results.row import Row
from deepbench.runner.plan import PlannedRow

# The libraries that support a row. Rows of an operation with the same libraries run in the same
# library.
# None: the worker crashed on the question.
Libraries = frozenset[str] | None

MAX_CRASHES = 3
# A row that did not run, or that exceeded a limit, tells nothing about its library.
_UNINFORMATIVE = ("unsupported", "invalid", "out_of_memory")
_ENDED_BY_THE_ROW = ("crashed", "stopped")  # how a worker ended: both count as a crash


class RestartLimit:
    """Counts consecutive crashes by operation and libraries."""

    def __init__(self, libraries: Callable[[PlannedRow], Libraries]) -> None:
        self._libraries = libraries  # called only after an operation has crashed
        self._crashes: dict[str, dict[Libraries, list[str]]] = {}  # consecutive, by operation

    def skip_reason(self, planned: PlannedRow) -> str | None:
        """The reason to skip a row, or None to run it."""
        families = self._crashes.get(planned.op, {})
        if all(len(crashes) < MAX_CRASHES for crashes in families.values()):
            return None
        libraries = self._libraries(planned)
        crashes = families.get(libraries, ())
        if len(crashes) < MAX_CRASHES or libraries == frozenset():  # unsupported: the row says so
            return None
        return f"not run after three crashes in a row: {', '.join(crashes)}"

    def record(self, planned: PlannedRow, row: Row) -> str | None:
        """Counts a row. Returns the operation that reaches the restart limit with it, if any."""
        crash = _crash_text(row)
        families = self._crashes.setdefault(planned.op, {})
        if crash is None and (not families or _is_uninformative(row)):
            return None
        libraries = self._libraries(planned)
        if crash is None:
            for answered in (libraries, None):  # an operation beyond the limit stays there
                if len(families.get(answered, ())) < MAX_CRASHES:
                    families.pop(answered, None)
            return None
        crashes = families.setdefault(libraries, [])
        crashes.append(f"row {row.position} {crash}")
        return planned.op + _libraries_text(libraries) if len(crashes) == MAX_CRASHES else None


def _crash_text(row: Row) -> str | None:
    """How the worker of a row ended: 'crashed: SIGSEGV'."""
    if row.status == "device_lost":
        return "lost the device"
    if row.observed.get("worker") not in _ENDED_BY_THE_ROW:
        return None
    return str(row.reason).removeprefix("the worker").removeprefix("'s").lstrip().partition(" (")[0]


def _is_uninformative(row: Row) -> bool:
    return row.status in _UNINFORMATIVE or row.observed.get("worker") is not None


def _libraries_text(libraries: Libraries) -> str:
    names = sorted((libraries or frozenset()) - {""})
    if not names:
        return ""
    if len(names) == 1:
        return f" through {names[0]}"
    return f" through the backend's choice of {', '.join(names)}"
