"""deepbench list: prints the sets of the original benchmark and their work, or every problem, also
of suites in files."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import click

from deepbench import _core, suites
from deepbench.call_counts import CallCounts
from deepbench.cli.command import Command, CommandLine, Option
from deepbench.errors import UsageError, in_quotes, suggestion
from deepbench.problems.problem_arguments import (
    ALL,
    has_suites,
    operation_choices,
    operation_name,
    precision_name,
    precisions,
)
from deepbench.problems.selection import (
    SelectedProblem,
    SuiteSource,
    original_suite,
    suite_errors_as_usage_errors,
)
from deepbench.report.fields import rate
from deepbench.report.plain_table import plain_table
from deepbench.runner.progress import Screen
from deepbench.terminal_text import folded

_OPTIONS = (
    Option("--corrected", "correct the misprints of the original sets"),
    Option("--format", "table (default), csv or json", "WORD",
           click.Choice(("table", "csv", "json"))),
)  # fmt: skip
_USAGE = """\
usage: deepbench list [OP] [SET] [PRECISION] [options]
       deepbench list FILE... [PRECISION] [options]
       deepbench list references [NAME] [options]

Without OP, prints how many problems each set has, and the operations without
sets. With OP or 'all', prints every problem and its work: the useful FLOPs and
bytes of one call, bytes in PRECISION (default float). With suites in files,
prints their problems and the work of all calls that they count.

