"""Runs deepbench as a user does, and reads the rows. The benchmarks in this folder share it."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from deepbench.results import Row, read


@dataclass(frozen=True)
class Run:
    """One finished run: wall time in seconds (0 if unknown), and its rows as in the file."""

    seconds: float
    context: dict[str, Any]
    rows: list[Row]

    def ok(self) -> list[Row]:
        return [row for row in self.rows if row.status == "ok"]

    def stage_seconds(self, stage: str) -> float:
        return sum(row.stages_ns[stage] for row in self.rows) / 1e9


def without_history() -> dict[str, str]:
    """The environment for runs that the history of the machine does not keep."""
    return {**os.environ, "DEEPBENCH_HISTORY_DIR": ""}


def run_command(*arguments: str) -> Run:
    """Runs ``python -m deepbench ARGUMENTS -o FILE``. The terminal shows its progress."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "rows.jsonl"
        return load(file, run_to_file(file, *arguments))


def run_to_file(file: Path, *arguments: str) -> float:
    """The same with a file that stays. Returns the wall time in seconds."""
    command = [sys.executable, "-m", "deepbench", *arguments, "-o", str(file)]
    begin = time.monotonic()
    subprocess.run(command, stdout=subprocess.DEVNULL, check=False, env=without_history())
    return time.monotonic() - begin


def load(file: Path, seconds: float = 0.0) -> Run:
    """Loads a run from a result file of any schema version, with the keys of the current one."""
    result = read(file)
    rows = sorted(result.rows, key=lambda row: int(row.position))
    return Run(seconds, dict(result.context), rows)


def median_us(row: Row) -> float:
    return float(row.statistics.median_ns) / 1e3
