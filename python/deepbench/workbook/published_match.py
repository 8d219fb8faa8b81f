"""Recognizes the original's workbooks by their contents.

The package contains every figure that they publish, with its status and known errors. A time in the
published place with the published value is that figure.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any

from deepbench import references
from deepbench.json_types import JsonObject
from deepbench.results.row import Published, Row
from deepbench.workbook.figures import Figure, phase_of

Key = tuple[str, int, str, str]  # sheet, row, operation, phase

_FEWEST = 20  # the fewest figures that can identify a workbook
_SHARE = 0.9  # of a workbook's figures that must have the published value
_PHASES = {"bwd_params": "bwd_weights"}
# Published times are rounded to ten digits and to picoseconds; workbooks hold more digits.
_SHARE_OF_TIME, _PICOSECOND = 1e-9, 1e-3
OTHER_TIME = "differs from the published time"  # the kind of a remark


class PublishedMatch:
    """The published figures of the original's workbook that a file is; empty for other
    workbooks."""

    def __init__(self, figures: Sequence[Figure]) -> None:
        self.workbook: str | None = None
        self.processor: str | None = None
        self._rows: Mapping[Key, Row] = {}
        if len(figures) >= _FEWEST:
            self._find_workbook(figures)

    def find_row(self, figure: Figure) -> Row | None:
        """The published row of the same problem in the place of a figure. Its time may differ."""
        row = self._rows.get(_figure_key(figure))
        if row is None:
            return None
        same = all(row.attributes.get(name) == value for name, value in figure.dimensions.items())
        return row if same else None

    def _find_workbook(self, figures: Sequence[Figure]) -> None:
        wanted = {_figure_key(figure): figure.time_ns for figure in figures}
        workbooks = _published_rows()
        agreeing: Counter[str] = Counter()
        for name, rows in workbooks.items():
            agreeing[name] = sum(
                _is_same_time(wanted[key], row.statistics.mean_ns)
                for key, row in rows.items()
                if key in wanted
            )
        [(best, count)] = agreeing.most_common(1)
        if count >= _SHARE * len(figures):
            self.workbook, self._rows = best, workbooks[best]
            self.processor = next(iter(self._rows.values())).device.name


def published_row(row: Row) -> Row | None:
    """The published figure that a row of a native sheet refers to; None if it does not exist or is
    of another problem."""
    facts = row.regime.published
    if facts is None or None in (facts.workbook, facts.sheet, facts.row, facts.phase):
        return None
    found = _published_rows().get(str(facts.workbook), {}).get(_published_key(row, facts))
    return found if found is not None and found.problem == row.problem else None


def with_edited_time(facts: JsonObject, published_ns: float, time_ns: float) -> dict[str, Any]:
    """The facts of a published figure, marked as doubtful if the time differs from the published
    one."""
    if _is_same_time(time_ns, published_ns):
        return dict(facts)
    note = f"{time_ns / 1e6:g} ms here, {published_ns / 1e6:g} ms as published"
    return {**facts, "note": note, "doubt": facts.get("doubt") or note}


def _is_same_time(one: float, other: float | None) -> bool:
    return other is not None and math.isclose(
        one, other, rel_tol=_SHARE_OF_TIME, abs_tol=_PICOSECOND
    )


@cache
def _published_rows() -> Mapping[str, Mapping[Key, Row]]:
    """Every published row, by workbook and place."""
    found: defaultdict[str, dict[Key, Row]] = defaultdict(dict)
    for reference in references.published():
        for row in references.load(reference).rows:
            if facts := row.regime.published:
                found[str(facts.workbook)][_published_key(row, facts)] = row
    return found


def _figure_key(figure: Figure) -> Key:
    return figure.sheet, figure.row, figure.op, phase_of(figure)


def _published_key(row: Row, facts: Published) -> Key:
    phase = "dense" if facts.algorithm == "dense baseline" else str(facts.phase)
    if row.op == "all_reduce":
        phase = "fwd"
    return str(facts.sheet), facts.row or 0, str(row.op), _PHASES.get(phase, phase)
