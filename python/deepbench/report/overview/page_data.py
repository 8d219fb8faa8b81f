"""The data for the page's scripts: rows by column, each text once, thinned samples, and lists of
pairs. It becomes one JSON text from which no content can escape."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import Any

from deepbench import _core
from deepbench.compare.result_set import printable
from deepbench.report.fields import spread, time_text
from deepbench.report.remarks import plain_remarks

from .attributes import ShortNames, attributes_for_colouring
from .outliers import outliers
from .pairs import Pair, ReferenceComparison
from .report_rows import ReportFile, ReportRow, regimes

_DIGITS = 9  # significant digits of a number
_SAMPLE_DIGITS = 6
_MOST_SAMPLES = 1000  # of a row
_ALL_SAMPLES = 200_000  # of the page, which take 2 MB
_FEWEST_SAMPLES = 20
# By the last part of a name.
_UNITS = {"w": "W", "c": "\N{DEGREE SIGN}C", "mhz": "MHz", "j": "J", "ns": "ns"}

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
    """'power 404.13 W'."""
    *words, last = name.split("_")
    unit = _UNITS.get(last) if words else None
    if unit == "ns" and not isinstance(value, str):
        return f"{' '.join(words)} {time_text(value)}"
    text = f"{value:.5g}" if isinstance(value, float) else str(value)
    return f"{' '.join(words)} {text} {unit}" if unit else f"{name.replace('_', ' ')} {text}"


def _statistic_of_row(name: str) -> Callable[[ReportRow], object]:
    return lambda row: getattr(row.raw.statistics, f"{name}_ns")


_STATISTICS = ("min", "q1", "q3", "p99", "max", "low", "high", "mean")
_NUMBERS: dict[str, Callable[[ReportRow], object]] = {
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
    **{name: _statistic_of_row(name) for name in _STATISTICS},
}  # fmt: skip


def page_data(
    files: Sequence[ReportFile],
    algorithms: Sequence[Pair],
    hot_cold_pairs: Sequence[Pair],
    others: Sequence[ReferenceComparison],
) -> dict[str, Any]:
    """All data but the charts."""
    rows = [row for file in files for row in file.rows]
    limit = max(_FEWEST_SAMPLES, min(_MOST_SAMPLES, _ALL_SAMPLES // max(1, len(rows))))
    brief = ShortNames(rows)
    texts = {name: [of(row) for row in rows] for name, of in _TEXTS.items()}
    texts["brief"] = [brief.name(row) for row in rows]
    return {
        "count": len(rows),
        "files": [
            {"letter": file.letter, "name": file.name, "device": file.device} for file in files
        ],
        "regimes": regimes(rows),
        "texts": {name: _indexed_texts(values) for name, values in texts.items()},
        "colourable": {
            name: _indexed_texts(values) for name, values in attributes_for_colouring(rows).items()
        },
        "shared": brief.notes(),
        "hides_defaults": brief.hides_defaults,
        "numbers": {
            name: [_rounded_number(of(row)) for row in rows] for name, of in _NUMBERS.items()
        },
        "samples": [_thinned_samples_us(row, limit) for row in rows],
        "outliers": {row.id: far for row in rows if (far := _outlier_data(row))},
        "pairs": {
            "algorithms": [_pair_data(pair) for pair in algorithms],
            "caches": [_pair_data(pair) for pair in hot_cold_pairs],
            "against": [_named_pair_data(pair, one.label) for one in others for pair in one.pairs],
        },
    }


def script_text(value: object) -> str:
    """JSON that cannot end its script element or begin a comment, whatever its texts contain."""
    text = json.dumps(value, ensure_ascii=True, allow_nan=False, separators=(",", ":"))
    for letter in "<>&":
        text = text.replace(letter, f"\\u{ord(letter):04x}")
    return text


def _indexed_texts(values: Sequence[object]) -> dict[str, Any]:
    """Each distinct text once, and an index into these texts for every row."""
    numbers: dict[str, int] = {}
    index = [
        -1 if value is None else numbers.setdefault(printable(value), len(numbers))
        for value in values
    ]
    return {"values": list(numbers), "index": index}


def _rounded_number(value: object) -> int | float | None:
    if isinstance(value, int) or value is None:
        return value
    return float(f"{value:.{_DIGITS}g}")


def _thinned_samples_us(row: ReportRow, limit: int) -> list[int | float]:
    """The samples in microseconds, thinned to at most `limit`."""
    every = row.raw.samples_ns
    kept = min(limit, len(every))
    samples = [every[_core.sample_index(i, kept, len(every))] for i in range(kept)]
    return [float(f"{value / 1e3:.{_SAMPLE_DIGITS}g}") for value in samples]


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
