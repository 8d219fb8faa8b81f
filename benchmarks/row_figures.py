"""Figures of measured rows. tables.py writes them into documents, and device_figures.py compares
them with goals.

A set may contain a problem several times, once for each application. A mean counts each problem
once, so that the frequent problems of an application do not weigh more than the others.
"""

from __future__ import annotations

import json
import math
import statistics
import threading
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from command_runs import median_us

from deepbench.references import processor_identity
from deepbench.results import Row

_WALL_TIMES = "wall_seconds.json"
_RECORDING = threading.Lock()


@dataclass(frozen=True)
class WallTime:
    """How long the command of a table took, the UUID of its device (None: not recorded), and how
    many other devices of the machine were measured at the same time."""

    seconds: float
    device: str | None
    beside: int = 0


def wall_times(folder: Path) -> dict[str, WallTime]:
    """The wall times of a folder's tables by the name of the table, none without a file."""
    file = folder / _WALL_TIMES
    members = json.loads(file.read_text(encoding="utf-8")) if file.exists() else {}
    return {name: WallTime(**one) for name, one in members.items()}


def record_wall_time(folder: Path, name: str, time: WallTime) -> None:
    with _RECORDING:  # devices of one machine end at the same time
        times = {**wall_times(folder), name: time}
        text = json.dumps({key: asdict(one) for key, one in times.items()}, indent=2) + "\n"
        (folder / _WALL_TIMES).write_text(text, encoding="utf-8")


def device_uuid(context: Mapping[str, Any]) -> str | None:
    """The UUID of the device of a file, of several the first; of a processor the identity of its
    machine."""
    return (context.get("device") or {}).get("uuid") or processor_identity(context)


def ok_rows(rows: Iterable[Row]) -> list[Row]:
    return [row for row in rows if row.status == "ok"]


def verified_rows(rows: Iterable[Row]) -> list[Row]:
    """The rows of a page that says of all its rows that they are verified."""
    return [row for row in ok_rows(rows) if row.verification.status == "passed"]


def same_problems(*runs: Iterable[Row]) -> Iterator[tuple[Row, ...]]:
    """Rows of the same position and problem that are ok in every run."""
    by_place = [{(row.position, row.problem): row for row in ok_rows(run)} for run in runs]
    for place in by_place[0]:
        if all(place in rows for rows in by_place):
            yield tuple(rows[place] for rows in by_place)


def by_problem(figures: Iterable[tuple[Row, float]]) -> list[float]:
    """One figure per problem: the geometric mean over its rows."""
    logarithms: dict[str, list[float]] = {}
    for row, figure in figures:
        logarithms.setdefault(str(row.problem), []).append(math.log(figure))
    return [math.exp(statistics.fmean(values)) for values in logarithms.values()]


def geometric_mean(figures: Iterable[tuple[Row, float]]) -> float:
    """The geometric mean over problems; NaN of none."""
    values = by_problem(figures)
    return statistics.geometric_mean(values) if values else math.nan


@dataclass(frozen=True)
class Selections:
    """What `best` or `exhaustive` gained on the rows that have the default's time beside theirs.
    Ratios are the default's time over the winner's."""

    rows: list[Row]

    @classmethod
    def of(cls, rows: Iterable[Row]) -> Selections:
        return cls([row for row in ok_rows(rows) if row.algorithm.default_ns])

    def interleaved(self) -> float:
        """Both measured in turns."""
        return geometric_mean((row, row.algorithm.speedup or 1.0) for row in self.rows)

    def call(self) -> float:
        """Full measurements of the same run."""
        return geometric_mean((row, default_us(row) / median_us(row)) for row in self.rows)

    def with_conversion(self) -> float:
        """The winner's call and the conversion of a constant operand."""
        return geometric_mean(
            (row, default_us(row) / (median_us(row) + float(row.conversion.ns or 0) / 1e3))
            for row in self.rows
        )

    def slower(self) -> list[Row]:
        """Rows whose winner has the larger median in its full measurement."""
        return [row for row in self.rows if median_us(row) > default_us(row)]


def default_us(row: Row) -> float:
    """The median of the library's default, in a row that selected an algorithm."""
    return float(row.algorithm.default_ns) / 1e3
