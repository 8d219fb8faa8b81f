"""Reading rows: nested values that may be absent, and numbers as people read them."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

ABOVE_CEILING = 1.05  # a share of the roofline from which on the ceiling is too low


def get(row: Mapping[str, Any], path: str) -> Any:
    """The value at 'statistics.median_ns' or the like; None where any part is absent or null."""
    value: Any = row
    for name in path.split("."):
        value = value.get(name) if isinstance(value, Mapping) else None
    return value


def time_ns(row: Mapping[str, Any]) -> float | None:
    """What a row's time is, trusted or not: the median, of a published figure the mean."""
    name = "mean_ns" if get(row, "regime.published") else "median_ns"
    value: float | None = get(row, f"statistics.{name}")
    return value


def measured(row: Mapping[str, Any]) -> bool:
    """Whether the row has a time, trusted or not."""
    return time_ns(row) is not None


def microseconds(nanoseconds: float | None) -> str:
    """At least four digits: 3.217, 451.32, 10234.5."""
    return _digits(None if nanoseconds is None else nanoseconds / 1e3, (100, 3), (10_000, 2))


def rate(value: float | None) -> str:
    """TFLOP/s, TOP/s or GB/s, at least three digits: 5.24e-05, 0.00123, 0.0123, 12.345, 783.20."""
    if value is not None and 0 < abs(value) < 0.001:
        return f"{value:.2e}"
    return _digits(value, (0.00995, 5), (10, 4), (100, 3), (1_000, 2))


def percent(share: float | None, digits: int = 1) -> str:
    """A fraction of 1 as per cent."""
    return "-" if share is None else f"{100 * share:.{digits}f}"


def share(value: float | None) -> str:
    """A share of a ceiling in per cent, two digits at least: 1.2e-05, 0.0023, 0.47, 22.6. One
    decimal would make zero of what a small problem reaches."""
    if value is None or value == 0:
        return percent(value)
    if abs(100 * value) < 0.0001:
        return f"{100 * value:.1e}"
    return _digits(100 * value, (0.001, 5), (0.01, 4), (0.1, 3), (1, 2))


def spread(row: Mapping[str, Any]) -> float | None:
    """Half the 95 % interval of the median, as a fraction of the median; one sample has none."""
    median = get(row, "statistics.median_ns")
    low, high = get(row, "statistics.low_ns"), get(row, "statistics.high_ns")
    if not median or low is None or high is None or get(row, "statistics.n") == 1:
        return None
    return float(high - low) / 2 / float(median)


def metric_text(row: Mapping[str, Any], without: Collection[str] = (), exact: bool = False) -> str:
    """The operation's own figures, blindly: 'busbw=12.1 GB/s, dense=451 us'. `exact`: for programs,
    with all of their digits."""
    texts = []
    for metric in row.get("metrics") or ():
        if metric.get("name") in without:
            continue
        value, unit = metric.get("value"), metric.get("unit")
        number = "-" if value is None else _figure(value, exact)
        texts.append(f"{metric.get('name')}={number}{' ' + unit if unit else ''}")
    return ", ".join(texts)


def _figure(value: float, exact: bool) -> str:
    """No exponent below 1e15; a count has no decimals."""
    if value == int(value) and abs(value) < 1e15:
        return str(int(value))
    if exact:
        return repr(value)
    return f"{value:.0f}" if 1e4 <= abs(value) < 1e15 else f"{value:.5g}"


def _digits(value: float | None, *steps: tuple[float, int]) -> str:
    if value is None:
        return "-"
    for limit, digits in steps:
        if abs(value) < limit:
            return f"{value:.{digits}f}"
    return f"{value:.1f}"
