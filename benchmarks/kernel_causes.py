"""Why deepbench's and PyTorch's times of one problem differ, as far as their kernels show it.

Calls whose kernels have equal names are to take equal time, within 5 % or 0.5 us per kernel. A
difference elsewhere has a cause only if the trace shows it: the times of the kernels themselves
account for at least half of it.
"""

from __future__ import annotations

import statistics
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

AGREE, AGREE_US = 0.05, 0.5
MOST_UNEXPLAINED = 0.05
EQUAL, UNEXPLAINED = "equal names", "unexplained"
LAYOUT, NUMBER, ALGORITHM = "layout", "number of kernels", "algorithm"
LAUNCH, CLOCK, REPEATS = "launch", "clock", "repeatability"
CONVERSIONS = ("tonhwc", "tonchw", "transpose", "permute")  # in names of kernels, in lower case


@dataclass(frozen=True)
class Kernels:
    """The kernels of one call, from a trace; copies and memsets count."""

    names: tuple[str, ...]
    launches: tuple[str, ...]
    us: float


def kernels_of(events: Sequence[dict[str, Any]], calls: int) -> Kernels | None:
    """The kernels of one of so many calls. Work of the trace that is not done in every call, such
    as what a graph begins with, is left out."""
    each = Counter((str(event["name"]), _launch(event)) for event in events)
    in_call = {kernel: round(count / calls) for kernel, count in each.items()}
    kernels = sorted(kernel for kernel, count in in_call.items() for _ in range(count))
    if not kernels:
        return None
    spent = sum(
        float(event["dur"]) for event in events if in_call[str(event["name"]), _launch(event)]
    )
    names, launches = (tuple(column) for column in zip(*kernels, strict=True))
    return Kernels(names, launches, spent / calls)


def _launch(event: dict[str, Any]) -> str:
    shape = event.get("args", {})
    sides = [shape[name] for name in ("grid", "block") if name in shape]
    return " of ".join("x".join(map(str, side)) for side in sides)


@dataclass(frozen=True)
class Compared:
    """One problem on both sides. Times are microseconds of a call; None where one is not known."""

    problem: str
    count: int  # of calls in the workload
    before_us: float | None = None  # of deepbench
    after_us: float | None = None
    torch_us: float | None = None
    kernels: Kernels | None = None  # of deepbench
    torch_kernels: Kernels | None = None
    mhz: float | None = None  # of deepbench
    torch_mhz: float | None = None
    padding: str = ""  # of deepbench
    reason: str = ""  # why something is not known

    @property
    def us(self) -> float | None:
        return mean_of(self.before_us, self.after_us)

    @property
    def ratio(self) -> float:
        return (self.us or 0) / self.torch_us if self.torch_us else 0.0

    @property
    def excess_us(self) -> float:
        return (self.us or 0) - (self.torch_us or 0)

    @property
    def has_equal_names(self) -> bool:
        if self.kernels is None or self.torch_kernels is None:
            return False
        return self.kernels.names == self.torch_kernels.names

    @property
    def agrees(self) -> bool:
        number = len(self.kernels.names) if self.kernels and self.has_equal_names else 1
        return abs(self.ratio - 1) <= AGREE or abs(self.excess_us) <= AGREE_US * number


def mean_of(*values: float | None) -> float | None:
    """Of those that are known."""
    known = [value for value in values if value is not None]
    return statistics.mean(known) if known else None


@dataclass(frozen=True)
class Verdict:
    cause: str
    evidence: str = ""


def verdict_on(one: Compared) -> Verdict:
    """The class of a problem, and what shows it."""
    if one.us is None or one.torch_us is None:
        return Verdict(UNEXPLAINED, one.reason or "a time is missing")
    ours, theirs = one.kernels, one.torch_kernels
    if ours is None or theirs is None:
        return Verdict(UNEXPLAINED, one.reason or "the trace has no kernels of the call")
    if one.has_equal_names:
        return _verdict_on_equal_names(one, ours, theirs)
    names = f"{_names_in(ours, theirs)} / PyTorch: {_names_in(theirs, ours)}"
    more = len(ours.names) - len(theirs.names)
    if not one.agrees and not _kernels_account(one, ours, theirs) and more * one.excess_us <= 0:
        return Verdict(UNEXPLAINED, f"{_kernel_times(ours, theirs)}; {names}")
    if one.padding:
        return Verdict(LAYOUT, f"padded to {one.padding}; {names}")
    if any(word in name.lower() for name in _differing(ours, theirs) for word in CONVERSIONS):
        return Verdict(LAYOUT, names)
    if more:
        return Verdict(NUMBER, f"{len(ours.names)} and {len(theirs.names)}; {names}")
    return Verdict(ALGORITHM, names)


