"""The remarks that follow a row and state what its columns do not show. This is the only list of
remarks; docs/reference/remarks.md explains each form."""

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

# Half the 95 % interval of the median, as a fraction of the median. A wider interval indicates a
# noisy machine even if the standard error is small, since outliers do not affect the latter.
_WIDE = 0.05

_NAMED_RANKS = 4  # ranks that a remark names

_STOP_TEXTS = {"too_few": "too few samples"}  # others: the word itself

# Metrics of a conversion, for which there is a remark.
_CONVERSION_METRICS = ("call", "conversion", "call_and_conversion")


@dataclass(frozen=True)
class Remark:
    """`form` is the entry in docs/reference/remarks.md; words in capitals stand for what differs by
    row. `of` returns the text for a row, or None if the remark does not apply."""

    form: str
    of: Callable[[Row], str | None]


class Remarks:
    """The remarks on the rows of one report. Notes are long and repeat, so rows refer to them by
    number, and lines() lists them after the last row."""

    def __init__(self) -> None:
        self._notes = Notes()

    def of(self, row: Row) -> str:
        """The remarks on a row; empty for an ordinary row."""
        numbers = self._notes.numbers(row.get("notes") or ())
        return "; ".join([*_texts(row), *(f"[{number}]" for number in numbers)])

    def lines(self) -> list[str]:
        return [f"[{number}] {text}" for number, text in enumerate(self._notes.texts(), start=1)]


def plain_remarks(row: Row) -> str:
    """The remarks on a row without its notes."""
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


def _exceeds_cache(row: Row) -> str | None:
    if get(row, "regime.cache") == "cold" or get(row, "regime.fits_cache") is not False:
        return None
    return "operands exceed the cache"


def _steady_power(row: Row) -> str | None:
    return "steady power" if get(row, "regime.power") == "steady" else None


def _ranks(row: Row) -> str | None:
    """The remark on a row that several ranks measured, each on its own device."""
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
    named = [
        f"rank {one['rank']} is {percent(one['deviation'])} % slow" for one in slow[:_NAMED_RANKS]
    ]
    more = [f"{len(slow) - _NAMED_RANKS} more are slow"] if len(slow) > _NAMED_RANKS else []
    return ", ".join([*named, *more]) or None


def _doubt(row: Row) -> str | None:
    doubt = get(row, "regime.published.doubt")
    return f"inconsistent: {doubt}" if doubt else None


def _fold(row: Row) -> str | None:
    fold = get(row, "statistics.batches_per_sample")
    return f"samples are means of {fold} batches" if fold else None


def _one_call(row: Row) -> str | None:
    return "one call" if get(row, "verification.reason") == "one call only" else None


def _stop(word: str) -> Remark:
    """Why measuring ended, if the time is less precise than the target."""
    text = _STOP_TEXTS.get(word, word.replace("_", " "))

    def of(row: Row) -> str | None:
        stop = get(row, "statistics.stop")
        if _one_call(row):
            return None
        is_wide = word == "noisy" and stop in (None, "converged") and (spread(row) or 0) > _WIDE
        return text if stop == word or is_wide else None

    return Remark(text, of)


def _algorithm(row: Row) -> str | None:
    mode = get(row, "algorithm.mode")
    if mode in (None, "default") or not get(row, "statistics"):
        return None
    return f"{mode}: {choice_of(row).text or 'unnamed'}{_against_default(row)}"


def _against_default(row: Row) -> str:
    """The speedup of the chosen algorithm over the library's default."""
    default_ns, median_ns = get(row, "algorithm.default_ns"), get(row, "statistics.median_ns")
    if not default_ns or not median_ns:
        return ""
    gain = get(row, "algorithm.speedup")  # from the interleaved comparison
    return f" ({gain:.2f} x default)" if gain else " (the default)"


def _padded(row: Row) -> str | None:
    padded = get(row, "padding.dimensions")
    if not padded:
        return None
    return "padded to " + " ".join(f"{name}={value:g}" for name, value in padded.items())


def _conversion(row: Row) -> str | None:
    """States the time of the conversion, since the time column excludes it."""
    conversion_ns, median_ns = get(row, "conversion.ns"), get(row, "statistics.median_ns")
    if conversion_ns is None or median_ns is None:
        return None
    when = " beforehand" if get(row, "conversion.constant") else ""
    took = time_text(conversion_ns, time_ns(row))
    both = time_text(median_ns + conversion_ns, time_ns(row))
    return f"{get(row, 'conversion.operand')} converted{when} in {took}, {both} in total"


def _metrics(row: Row) -> str | None:
    return metric_text(row, without=_CONVERSION_METRICS) or None


STATUSES = tuple(
    _status(word)
    for word in ("unsupported", "invalid", "out_of_memory", "incorrect", "mistrusted",
                 "device_lost", "failed")
)  # fmt: skip

# In print order. A row without a time gets only the remarks on its status.
REMARKS = (
    *STATUSES,
    Remark("cold by MEANS", _cold),
    Remark("operands exceed the cache", _exceeds_cache),
    Remark("steady power", _steady_power),
    Remark("N ranks within X %", _ranks),
    Remark("rank N is X % slow", _slow_ranks),
    Remark("inconsistent: REASON", _doubt),
    Remark("samples are means of N batches", _fold),
    Remark("one call", _one_call),
    *map(_stop, ("noisy", "time_limit", "throttled", "too_few")),
    Remark("MODE: ALGORITHM", _algorithm),
    Remark("padded to DIMENSIONS", _padded),
    Remark("OPERAND converted in TIME, TIME in total", _conversion),
    Remark("NAME=VALUE", _metrics),
)
