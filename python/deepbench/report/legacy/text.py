"""What the original's programs have in common: the banner, how a time looks, phases in one line."""

from __future__ import annotations

from collections.abc import Mapping

from deepbench.report import Row
from deepbench.report.fields import get, time_ns

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
    time = None if row is None else time_ns(row)
    if row is None or time is None or row["status"] != "ok":
        return None
    return int(time // 1000)


def time_text(time: int | None) -> str:
    """A time as its column has it."""
    return "Not Supported" if time is None else str(time)


class PhaseCollector:
    """Puts the phases of a problem, which are rows that follow one another, together; hot and cold
    ones, which may take turns, apart."""

    def __init__(self) -> None:
        self._open: dict[object, tuple[object, dict[str, Row]]] = {}  # by cache regime

    def add(self, row: Row) -> list[Phases]:
        """Takes a row; returns the problem before it, if the row begins another."""
        values = dict(attributes(row))
        phase = str(values.pop("phase", "fwd"))
        regime = get(row, "regime.cache")
        known, phases = self._open.get(regime, (None, {}))
        if values == known and phase not in phases:
            phases[phase] = row
            return []
        self._open[regime] = (values, {phase: row})
        return [phases] if phases else []

    def flush(self) -> list[Phases]:
        """The problems at hand, which are forgotten."""
        left: list[Phases] = [phases for _, phases in self._open.values()]
        self._open.clear()
        return left


def any_phase(phases: Phases) -> Row:
    """Any row of the problem: what they have in common can be read from it."""
    return next(iter(phases.values()))
