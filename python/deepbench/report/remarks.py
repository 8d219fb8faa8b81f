"""The remarks that follow a row and state what its columns do not show. This is the only list of
remarks; docs/reference/remarks.md explains each form."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from deepbench.report.fields import (
    metric_text,
    percent,
    quantity,
    spread,
    time_text,
)
from deepbench.report.notes import Notes
from deepbench.results.algorithm_choice import algorithm_choice_of
from deepbench.results.fleet import counted_ranks
from deepbench.results.row import ENERGY, Row
from deepbench.results.soak import first_and_last_tenth_of, whole_of

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
        numbers = self._notes.numbers_of_notes(row.notes)
        return "; ".join([*_remark_texts(row), *(f"[{number}]" for number in numbers)])

    def lines(self) -> list[str]:
        return [f"[{number}] {text}" for number, text in enumerate(self._notes.texts(), start=1)]


def plain_remarks(row: Row) -> str:
    """The remarks on a row without its notes, and with its energy, which tables have as a
    column."""
    energy = [] if row.energy_j is None else [f"{quantity(row.energy_j)} J per call"]
    return "; ".join([*_remark_texts(row), *energy])


def _remark_texts(row: Row) -> Iterator[str]:
    of_status = _OF_OK if row.status == "ok" else REMARKS
    for remark in of_status if row.time_ns is not None else STATUSES:
        text = remark.of(row)
        if text:
            yield text


def _status_remark(word: str) -> Remark:
    def remark_of(row: Row) -> str | None:
        if row.status != word:
            return None
        return f"{word}: {row.reason or 'no reason given'}"

    return Remark(f"{word}: REASON", remark_of)


def _cold_remark(row: Row) -> str | None:
    if row.regime.cache != "cold":
        return None
    how = row.regime.cold
    return f"cold by {how}" if how else "cold"


def _exceeds_cache_remark(row: Row) -> str | None:
    if row.regime.cache == "cold" or row.regime.fits_cache is not False:
        return None
    return "operands exceed the cache"


def _power_remark(row: Row) -> str | None:
    power = row.regime.power
    return f"{power} power" if power in ("sustained", "steady") else None


def _ranks_remark(row: Row) -> str | None:
    """The remark on a row that several ranks measured, each on its own device."""
    ranks = row.ranks
    if ranks is None or ranks.spread is None:
        return None
    count = len(counted_ranks(ranks)) or ranks.count
    return f"{count} ranks within {percent(ranks.spread)} %" if count else None


def _slow_ranks_remark(row: Row) -> str | None:
    if row.ranks is None or _ranks_remark(row) is None:
        return None
    slow = [one for one in row.ranks.outliers if (one.deviation or 0) > 0]
    named = [f"rank {one.rank} is {percent(one.deviation)} % slow" for one in slow[:_NAMED_RANKS]]
    more = [f"{len(slow) - _NAMED_RANKS} more are slow"] if len(slow) > _NAMED_RANKS else []
    return ", ".join([*named, *more]) or None


def _doubt_remark(row: Row) -> str | None:
    doubt = row.regime.published.doubt if row.regime.published else None
    return f"inconsistent: {doubt}" if doubt else None


def _batches_per_sample_remark(row: Row) -> str | None:
    fold = row.statistics.batches_per_sample
    return f"samples are means of {fold} batches" if fold else None


def _soak_remark(row: Row) -> str | None:
    """How the end of a soak differs from its beginning."""
    soak = whole_of(row.soak)
    if soak is None:
        return None
    first, last = first_and_last_tenth_of(row.soak)
    slowdown = last.time_per_call_ns / first.time_per_call_ns - 1
    text = (
        f"soak of {soak.calls:,} calls in {time_text(soak.elapsed_ns)}: the last tenth is "
        f"{percent(abs(slowdown))} % {'slower' if slowdown >= 0 else 'faster'} than the first"
    )
    if first.clock_mhz and last.clock_mhz:
        text += f", at {last.clock_mhz:.0f} MHz after {first.clock_mhz:.0f}"
    if soak.power_capped:
        text += f", under the power cap in {percent(soak.power_capped)} % of the batches"
    if soak.throttled:
        text += f", throttled in {percent(soak.throttled)} %"
    return text


def _one_call_remark(row: Row) -> str | None:
    return "one call" if row.verification.reason == "one call only" else None


def _stop_remark(word: str) -> Remark:
    """Why measuring ended, if the time is less precise than the target."""
    text = _STOP_TEXTS.get(word, word.replace("_", " "))

    def remark_of(row: Row) -> str | None:
        stop = row.statistics.stop
        if _one_call_remark(row):
            return None
        is_wide = word == "noisy" and stop in (None, "converged") and (spread(row) or 0) > _WIDE
        return text if stop == word or is_wide else None

    return Remark(text, remark_of)


def _disturbed_remark(row: Row) -> str | None:
    return "disturbed" if row.statistics.is_disturbed else None


def _algorithm_remark(row: Row) -> str | None:
    mode = row.algorithm.mode
    if mode in (None, "default") or not row.statistics:
        return None
    return f"{mode}: {algorithm_choice_of(row).text or 'unnamed'}{_against_default(row)}"


def _against_default(row: Row) -> str:
    """The speedup of the chosen algorithm over the library's default."""
    default_ns, median_ns = row.algorithm.default_ns, row.statistics.median_ns
    if not default_ns or not median_ns:
        return ""
    gain = row.algorithm.speedup  # from the interleaved comparison
    return f" ({gain:.2f} x default)" if gain else " (the default)"


