"""The original's own workbooks, recognised by what stands in them.

The package carries every figure that they publish, with its status and what is known against it:
a time that stands where it was published, and as it was, is that figure.
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

_FEWEST = 20  # figures that can tell a workbook
_SHARE = 0.9  # of a workbook's figures that must be as published
_PHASES = {"bwd_params": "bwd_weights"}
# Published times have ten digits and are whole picoseconds, those of workbooks have more digits.
_SHARE_OF_TIME, _PICOSECOND = 1e-9, 1e-3
OTHER_TIME = "differs from what was published"  # the kind of a remark


class PublishedMatch:
    """The published figures of the workbook that a file is; empty where it is none of them."""

    def __init__(self, figures: Sequence[Figure]) -> None:
        self.workbook: str | None = None
        self.processor: str | None = None
        self._rows: Mapping[Key, Json] = {}
        if len(figures) >= _FEWEST:
            self._recognise(figures)

    def row(self, figure: Figure) -> Json | None:
        """The published row of the same problem at a figure's place; its time need not be that of
        the figure."""
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
    """The published figure that a row of ours says it is; None where there is no such one, or it is
    of another problem."""
    facts = row["regime"]["published"]
    if any(facts.get(name) is None for name in ("workbook", "sheet", "row", "phase")):
        return None
    found = _published().get(str(facts["workbook"]), {}).get(_published_key(row))
    return found if found is not None and found["problem"] == row["problem"] else None


def with_time(facts: Json, then_ns: float, time_ns: float) -> dict[str, Any]:
    """What is known of a published figure where this time stands; in doubt where it is another."""
    if _same(time_ns, then_ns):
        return dict(facts)
    note = f"{time_ns / 1e6:g} ms here, {then_ns / 1e6:g} ms as published"
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
