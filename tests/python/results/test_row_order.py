"""The outcome of a row does not depend on the rows before it: neither its status and notes, nor its
bound, its shares and the ceilings of the file."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from command_line import deepbench
from deepbench.results import read
from deepbench.results.ceilings import Ceilings

# 1000 operations or 100 bytes from the memory in a nanosecond, 1000 bytes from a cache of 1 MB.
DEVICE = "model 0.001 1000 100 1000; cache 1000000"
# Each problem with the time of its call, and in nanoseconds what the device's ceilings imply.
TIMES = {
    "gemm m=512 n=512 k=512": "",
    "gemm m=2048 n=1024 k=1024": "time 2e6",  # 4.3e6: raises the ceiling
    "gemm m=2080 n=1024 k=1024": "time 1.5e6",  # 4.4e6: raises it further
    "gemm m=1536 n=1024 k=1024": "attempt=0 time 2.5e6|attempt=1 time 2.8e6",  # 3.2e6: unsteady
    "gemm m=64 n=64 k=64": "time 200",  # 524: too small for a ceiling
    "gemm m=72 n=72 k=72": "attempt=0 time 300|attempt=1 time 400",  # 746: unsteady
    "gemm m=33 n=1 k=1": "crash time_batch",  # a new worker goes on
    "memory kind=write bytes=900000": "time 1000",  # 900, from the cache
    "memory kind=write bytes=1200000": "time 6000",  # 12,000: faster with a part from the cache
    "memory kind=write bytes=1500000": "time 4000",  # 15,000: faster than that part explains
    "memory kind=write bytes=80000000": "time 7e5",  # 8e5, and less than the row after it
    "memory kind=write bytes=90000000": "time 4e5",  # 9e5: raises the ceiling
}  # fmt: skip


def script() -> str:
    lines = [DEVICE]
    for problem, times in TIMES.items():
        op, *attributes = problem.split()
        lines += [f"when op={op} {' '.join(attributes)} {one}" for one in times.split("|") if one]
    return "\n".join(lines)


def run_in_order(plugin: Path, folder: Path, problems: Sequence[str], *more: str) -> Path:
    listed, file = folder / "problems.txt", folder / "rows.jsonl"
    listed.write_text("".join(f"{problem}\n" for problem in problems))
    done = deepbench(
        "run", listed, "--backend", plugin, "--no-verify", "-o", file, *more,
        DEEPBENCH_FAKE_SCRIPT=script(),
    )  # fmt: skip
    assert done.returncode == 1, done.stderr  # of the row that ends its worker
    return file


@dataclass(frozen=True)
class Outcome:
    rows: dict[str, tuple[Any, ...]]  # what each says, by its problem
    ceilings: list[str]

    def problems_of(self, text: str) -> list[str]:
        """The problems whose rows say this."""
        return [problem for problem, said in self.rows.items() if text in str(said)]


def outcome(file: Path) -> Outcome:
    result = read(file)
    rows = {
        row.problem: (row.status, row.reason, row.notes, row.statistics.median_ns, row.bound)
        for row in result.rows
    }
    assert len(rows) == len(TIMES)
    return Outcome(rows, sorted(Ceilings(result.ceilings).protocol_lines()))


@pytest.fixture(scope="module")
def expected(plugin: Path, tmp_path_factory: pytest.TempPathFactory) -> Outcome:
    return outcome(run_in_order(plugin, tmp_path_factory.mktemp("order"), list(TIMES)))


def test_the_rows_meet_every_rule(expected: Outcome) -> None:
    assert len(expected.problems_of("mistrusted")) == 2
    assert len(expected.problems_of("which it raises")) == 4
    assert len(expected.problems_of("a problem of so few operations does not raise")) == 1
    assert len(expected.problems_of("may hold in part do not raise")) == 1
    assert sum("raised=" in line for line in expected.ceilings) == 2


@pytest.mark.parametrize("seed", range(4))
def test_rows_say_the_same_in_every_order(
    expected: Outcome, plugin: Path, tmp_path: Path, seed: int
) -> None:
    problems = list(reversed(TIMES))
    if seed:
        random.Random(seed).shuffle(problems)
    assert outcome(run_in_order(plugin, tmp_path, problems)) == expected


def test_a_run_in_two_parts_says_the_same(expected: Outcome, plugin: Path, tmp_path: Path) -> None:
    problems = list(reversed(TIMES))
    file = run_in_order(plugin, tmp_path, problems)
    lines = file.read_bytes().splitlines(keepends=True)
    file.write_bytes(b"".join(lines[: len(lines) // 2]))
    assert outcome(run_in_order(plugin, tmp_path, problems, "--resume")) == expected
