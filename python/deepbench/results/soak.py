"""Summarizes a soak: how time and clock change while a device computes without pause."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from deepbench.results.row import SoakPart

_END = 0.1  # the share of the calls at the beginning and at the end that are compared


@dataclass(frozen=True)
class SoakSummary:
    """Consecutive calls of a soak."""

    calls: int
    elapsed_ns: float
    clock_mhz: float | None  # the mean over the batches; None: unknown
    throttled: float  # share of the batches
    power_capped: float  # share of the batches

    @property
    def time_per_call_ns(self) -> float:
        return self.elapsed_ns / self.calls


def whole_of(parts: Sequence[SoakPart]) -> SoakSummary | None:
    """All calls of a soak; None if the parts have none."""
    parts = _parts_with_calls(parts)
    return _summary_of(parts) if parts else None


def first_and_last_tenth_of(parts: Sequence[SoakPart]) -> tuple[SoakSummary, SoakSummary]:
    """The first and the last tenth of the calls of a soak that has calls, in whole parts."""
    parts = _parts_with_calls(parts)
    calls = _END * sum(part.calls for part in parts)
    return _summary_of(_until(parts, calls)), _summary_of(_until(parts[::-1], calls))


def steps_of(parts: Sequence[SoakPart], count: int) -> list[SoakSummary]:
    """A soak in at most `count` steps of about as many calls, in whole parts."""
    left = _parts_with_calls(parts)
    steps: list[SoakSummary] = []
    while left:
        calls = sum(part.calls for part in left) / (count - len(steps))
        step = _until(left, calls)
        steps.append(_summary_of(step))
        left = left[len(step) :]
    return steps


def _parts_with_calls(parts: Sequence[SoakPart]) -> list[SoakPart]:
    return [part for part in parts if part.calls and part.elapsed_ns]


def _until(parts: Sequence[SoakPart], calls: float) -> list[SoakPart]:
    """The first parts that together have at least this many calls."""
    taken: list[SoakPart] = []
    for part in parts:
        if taken and sum(one.calls for one in taken) >= calls:
            break
        taken.append(part)
    return taken


def _summary_of(parts: Sequence[SoakPart]) -> SoakSummary:
    batches = sum(part.batches for part in parts) or 1
    clocks = [(part.clock_mhz, part.batches) for part in parts if part.clock_mhz]
    weights = sum(weight for _, weight in clocks)
    is_known = len(clocks) == len(parts) and weights > 0
    return SoakSummary(
        calls=sum(part.calls for part in parts),
        elapsed_ns=sum(part.elapsed_ns for part in parts),
        clock_mhz=sum(clock * weight for clock, weight in clocks) / weights if is_known else None,
        throttled=sum(part.throttled for part in parts) / batches,
        power_capped=sum(part.power_capped for part in parts) / batches,
    )
