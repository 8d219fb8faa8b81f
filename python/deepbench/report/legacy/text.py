"""Helpers that the sections share: the banner, times, and phases of one problem."""

from __future__ import annotations

from collections.abc import Mapping

from deepbench.results.row import Row

Phases = Mapping[str, Row]  # the rows of one problem, by phase


def banner(inference: bool) -> str:
    """The two lines above the first rule."""
    text = f"Running {'inference' if inference else 'training'} benchmark "
    return f"{text:>45}\n{'Times':>30}\n"


def attributes(row: Row) -> Mapping[str, object]:
    """The row's attributes; empty if its problem could not be parsed."""
    return row.attributes


def microseconds(row: Row | None) -> int | None:
    """The row's time, truncated to whole microseconds; None if the row is not ok."""
    time = None if row is None else row.time_ns
    if row is None or time is None or row.status != "ok":
        return None
    return int(time // 1000)


def time_text(time: int | None) -> str:
    """The text of a time in its column."""
    return "Not Supported" if time is None else str(time)


class PhaseCollector:
    """Joins consecutive rows that are the phases of one problem. Hot and cold rows, which may
    alternate, are kept apart."""

    def __init__(self) -> None:
        self._open: dict[object, tuple[object, dict[str, Row]]] = {}  # by cache regime

    def add(self, row: Row) -> list[Phases]:
        """Adds a row. If the row starts a new problem, returns the completed one."""
        values = dict(attributes(row))
        phase = str(values.pop("phase", "fwd"))
        regime = row.regime.cache
        known, phases = self._open.get(regime, (None, {}))
        if values == known and phase not in phases:
            phases[phase] = row
            return []
        self._open[regime] = (values, {phase: row})
        return [phases] if phases else []

    def flush(self) -> list[Phases]:
        """Returns the problems that are still incomplete, and forgets them."""
        left: list[Phases] = [phases for _, phases in self._open.values()]
        self._open.clear()
        return left


def row_of_any_phase(phases: Phases) -> Row:
    """Any row of the problem, for what all its phases share."""
    return next(iter(phases.values()))
