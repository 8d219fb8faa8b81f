"""What the original's programs have in common: the banner, how a time looks, phases in one line."""

from __future__ import annotations

from collections.abc import Mapping

from deepbench.report import Row
from deepbench.report.fields import get

Phases = Mapping[str, Row]  # the rows of one problem, by phase


def banner(inference: bool) -> str:
    """The two lines above the first rule."""
    text = f"Running {'inference' if inference else 'training'} benchmark "
    return f"{text:>45}\n{'Times':>30}\n"


def attributes(row: Row) -> Mapping[str, object]:
    """The row's dimensions; none where it was never understood."""
    return row.get("attributes") or {}


def microseconds(row: Row | None) -> int | None:
    """Whole ones, cut off; None where there is no time to be trusted."""
    median = None if row is None else get(row, "statistics.median_ns")
    if row is None or median is None or row["status"] != "ok":
        return None
    return int(median // 1000)


def shown(time: int | None) -> str:
    """A time as its column has it."""
    return "Not Supported" if time is None else str(time)


class PhaseCollector:
    """Puts the phases of a problem, which are rows that follow one another, together."""

    def __init__(self) -> None:
        self._key: object = None
        self._phases: dict[str, Row] = {}

    def add(self, row: Row) -> Phases | None:
        """Takes a row; returns the problem before it, if the row begins another."""
        values = dict(attributes(row))
        phase = str(values.pop("phase", "fwd"))
        key = (values, get(row, "regime.cache"))
        complete = None
        if key != self._key or phase in self._phases:
            complete = self.take()
        self._key = key
        self._phases[phase] = row
        return complete

    def take(self) -> Phases | None:
        """The problem at hand, which is forgotten."""
        phases, self._phases = self._phases, {}
        return phases or None


def of_problem(phases: Phases) -> Row:
    """Any row of the problem: what they have in common can be read from it."""
    return next(iter(phases.values()))
