"""deepbench ab --a KEY=VALUE --b KEY=VALUE OP: measures two environments in turns."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import click

from deepbench.ab.paired_test import LEAST_PAIRS, MOST_PAIRS
from deepbench.ab.result import AbResult
from deepbench.ab.run import AbRun
from deepbench.ab.side import Setup
from deepbench.ab.variables import parse_variables
from deepbench.cli.command import Command, CommandLine, Option
from deepbench.cli.option_types import FILE
from deepbench.cli.options import OPTIONS, run_options
from deepbench.errors import UsageError, UserError, in_quotes
from deepbench.problems.problem_arguments import operation_name
from deepbench.problems.selection import Selection, select, select_files
from deepbench.redaction import without_secrets
from deepbench.references.lookup import require_distinct_output
from deepbench.report.ab import FORMATS, render
from deepbench.results.output_names import require_result_name
from deepbench.runner.progress import Screen

_FILE_SUFFIX = ".jsonl"
_PAIRS = Option("--pairs", f"make exactly N pairs; default: {LEAST_PAIRS} to {MOST_PAIRS}, by how "
                "well they repeat", "N", click.IntRange(2, 99))  # fmt: skip
_NOT_OF_AB = {  # options of other runs
    "--samples", "--soak", "--visits", "--no-verify", "--no-ceilings", "--cores", "--energy",
    "--once", "--ranks", "--devices", "--output", "--resume", "--retry", "--format", "--columns",
    "--against", "--in-process", "--price", "--no-history",
}  # fmt: skip
_OPTIONS = (
    Option("--a", "a variable of environment A; may be given several times", "KEY=VALUE",
           repeated=True),
    Option("--b", "a variable of environment B; may be given several times", "KEY=VALUE",
           repeated=True),
    _PAIRS,
    *(option for option in OPTIONS if option.flag not in _NOT_OF_AB),
    Option("--output", "keep the rows of both sides in NAME_a.jsonl and NAME_b.jsonl", "NAME", FILE,
           short="-o"),
    Option("--format", "table (default), json, markdown or html", "WORD", click.Choice(FORMATS)),
)  # fmt: skip
_USAGE = """\
usage: deepbench ab [--a KEY=VALUE ...] [--b KEY=VALUE ...] OP [WORD ...]
       deepbench ab [--a KEY=VALUE ...] [--b KEY=VALUE ...] run SUITE_FILE...

Measures the same problems in two environments, A and B, in turns by pairs of
workers on one device, and tests for each row whether B differs from A:

  deepbench ab --a LD_LIBRARY_PATH=/old/lib --b LD_LIBRARY_PATH=/new/lib OP

OP and WORD are those of the operation's own command. The exit status is 0 if no
row differs, 1 if any does or runs on one side only, and 2 for any error.
"""


def main(line: CommandLine) -> int:
    setups = _setups(line)
    _require_distinct_files(line, setups)
    options = run_options(line, {"ceilings": "no"})
    selection = _selection(line, options.corrected)
    screen = Screen()
    run = AbRun(
        selection, options.for_set(selection.set), setups, _command(line, setups),
        line.integer("--pairs"), screen,
    )  # fmt: skip
    result = run.run()
    _require_rows(result)
    for part in render(result, line.get("--format") or "table", screen.report_width()):
        screen.report(part)
    return 1 if result.is_different else 0


def _setups(line: CommandLine) -> tuple[Setup, Setup]:
    a, b = (parse_variables(flag, line.texts(flag)) for flag in ("--a", "--b"))
    name = line.get("--output")
    require_result_name(name, ["ab", *line.arguments])
    base = None if name is None else name.removesuffix(_FILE_SUFFIX)
    files = [None if base is None else Path(f"{base}_{side}{_FILE_SUFFIX}") for side in "ab"]
    return Setup("A", a, files[0]), Setup("B", b, files[1])


def _require_distinct_files(line: CommandLine, setups: Iterable[Setup]) -> None:
    """Raises UsageError if the file of a side is a suite that is read."""
    read = line.words[1:] if line.words[:1] == ("run",) else ()
    for setup in setups:
        require_distinct_output(None if setup.output is None else str(setup.output), read)


def _selection(line: CommandLine, corrected: bool) -> Selection:
    if not line.words:
        raise UsageError("ab needs an operation or a suite: deepbench ab --b KEY=VALUE OP")
    first, rest = line.words[0], line.words[1:]
    if first == "run":
        if not rest:
            raise UsageError("ab run needs a suite file: deepbench ab run SUITE_FILE...")
        return select_files(rest)
    op = operation_name(first)
    if op is None:
        raise UsageError(
            f"ab {in_quotes(first)}: an operation or 'run' comes first: deepbench ab OP [WORD ...]"
        )
    return select(op, rest, corrected)


def _command(line: CommandLine, setups: tuple[Setup, Setup]) -> list[str]:
    """The command as files state it, without secrets."""
    words = ["ab", *line.arguments]
    for setup in setups:
        for name, shown in without_secrets(setup.variables).items():
            given = f"{name}={setup.variables[name]}"
            words = [word.replace(given, f"{name}={shown}") for word in words]
    return words


def _require_rows(result: AbResult) -> None:
    """Raises UserError if a side runs no row at all, as without a library that it needs."""
    for setup, side in zip(result.setups, "ab", strict=True):
        entries = [getattr(row, side) for row in result.rows]
        if all(entry.status != "ok" for entry in entries):
            first = entries[0]
            raise UserError(
                f"{setup.letter} ({setup.text}) runs no row: {first.status}: {first.reason}"
            )


command = Command("ab", _OPTIONS, main, _USAGE)
