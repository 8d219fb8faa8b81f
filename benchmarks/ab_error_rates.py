"""Prints how often runs of two environments err, by simulation.

    python benchmarks/ab_error_rates.py [RUNS]            draws the pairs of many runs
    python benchmarks/ab_error_rates.py PLUGIN [RUNS]     makes whole runs on the scripted backend

PLUGIN is the library of tests/plugins/fake_backend.c. Its runs make their pairs as `deepbench ab`
does; only the times of the calls are drawn: a drift that both sides of a pair share, and an effect
of each worker and row. Goals: without a difference, 95 of 100 runs find none; a slowdown of 1 % is
found in 95 of 100 runs, or their rows say that they cannot resolve 1 %.
"""

from __future__ import annotations

import io
import math
import os
import random
import sys
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from deepbench import _core
from deepbench.ab.paired_test import LEAST_PAIRS, PairedTest, decisive, pairs_wanted
from deepbench.ab.result import AbResult, verdict
from deepbench.ab.run import AbRun
from deepbench.ab.side import Setup
from deepbench.cli import command
from deepbench.cli.options import OPTIONS, run_options
from deepbench.problems.selection import select
from deepbench.results import Row
from deepbench.runner.progress import Screen
from deepbench.runner.worker_exit import WorkerFailure
from deepbench.runner.worker_process import as_object, parse_answer

CALL_NS = 20_000.0  # the shortest calls of which a difference of 1 % is promised
DRIFT = 0.03  # from pair to pair, of both sides
_SCRIPT = "DEEPBENCH_FAKE_SCRIPT"


Outcome = Callable[["Scenario", int], Counter[str]]  # of a scenario and a seed


@dataclass(frozen=True)
class Scenario:
    """What a run is like."""

    deviation: float  # between pairs
    slowdown: float = 1.0  # of B
    rows: int = 1
    heavy_tails: bool = False  # Student's t with four degrees of freedom in place of a normal

    def draw(self, dice: random.Random) -> float:
        """The logarithm of an effect on one side."""
        scale = self.deviation / math.sqrt(2)
        normal = dice.gauss(0.0, scale)
        if not self.heavy_tails:
            return normal
        chi_squared = sum(dice.gauss(0.0, 1.0) ** 2 for _ in range(4))
        return normal / math.sqrt(chi_squared / 2)  # whose variance is that of the normal


class Machine:
    """What both sides share: the drift of each pair."""

    def __init__(self, dice: random.Random) -> None:
        self._dice = dice
        self._drifts: dict[int, float] = {}

    def drift(self, pair: int) -> float:
        return self._drifts.setdefault(pair, self._dice.gauss(0.0, DRIFT))


class DrawnRows:
    """The rows of one side, measured by the core on the scripted backend."""

    def __init__(
        self,
        plugin: str,
        machine: Machine,
        scenario: Scenario,
        slowdown: float,
        dice: random.Random,
    ) -> None:
        self._plugin, self._machine, self._scenario = plugin, machine, scenario
        self._slowdown, self._dice = slowdown, dice
        self._pair = 0

    def start(self) -> dict[str, Any]:
        self._pair += 1
        os.environ[_SCRIPT] = ""
        self._runner = _core.Runner(self._plugin, "ceilings=no samples=1", ())
        return dict(as_object(self._runner.hello()))

    def run(
        self,
        line: str,
        position: int,
        limit_s: float,
        on_admitted: Callable[[], object] = lambda: None,
    ) -> Row | WorkerFailure:
        effect = self._machine.drift(self._pair) + self._scenario.draw(self._dice)
        os.environ[_SCRIPT] = f"time {CALL_NS * self._slowdown * math.exp(effect)!r}"
        return parse_answer(self._runner.run(line, position), line, position)

    def supports(self, line: str, position: int, limit_s: float) -> bool | None:
        return True

    def renew(self) -> bool:
        return True

    def close(self) -> None:
        pass

    def kill(self) -> None:
        pass


