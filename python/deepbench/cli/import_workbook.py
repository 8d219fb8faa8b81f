"""deepbench import BOOK.xlsx -o FILE: makes a result file of a workbook that the original benchmark
published or that 'report' wrote."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import TYPE_CHECKING

from deepbench.cli.command import Command, CommandLine, Option
from deepbench.cli.option_types import FILE
from deepbench.errors import UsageError, in_quotes, printable_line
from deepbench.references.lookup import file_begins_with, require_distinct_output
from deepbench.results import ResultWriter
from deepbench.results.output_names import require_result_name
from deepbench.runner.progress import Screen

if TYPE_CHECKING:
    from deepbench.workbook import Imported

_MOST_LINES = 20
_OPTIONS = (
    Option("--output", "the result file to write", "FILE", FILE, short="-o"),
    Option("--overwrite", "replace the file that -o names"),
    Option("--all", f"print all remarks on left-out and doubtful figures, not only {_MOST_LINES}"),
)
_USAGE = """\
usage: deepbench import BOOK.xlsx -o FILE [--overwrite] [--all]

Makes a result file of a workbook that the original benchmark published, in
any of its layouts, or that 'report --format xlsx' wrote.
"""


def main(line: CommandLine) -> int:
    output = line.get("--output")
    require_distinct_output(output, line.words)
    if len(line.words) == 1:
        _refuse_result_file(line.words[0])
    require_result_name(output, ["import", *line.arguments])
    if len(line.words) != 1 or output is None:
        raise UsageError("import needs a workbook and an output: deepbench import BOOK -o FILE")
    book, path = Path(line.words[0]), Path(output)
    from deepbench.workbook import read_workbook

    imported = read_workbook(book)
    _write_result_file(imported, path, line.has("--overwrite"))
    _print_outcome(Screen(), book, imported, line.has("--all"))
    return 0


def _refuse_result_file(name: str) -> None:
    """Raises UsageError for a result file, which needs no import."""
    if file_begins_with(name, b'{"type":'):
        quoted = shlex.quote(name)
        page = shlex.quote(str(Path(name).with_suffix(".html").name))
        raise UsageError(
            f"{in_quotes(name)} is a result file already: deepbench show {quoted}, deepbench "
            f"report {quoted} -o {page}, or deepbench compare {quoted} OTHER"
        )


def _write_result_file(imported: Imported, path: Path, overwrite: bool) -> None:
    writer = ResultWriter.create(path, overwrite=overwrite, cure="--overwrite replaces it")
    try:
        writer.replace(imported.context, (row.line for row in imported.rows))
    finally:
        writer.close()


def _print_outcome(screen: Screen, book: Path, imported: Imported, everything: bool) -> None:
    shown = imported.remarks if everything else imported.remarks[:_MOST_LINES]
    for report in shown:
        screen.say(printable_line(f"deepbench: warning: {report}"))
    if left := len(imported.remarks) - len(shown):
        screen.say(f"deepbench: warning: {left} more remarks in the file; --all prints them")
    device = (imported.context.get("device") or {}).get("name") or "an unnamed device"
    screen.say(printable_line(f"deepbench: {book.name}: {device}: {_counts_text(imported)}"))


def _counts_text(imported: Imported) -> str:
    """Counts the figures that were read and left out."""
    rows = f"{len(imported.rows)} rows"
    if imported.doubted:
        rows += f" ({imported.doubted} inconsistent)"
    facts = [f"{len(imported.rows) + imported.sums} figures read", rows]
    if imported.sums:
        facts.append(f"{imported.sums} sums over phases left out as derived")
    reasons = ", ".join(f"{reason}: {count}" for reason, count in imported.left_out.items())
    cells = f"{sum(imported.left_out.values())} cells left out"
    facts.append(f"{cells} ({reasons})" if reasons else cells)
    if imported.recognised:
        facts.append(f"the original's {imported.recognised}")
    return "; ".join(facts)


command = Command("import", _OPTIONS, main, _USAGE)
