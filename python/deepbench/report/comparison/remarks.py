"""What a reader must know of two compared rows beyond their times."""

from __future__ import annotations

import math
from collections.abc import Iterator

from deepbench.compare import Compared, Entry, differences
from deepbench.compare.regimes import HOT, hot_beside_cold
from deepbench.report.fields import microseconds

_CLOCKS = 0.01  # a change of the device's clock that is worth a word


def remarks(row: Compared) -> Iterator[str]:
    """Empty for ordinary rows."""
    base, other = row.base, row.other
    if row.broken:
        yield f"{other.status}: {other.reason or 'no reason given'}"
    elif row.ratio is None:
        untimed, whose = (other, "") if other.time_ns is None else (base, "A: ")
        yield f"{whose}{untimed.status}: {untimed.reason or 'no time'}"
    if base.doubt or other.doubt:
        yield f"left out: {other.doubt or base.doubt}"
    if hot_beside_cold(base, other):
        yield HOT
    words = differences(base, other)
    if words:
        yield "another " + " and ".join(words)
    if base.problem != other.problem and not other.published and not base.published:
        yield f"against {other.problem}"
    if base.algorithm != other.algorithm and base.algorithm and other.algorithm:
        yield f"{other.algorithm} against {base.algorithm}"
    change = row.clock_change
    if change is not None and abs(change) > _CLOCKS:
        yield f"clock {100 * math.expm1(change):+.1f} %"
    yield from _conversion("A", base)
    yield from _conversion("other", other)


def _conversion(name: str, entry: Entry) -> Iterator[str]:
    if entry.conversion_ns is not None:
        yield f"{name}: {microseconds(entry.conversion_ns)} us of conversion beside it"
