"""Decides whether a result file may join the measured references: whether its rows represent the
device, and whether others can repeat them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from deepbench.json_types import JsonObject
from deepbench.results import ResultFile, Row, schema

# The largest half of a 95 % interval over the median, which equals the noise limit of compare.
MOST_SPREAD = 0.03
FEWEST_VISITS = 3

# Options that change neither the problem nor the regime of a row.
_FREE_OPTIONS = frozenset(
    {"device", "library", "algorithm", "visits", "energy", "seed", "ceilings"}
)
# Libraries of rows that are parts of deepbench: the loops of memory on a processor.
_WITHOUT_VERSION = frozenset({"threads"})
_UNSUPPORTED = "unsupported"  # rows that the device cannot run do not count against the others


def reasons_against(result: ResultFile) -> list[str]:
    """The reasons why the file may not join, one line each; empty if it may."""
    if result.context.get("reference"):
        return ["it is a reference itself, made of several files; check those files"]
    return [*_incompleteness(result), *_gaps_of_context(result), *_rows_at_fault(result)]


def _incompleteness(result: ResultFile) -> Iterator[str]:
    planned, rows = int(result.context["rows"]), len(result.rows)
    if rows < planned or result.torn:
        yield f"{rows} of {planned} rows are there; --resume measures the others"
    if not any(row.status == "ok" for row in result.rows):
        yield "no row was measured"


def _gaps_of_context(result: ResultFile) -> Iterator[str]:
    """The facts that the context lacks, and its options that differ from those of a default run."""
    context = result.context
    if context["schema"] != schema.VERSION:
        current = f"the current one, {schema.VERSION}"
        yield f"schema {context['schema']} is not {current}; measure it again"
    for name, value in (
        ("the device", _member(context, "device", "name")),
        ("the backend", _member(context, "backend", "name")),
        ("the processor of the host", _member(context, "host", "cpu")),
        ("the start of the run", context.get("started")),
        ("the values of all options", context.get("option_values")),
    ):
        if not value:
            yield f"the context does not state {name}"
    libraries = context.get("libraries") or {}
    named = {row.library for row in result.rows if row.library}
    for name in sorted({text.partition(" ")[0] for text in named if not _is_own(text, libraries)}):
        if not _member(libraries, name, "version"):
            yield f"the context does not state the version of the library {name}"
    if not _member(context, "build", "revision"):
        yield "the context does not state the revision of deepbench; build it in a git tree"
    elif _member(context, "build", "modified") is not False:
        yield "deepbench was built from changed sources; commit them first"
    for name, value in context["options"].items():
        if name not in _FREE_OPTIONS:
            yield f"the option {name}={value} is not the default"
    for name in ("quick", "in_process"):
        if _member(context, "option_values", name) == "yes":
            yield f"the option {name} is not the default"


def _is_own(library: str, libraries: JsonObject) -> bool:
    """Whether the library of a row is a part of deepbench without a version of its own, which the
    context does not list."""
    return library in _WITHOUT_VERSION and library not in libraries


def _member(value: Any, *keys: str) -> Any:
    """The member at a path of keys, None where an object lacks it."""
    for key in keys:
        value = value.get(key) if isinstance(value, Mapping) else None
    return value


def _rows_at_fault(result: ResultFile) -> Iterator[str]:
    """One reason for all rows with the same fault."""
    rows = [row for row in result.rows if row.status != _UNSUPPORTED]
    for what, is_at_fault in _FAULTS.items():
        found = [row for row in rows if is_at_fault(row)]
        if found:
            count = "1 row is" if len(found) == 1 else f"{len(found)} rows are"
            yield f"{count} {what}, the first: {found[0].problem}"


def _is_not_default_regime(row: Row) -> bool:
    return (row.regime.cache, row.regime.power) != ("hot", "rested")


def is_sound(row: Row) -> bool:
    """Whether a row may be part of a reference: it is verified, precise, and from a quiet machine.
    The number of its visits and its regime are checked elsewhere."""
    is_verified = row.status == "ok" and row.verification.status == "passed"
    return is_verified and not _is_wide(row) and not row.statistics.is_disturbed


def _is_wide(row: Row) -> bool:
    spread = row.statistics.spread
    return row.status == "ok" and (spread is None or spread > MOST_SPREAD)


def _has_few_visits(row: Row) -> bool:
    visits = row.statistics.visits
    return row.status == "ok" and ((visits.count if visits else None) or 1) < FEWEST_VISITS


_FAULTS: Mapping[str, Callable[[Row], bool]] = {
    "not ok": lambda row: row.status != "ok",
    "not verified": lambda row: row.status == "ok" and row.verification.status != "passed",
    "not hot in the caches and rested": _is_not_default_regime,
    f"of fewer than {FEWEST_VISITS} visits (--visits {FEWEST_VISITS})": _has_few_visits,
    f"less certain than {MOST_SPREAD:.0%} (half the 95 % interval)": _is_wide,
    "disturbed by other work (--resume --retry)": lambda row: row.statistics.is_disturbed,
}
