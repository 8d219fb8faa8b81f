"""deepbench history: lists the runs on this machine, prints one of them, or plots a problem over
them."""

from __future__ import annotations

import click

from deepbench import _core, history
from deepbench.cli.command import Command, CommandLine, Option
from deepbench.cli.list_command import Cell, print_table
from deepbench.cli.show import print_results
from deepbench.errors import UsageError, in_quotes
from deepbench.history import Run
from deepbench.problems.ranges import whole_number
from deepbench.report import create
from deepbench.report.comparison.html import render_html
from deepbench.report.comparison.markdown import render_markdown
from deepbench.report.history_plot import (
    PastRow,
    ProblemHistory,
    history_lines,
    history_of,
    history_section,
)
from deepbench.results.build import version_text
from deepbench.runner.progress import Screen

_FORMATS, _PAGES = ("table", "csv", "json"), ("markdown", "html")
_OPTIONS = (
    Option("--format", "table (default), csv or json; of plot: markdown or html", "WORD",
           click.Choice((*_FORMATS, *_PAGES))),
)  # fmt: skip
_USAGE = """\
usage: deepbench history [--format WORD]
       deepbench history show N [--format WORD]
       deepbench history plot OP KEY=VALUE... [--format html]

Lists the runs on this machine, the last one first as number 1; every run
without --no-history is kept. 'show' prints a run, and 'plot' the times of a
problem over all runs. 'compare last' compares the last run with the one before
that measured the same, and 'last' stands for its file in other commands, too.
"""


def main(line: CommandLine) -> int:
    first, *rest = line.words or ("",)
    if first != "plot" and line.get("--format") in _PAGES:
        raise UsageError(f"--format {line.get('--format')} is for 'history plot' alone")
    if first == "show" and len(rest) == 1:
        _show(rest[0], line.get("--format") or "table")
    elif first == "plot" and rest:
        _plot(" ".join(rest), line.get("--format") or "table")
    elif not line.words:
        _list(line)
    else:
        raise UsageError(
            f"history {in_quotes(' '.join(line.words))}: write 'deepbench history', "
            "'deepbench history show N' or 'deepbench history plot OP KEY=VALUE...'"
        )
    return 0


def _known_runs(screen: Screen) -> list[Run]:
    """The runs that can be read. Raises ResultError if there is none."""
    found = list(history.runs(lambda text: screen.say(f"deepbench: warning: {text}")))
    if not found:
        history.last_run()
    return found


def _list(line: CommandLine) -> None:
    titles: tuple[str, ...] = ("run", "started", "device", "rows", "planned", "command", "file")
    rows: list[tuple[Cell, ...]] = [
        (
            run.number,
            str(run.context.get("started") or "?"),
            run.device,
            run.rows,
            int(run.context["rows"]),
            run.command,
            str(run.path),
        )
        for run in _known_runs(Screen())
    ]
    if line.get("--format") in ("csv", "json"):
        print_table(line, titles, rows)
    else:  # a table without the long names of the files
        print_table(line, titles[:-1], [row[:-1] for row in rows])


def _show(word: str, format_name: str) -> None:
    number = whole_number(word)
    if not number:
        raise UsageError(f"history show {in_quotes(word)}: must be a number, from 1")
    screen = Screen()
    report = create(format_name, width=screen.report_width())
    print_results(screen, history.read_run(history.run_of_number(number)), report)


def _plot(text: str, format_name: str) -> None:
    if format_name in ("csv", "json"):
        raise UsageError(f"history plot draws a plot, which has no --format {format_name}")
    try:
        problem = str(_core.Problem.parse(text))
    except ValueError as error:
        raise UsageError(f"history plot: {error}") from None
    screen = Screen()
    past = [
        PastRow(str(run.context.get("started")), version_text(run.context) or "?", row)
        for run in reversed(_known_runs(screen))
        if (result := history.rows_of_problem(run, problem)) is not None
        for row in result.rows
        if row.problem == problem and row.status == "ok" and row.time_ns
    ]
    if not past:
        raise UsageError(f"the history has no time of {in_quotes(problem)}")
    screen.report(_plot_text(history_of(problem, past), format_name))


def _plot_text(problem_history: ProblemHistory, format_name: str) -> str:
    if format_name == "html":
        return render_html([history_section(problem_history)], "deepbench history")
    if format_name == "markdown":
        return render_markdown([history_section(problem_history)])
    return "".join(f"{text}\n" for text in history_lines(problem_history))


command = Command("history", _OPTIONS, main, _USAGE)
