"""Runs of two environments with scripted rows instead of workers'."""

from __future__ import annotations

import io
from collections.abc import Mapping, Sequence
from typing import Any

from deepbench.ab.result import AbResult
from deepbench.ab.run import AbRun
from deepbench.ab.side import Setup
from deepbench.cli import command
from deepbench.cli.options import OPTIONS, run_options
from deepbench.problems.selection import select
from deepbench.results import Row
from deepbench.runner.progress import Screen
from deepbench.runner.session import RowSource
from deepbench.runner.worker_exit import WorkerFailure
from scripted_run import Answer, ScriptedRows


class LoggedRows(ScriptedRows):
    """Scripted rows that log what is asked, on a list that both sides share."""

    def __init__(
        self,
        letter: str,
        log: list[str],
        answers: Mapping[int | tuple[int, int], Answer | BaseException] | None = None,
    ) -> None:
        super().__init__(answers)
        self._letter, self._log = letter, log

    def start(self) -> dict[str, Any]:
        self._log.append(f"start {self._letter}")
        return super().start()

    def renew(self) -> bool:
        self._log.append(f"end {self._letter}")
        return super().renew()

    def run(self, line: str, position: int, *rest: Any) -> Row | WorkerFailure:
        self._log.append(f"{self._letter}{position}")
        return super().run(line, position, *rest)


def run_pairs(
    sources: Sequence[RowSource],
    *arguments: str,
    pairs: int | None = None,
    setups: Sequence[Setup] = (Setup("A", {}, None), Setup("B", {"X": "1"}, None)),
) -> tuple[AbResult, str]:
    """The result of a run, and what it said."""
    op, *rest = arguments
    line = command.parse_arguments(rest, OPTIONS)
    err = io.StringIO()
    run = AbRun(
        select(op, line.words, corrected=False), run_options(line), setups, arguments, pairs,
        Screen(io.StringIO(), err), sources,
    )  # fmt: skip
    return run.run(), err.getvalue()
