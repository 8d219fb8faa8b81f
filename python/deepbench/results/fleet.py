"""Summarizes the rows of a fleet: for each rank, its time relative to the median of all ranks, over
all rows, and which ranks are out of line. A row names its own outliers (docs/explanation/fleets.md
has the rules); this file only counts them.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from deepbench.errors import counted
from deepbench.json_types import JsonObject
from deepbench.results.row import Ranks, Row

_FLAGGED_SHARE = 0.1  # a rank that is slow in this share of its rows is not slow by chance


def counted_ranks(ranks: Ranks) -> set[int]:
    """The ranks of a row that have a time, whose status is ok, and that ran the same library and
    algorithm as most ranks."""
    statuses = ranks.status
    return {
        rank
        for rank, median in enumerate(ranks.median_ns)
        if median
        and rank not in ranks.mismatched
        and (rank >= len(statuses) or statuses[rank] == "ok")
    }


@dataclass(frozen=True)
class RankSummary:
    """One rank over all rows."""

    rank: int
    host: str
    device: int | None
    name: str  # of the device
    uuid: str
    rows: int  # rows in which the rank has a time that counts
    mean: float | None  # geometric mean of its time relative to the median of the ranks
    slow: int  # rows in which it is a slow outlier
    quick: int
    slowness: float  # median deviation over the rows in which it is slow
    failed: int  # rows that failed on this rank and not on others
    worst: tuple[float, str] | None  # the largest ratio, and the problem of that row

    @property
    def is_flagged(self) -> bool:
        return self.failed > 0 or self.slow > _FLAGGED_SHARE * self.rows

    @property
    def name_with_location(self) -> str:
        """'rank 13 (node4, device 5)'."""
        parts = [self.host, "" if self.device is None else f"device {self.device}"]
        known = ", ".join(part for part in parts if part)
        return f"rank {self.rank}" + (f" ({known})" if known else "")

    @property
    def finding(self) -> str:
        """'rank 13 (node4, device 5) is 8.1 % slow on 41 of 57 rows'."""
        said = []
        if self.slow:
            rows = counted(self.rows, "row")
            said.append(f"is {100 * self.slowness:.1f} % slow on {self.slow} of {rows}")
        if self.failed:
            said.append(f"failed {counted(self.failed, 'row')} of others")
        return f"{self.name_with_location} {' and '.join(said)}"


@dataclass
class _RankRecord:
    """The collected facts of one rank."""

    logarithms: list[float] = field(default_factory=list)
    slow: list[float] = field(default_factory=list)
    quick: int = 0
    failed: int = 0
    worst: tuple[float, str] | None = None


class FleetSummary:
    """Collects rows as they finish."""

    def __init__(self) -> None:
        self.rows = 0  # rows that each rank measured on its own device
        self._found: dict[int, _RankRecord] = {}
        self._context: JsonObject = {}

    def begin(self, context: JsonObject) -> None:
        self._context = context

    def add(self, row: Row) -> None:
        ranks = row.ranks
        if ranks is None:
            return
        self.rows += 1
        if any(status == "ok" for status in ranks.status):
            for rank, status in enumerate(ranks.status):
                self._record_of(rank).failed += status != "ok"
        self._add_times(ranks, row.problem or "an unnamed problem")
        for outlier in ranks.outliers:
            deviation = outlier.deviation or 0.0
            if outlier.rank is None:
                continue
            if deviation > 0:
                self._record_of(outlier.rank).slow.append(deviation)
            else:
                self._record_of(outlier.rank).quick += 1

    def _add_times(self, ranks: Ranks, problem: str) -> None:
        middle, counting = ranks.middle_ns, counted_ranks(ranks)
        for rank, median in enumerate(ranks.median_ns):
            found = self._record_of(rank)
            if not middle or not median or rank not in counting:
                continue
            ratio = median / middle
            if not 0 < ratio < math.inf:  # the file contradicts itself
                continue
            found.logarithms.append(math.log(ratio))
            if found.worst is None or ratio > found.worst[0]:
                found.worst = (ratio, problem)

    def _record_of(self, rank: int) -> _RankRecord:
        return self._found.setdefault(rank, _RankRecord())

    def ranks(self) -> list[RankSummary]:
        """All ranks, by number."""
        context = self._context.get("ranks") or {}
        hosts, devices = context.get("machines") or (), context.get("devices") or ()
        return [
            _summary(
                rank, self._found[rank], _value_or_none(hosts, rank), _value_or_none(devices, rank)
            )
            for rank in sorted(self._found)
        ]

    def findings(self) -> list[str]:
        """One line for each flagged rank: those with failures, then the others, slowest first."""
        flagged = [one for one in self.ranks() if one.is_flagged]
        return [one.finding for one in sorted(flagged, key=slowest_first)]


def slowest_first(one: RankSummary) -> tuple[bool, bool, float, int]:
    """A sort key: ranks with failures first, then flagged ranks, then the slowest."""
    return not one.failed, not one.is_flagged, -(one.mean or 0.0), one.rank


def _summary(rank: int, found: _RankRecord, host: object, device: object) -> RankSummary:
    facts: JsonObject = device if isinstance(device, Mapping) else {}
    count = len(found.logarithms)
    slow = sorted(found.slow)
    index = facts.get("index")
    return RankSummary(
        rank=rank,
        host=str(host or ""),
        device=index if isinstance(index, int) else None,
        name=str(facts.get("name") or ""),
        uuid=str(facts.get("uuid") or ""),
        rows=count,
        mean=math.exp(sum(found.logarithms) / count) if count else None,
        slow=len(slow),
        quick=found.quick,
        slowness=slow[len(slow) // 2] if slow else 0.0,
        failed=found.failed,
        worst=found.worst,
    )


def _value_or_none(values: Sequence[object], index: int) -> object:
    return values[index] if index < len(values) else None
