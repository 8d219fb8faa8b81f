"""One JSON object, {"context": ..., "rows": [...]}, written row by row and closed however the run
ends."""

from __future__ import annotations

import json

from deepbench.report import Context, Row
from deepbench.report.outline import Outline


class Json:
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
        return separator + json.dumps(row)

    def end(self) -> str:
        return "\n]}\n" if self._begun else ""
