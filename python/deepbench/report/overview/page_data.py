"""The data for the page's scripts: rows by column, each text once, thinned samples, and lists of
pairs. It becomes one JSON text from which no content can escape."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import lru_cache, partial
from operator import attrgetter
from typing import Any

from deepbench import _core
from deepbench.compare.result_set import printable
from deepbench.report.fields import spread, time_text
from deepbench.report.remarks import plain_remarks

from .attributes import ShortNames, attribute_texts, attributes_for_coloring
from .outliers import outliers
from .pairs import Pair, ReferenceComparison
from .report_rows import ReportFile, ReportRow, regimes

_DIGITS = "%.9g"  # of a number
_SAMPLE_DIGITS = "%.6g"
_ITEMS_OF_PART = 10_000  # of a list
_MOST_SAMPLES = 1000  # of a row
_ALL_SAMPLES = 200_000  # of the page, which take 2 MB
_FEWEST_SAMPLES = 20
# The key is the last part of a name.
_UNITS = {"w": "W", "c": "\N{DEGREE SIGN}C", "mhz": "MHz", "j": "J", "ns": "ns"}

_ESCAPES = {ord(letter): f"\\u{ord(letter):04x}" for letter in "<>&"}

Value = str | int | float | bool | None

_TEXTS: dict[str, Callable[[ReportRow], object]] = {
    "problem": lambda row: row.entry.problem,
    "op": lambda row: row.entry.op,
    "family": lambda row: row.family,
    "precision": lambda row: row.entry.attributes.get("precision"),
    "arithmetic": lambda row: row.raw.work.arithmetic,
    "kind": lambda row: row.entry.attributes.get("kind"),
    "phase": lambda row: row.entry.phase,
    "application": lambda row: row.entry.application_names,
    "regime": lambda row: row.regime,
    "cache": lambda row: row.entry.cache,
    "mode": lambda row: row.entry.algorithm,
    "device": lambda row: row.entry.device,
    "library": lambda row: row.entry.library,
    "algorithm": lambda row: row.entry.choice.text,
    "status": lambda row: "inconsistent" if row.entry.doubt else row.entry.status,
    "reason": lambda row: row.entry.doubt or row.entry.reason,
    "bound": lambda row: row.raw.bound.by,
    "level": lambda row: row.raw.bound.level,
    "verified": lambda row: row.raw.verification.status,
    "stop": lambda row: row.raw.statistics.stop,
    "launch": lambda row: row.raw.regime.launch,
    "timer": lambda row: row.raw.regime.timer,
    "kept": lambda row: row.raw.samples_kept,
    "observed": lambda row: _observed_text(row),
    "remarks": lambda row: plain_remarks(row.raw),
    "notes": lambda row: "; ".join(row.raw.notes) or None,
}


def _observed_text(row: ReportRow) -> str | None:
    """What the backend observed while measuring: clocks, power, temperature."""
    facts = row.raw.observed
    return ", ".join(
        _quantity_text(name, value)
        for name, value in facts.items()
        if isinstance(value, (int, float, str))
    ) or None  # fmt: skip


def _quantity_text(name: str, value: float | str) -> str:
    """A quantity as a text, such as 'power 404.13 W'."""
    *words, last = name.split("_")
    unit = _UNITS.get(last) if words else None
    if unit == "ns" and not isinstance(value, str):
        return f"{' '.join(words)} {time_text(value)}"
    text = f"{value:.5g}" if isinstance(value, float) else str(value)
    return f"{' '.join(words)} {text} {unit}" if unit else f"{name.replace('_', ' ')} {text}"


_STATISTICS = ("min", "q1", "q3", "p99", "max", "low", "high", "mean")
_NUMBERS: dict[str, Callable[[ReportRow], float | None]] = {
    "run": lambda row: row.file_index,
    "position": lambda row: row.entry.position,
    "good": lambda row: int(row.is_plottable),
    "time": lambda row: row.entry.time_ns or row.raw.statistics.median_ns,
    "spread": lambda row: spread(row.raw),
    "tflops": lambda row: row.tflops,
    "gbps": lambda row: row.gbps,
    "flops": lambda row: row.entry.flops,
    "bytes": lambda row: row.entry.bytes,
    "ceiling": lambda row: row.raw.bound.share_arithmetic if row.is_plottable else None,
    "roofline": lambda row: row.share,
    "peak": lambda row: row.raw.bound.arithmetic_tflops,
    "bandwidth": lambda row: row.raw.bound.memory_gbps,
    "calls": lambda row: row.entry.count,
    "n": lambda row: row.raw.statistics.n,
    "batch": lambda row: row.raw.statistics.batch,
    "first": lambda row: row.raw.first_call_ns,
    "host": lambda row: row.raw.host_ns,
    "conversion": lambda row: row.entry.conversion_ns,
    "default": lambda row: row.raw.algorithm.default_ns,
    "worst": lambda row: row.raw.verification.max_error_ratio,
    **{name: attrgetter(f"raw.statistics.{name}_ns") for name in _STATISTICS},
}  # fmt: skip


class _Column:
    """A list with a value of each row, whose JSON is made when it is written: a page of many rows
    would need several times their memory for all columns at once."""

    def __init__(
        self, rows: Sequence[ReportRow], texts_of: Callable[[Sequence[ReportRow]], Iterable[str]]
    ) -> None:
        self._rows, self._texts_of = rows, texts_of

    def json_parts(self) -> Iterator[str]:
        yield "["
        for begin in range(0, len(self._rows), _ITEMS_OF_PART):
            texts = self._texts_of(self._rows[begin : begin + _ITEMS_OF_PART])
            yield f"{',' if begin else ''}{','.join(texts)}"
        yield "]"


def page_data(
    files: Sequence[ReportFile],
    algorithms: Sequence[Pair],
    hot_cold_pairs: Sequence[Pair],
    others: Sequence[ReferenceComparison],
) -> dict[str, Any]:
    """All data but the charts."""
    rows = [row for file in files for row in file.rows]
    limit = max(_FEWEST_SAMPLES, min(_MOST_SAMPLES, _ALL_SAMPLES // max(1, len(rows))))
    attributes = [attribute_texts(row) for row in rows]
    brief = ShortNames(rows, attributes)
    names = map(brief.name, rows, attributes)
    return {
        "count": len(rows),
        "files": [
            {"letter": file.letter, "name": file.name, "device": file.device} for file in files
        ],
        "regimes": regimes(rows),
        "texts": {
            **{name: _indexed_texts(map(of, rows)) for name, of in _TEXTS.items()},
            "brief": _indexed_texts(names),
        },
        "colorable": {
            name: _indexed_texts(values)
            for name, values in attributes_for_coloring(attributes).items()
        },
        "shared": brief.notes(),
        "hides_defaults": brief.hides_defaults,
        "numbers": {
            name: _Column(rows, partial(_number_texts, of)) for name, of in _NUMBERS.items()
        },
        "samples": _Column(rows, lambda some: [_samples_text(row, limit) for row in some]),
        "outliers": {row.id: far for row in rows if (far := _outlier_data(row))},
        "pairs": {
            "algorithms": [_pair_data(pair) for pair in algorithms],
            "caches": [_pair_data(pair) for pair in hot_cold_pairs],
            "against": [_named_pair_data(pair, one.label) for one in others for pair in one.pairs],
        },
    }


def script_text(value: object) -> str:
    """JSON that cannot end its script element or begin a comment, whatever its texts contain."""
    return "".join(part.translate(_ESCAPES) for part in _json_parts(value))


def _json_parts(value: object) -> Iterator[str]:
    """The parts of a JSON text. Python's encoder makes a text of every number before it joins them,
    which would take several times the memory of the text, so that it gets a part at a time."""
    if isinstance(value, dict) and value and all(type(name) is str for name in value):
        for position, (name, item) in enumerate(value.items()):
            yield f"{',' if position else '{'}{_json_text(name)}:"
            yield from _json_parts(item)
        yield "}"
    elif isinstance(value, _Column):
        yield from value.json_parts()
    elif isinstance(value, list):
        yield "["
        for begin in range(0, len(value), _ITEMS_OF_PART):
            items = _json_text(value[begin : begin + _ITEMS_OF_PART])
            yield f"{',' if begin else ''}{items[1:-1]}"
        yield "]"
    else:
        yield _json_text(value)


def _json_text(value: object) -> str:
    return json.dumps(value, ensure_ascii=True, allow_nan=False, separators=(",", ":"))


class _TextNumbers(dict[str | None, int]):
    """The number of each distinct text, by the text as it was before it could be printed."""

    def __init__(self) -> None:
        super().__init__({None: -1})
        self.printed: dict[str, int] = {}

    def __missing__(self, text: str) -> int:
        number = self[text] = self.printed.setdefault(printable(text), len(self.printed))
        return number


def _indexed_texts(values: Iterable[object]) -> dict[str, Any]:
    """Each distinct text once, and an index into these texts for every row."""
    numbers = _TextNumbers()
    index = [
        numbers[value if value is None or type(value) is str else printable(value)]
        for value in values
    ]
    return {"values": list(numbers.printed), "index": index}


def _number_texts(of: Callable[[ReportRow], float | None], rows: Iterable[ReportRow]) -> list[str]:
    """The JSON of a number of each row."""
    return [
        "null" if value is None
        else str(value) if isinstance(value, int)
        else rounded_text(value, _DIGITS)
        for value in map(of, rows)
    ]  # fmt: skip


def rounded_text(value: float, digits: str) -> str:
    """The JSON of a number that is rounded to at most 15 digits by a format such as '%.9g'. So few
    digits are the fewest that tell the rounded number, so that its JSON has the same ones: only the
    text of a whole number, and that of an exponent, differ."""
    text = digits % value
    if "." in text and "e" not in text:
        return text
    rounded = float(text)
    if not math.isfinite(rounded):
        raise ValueError(f"{rounded} is no number of JSON")
    return repr(rounded)


def _samples_text(row: ReportRow, limit: int) -> str:
    """The JSON of the samples in microseconds, thinned to at most `limit`."""
    every = row.raw.samples_ns
    indices = _sample_indices(min(limit, len(every)), len(every))
    samples_us = [every[index] / 1e3 for index in indices]
    text = _samples_format(len(samples_us)) % tuple(samples_us)
    if text.count(".") < len(samples_us) or "e" in text:  # as in rounded_text()
        text = ",".join(rounded_text(one, _SAMPLE_DIGITS) for one in samples_us)
    return f"[{text}]"


@lru_cache(64)
def _samples_format(count: int) -> str:
    return ",".join([_SAMPLE_DIGITS] * count)


@lru_cache(64)
def _sample_indices(kept: int, count: int) -> tuple[int, ...]:
    return tuple(_core.sample_index(i, kept, count) for i in range(kept))


def _outlier_data(row: ReportRow) -> dict[str, Any]:
    """The scale of a row's samples, if any of them lies outside."""
    far = outliers([ns / 1e3 for ns in row.raw.samples_ns])
    return {"low": far.low, "high": far.high, "texts": list(far.texts)} if far.texts else {}


def _named_pair_data(pair: Pair, reference: str) -> dict[str, Value]:
    return {**_pair_data(pair), "reference": reference}


def _pair_data(pair: Pair) -> dict[str, Value]:
    return {
        "id": pair.row.id,
        "time": pair.time_ns,
        "other": pair.other_ns,
        "ratio": pair.ratio.value,
        "low": pair.ratio.low,
        "high": pair.ratio.high,
        "with": pair.other.id if pair.other else None,
        "doubt": pair.doubt,
        "cold": pair.cold,
    }
