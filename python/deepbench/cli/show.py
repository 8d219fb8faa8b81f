"""deepbench show FILE: prints a result file in any format, as a run prints its rows, or writes a
copy with fewer raw samples."""

from __future__ import annotations

from pathlib import Path

import click

from deepbench import _core
from deepbench.cli.command import Command, CommandLine, Option
from deepbench.cli.option_types import FileName
from deepbench.cli.options import AGAINST, COLUMNS, FORMAT, PRICE, column_names
from deepbench.errors import UsageError, printable_line
from deepbench.references.lookup import open_results
from deepbench.report import Report, columns_against, create
from deepbench.report.outline import OutlineProblem, outline
from deepbench.report.table_layout import narrowing_text
from deepbench.results import ResultFile, ResultWriter, Row, schema
from deepbench.results.output_names import conversion_command, require_result_name
from deepbench.runner.context import device_text
from deepbench.runner.progress import Screen
from deepbench.runner.summary import Summary
from deepbench.terminal_text import folded, shortened
from deepbench.workload import totals_of

_MOST_SAMPLES = 10**9  # in a row
_OPTIONS = (
    FORMAT,
    COLUMNS,
    AGAINST,
    PRICE,
    Option("--thin", "with -o: keep at most N raw samples per row, evenly selected", "N",
           click.IntRange(1, _MOST_SAMPLES)),
    Option("--output", "write the rows to this file instead of printing them", "FILE",
           FileName("without --output, rows are printed"), short="-o"),
    Option("--overwrite", "replace the file that -o names"),
)  # fmt: skip
_USAGE = """\
usage: deepbench show FILE [--format WORD] [--against NAME] [--columns LIST]
       deepbench show FILE --thin N -o OTHER_FILE

Prints a result file as a run prints its rows, or writes it anew with fewer raw
samples.
"""
_LONGEST_LINE = 2000  # cells, as many as an error message has characters
_COLUMNS_HELP = (
    "Columns of a table: the attributes by their names, or 'problem' for all of them, and "
    "application count time spread rate ceiling roofline bound verified, energy and efficiency of "
    "rows with --energy, and cost with --price. In a pipe a table has all columns. On a terminal "
    "that is too narrow for them, "
)


def main(line: CommandLine) -> int:
    if len(line.words) != 1:
        raise UsageError(
            "show needs one result file: deepbench show FILE; 'deepbench compare' takes several"
        )
    most = _thinning_limit(line)
    result = open_results(line.words[0])
    screen = Screen()
    if result.warning:
        screen.say(f"deepbench: warning: {result.warning}")
    if most is not None:
        _write_thinned_file(result, Path(line.get("--output") or ""), line.has("--overwrite"), most)
        return 0
    others = columns_against(line.get("--against"))
    width = screen.report_width()
    report = create(line.get("--format") or "table", others, width, column_names(line))
    print_results(screen, result, report, line.real(PRICE.flag))
    return 0


def print_results(
    screen: Screen,
    result: ResultFile,
    report: Report | None = None,
    price_per_hour: float | None = None,
) -> None:
    """Prints a result file, as a table unless `report` is another format."""
    _print_context(screen, result)
    report = report or create("table", width=screen.report_width())
    _print_report(screen, result, report, price_per_hour)


def _thinning_limit(line: CommandLine) -> int | None:
    """The number of raw samples per row of the new file, or None to print. Raises UsageError."""
    most, output = line.integer("--thin"), line.get("--output")
    if output is not None and most is None and (made := conversion_command(line.words[0], output)):
        raise UsageError(f"show prints, and -o is for --thin; write {made.removeprefix(' && ')}")
    require_result_name(
        output, ["show", *line.words, "--thin", str(most or "N"), "-o", output or ""]
    )
    if (most is None) != (output is None) or (line.has("--overwrite") and most is None):
        raise UsageError("--thin N and -o FILE go together: deepbench show FILE --thin N -o OTHER")
    if most is not None and line.has("--format"):
        raise UsageError("--thin writes a result file, --format prints; give one of them")
    return most


def _write_thinned_file(result: ResultFile, path: Path, overwrite: bool, most: int) -> None:
    writer = ResultWriter.create(path, overwrite=overwrite, cure="--overwrite replaces it")
    try:  # replace() keeps the old content until the end, since `path` may be the input
        context = {**result.context, "schema": schema.VERSION}
        writer.replace(context, (_core.thinned(line, most) for line in result.lines))
    finally:
        writer.close()


def _print_context(screen: Screen, result: ResultFile) -> None:
    command = " ".join(result.context.get("command") or ())
    started = result.context.get("started") or "an unknown time"
    used = {row.library for row in result.rows if row.library}
    said = f"{command or 'an unknown command'}, {started}, {device_text(result.context, used=used)}"
    _say_of_file(screen, said)


def _say_of_file(screen: Screen, text: str) -> None:
    """Prints a message with names of a file, which may be of any length."""
    screen.say(f"deepbench: {shortened(printable_line(text), _LONGEST_LINE)}")


def _print_report(screen: Screen, result: ResultFile, report: Report, price: float | None) -> None:
    rows = sorted(result.rows, key=lambda row: row.position)
    summary = Summary()
    summary.begin(result.context)
    is_user_suite = result.context.get("set") is None
    problems = (_outline_problem(row, is_user_suite) for row in rows)
    screen.report(report.begin(result.context, outline(problems, price)))
    for row in rows:
        screen.report(report.row(row))
        summary.add(row)
    screen.report(report.end(totals_of(result.context, rows, result.chains)))
    if summary.ceilings:
        screen.say(f"deepbench: {summary.ceilings}")
    screen.say(f"deepbench: {summary.line(None, int(result.context['rows']))}")
    for finding in summary.findings:
        _say_of_file(screen, finding)
    if any(row.regime.published for row in rows):
        from deepbench.compare.result_set import footnotes

        for note in footnotes(result.context):
            screen.say(f"deepbench: {note}")


def _outline_problem(row: Row, is_user_suite: bool) -> OutlineProblem:
    """The problem with its application if the row is of a user's suite, whose applications
    distinguish its problems."""
    return OutlineProblem(
        row.op or "?",
        row.attributes,
        row.work.flops,
        row.application_names if is_user_suite else None,
        row.regime.power,
        visits.count or 1 if (visits := row.statistics.visits) else 1,
        row.count,
        row.energy_j is not None,
    )


def _usage_text() -> str:
    return "\n".join([_USAGE, *folded(_COLUMNS_HELP + narrowing_text(), 80)])


command = Command("show", _OPTIONS, main, _usage_text)