def run_on_backend(plugin: str, scenario: Scenario, seed: int) -> AbResult:
    dice = random.Random(seed)
    machine = Machine(dice)
    slowdowns = (1.0, scenario.slowdown)
    sides = [DrawnRows(plugin, machine, scenario, slowdown, dice) for slowdown in slowdowns]
    sizes = ",".join(str(8 + row) for row in range(scenario.rows))
    line = command.parse_arguments([f"m={sizes}", "n=4", "k=4"], OPTIONS)
    run = AbRun(
        select("gemm", line.words, corrected=False), run_options(line),
        (Setup("A", {}, None), Setup("B", {}, None)), ["ab"],
        screen=Screen(io.StringIO(), io.StringIO()), sources=sides,
    )  # fmt: skip
    return run.run()


def outcome_on_backend(plugin: str, scenario: Scenario, seed: int) -> Counter[str]:
    result = run_on_backend(plugin, scenario, seed)
    verdicts = Counter(row.verdict for row in result.rows)
    return verdicts + Counter(different=int(result.is_different), pairs=result.pairs)


def drawn_outcome(scenario: Scenario, seed: int) -> Counter[str]:
    """The same without rows: their logarithms of ratios alone."""
    dice = random.Random(seed)
    rows: list[list[float]] = [[] for _ in range(scenario.rows)]
    made, wanted = 0, LEAST_PAIRS
    tests: list[PairedTest] = []
    while made < wanted:
        for row in rows:
            row.append(math.log(scenario.slowdown) + scenario.draw(dice) - scenario.draw(dice))
        made += 1
        if made == wanted:
            tests = [test for row in rows if (test := PairedTest.of(row)) is not None]
            wanted = max(made, pairs_wanted(tests))
    verdicts = Counter(verdict(test) for test in tests)
    found = decisive([test.probability for test in tests])
    return verdicts + Counter(different=int(bool(found)), pairs=made)


def print_table(scenarios: Sequence[Scenario], runs: int, outcome: Outcome) -> None:
    print("| rows | pairs repeat within | tails | B slower by | runs that differ | rows slower "
          "| rows faster | cannot resolve 1 % | rows same | pairs |")  # fmt: skip
    print("|---|---|---|---|---|---|---|---|---|---|")
    for scenario in scenarios:
        found: Counter[str] = Counter()
        for seed in range(runs):
            found += outcome(scenario, seed)
        rows = runs * scenario.rows
        shares = [f"{100 * found[name] / rows:.1f} %"
                  for name in ("slower", "faster", "unresolved", "same")]  # fmt: skip
        cells = [
            str(scenario.rows), f"{100 * scenario.deviation:g} %",
            "heavy" if scenario.heavy_tails else "normal",
            f"{100 * (scenario.slowdown - 1):.0f} %", f"{100 * found['different'] / runs:.1f} %",
            *shares, f"{found['pairs'] / runs:.1f}",
        ]  # fmt: skip
        print("| " + " | ".join(cells) + " |", flush=True)


DEVIATIONS = (0.003, 0.005, 0.007, 0.009, 0.01, 0.015, 0.02)
MANY = [
    *(Scenario(one) for one in DEVIATIONS),
    Scenario(0.005, rows=5),
    *(Scenario(one, rows=17) for one in (0.003, 0.005, 0.01)),
    *(Scenario(0.005, rows=rows, heavy_tails=True) for rows in (1, 17)),
    *(Scenario(one, 1.01) for one in DEVIATIONS),
    Scenario(0.005, 1.01, heavy_tails=True),
]
FEW = [Scenario(0.003), Scenario(0.005, rows=5), Scenario(0.005, 1.01), Scenario(0.009, 1.01)]


def main() -> None:
    words = sys.argv[1:]
    if words and not words[0].isdecimal():
        runs = int(words[1]) if len(words) > 1 else 100
        print_table(FEW, runs, partial(outcome_on_backend, words[0]))
    else:
        print_table(MANY, int(words[0]) if words else 3000, drawn_outcome)


if __name__ == "__main__":
    main()
