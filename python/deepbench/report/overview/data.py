"""What the page's scripts work with: every row by column, texts once, samples thinned to what a
page should weigh, and lists of pairs. All of it becomes one JSON text that no content can leave."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import Any

from deepbench.compare.sides import plain
from deepbench.report.fields import get, spread, time_text
from deepbench.report.remarks import plain_remarks

from .attributes import Brief, colourable
from .outliers import outliers
from .pairs import Against, Pair
from .runs import Run, Shown, regimes

_DIGITS = 9  # that a number keeps
_SAMPLE_DIGITS = 6
_MOST_SAMPLES = 1000  # of a row
_ALL_SAMPLES = 200_000  # of the page: 2 MB
_FEWEST_SAMPLES = 20
_UNITS = {"w": "W", "c": "\N{DEGREE SIGN}C", "mhz": "MHz", "j": "J", "ns": "ns"}  # by a name's end

Value = str | int | float | bool | None

_TEXTS: dict[str, Callable[[Shown], object]] = {
    "problem": lambda shown: shown.entry.problem,
    "op": lambda shown: shown.entry.op,
    "family": lambda shown: shown.family,
    "precision": lambda shown: shown.entry.attributes.get("precision"),
    "kind": lambda shown: shown.entry.attributes.get("kind"),
    "phase": lambda shown: shown.entry.phase,
    "application": lambda shown: shown.entry.application,
    "regime": lambda shown: shown.regime,
    "cache": lambda shown: shown.entry.cache,
    "mode": lambda shown: shown.entry.algorithm,
    "device": lambda shown: shown.entry.device,
    "library": lambda shown: shown.entry.library,
    "algorithm": lambda shown: shown.entry.choice.text,
    "status": lambda shown: "inconsistent" if shown.entry.doubt else shown.entry.status,
    "reason": lambda shown: shown.entry.doubt or shown.entry.reason,
    "bound": lambda shown: get(shown.row, "bound.by"),
    "level": lambda shown: get(shown.row, "bound.level"),
    "verified": lambda shown: get(shown.row, "verification.status"),
    "stop": lambda shown: get(shown.row, "statistics.stop"),
    "launch": lambda shown: get(shown.row, "regime.launch"),
    "timer": lambda shown: get(shown.row, "regime.timer"),
    "kept": lambda shown: get(shown.row, "samples_kept"),
    "observed": lambda shown: _observed(shown),
    "remarks": lambda shown: plain_remarks(shown.row),
    "notes": lambda shown: "; ".join(shown.row.get("notes") or ()) or None,
}


def _observed(shown: Shown) -> str | None:
    """What the backend saw beside the measuring: clocks, power, temperature."""
    facts = shown.row.get("observed") or {}
    return ", ".join(
        _quantity(name, value)
        for name, value in facts.items()
        if isinstance(value, (int, float, str))
    ) or None  # fmt: skip


def _quantity(name: str, value: float | str) -> str:
    """'power 404.13 W'."""
    *words, last = name.split("_")
    unit = _UNITS.get(last) if words else None
    if unit == "ns" and not isinstance(value, str):
        return f"{' '.join(words)} {time_text(value)}"
    text = f"{value:.5g}" if isinstance(value, float) else str(value)
    return f"{' '.join(words)} {text} {unit}" if unit else f"{name.replace('_', ' ')} {text}"


def _statistic(name: str) -> Callable[[Shown], object]:
    return lambda shown: get(shown.row, f"statistics.{name}_ns")


_STATISTICS = ("min", "q1", "q3", "p99", "max", "low", "high", "mean")
_NUMBERS: dict[str, Callable[[Shown], object]] = {
    "run": lambda shown: shown.run,
    "position": lambda shown: shown.entry.position,
    "good": lambda shown: int(shown.good),
    "time": lambda shown: shown.entry.time_ns or get(shown.row, "statistics.median_ns"),
    "spread": lambda shown: spread(shown.row),
    "tflops": lambda shown: shown.tflops,
    "gbps": lambda shown: shown.gbps,
    "flops": lambda shown: shown.entry.flops,
    "bytes": lambda shown: shown.entry.bytes,
    "ceiling": lambda shown: _if_good(shown, "bound.share_arithmetic"),
    "roofline": lambda shown: shown.share,
    "peak": lambda shown: get(shown.row, "bound.arithmetic_tflops"),
    "bandwidth": lambda shown: get(shown.row, "bound.memory_gbps"),
    "n": lambda shown: get(shown.row, "statistics.n"),
    "batch": lambda shown: get(shown.row, "statistics.batch"),
    "first": lambda shown: get(shown.row, "first_call_ns"),
    "host": lambda shown: get(shown.row, "host_ns"),
    "conversion": lambda shown: shown.entry.conversion_ns,
    "default": lambda shown: get(shown.row, "algorithm.default_ns"),
    "worst": lambda shown: get(shown.row, "verification.worst"),
    **{name: _statistic(name) for name in _STATISTICS},
}  # fmt: skip


def _if_good(shown: Shown, path: str) -> object:
    return get(shown.row, path) if shown.good else None


def document(
    files: Sequence[Run],
    algorithms: Sequence[Pair],
    caches: Sequence[Pair],
    others: Sequence[Against],
) -> dict[str, Any]:
    """Everything but the charts."""
    rows = [shown for run in files for shown in run.rows]
    most = max(_FEWEST_SAMPLES, min(_MOST_SAMPLES, _ALL_SAMPLES // max(1, len(rows))))
    brief = Brief(rows)
    texts = {name: [of(shown) for shown in rows] for name, of in _TEXTS.items()}
    texts["brief"] = [brief.name(shown) for shown in rows]
    return {
        "count": len(rows),
        "files": [{"letter": run.letter, "name": run.name, "device": run.device} for run in files],
        "regimes": regimes(rows),
        "texts": {name: _indexed(values) for name, values in texts.items()},
        "colourable": {name: _indexed(values) for name, values in colourable(rows).items()},
        "shared": brief.notes(),
        "hides_defaults": brief.hides_defaults,
        "numbers": {name: [_number(of(shown)) for shown in rows] for name, of in _NUMBERS.items()},
        "samples": [_samples(shown, most) for shown in rows],
        "outliers": {shown.id: far for shown in rows if (far := _outliers(shown))},
        "pairs": {
            "algorithms": [_pair(pair) for pair in algorithms],
            "caches": [_pair(pair) for pair in caches],
            "against": [_named(pair, one.label) for one in others for pair in one.pairs],
        },
    }


def script_text(value: object) -> str:
    """JSON that neither ends its script element nor begins a comment, whatever the texts hold."""
    text = json.dumps(value, ensure_ascii=True, allow_nan=False, separators=(",", ":"))
    for letter in "<>&":
        text = text.replace(letter, f"\\u{ord(letter):04x}")
    return text


def _indexed(values: Sequence[object]) -> dict[str, Any]:
    """Every text once, and by row which."""
    places: dict[str, int] = {}
    index = [
        -1 if value is None else places.setdefault(plain(value), len(places)) for value in values
    ]
    return {"values": list(places), "index": index}


def _number(value: object) -> int | float | None:
    if isinstance(value, int) or value is None:
        return value
    return float(f"{value:.{_DIGITS}g}")


def _samples(shown: Shown, most: int) -> list[int | float]:
    """Microseconds; an even selection of those in the file where they are many."""
    samples = shown.row.get("samples_ns") or ()
    if len(samples) > most:
        samples = [samples[i * len(samples) // most] for i in range(most)]
    return [float(f"{value / 1e3:.{_SAMPLE_DIGITS}g}") for value in samples]


def _outliers(shown: Shown) -> dict[str, Any]:
    """The scale for a row's samples, where any is outside."""
    far = outliers([ns / 1e3 for ns in shown.row.get("samples_ns") or ()])
    return {"low": far.low, "high": far.high, "texts": list(far.texts)} if far.texts else {}


def _named(pair: Pair, side: str) -> dict[str, Value]:
    return {**_pair(pair), "side": side}


def _pair(pair: Pair) -> dict[str, Value]:
    return {
        "id": pair.shown.id,
        "time": pair.time_ns,
        "other": pair.other_ns,
        "ratio": pair.ratio.value,
        "low": pair.ratio.low,
        "high": pair.ratio.high,
        "with": pair.other.id if pair.other else None,
        "doubt": pair.doubt,
        "cold": pair.cold,
    }
