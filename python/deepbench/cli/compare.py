"""deepbench compare A B [C...]: compares result files with the first of them, row by row."""

from __future__ import annotations

from collections.abc import Sequence

import click

from deepbench import history
from deepbench.cli.command import Command, CommandLine, Option
from deepbench.cli.option_types import WordList
from deepbench.compare import ACROSS, ResultSet, Rules, compare, to_result_set
from deepbench.errors import UsageError, in_quotes, suggestion
from deepbench.paused_collector import paused_collector
from deepbench.references.lookup import (
    is_last_run,
    named_reference,
    open_results,
    source_identity,
)
from deepbench.report.comparison import FORMATS, render
from deepbench.results.reader import Detail
from deepbench.runner.progress import Screen

_OPTIONS = (
    Option("--across", "properties that may differ, with commas: " + " ".join(ACROSS), "WORDS",
           WordList(ACROSS)),
    Option("--noise", "changes up to this are noise; default: 3 % or the files' noise", "PERCENT"),
    Option("--fail-over", "count only rows that are slower by more than this as regressions",
           "PERCENT"),
    Option("--any-clock", "count a change even if the device's clock changed by the same factor"),
    Option("--format", "table (default), json, markdown or html", "WORD", click.Choice(FORMATS)),
)  # fmt: skip
_USAGE = """\
usage: deepbench compare A B [C...] [options]
       deepbench compare last [options]

Compares result files, or references ('deepbench list references'), with the
first of them. The first line says which is faster and by what factor; B/A is
the time of B over the time of A. The exit status is 1 if a row became slower
beyond the noise or broke. 'last' is the last run of the history ('deepbench
history'); alone, it is compared with the one before of the same problems,
options, backend, device, threads and ranks.
"""


@paused_collector()  # all rows stay until the command ends
def main(line: CommandLine) -> int:
    words = _with_runs_of_history(line.words)
    if len(words) < 2:
        raise UsageError(
            "compare needs two result files or more: deepbench compare A B [C...]; "
            "a name from 'deepbench list references' counts as a file"
        )
    rules = Rules(
        _across_words(line),
        _share_option(line, "--noise"),
        _share_option(line, "--fail-over") or 0.0,
        line.has("--any-clock"),
    )
    _require_distinct_words(words)
    screen = Screen()
    comparison = compare(_open_result_sets(screen, words), rules)
    name = line.get("--format") or "table"
    for part in render(comparison, name, screen.report_width()):
        screen.report(part)
    return 1 if comparison.regressions else 0


def _with_runs_of_history(words: Sequence[str]) -> Sequence[str]:
    """The words with 'last' replaced by the file of the last run, which is looked up once, because
    another run may end meanwhile. If 'last' is the only word, the run before it comes first."""
    if not any(map(is_last_run, words)):
        return words
    last = history.last_run()
    words = [str(last.path) if is_last_run(word) else word for word in words]
    return words if len(words) > 1 else [str(history.run_before(last).path), *words]


def _open_result_sets(screen: Screen, words: Sequence[str]) -> list[ResultSet]:
    """Opens the files first: of a reference, only rows of their operations are needed."""
    opened: dict[str, ResultSet] = {}
    ops: set[str] = set()
    for word in sorted(words, key=lambda word: named_reference(word) is not None):
        result = open_results(word, ops, Detail(lines=False, shares=False))
        if result.warning:
            screen.say(f"deepbench: warning: {result.warning}")
        opened[word] = to_result_set(result)
        ops.update(entry.op for entry in opened[word].entries)
    return [opened[word] for word in words]


def _require_distinct_words(words: Sequence[str]) -> None:
    seen: dict[object, str] = {}
    for word in words:
        one = source_identity(word)
        if one is not None and one in seen:
            raise UsageError(f"{in_quotes(word)} and {in_quotes(seen[one])} are the same")
        seen[one] = word


def _across_words(line: CommandLine) -> tuple[str, ...]:
    words = [word for word in (line.get("--across") or "").split(",") if word]
    for word in words:
        if word not in ACROSS:
            raise UsageError(
                f"--across {in_quotes(word)}: must be of {' '.join(ACROSS)}"
                f"{suggestion(word, ACROSS)}"
            )
    return tuple(dict.fromkeys(words))


def _share_option(line: CommandLine, name: str) -> float | None:
    """The option's percentage as a fraction: '5%', '5 %' and '5' mean 0.05."""
    text = line.get(name)
    if text is None:
        return None
    try:
        share = float(text.strip().removesuffix("%")) / 100
    except ValueError:
        share = -1.0
    if not 0 <= share <= 100:
        raise UsageError(f"{name} {in_quotes(text)}: must be a percentage such as 5%")
    return share


command = Command("compare", _OPTIONS, main, _USAGE)