'list references' prints the devices that the package has figures of: those that
the original benchmark published, and those that deepbench measured; with NAME,
it prints every row of one.
"""

_NO_WORD = "neither a set, nor an operation with sets, nor a precision"
_BY_ENV = "'deepbench env' prints the backends with their devices and libraries"
_HINTS = {
    "backends": _BY_ENV, "devices": _BY_ENV, "libraries": _BY_ENV,
    "precisions": "'deepbench OP --help' lists the precisions of an operation",
    "algorithms": "the error for an unknown --algorithm lists the candidates",
    "workloads": "'deepbench workload' lists them",
    "sets": "'deepbench list' alone prints the sets",
    "operations": "'deepbench --help' lists the operations", "ops": "'deepbench --help' lists them",
}  # fmt: skip

Cell = str | int | float
Table = tuple[tuple[str, ...], list[tuple[Cell, ...]]]
_SUMMARY_TITLES = ("set", "op", "problems", "rows", "TFLOP", "GB")


@dataclass(frozen=True)
class ListedProblem:
    """One problem of a set or of a file."""

    set: str
    op: str
    selected: SelectedProblem

    @property
    def problem(self) -> _core.Problem:
        return self.selected.problem

    @property
    def counts(self) -> CallCounts | None:
        return self.selected.counts

    @property
    def calls(self) -> int:
        """How often its call is made; 1 if that is not stated."""
        return self.counts.count if self.counts else 1

    @property
    def applications(self) -> str:
        """The applications as one text, with the calls of each if there are several."""
        if self.counts is None or len(self.counts.applications) < 2:
            return self.selected.application or ""
        return ", ".join(f"{one.name} ({one.count})" for one in self.counts.applications)


def main(line: CommandLine) -> int:
    if line.words[:1] == ("references",):
        from deepbench.cli.list_references import reference_table

        (titles, rows), notes = reference_table(line.words[1:])
        print_table(line, titles, rows, notes)
        return 0
    paths = [word for word in line.words if _is_path(word)]
    if paths:
        return _list_files(line, paths)
    op, set_name, precision = _read_words(line.words)
    chosen = _built_in(op, set_name)
    if not chosen:
        raise UsageError(f"{op} has no set {set_name}; 'deepbench list' prints all sets")
    remarks: list[str] = []
    table = None
    if op is None and precision == "float" and not line.has("--corrected"):
        table = _known_summary(chosen)
    if table is None:
        with suite_errors_as_usage_errors():
            read = [original_suite(*pair, line.has("--corrected")) for pair in chosen]
            listed, remarks = _listed_problems(read, precision)
        table = _summary_table(listed) if op is None else _problem_table(listed)
    if op is None and set_name is None:
        remarks.append(_without_sets_text())
    print_table(line, *table, remarks)
    return 0


def _without_sets_text() -> str:
    """Names the operations that no set has, since the table of sets lacks them."""
    names = " ".join(name for name in operation_choices() if not has_suites(name))
    return f"operations without sets: {names}; 'deepbench OP --help' says what each runs"


def _is_path(word: str) -> bool:
    """Whether a word can only mean a file: neither an operation nor a set nor a precision."""
    means = operation_name(word) or suites.set_name(word) or precision_name(ALL, word)
    return means is None and ("/" in word or "." in word or Path(word).exists())


def _list_files(line: CommandLine, paths: Sequence[str]) -> int:
    """Prints the problems of suites in files."""
    precision = "float"
    for word in line.words:
        named = precision_name(ALL, word)
        if word not in paths and named is None:
            raise UsageError(
                f"{in_quotes(word)}: list takes files and a precision, or an operation and a set"
            )
        precision = named or precision
    if line.has("--corrected"):
        raise UsageError("--corrected is for the original's sets; leave it out")
    with suite_errors_as_usage_errors():
        read = [suites.read(path) for path in paths]
    listed, remarks = _listed_problems(read, precision)
    titles, rows = _problem_table(listed)
    print_table(line, ("suite", *titles[1:]), rows, [_totals_text(listed), *remarks])
    return 0


def _listed_problems(
    chosen: Sequence[suites.Suite], precision: str
) -> tuple[list[ListedProblem], list[str]]:
    """The problems of suites, and remarks on what is left out."""
    source = SuiteSource(chosen, {"precision": precision})
    sets = {suite.source: suite.name.partition("/")[0] for suite in chosen}
    listed = []
    for selected in source.problems(_core.Problem.parse, None):
        assert selected.group is not None  # every problem of a suite has its place
        listed.append(ListedProblem(sets[selected.group[0]], selected.problem.op, selected))
    return listed, source.remarks


def _totals_text(listed: Sequence[ListedProblem]) -> str:
    """'3 problems, 96 calls: 1.23 TFLOP, 0.45 GB'."""
    calls = sum(item.calls for item in listed)
    counted = any(item.counts for item in listed)
    problems = "1 problem" if len(listed) == 1 else f"{len(listed):,} problems"
    whole = f"{problems}, {calls:,} call{'' if calls == 1 else 's'}" if counted else problems
    flops, size = _tera_and_giga(listed)
    return f"{whole}: {flops:.4g} TFLOP, {size:.4g} GB"


def _tera_and_giga(listed: Sequence[ListedProblem]) -> tuple[float, float]:
    """The TFLOP and the GB of all calls."""
    flops = sum(item.calls * item.problem.flops for item in listed)
    size = sum(item.calls * item.problem.bytes for item in listed)
    return flops / 1e12, size / 1e9


def print_table(
    line: CommandLine,
    titles: Sequence[str],
    rows: Sequence[tuple[Cell, ...]],
    notes: Sequence[str] = (),
) -> None:
    """Prints rows, at least one, in the format that --format names. A table has notes below it."""
    screen = Screen()
    width = screen.report_width()
    name = line.get("--format") or "table"
    screen.report(_render_table(titles, rows, name, width))
    if name == "table":
        for note in notes:
            screen.report("".join(f"{part}\n" for part in folded(note, width, "  ")))


def _read_words(words: Sequence[str]) -> tuple[str | None, str | None, str]:
    """Reads the operation, the set and the precision, in any order. Raises UsageError."""
    op = set_name = precision = None
    for word in words:
        if set_name is None and suites.set_name(word) is not None:
            set_name = suites.set_name(word)
        elif op is None and (named := operation_name(word)) and has_suites(named):
            op = named
        elif precision is None and precision_name(ALL, word) is not None:
            precision = precision_name(ALL, word)
        else:
            names = [name for name in operation_choices() if has_suites(name)]
            if (named := operation_name(word)) and not has_suites(named):
                raise UsageError(
                    f"{named} has no sets; 'deepbench {named} --help' says what it runs"
                )
            if word in _HINTS:
                raise UsageError(f"{in_quotes(word)} is {_NO_WORD}: {_HINTS[word]}")
            if _is_model(word):
                raise UsageError(
                    f"{in_quotes(word)} is a model: 'deepbench workload {word} --list' prints its "
                    "calls"
                )
            known = [*names, *suites.SETS, *precisions(ALL)]
            if word in known or suites.set_name(word) or precision_name(ALL, word):
                raise UsageError(
                    f"{in_quotes(word)} is superfluous: give one operation, one set and one "
                    "precision"
                )
            raise UsageError(
                f"{in_quotes(word)} is {_NO_WORD}"
                f"{suggestion(word, known)}: deepbench list [OP] [SET] [PRECISION]"
            )
    return op, set_name, precision or "float"


def _is_model(word: str) -> bool:
    from deepbench.workload import model_file  # whose import a list does not need

    return word in model_file.available()


def _built_in(op: str | None, set_name: str | None) -> list[tuple[str, str]]:
    """The built-in suites of an operation and a set, or all, as sets and operations."""
    return [
        (folder, name)
        for folder, name in suites.available()
        if op in (None, "all", name) and set_name in (None, folder)
    ]


def _known_summary(chosen: Sequence[tuple[str, str]]) -> Table | None:
    """The table of sets in float without reading a problem; None if a suite is another one than
    that whose work is known."""
    rows: list[tuple[Cell, ...]] = []
    for pair in chosen:
        work = suites.known_work(*pair)
        if work is None:
            return None
        rows.append(_summary_row(*pair, work))
    return _SUMMARY_TITLES, rows


def _summary_table(listed: Sequence[ListedProblem]) -> Table:
    groups: dict[tuple[str, str], list[ListedProblem]] = {}
    for item in listed:
        groups.setdefault((item.set, item.op), []).append(item)
    return _SUMMARY_TITLES, [_summary_row(*pair, _work_of(items)) for pair, items in groups.items()]


def _summary_row(set_name: str, op: str, work: suites.Work) -> tuple[Cell, ...]:
    return set_name, op, work.problems, work.rows, round(work.tflop, 7), round(work.gb, 6)


def work_of_suite(set_name: str, op: str) -> suites.Work:
    """The work of a built-in suite in float."""
    return _work_of(_listed_problems([original_suite(set_name, op, corrected=False)], "float")[0])


def _work_of(listed: Sequence[ListedProblem]) -> suites.Work:
    problems = len({item.selected.group for item in listed})
    return suites.Work(problems, len(listed), *_tera_and_giga(listed))


def _problem_table(listed: Sequence[ListedProblem]) -> Table:
    """The table of problems. The work is that of one call; a column has the counts if there are
    any."""
    counted = any(item.counts for item in listed)
    rows: list[tuple[Cell, ...]] = [
        (
            item.set,
            str(item.problem),
            *((item.calls,) if counted else ()),
            round(item.problem.flops / 1e9, 6),
            round(item.problem.bytes / 1e6, 6),
            item.applications,
        )
        for item in listed
    ]
    count = ("count",) if counted else ()
    return ("set", "problem", *count, "GFLOP", "MB", "application"), rows


def _render_table(
    titles: Sequence[str], rows: Sequence[tuple[Cell, ...]], name: str, width: int | None
) -> str:
    if name == "json":
        import json

        objects = [dict(zip(titles, row, strict=True)) for row in rows]
        return "[\n" + ",\n".join(json.dumps(item) for item in objects) + "\n]\n"
    if name == "csv":
        import csv
        import io

        buffer = io.StringIO()
        csv.writer(buffer, lineterminator="\r\n").writerows([titles, *rows])
        return buffer.getvalue()
    texts = {column for column, cell in enumerate(rows[0]) if isinstance(cell, str)}
    cells = [tuple(map(_cell_text, row)) for row in rows]
    return plain_table(titles, cells, texts, width)


def _cell_text(value: Cell) -> str:
    if not isinstance(value, float):
        return str(value)
    return rate(value) if value else "0"


def _completions() -> list[str]:
    words = [*operation_choices(), *(name.replace("_", "-") for name in suites.SETS), "references"]
    return [*words, *precisions(ALL)]


command = Command("list", _OPTIONS, main, _USAGE, _completions)
