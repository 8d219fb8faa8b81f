"""Reads values of rows, which may be absent, and formats numbers for readers."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:  # commands that show no rows, as list, start without the reader of results
    from deepbench.results.row import Metric, Row

_TIME_UNITS = {"s": 1e9, "ms": 1e6, "\N{MICRO SIGN}s": 1e3, "ns": 1.0}  # in nanoseconds
_UNIT_WIDTH = max(map(len, _TIME_UNITS))
_LEVELS = {"memory": "memory", "llc": "last-level cache", "l1": "L1 cache", "l2": "L2 cache"}
TIMES_NS = {**_TIME_UNITS, "us": 1e3}
TIME_WIDTH = len("394.5") + 1 + _UNIT_WIDTH  # of a cell with a time


def get(context: Mapping[str, Any], path: str) -> Any:
    """The value of a context at a path such as 'device.name'; None if a part is absent."""
    value: Any = context
    for name in path.split("."):
        value = value.get(name) if isinstance(value, Mapping) else None
    return value


def time_text(nanoseconds: float | None, like_ns: float | None = None) -> str:
    """A time with its unit and four digits: '394.5 µs', '98.23 ms', '2.453 s'. It has the unit of
    `like_ns`, the time of the same row, if enough digits remain."""
    if nanoseconds is None:
        return "-"
    unit = _time_unit(nanoseconds if like_ns is None else like_ns)
    if not 0.01 <= nanoseconds / _TIME_UNITS[unit] < 1e5:
        unit = _time_unit(nanoseconds)
    return f"{_four_digits(nanoseconds / _TIME_UNITS[unit])} {unit}"


def time_cell(nanoseconds: float | None, like_ns: float | None = None) -> str:
    """The text of time_text() for a column, with numbers and units aligned."""
    number, _, unit = time_text(nanoseconds, like_ns).partition(" ")
    return f"{number} {unit:{_UNIT_WIDTH}}" if unit else number.ljust(_UNIT_WIDTH + 2)


def _time_unit(nanoseconds: float) -> str:
    """The largest unit in which the rounded time is at least 1."""
    shown = abs(float(f"{nanoseconds:.4g}"))
    for unit, size in _TIME_UNITS.items():
        if shown >= size:
            return unit
    return "ns"


def _four_digits(value: float) -> str:
    """Four significant digits, at most four decimals: 2.453, 98.23, 1235, 0.0123."""
    shown = float(f"{value:.4g}")
    if shown and not 1e-4 <= abs(shown) < 1e15:  # implausible, but a file may hold it
        return f"{value:.3e}"
    exponent = math.floor(math.log10(abs(shown))) if shown else 0
    return f"{value:.{min(max(3 - exponent, 0), 4)}f}"


def work_unit(precision: object) -> str:
    """The unit of a rate of arithmetic in this precision."""
    return "TOP/s" if str(precision).startswith("int") else "TFLOP/s"


def rate(value: float | None) -> str:
    """TFLOP/s, TOP/s or GB/s, at least three digits: 5.24e-05, 0.00123, 0.0123, 12.345, 783.20."""
    if value is not None and 0 < abs(value) < 0.001:
        return f"{value:.2e}"
    return _with_digits_by_size(value, (0.00995, 5), (10, 4), (100, 3), (1_000, 2))


def quantity(value: float | None) -> str:
    """A quantity that may be of any size, with four digits: 0.01234, 1.234e-05, 123.4."""
    return "-" if value is None else f"{value:.4g}"


def level_name(name: str) -> str:
    """The name of a memory level, or of a precision as it stands."""
    return _LEVELS.get(name, name)


def ceiling_text(figure: float, unit: str, spread: float | None) -> str:
    """A ceiling with half of its 95 % interval, if that is known: '812.4 GB/s ±0.3 %'."""
    known = "" if spread is None else f" \N{PLUS-MINUS SIGN}{percent(spread)} %"
    return f"{rate(figure)} {unit}{known}"


def threads_text(count: object) -> str:
    """'1 thread', '2 threads'. `count` is from a file and need not be a number."""
    return f"{count} thread{'' if count == 1 else 's'}"


def percent(share: float | None, digits: int = 1) -> str:
    """A fraction in per cent."""
    return "-" if share is None else f"{100 * share:.{digits}f}"


def share(value: float | None) -> str:
    """A share of a ceiling in per cent, with at least two digits: 1.2e-05, 0.0023, 0.47, 22.6. With
    one decimal, the share of a small problem would be shown as zero."""
    if value is None or value == 0:
        return percent(value)
    if abs(100 * value) < 0.0001:
        return f"{100 * value:.1e}"
    return _with_digits_by_size(100 * value, (0.001, 5), (0.01, 4), (0.1, 3), (1, 2))


def spread(row: Row) -> float | None:
    """Half the 95 % interval of the median, as a fraction of the median; None for one sample."""
    return row.statistics.spread


def metric_text(row: Row, without: Collection[str] = (), exact: bool = False) -> str:
    """The metrics that the operation defines: 'busbw=12.1 GB/s, dense=451.2 µs'. Times have the
    unit of the row's time. With `exact`, for programs, a metric keeps its unit and all digits."""

    def value_text(metric: Metric) -> str:
        return _exact_metric_text(metric) if exact else _metric_value_text(metric, row.time_ns)

    return ", ".join(
        f"{metric.name}={value_text(metric)}"
        for metric in row.metrics
        if metric.name not in without
    )


def _exact_metric_text(metric: Metric) -> str:
    value, unit = metric.value, metric.unit
    number = "-" if value is None else _number_text(value, exact=True)
    return _with_unit(number, unit)


def _with_unit(number: str, unit: str | None) -> str:
    """A share of calls, such as 100/100, has their number as its unit."""
    separator = "" if not unit or unit.startswith("/") else " "
    return f"{number}{separator}{unit or ''}"


def _metric_value_text(metric: Metric, like_ns: float | None) -> str:
    value, unit = metric.value, metric.unit
    if value is None:
        return "-"
    if unit in TIMES_NS:
        return time_text(value * TIMES_NS[unit], like_ns)
    if unit == "GFLOP/s":  # shown like the rate of the row, in TFLOP/s
        value, unit = value / 1e3, work_unit(None)
    if unit == "%":
        number = f"{value:.3g}"
    else:
        number = rate(value) if str(unit).endswith("/s") else _number_text(value, exact=False)
    return _with_unit(number, unit)


def _number_text(value: float, exact: bool) -> str:
    """A number without exponent below 1e15; an integer has no decimals."""
    if value == int(value) and abs(value) < 1e15:
        return str(int(value))
    if exact:
        return repr(value)
    return f"{value:.0f}" if 1e4 <= abs(value) < 1e15 else f"{value:.4g}"


def _with_digits_by_size(value: float | None, *steps: tuple[float, int]) -> str:
    if value is None:
        return "-"
    for limit, digits in steps:
        if abs(value) < limit:
            return f"{value:.{digits}f}"
    return f"{value:.1f}"
