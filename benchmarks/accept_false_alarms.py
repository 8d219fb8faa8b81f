"""Prints how many of good machines `deepbench accept` refuses, by simulation.

A reference of n devices and the machine itself are drawn from one population. A machine is refused
if one of its seven families is slower than the mean of the reference by more than its tolerance.

    python benchmarks/accept_false_alarms.py [MACHINES]
"""

from __future__ import annotations

import math
import random
import statistics
import sys
from collections.abc import Callable
from functools import cache

from deepbench.accept.families import FAMILIES
from deepbench.accept.tolerance import tolerance
from deepbench.references import FamilySpread

_SEED = 20261126


def _student(random_numbers: random.Random, degrees: int) -> float:
    """A value of Student's distribution with a standard deviation of one."""
    normal = random_numbers.gauss(0, 1)
    chi_square = sum(random_numbers.gauss(0, 1) ** 2 for _ in range(degrees))
    return normal / math.sqrt(chi_square / degrees) * math.sqrt((degrees - 2) / degrees)


# Each draws how much slower a device is than most, in standard deviations.
POPULATIONS: dict[str, Callable[[random.Random], float]] = {
    "normal": lambda numbers: numbers.gauss(0, 1),
    "t5": lambda numbers: _student(numbers, 5),
    "t3": lambda numbers: _student(numbers, 3),
    "exponential": lambda numbers: numbers.expovariate(1) - 1,
}


@cache
def _deviations(devices: int) -> float:
    """The tolerance of a family in standard deviations of the reference, without the plain part."""
    return tolerance(FamilySpread(devices, 1.0), len(FAMILIES)).log_limit


def false_alarm_rate(population: str, devices: int, log_sd: float, machines: int) -> float:
    """The share of good machines with an alarm."""
    numbers, draw = random.Random(_SEED), POPULATIONS[population]
    plain = tolerance(None, len(FAMILIES)).log_limit

    def has_alarm() -> bool:
        reference = [log_sd * draw(numbers) for _ in range(devices)]
        mean = statistics.fmean(reference)
        # As statistics.stdev(), which is exact and slow.
        variance = math.fsum((one - mean) ** 2 for one in reference) / (devices - 1)
        limit = max(plain, _deviations(devices) * math.sqrt(variance))
        return log_sd * draw(numbers) - mean > limit

    refused = sum(any(has_alarm() for _ in FAMILIES) for _ in range(machines))
    return refused / machines


def main() -> int:
    machines = int(sys.argv[1]) if len(sys.argv) > 1 else 20_000
    print(f"{machines} machines with {len(FAMILIES)} families each; false alarms in per cent")
    print("| devices differ by | devices in the reference | " + " | ".join(POPULATIONS) + " |")
    print("|" + " --: |" * (2 + len(POPULATIONS)))
    for log_sd in (0.003, 0.01, 0.03):
        for devices in (5, 10, 20):
            rates = [false_alarm_rate(name, devices, log_sd, machines) for name in POPULATIONS]
            cells = " | ".join(f"{100 * rate:.2f}" for rate in rates)
            print(f"| {100 * log_sd:g} % | {devices} | {cells} |")
    return 0


if __name__ == "__main__":
    sys.exit(main())
