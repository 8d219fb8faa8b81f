"""One JSON object, {"context": ..., "rows": [...]}, written row by row and closed however the run
ends."""

from __future__ import annotations

import json
import re

from deepbench.report import Context
from deepbench.report.outline import Outline
from deepbench.results.ceilings import assessed_line
from deepbench.results.row import Row

_NOT_ASCII = re.compile(r"[^\x00-\x7f]+")


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
        return separator + _NOT_ASCII.sub(_escaped, assessed_line(row))

    def end(self) -> str:
        return "\n]}\n" if self._begun else ""


def _escaped(text: re.Match[str]) -> str:
    """Letters as JSON's escapes, since a row may hold what a terminal obeys."""
    return json.dumps(text[0])[1:-1]
