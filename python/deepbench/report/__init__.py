"""How rows look: one file per format, all fed alike, by a running sweep or from a result file."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Protocol

from deepbench.refusal import Refusal
from deepbench.report.outline import Outline

if TYPE_CHECKING:
    from deepbench.report.beside import Beside

Row = Mapping[str, Any]
Context = Mapping[str, Any]

FORMATS = ("table", "legacy", "json", "csv", "markdown")
WITH_OTHERS = ("table", "markdown")  # formats that can show other rows beside theirs


class FormatError(Refusal):
    """Rows that a format has no form for. One line."""


class Report(Protocol):
    """A format: each call returns the text that is due, newlines included."""

    def begin(self, context: Context, outline: Outline) -> str:
        """Before the first row; `outline` knows every row to come. May raise FormatError."""

    def row(self, row: Row) -> str:
        """A row that has been finished."""

    def end(self) -> str:
        """After the last row, also of a run that was interrupted."""


def create(name: str, beside: Beside | None = None) -> Report:
    """The format called `name`, one of FORMATS, with the columns of `beside` where it has columns
    for people. Only its own file is imported. Raises FormatError."""
    if beside is not None and name not in WITH_OTHERS:
        have = " and ".join(WITH_OTHERS)
        raise FormatError(f"--format {name} has no place for other rows; {have} have")
    if name == "table":
        from deepbench.report.table import Table

        return Table(beside)
    if name == "legacy":
        from deepbench.report.legacy import Legacy

        return Legacy()
    if name == "json":
        from deepbench.report.json import Json

        return Json()
    if name == "csv":
        from deepbench.report.csv import Csv

        return Csv()
    if name == "markdown":
        from deepbench.report.markdown import Markdown

        return Markdown(beside)
    raise FormatError(f"there is no format {name!r}; there are {' '.join(FORMATS)}")