def _padded_remark(row: Row) -> str | None:
    padded = row.padding.dimensions
    if not padded:
        return None
    return "padded to " + " ".join(f"{name}={value:g}" for name, value in padded.items())


def _conversion_remark(row: Row) -> str | None:
    """States the time of the conversion, since the time column excludes it."""
    conversion_ns, median_ns = row.conversion.ns, row.statistics.median_ns
    if conversion_ns is None or median_ns is None:
        return None
    constant = "constant " if row.conversion.constant else ""
    took = time_text(conversion_ns, row.time_ns)
    both = time_text(median_ns + conversion_ns, row.time_ns)
    return (
        f"{constant}{row.conversion.operand} converted in {took}, not in the time: {both} with it"
    )


def _metrics_remark(row: Row) -> str | None:
    return metric_text(row, without=(*_CONVERSION_METRICS, ENERGY)) or None


STATUSES = tuple(
    _status_remark(word)
    for word in ("unsupported", "invalid", "out_of_memory", "incorrect", "mistrusted",
                 "device_lost", "failed")
)  # fmt: skip

_OF_OK = (
    Remark("cold by MEANS", _cold_remark),
    Remark("operands exceed the cache", _exceeds_cache_remark),
    Remark("REGIME power", _power_remark),
    Remark("N ranks within X %", _ranks_remark),
    Remark("rank N is X % slow", _slow_ranks_remark),
    Remark("inconsistent: REASON", _doubt_remark),
    Remark("soak of N calls in TIME: the last tenth is X % slower than the first", _soak_remark),
    Remark("samples are means of N batches", _batches_per_sample_remark),
    Remark("one call", _one_call_remark),
    *map(_stop_remark, ("noisy", "time_limit", "throttled", "too_few")),
    Remark("disturbed", _disturbed_remark),
    Remark("MODE: ALGORITHM", _algorithm_remark),
    Remark("padded to DIMENSIONS", _padded_remark),
    Remark("OPERAND converted in TIME, not in the time: TIME with it", _conversion_remark),
    Remark("NAME=VALUE", _metrics_remark),
)

# In print order. A row without a time gets only the remarks on its status.
REMARKS = (*STATUSES, *_OF_OK)
