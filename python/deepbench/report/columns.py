"""The columns of a row that a person reads: shared by table and markdown."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from deepbench.algorithm_choice import choice_of
from deepbench.fleet import ranks_that_count
from deepbench.report.fields import (
    get,
    measured,
    metric_text,
    microseconds,
    percent,
    rate,
    share,
    spread,
    time_ns,
)
from deepbench.report.outline import OpOutline, application_text, title, value_text

Row = Mapping[str, Any]

# An interval that says more of the machine than of the call, though the median's standard error,
# which outliers do not move, is small: half of it, as a share of the median.
_WIDE = 0.05

_MOST_SLOW = 4  # ranks that a remark names

_APPLICATION = "application"

# Of a row with a conversion; said in words.
_CONVERSION_METRICS = ("call", "conversion", "call_and_conversion")


@dataclass(frozen=True)
class Column:
    """One column: `text` reads its cell from a row."""

    title: str
    width: int
    text: Callable[[Row], str]
    left: bool = False

    def cell(self, row: Row) -> str:
        return self.padded(self.text(row))

    def padded(self, text: str) -> str:
        return text.ljust(self.width) if self.left else text.rjust(self.width)


def problem_columns(op: OpOutline) -> list[Column]:
    """The application, where it has a column, and every attribute of an operation."""
    attributes = [Column(title(name), width, _attribute(name)) for name, width in op.widths.items()]
    if not op.application:
        return attributes
    width = max(op.application, len(_APPLICATION))
    return [Column(_APPLICATION, width, _application, left=True), *attributes]


def measured_columns(op: OpOutline) -> list[Column]:
    """Time, rate, share of the limits, verification."""
    time = [
        Column("time (us)", 11, lambda row: microseconds(time_ns(row))),
        Column("+-%", 5, lambda row: percent(spread(row))),
    ]
    arithmetic = [
        Column("TFLOP/s", 8, lambda row: rate(get(row, "rates.tflops"))),
        Column("%ceiling", 8, lambda row: share(get(row, "bound.share_arithmetic"))),
    ]
    moved = [Column("GB/s", 8, lambda row: rate(get(row, "rates.gbps")))]
    limits = [
        Column("%roofline", 9, lambda row: share(get(row, "bound.share_roofline"))),
        Column("bound by", 10, lambda row: get(row, "bound.by") or "-", left=True),
        Column("verified", 8, verified, left=True),
    ]
    return [*time, *(arithmetic if op.arithmetic else moved), *limits]


def verified(row: Row) -> str:
    """yes, no (a row that failed it), or skipped."""
    words = {"passed": "yes", "failed": "NO", "skipped": "skipped"}
    return words.get(get(row, "verification.status") or "", "-")


class Remarks:
    """What a reader must know beyond the columns. A row's notes are long and repeat, so that they
    become numbers, which lines() explains after the last row."""

    def __init__(self) -> None:
        self._numbers: dict[str, int] = {}

    def of(self, row: Row) -> str:
        """Empty for an ordinary row."""
        notes = [
            self._numbers.setdefault(note, len(self._numbers) + 1)
            for note in row.get("notes") or ()
        ]
        return "; ".join([*_remarks(row), *(f"[{number}]" for number in notes)])

    def lines(self) -> list[str]:
        return [f"[{number}] {note}" for note, number in self._numbers.items()]


def plain_remarks(row: Row) -> str:
    """Remarks on a row without its notes."""
    return "; ".join(_remarks(row))


def _remarks(row: Row) -> Iterator[str]:
    if row["status"] != "ok":
        yield f"{row['status']}: {row.get('reason') or 'no reason given'}"
        if not measured(row):  # the rest is about a time
            return
    yield from _regime(row)
    yield from _ranks(row)
    doubt = get(row, "regime.published.doubt")
    if doubt:
        yield f"inconsistent: {doubt}"
    fold = get(row, "statistics.fold")
    if fold:
        yield f"means of {fold} batches"
    stop = get(row, "statistics.stop")
    if get(row, "verification.reason") == "one call only":
        yield "one call"
    elif stop not in (None, "converged"):
        yield str(stop).replace("_", " ")
    elif (spread(row) or 0) > _WIDE:
        yield "noisy"
    mode = get(row, "algorithm.mode")
    if mode not in (None, "default") and get(row, "statistics"):
        yield f"{mode}: {choice_of(row).text or 'unnamed'}{_against_default(row)}"
    padded = get(row, "padding.dimensions")
    if padded:
        yield "padded to " + " ".join(f"{name}={value:g}" for name, value in padded.items())
    yield from _conversion(row)
    metrics = metric_text(row, without=_CONVERSION_METRICS)
    if metrics:
        yield metrics


def _against_default(row: Row) -> str:
    """How much faster the chosen algorithm is than the library's own choice."""
    default_ns, median_ns = get(row, "algorithm.default_ns"), get(row, "statistics.median_ns")
    if not default_ns or not median_ns:
        return ""
    gain = get(row, "algorithm.gain")  # measured in turns
    return f" ({gain:.2f} x default)" if gain else " (the default)"


def _conversion(row: Row) -> Iterator[str]:
    """The time column is the call alone."""
    conversion_ns, median_ns = get(row, "conversion.ns"), get(row, "statistics.median_ns")
    if conversion_ns is None or median_ns is None:
        return
    when = " beforehand" if get(row, "conversion.constant") else ""
    both = microseconds(median_ns + conversion_ns)
    operand = get(row, "conversion.operand")
    yield f"{operand} converted{when} in {microseconds(conversion_ns)} us, {both} us with it"


def _ranks(row: Row) -> Iterator[str]:
    """Of a row that several ranks made, each on its own device."""
    ranks = row.get("ranks") or {}
    count = len(ranks_that_count(ranks)) or ranks.get("count")
    spread_of_ranks = ranks.get("spread")
    if not count or spread_of_ranks is None:
        return
    slow = [
        f"rank {one['rank']} {percent(one['off'])} % slow"
        for one in get(row, "ranks.outliers") or ()
        if (one.get("off") or 0) > 0
    ]
    more = [f"and {len(slow) - _MOST_SLOW} more slow"] if len(slow) > _MOST_SLOW else []
    within = f"{count} ranks within {percent(spread_of_ranks)} %"
    yield ", ".join([within, *slow[:_MOST_SLOW], *more])


def _regime(row: Row) -> Iterator[str]:
    """Said where it is not the ordinary one: hot, in the cache, bursts."""
    if get(row, "regime.cache") == "cold":
        how = get(row, "regime.cold")
        yield f"cold by {how}" if how else "cold"
    elif get(row, "regime.resident") is False:
        yield "larger than the cache"
    if get(row, "regime.power") == "steady":
        yield "steady power"


def _application(row: Row) -> str:
    return application_text(row.get("application"))


def _attribute(name: str) -> Callable[[Row], str]:
    return lambda row: value_text((row.get("attributes") or {}).get(name))
