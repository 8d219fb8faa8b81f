"""A complete run with scripted rows instead of a worker's."""

from __future__ import annotations

import io
import json
from collections.abc import Callable, Mapping
from typing import Any

from backend_facts import planning_facts
from deepbench import _core
from deepbench.cli import command
from deepbench.cli.options import OPTIONS, run_options
from deepbench.problems.selection import select, select_files
from deepbench.results import Row
from deepbench.runner.progress import Screen
from deepbench.runner.run import Run
from deepbench.runner.worker_exit import WorkerFailure
from deepbench.runner.worker_process import parse_answer
from example_rows import HELLO, make_row, without_times

Answer = Callable[[dict[str, Any]], dict[str, Any] | WorkerFailure]


def unchanged_row(row: dict[str, Any]) -> dict[str, Any]:
    return row


def times_as_long(factor: float, **members: Any) -> Answer:
    """The row with all times multiplied."""

    def answer(row: dict[str, Any]) -> dict[str, Any]:
        statistics = {
            name: value * factor if name.endswith("_ns") else value
            for name, value in row["statistics"].items()
        }
        samples = [factor * sample for sample in row["samples_ns"]]
        return {**row, "statistics": statistics, "samples_ns": samples, **members}

    return answer


class ScriptedRows:
    """Rows that are ok, except at positions for which `answers` holds another row, or at positions
    and visits."""

    def __init__(
        self, answers: Mapping[int | tuple[int, int], Answer | BaseException] | None = None
    ) -> None:
        self.answers = dict(answers or {})
        self.renewals = 0
        self.hello: dict[str, Any] = {**HELLO, "planning": planning_facts("cpu")}
        self.lines: list[str] = []
        self.checks = 0
        self.able: dict[int, str] = {}  # the libraries that support a row, unless all do
        self.ended = ""

    def start(self) -> dict[str, Any]:
        return self.hello

    def run(
        self,
        line: str,
        position: int,
        limit_s: float,
        on_admitted: Callable[[], object] = lambda: None,
    ) -> Row | WorkerFailure:
        visit = int(line.partition(" visit=")[2][:1] or 1)
        answer = self.answers.get((position, visit), self.answers.get(position, unchanged_row))
        self.lines.append(line)
        if answer not in (unsupported_row, row_without_candidate):
            on_admitted()
        if isinstance(answer, BaseException):
            raise answer
        problem = _core.Problem.parse(line.partition(" ; ")[0])
        row = answer(make_row(problem.op, problem.attributes, position, problem.flops))
        if isinstance(row, WorkerFailure):
            return row
        return parse_answer(json.dumps({**row, "problem": str(problem)}), line, position)

    def run_chain(self, line: str, limit_s: float) -> str | WorkerFailure:
        raise AssertionError("no scripted run has a chain")

    def supports(self, line: str, position: int, limit_s: float) -> bool | None:
        self.checks += 1
        _, asked, library = line.partition(" library=")
        if asked and library not in self.able.get(position, library):
            return False
        return self.answers.get(position) not in (unsupported_row, row_without_candidate)

    def renew(self) -> bool:
        self.renewals += 1
        return True

    def close(self) -> None:
        self.ended = "closed"

    def kill(self) -> None:
        self.ended = "killed"


class ScriptedRun:
    """One command that ran to its end."""

    def __init__(
        self, source: ScriptedRows, *arguments: str, err: io.StringIO | None = None
    ) -> None:
        op, *rest = arguments
        self.source = source
        self.out, self.err = io.StringIO(), err or io.StringIO()
        line = command.parse_arguments(rest, OPTIONS)
        options = run_options(line)
        selection = (
            select_files(line.words) if op == "run" else select(op, line.words, options.corrected)
        )
        screen = Screen(self.out, self.err)
        self.run = Run(selection, options, arguments, source, screen)

    def end(self) -> int:
        return self.run.run()


def run_scripted(source: ScriptedRows, *arguments: str) -> tuple[int, str, str]:
    one = ScriptedRun(source, *arguments)
    return one.end(), one.out.getvalue(), one.err.getvalue()


THREE = ("gemm", "m=64", "n=16,32,48", "k=64")


def unsupported_row(row: dict[str, Any]) -> dict[str, Any]:
    return without_times(row, "unsupported", "not here; pip install it")


def row_without_candidate(row: dict[str, Any]) -> dict[str, Any]:
    return without_times(row, "invalid", "there is no candidate 'quik'")


def crashed_worker(row: dict[str, Any]) -> WorkerFailure:
    return WorkerFailure("failed", "the worker crashed: SIGSEGV")
