"""deepbench show FILE: prints a result file in any format, with the code that prints a run."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from deepbench.cli.context import where
from deepbench.cli.errors import UsageError
from deepbench.cli.flags import HELP, Flag, help_lines, parse
from deepbench.cli.summary import Summary
from deepbench.progress import Screen
from deepbench.report import FORMATS, create
from deepbench.report.outline import outline
from deepbench.results import Json, ResultFile, read

_FLAGS = (
    Flag("--format", "table (default), legacy, json, csv or markdown", "WORD", choices=FORMATS),
    HELP,
)


def main(arguments: Sequence[str]) -> int:
    line = parse(arguments, _FLAGS)
    if line.has("--help"):
        print("\n".join(["usage: deepbench show FILE [--format WORD]", "", *help_lines(_FLAGS)]))
        return 0
    if len(line.words) != 1:
        raise UsageError("show needs one result file: deepbench show FILE")
    result = read(Path(line.words[0]))
    screen = Screen()
    if result.warning:
        screen.say(f"deepbench: warning: {result.warning}")
    _say_context(screen, result)
    _print(screen, result, line.get("--format") or "table")
    return 0


def _say_context(screen: Screen, result: ResultFile) -> None:
    command = " ".join(result.context.get("command") or ())
    started = result.context.get("started") or "an unknown time"
    screen.say(f"deepbench: {command or 'an unknown command'}, {started}, {where(result.context)}")


def _print(screen: Screen, result: ResultFile, name: str) -> None:
    rows = sorted(result.rows, key=lambda row: int(row["position"]))
    report, summary = create(name), Summary()
    screen.report(report.begin(result.context, outline(_problem(row) for row in rows)))
    for row in rows:
        screen.report(report.row(row))
        summary.add(row)
    screen.report(report.end())
    screen.say(f"deepbench: {summary.line(None, int(result.context['rows']))}")


def _problem(row: Json) -> tuple[str, Json, float | None]:
    return row.get("op") or "?", row.get("attributes") or {}, (row.get("work") or {}).get("flops")
