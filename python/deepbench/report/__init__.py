"""The formats in which rows are shown, one file each. A run and a result file feed them
in the same way."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol

from deepbench.errors import UserError

if TYPE_CHECKING:
    from deepbench.report.outline import Outline
    from deepbench.report.reference_columns import ReferenceColumns
    from deepbench.results.row import Row
    from deepbench.workload.totals import Totals

Context = Mapping[str, Any]

FORMATS = ("table", "legacy", "json", "csv", "markdown")
FORMATS_WITH_REFERENCE = ("table", "markdown")  # formats that can show columns of reference rows


class FormatError(UserError):
    """A format cannot show these rows. The message is one line."""


class Report(Protocol):
    """A format. Each call returns the text to be printed, newlines included."""

    def begin(self, context: Context, outline: Outline) -> str:
        """Called before the first row. `outline` describes all rows. May raise FormatError."""

    def row(self, row: Row) -> str:
        """Called for each finished row."""

    def end(self, workload: Sequence[Totals] = ()) -> str:
        """Called after the last row, even if the run was interrupted. `workload` has the totals of
        a model, which formats for spreadsheets and that of the original omit."""


def create(
    name: str,
    reference: ReferenceColumns | None = None,
    width: int | None = None,
    columns: Sequence[str] = (),
) -> Report:
    """Returns the format called `name`, one of FORMATS. A format for people adds the columns of
    `reference`. A table fits the `width` of its terminal (None without a terminal), and has the
    named `columns`, or all columns if none are named. Only the module of that format is imported.
    Raises FormatError."""
    if columns and name != "table":
        raise FormatError(f"--columns chooses the columns of a table, not of --format {name}")
    if reference is not None and name not in FORMATS_WITH_REFERENCE:
        have = " and ".join(FORMATS_WITH_REFERENCE)
        raise FormatError(f"--format {name} cannot show reference columns; {have} can")
    if name == "table":
        from deepbench.report.table import Table

        return Table(reference, width, columns)
    if name == "legacy":
        from deepbench.report.legacy import Legacy

        return Legacy()
    if name == "json":
        from deepbench.report.json import JsonFormat

        return JsonFormat()
    if name == "csv":
        from deepbench.report.csv import Csv

        return Csv()
    if name == "markdown":
        from deepbench.report.markdown import Markdown

        return Markdown(reference)
    raise FormatError(f"unknown format {name!r}; the formats are {' '.join(FORMATS)}")


def columns_against(word: str | None) -> ReferenceColumns | None:
    """The columns for `--against WORD`, a result file or a reference. Raises UserError."""
    if word is None:
        return None
    from deepbench.compare import to_result_set
    from deepbench.references.lookup import open_results
    from deepbench.report.reference_columns import ReferenceColumns

    return ReferenceColumns(to_result_set(open_results(word)))
