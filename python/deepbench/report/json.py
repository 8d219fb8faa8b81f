"""One JSON object, {"context": ..., "rows": [...]}, written row by row and closed however the run
ends."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

from deepbench.report import Context
from deepbench.report.outline import Outline
from deepbench.results.ceilings import assessed_line
from deepbench.results.row import Row

if TYPE_CHECKING:
    from deepbench.workload.totals import Totals

_NOT_ASCII = re.compile(r"[^\x00-\x7f]+")


class JsonFormat:
    """Rows keep all their keys, known or unknown."""

    def __init__(self) -> None:
        self._begun = False
        self._rows = 0

    def begin(self, context: Context, outline: Outline) -> str:
        self._begun = True
        return f'{{"context": {json.dumps(context)}, "rows": ['

    def row(self, row: Row) -> str:
        separator = ",\n" if self._rows else "\n"
        self._rows += 1
        return separator + _NOT_ASCII.sub(_escaped, assessed_line(row))

    def end(self, workload: Sequence[Totals] = ()) -> str:
        if not self._begun:
            return ""
        if not workload:
            return "\n]}\n"
        from deepbench.report.workload import workload_members

        return f'\n], "workload": {json.dumps(workload_members(workload))}}}\n'


def _escaped(text: re.Match[str]) -> str:
    """Escapes characters beyond ASCII, which include control characters (C1) that a terminal would
    obey."""
    return json.dumps(text[0])[1:-1]