def _verdict_on_equal_names(one: Compared, ours: Kernels, theirs: Kernels) -> Verdict:
    if one.agrees:
        return Verdict(EQUAL)
    if ours.launches != theirs.launches and _kernels_account(one, ours, theirs):
        grids = (" + ".join(kernels.launches) for kernels in (ours, theirs))
        return Verdict(LAUNCH, " / PyTorch: ".join(grids))
    if _clock_accounts(one):
        return Verdict(CLOCK, f"{one.mhz:.0f} / PyTorch: {one.torch_mhz:.0f} MHz")
    runs = [time for time in (one.before_us, one.after_us) if time is not None]
    if min(runs) <= (one.torch_us or 0) <= max(runs):
        return Verdict(REPEATS, f"deepbench's two runs: {runs[0]:.3f} and {runs[-1]:.3f} us")
    return Verdict(UNEXPLAINED, f"{_kernel_times(ours, theirs)}; {_short(ours.names)}")


def _clock_accounts(one: Compared) -> bool:
    """Whether the calls agree in cycles, and the clocks make at least half of the difference."""
    if not one.mhz or not one.torch_mhz:
        return False
    in_cycles = abs(one.ratio * one.mhz / one.torch_mhz - 1)
    return in_cycles <= min(AGREE, abs(one.ratio - 1) / 2)


def _kernels_account(one: Compared, ours: Kernels, theirs: Kernels) -> bool:
    """Whether the times of the kernels under the profiler differ as the calls do, at least by
    half."""
    return (ours.us - theirs.us) / one.excess_us >= 0.5


def _kernel_times(ours: Kernels, theirs: Kernels) -> str:
    return f"under the profiler {ours.us:.3f} / PyTorch: {theirs.us:.3f} us"


def _differing(ours: Kernels, theirs: Kernels) -> set[str]:
    return set(ours.names) ^ set(theirs.names)


def _names_in(these: Kernels, others: Kernels) -> str:
    """The names that the other side does not have, or all if there are none."""
    left = Counter(these.names) - Counter(others.names)
    return _short(left.elements()) if left else _short(these.names)


def _short(names: Iterable[str]) -> str:
    """Names without types of results, template arguments and parameters."""
    cut = (name.removeprefix("void ").replace("(anonymous namespace)::", "") for name in names)
    return " + ".join(name.partition("(")[0].partition("<")[0] for name in cut)


@dataclass(frozen=True)
class ProblemShare:
    """The number of problems of one class, and their share of deepbench's time of all calls."""

    problems: int
    share: float


@dataclass(frozen=True)
class Summary:
    """Of one workload. `equal` has all problems whose kernels have equal names. Those of them whose
    times differ are also in `causes` or `unexplained`, as are all other problems."""

    equal: ProblemShare
    agreeing: int
    median_ratio: float | None
    median_excess_us: float | None  # per kernel
    causes: dict[str, ProblemShare]
    unexplained: ProblemShare
    without_time: int

    @property
    def equal_names_agree(self) -> bool:
        if self.median_ratio is None or self.median_excess_us is None:
            return False
        return abs(self.median_ratio - 1) <= AGREE or abs(self.median_excess_us) <= AGREE_US

    @property
    def is_good(self) -> bool:
        explained = self.unexplained.share <= MOST_UNEXPLAINED and not self.without_time
        return self.equal_names_agree and explained


def summarize(compared: Sequence[Compared]) -> Summary:
    total = sum(map(_time_of, compared))
    verdicts = [(one, verdict_on(one)) for one in compared]

    def group(those: Sequence[Compared]) -> ProblemShare:
        return ProblemShare(len(those), sum(map(_time_of, those)) / total if total else 0.0)

    equal = [one for one in compared if one.has_equal_names and one.us and one.torch_us]
    by_cause: dict[str, list[Compared]] = {}
    for one, verdict in verdicts:
        by_cause.setdefault(verdict.cause, []).append(one)
    groups = {cause: group(those) for cause, those in by_cause.items()}
    each = [one.excess_us / len(one.kernels.names) for one in equal if one.kernels]
    return Summary(
        equal=group(equal),
        agreeing=groups[EQUAL].problems if EQUAL in groups else 0,
        median_ratio=statistics.median(one.ratio for one in equal) if equal else None,
        median_excess_us=statistics.median(each) if each else None,
        causes={name: groups[name] for name in groups if name not in (EQUAL, UNEXPLAINED)},
        unexplained=groups.get(UNEXPLAINED, ProblemShare(0, 0.0)),
        without_time=sum(one.us is None for one in compared),
    )


def _time_of(one: Compared) -> float:
    return one.count * (one.us or 0.0)
