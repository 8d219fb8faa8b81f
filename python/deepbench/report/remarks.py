"""The remarks that follow a row: what a reader must know beyond its columns. The one list of them,
which docs/reference/remarks.md explains form by form."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from deepbench.report.fields import (
    get,
    measured,
    metric_text,
    percent,
    spread,
    time_ns,
    time_text,
)
from deepbench.report.notes import Notes
from deepbench.results.algorithm_choice import choice_of
from deepbench.results.fleet import counted_ranks

Row = Mapping[str, Any]

# An interval that says more of the machine than of the call, though the median's standard error,
# which outliers do not move, is small: half of it, as a share of the median.
_WIDE = 0.05

_MOST_SLOW = 4  # ranks that a remark names

# Metrics of a row with a conversion, which a remark says in words.
_CONVERSION_METRICS = ("call", "conversion", "call_and_conversion")


@dataclass(frozen=True)
class Remark:
    """`form` is the form in docs/reference/remarks.md, in which words in capitals stand for values
    that differ by row. `of` gives the text for a row, or None if the remark does not apply."""

    form: str
    of: Callable[[Row], str | None]


class Remarks:
    """The remarks on the rows of one report. A row's notes are long and repeat, so that they become
    numbers, which lines() explains after the last row."""

    def __init__(self) -> None:
        self._notes = Notes()

    def of(self, row: Row) -> str:
        """Empty for an ordinary row."""
        numbers = self._notes.numbers(row.get("notes") or ())
        return "; ".join([*_texts(row), *(f"[{number}]" for number in numbers)])

    def lines(self) -> list[str]:
        return [f"[{number}] {text}" for number, text in enumerate(self._notes.texts(), start=1)]


def plain_remarks(row: Row) -> str:
    """Remarks on a row without its notes."""
    return "; ".join(_texts(row))


def _texts(row: Row) -> Iterator[str]:
    for remark in REMARKS if measured(row) else STATUSES:
        text = remark.of(row)
        if text:
            yield text


def _status(word: str) -> Remark:
    def of(row: Row) -> str | None:
        if row["status"] != word:
            return None
        return f"{word}: {row.get('reason') or 'no reason given'}"

    return Remark(f"{word}: REASON", of)


def _cold(row: Row) -> str | None:
    if get(row, "regime.cache") != "cold":
        return None
    how = get(row, "regime.cold")
    return f"cold by {how}" if how else "cold"


def _larger_than_the_cache(row: Row) -> str | None:
    if get(row, "regime.cache") == "cold" or get(row, "regime.fits_cache") is not False:
        return None
    return "larger than the cache"


def _steady_power(row: Row) -> str | None:
    return "steady power" if get(row, "regime.power") == "steady" else None


def _ranks(row: Row) -> str | None:
    """Of a row that several ranks made, each on its own device."""
    ranks = row.get("ranks") or {}
    count = len(counted_ranks(ranks)) or ranks.get("count")
    spread_of_ranks = ranks.get("spread")
    if not count or spread_of_ranks is None:
        return None
    return f"{count} ranks within {percent(spread_of_ranks)} %"


def _slow_ranks(row: Row) -> str | None:
    if _ranks(row) is None:
        return None
    slow = [one for one in get(row, "ranks.outliers") or () if (one.get("deviation") or 0) > 0]
    named = [f"rank {one['rank']} {percent(one['deviation'])} % slow" for one in slow[:_MOST_SLOW]]
    more = [f"and {len(slow) - _MOST_SLOW} more slow"] if len(slow) > _MOST_SLOW else []
    return ", ".join([*named, *more]) or None


def _doubt(row: Row) -> str | None:
    doubt = get(row, "regime.published.doubt")
    return f"inconsistent: {doubt}" if doubt else None


def _fold(row: Row) -> str | None:
    fold = get(row, "statistics.batches_per_sample")
    return f"means of {fold} batches" if fold else None


def _one_call(row: Row) -> str | None:
    return "one call" if get(row, "verification.reason") == "one call only" else None


def _stop(word: str) -> Remark:
    """How measuring ended, where the time is not as precise as it should be."""
    said = word.replace("_", " ")

    def of(row: Row) -> str | None:
        stop = get(row, "statistics.stop")
        if _one_call(row):
            return None
        is_wide = word == "noisy" and stop in (None, "converged") and (spread(row) or 0) > _WIDE
        return said if stop == word or is_wide else None

    return Remark(said, of)


def _algorithm(row: Row) -> str | None:
    mode = get(row, "algorithm.mode")
    if mode in (None, "default") or not get(row, "statistics"):
        return None
    return f"{mode}: {choice_of(row).text or 'unnamed'}{_against_default(row)}"


def _against_default(row: Row) -> str:
    """How much faster the chosen algorithm is than the library's own choice."""
    default_ns, median_ns = get(row, "algorithm.default_ns"), get(row, "statistics.median_ns")
    if not default_ns or not median_ns:
        return ""
    gain = get(row, "algorithm.speedup")  # measured in turns
    return f" ({gain:.2f} x default)" if gain else " (the default)"


def _padded(row: Row) -> str | None:
    padded = get(row, "padding.dimensions")
    if not padded:
        return None
    return "padded to " + " ".join(f"{name}={value:g}" for name, value in padded.items())


def _conversion(row: Row) -> str | None:
    """The time column is the call alone."""
    conversion_ns, median_ns = get(row, "conversion.ns"), get(row, "statistics.median_ns")
    if conversion_ns is None or median_ns is None:
        return None
    when = " beforehand" if get(row, "conversion.constant") else ""
    took = time_text(conversion_ns, time_ns(row))
    both = time_text(median_ns + conversion_ns, time_ns(row))
    return f"{get(row, 'conversion.operand')} converted{when} in {took}, {both} with it"


def _metrics(row: Row) -> str | None:
    return metric_text(row, without=_CONVERSION_METRICS) or None


STATUSES = tuple(
    _status(word)
    for word in ("unsupported", "invalid", "out_of_memory", "incorrect", "mistrusted",
                 "device_lost", "failed")
)  # fmt: skip

# In the order in which they are printed; of a row without a time the first ones alone.
REMARKS = (
    *STATUSES,
    Remark("cold by MEANS", _cold),
    Remark("larger than the cache", _larger_than_the_cache),
    Remark("steady power", _steady_power),
    Remark("N ranks within X %", _ranks),
    Remark("rank N X % slow", _slow_ranks),
    Remark("inconsistent: REASON", _doubt),
    Remark("means of N batches", _fold),
    Remark("one call", _one_call),
    *map(_stop, ("noisy", "time_limit", "throttled", "too_few")),
    Remark("MODE: ALGORITHM", _algorithm),
    Remark("padded to DIMENSIONS", _padded),
    Remark("OPERAND converted in TIME, TIME with it", _conversion),
    Remark("NAME=VALUE", _metrics),
)
