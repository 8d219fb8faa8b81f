"""How much slower than its reference a family may be before it raises an alarm.

The reference is a sample of n devices, and the machine is one more draw from the same population: a
family's logarithm lies within t(1 - a, n - 1) * sqrt(1 + 1/n) * SD of the reference's mean with
probability 1 - a (a prediction interval). All families of all devices share a false alarm rate of
one machine in a hundred.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from deepbench.references import FEWEST_DEVICES, FamilySpread
from deepbench.student import student_quantile

PLAIN = 0.03  # the least tolerance, because repeated runs of one machine differ by as much
# The tolerance without a spread. Six H200s deviate by 1.16 % in products of half, so that two of
# them differ by more than this in one of 300 cases.
WITHOUT_SPREAD = 0.05
_FALSE_ALARMS = 0.01  # share of the machines as good as the reference's that raise an alarm


@dataclass(frozen=True)
class Tolerance:
    """The largest logarithm of a family's ratio to the reference that is accepted."""

    log_limit: float
    # None: a plain percentage, because the reference has too few devices.
    spread: FamilySpread | None

    @property
    def share(self) -> float:
        return math.expm1(self.log_limit)


def tolerance(spread: FamilySpread | None, comparisons: int) -> Tolerance:
    """The tolerance of one of `comparisons` comparisons, one for each family and device."""
    if spread is None or spread.devices < FEWEST_DEVICES:
        return Tolerance(math.log1p(WITHOUT_SPREAD), None)
    n = spread.devices
    quantile = student_quantile(1 - _FALSE_ALARMS / comparisons, n - 1)
    return Tolerance(
        max(math.log1p(PLAIN), quantile * math.sqrt(1 + 1 / n) * spread.log_sd), spread
    )
