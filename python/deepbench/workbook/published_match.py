"""Recognises the original's workbooks by their contents.

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
from deepbench.workbook.figures import Figure, phase_of

Json = Mapping[str, Any]
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
        self._rows: Mapping[Key, Json] = {}
        if len(figures) >= _FEWEST:
            self._recognise(figures)

    def row(self, figure: Figure) -> Json | None:
        """The published row of the same problem in the place of a figure. Its time may differ."""
        row = self._rows.get(_key(figure))
        if row is None:
            return None
        same = all(
            row["attributes"].get(name) == value for name, value in figure.dimensions.items()
        )
        return row if same else None

    def _recognise(self, figures: Sequence[Figure]) -> None:
        wanted = {_key(figure): figure.time_ns for figure in figures}
        workbooks = _published()
        agreeing: Counter[str] = Counter()
        for name, rows in workbooks.items():
            agreeing[name] = sum(key in wanted and _same(wanted[key], row["statistics"]["mean_ns"])
                                 for key, row in rows.items())  # fmt: skip
        [(best, count)] = agreeing.most_common(1)
        if count >= _SHARE * len(figures):
            self.workbook, self._rows = best, workbooks[best]
            self.processor = next(iter(self._rows.values()))["device"]["name"]


def published_row(row: Json) -> Json | None:
    """The published figure that a row of a native sheet refers to; None if it does not exist or is
    of another problem."""
    facts = row["regime"]["published"]
    if any(facts.get(name) is None for name in ("workbook", "sheet", "row", "phase")):
        return None
    found = _published().get(str(facts["workbook"]), {}).get(_published_key(row))
    return found if found is not None and found["problem"] == row["problem"] else None


def with_time(facts: Json, published_ns: float, time_ns: float) -> dict[str, Any]:
    """The facts of a published figure, marked as doubtful if the time differs from the published
    one."""
    if _same(time_ns, published_ns):
        return dict(facts)
    note = f"{time_ns / 1e6:g} ms here, {published_ns / 1e6:g} ms as published"
    return {**facts, "note": note, "doubt": facts.get("doubt") or note}


def _same(one: float, other: float) -> bool:
    return math.isclose(one, other, rel_tol=_SHARE_OF_TIME, abs_tol=_PICOSECOND)


@cache
def _published() -> Mapping[str, Mapping[Key, Json]]:
    """Every published row, by workbook and place."""
    found: defaultdict[str, dict[Key, Json]] = defaultdict(dict)
    for reference in references.available():
        for row in references.load(reference).rows:
            found[row["regime"]["published"]["workbook"]][_published_key(row)] = row
    return found


def _key(figure: Figure) -> Key:
    return figure.sheet, figure.row, figure.op, phase_of(figure)


def _published_key(row: Json) -> Key:
    facts = row["regime"]["published"]
    phase = str(facts["phase"])
    if facts.get("algorithm") == "dense baseline":
        phase = "dense"
    return (
        str(facts["sheet"]),
        int(facts["row"]),
        str(row["op"]),
        "fwd" if row["op"] == "all_reduce" else _PHASES.get(phase, phase),
    )
