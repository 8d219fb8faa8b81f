"""How rows look: one file per format, all fed alike, by a running sweep or from a result file."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Protocol

from deepbench.errors import UserError
from deepbench.report.outline import Outline

if TYPE_CHECKING:
    from deepbench.report.reference_columns import ReferenceColumns

Row = Mapping[str, Any]
Context = Mapping[str, Any]

FORMATS = ("table", "legacy", "json", "csv", "markdown")
FORMATS_WITH_REFERENCE = ("table", "markdown")  # formats that can show other rows beside theirs


class FormatError(UserError):
    """Rows that a format has no form for. One line."""


class Report(Protocol):
    """A format: each call returns the text that is due, newlines included."""

    def begin(self, context: Context, outline: Outline) -> str:
        """Before the first row; `outline` knows every row to come. May raise FormatError."""

    def row(self, row: Row) -> str:
        """A row that has been finished."""

    def end(self) -> str:
        """After the last row, also of a run that was interrupted."""


def create(name: str, reference: ReferenceColumns | None = None) -> Report:
    """Returns the format called `name`, one of FORMATS. A format for people adds the columns of
    `reference`. Only the module of that format is imported. Raises FormatError."""
    if reference is not None and name not in FORMATS_WITH_REFERENCE:
        have = " and ".join(FORMATS_WITH_REFERENCE)
        raise FormatError(f"--format {name} has no place for other rows; {have} have")
    if name == "table":
        from deepbench.report.table import Table

        return Table(reference)
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

        return Markdown(reference)
    raise FormatError(f"there is no format {name!r}; there are {' '.join(FORMATS)}")


def columns_against(word: str | None) -> ReferenceColumns | None:
    """The columns for `--against WORD`, a result file or a reference. Raises UserError."""
    if word is None:
        return None
    from deepbench.compare import to_result_set
    from deepbench.references.lookup import open_results
    from deepbench.report.reference_columns import ReferenceColumns

    return ReferenceColumns(to_result_set(open_results(word)))
