"""Student's t distribution."""

from __future__ import annotations

import math
from functools import cache


def two_sided_probability(t: float, degrees: int) -> float:
    """The probability that Student's t lies further from 0 (Abramowitz and Stegun, 26.7.3 and
    26.7.4)."""
    angle = math.atan2(t, math.sqrt(degrees))
    sine, cosine = math.sin(angle), math.cos(angle)
    is_odd = degrees % 2
    term, total = (cosine, 0.0) if is_odd else (1.0, 0.0)
    for divisor in range(2 + is_odd, degrees + 1, 2):
        total += term
        term *= cosine * cosine * (divisor - 1) / divisor
    inside = (angle + sine * total) * 2 / math.pi if is_odd else sine * total
    return max(0.0, 1.0 - inside)


@cache
def student_quantile(probability: float, degrees: int) -> float:
    """The quantile of Student's t above one half."""
    outside = 2 * (1 - probability)
    low, high = 0.0, 1.0
    while two_sided_probability(high, degrees) > outside:
        low, high = high, 2 * high
    for _ in range(60):  # halvings until the precision of a float
        middle = (low + high) / 2
        if two_sided_probability(middle, degrees) > outside:
            low = middle
        else:
            high = middle
    return high
