"""A chart of any metric against any attribute: which there are, and where rows are. page/sweep.js
does the same with the rows that pass the page's filters."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

from deepbench.compare.result_set import printable
from deepbench.report import FormatError
from deepbench.report.fields import get

from .report_rows import ReportFile, ReportRow, all_rows, work_title
from .series import Series, Value, series_of, value_text

_FEWEST_VALUES = 3  # of the attribute of a sweep, and of points in a line on average
_PREFERRED_METRICS = ("tflops", "busbw", "gbps")  # metrics, the best known of an operation first
_MOST_LISTED = 30  # names in an error
_DECADE = 10.0  # a logarithmic axis from this ratio on
_MIN_TICK_RATIO = 1.5  # between the values of a sweep that are ticks of their own
_MOST_TICKS = 12


@dataclass(frozen=True)
class Metric:
    """The quantity on the vertical axis. Its interval follows from that of the time, inverted
    where `inverse_of_time` is set."""

    name: str
    title: str
    of: Callable[[ReportRow], float | None]
    inverse_of_time: bool | None  # None: an interval is not known


@dataclass(frozen=True)
class Attribute:
    """What is plotted to the right."""

    name: str
    title: str
    of_problem: bool  # of the problem; bytes and FLOPs of a call need not be
    is_number: bool
    values: int  # how many different ones


@dataclass(frozen=True)
class Point:
    """A row in the chart."""

    row: ReportRow
    x: Value
    y: float
    low: float | None
    high: float | None
    series: Series


@dataclass(frozen=True)
class Sweep:
    """All that may be plotted, and what is plotted unless another choice is made."""

    metrics: tuple[Metric, ...]
    attributes: tuple[Attribute, ...]
    metric: Metric
    attribute: Attribute
    is_sweep: bool  # one attribute takes several values while the others are mostly fixed


def sweep(files: Sequence[ReportFile]) -> Sweep | None:
    """None where no row has a metric and an attribute."""
    every = [row for row in all_rows(files) if row.good]
    metrics, attributes = _metrics(every), _attributes(every)
    if not metrics or not attributes:
        return None
    names = {one.name: one for one in metrics}
    metric = next((names[name] for name in _PREFERRED_METRICS if name in names), metrics[0])
    swept = [
        one
        for one in attributes
        if one.is_number
        and one.of_problem
        and one.values >= _FEWEST_VALUES
        and _is_swept(files, metric, one)
    ]
    numbers = [one for one in attributes if one.is_number and one.of_problem]
    known = swept or numbers or list(attributes)
    most = max(known, key=lambda one: one.values)
    return Sweep(metrics, attributes, metric, most, bool(swept))


def chosen(found: Sweep | None, name: str) -> tuple[Metric, Attribute]:
    """The two in 'tflops/n'. Raises FormatError with the names that there are."""
    if found is None:
        raise FormatError("no row is ok: there is nothing for a chart")
    first, _, second = name.partition("/")
    metric = next((one for one in found.metrics if one.name == first), None)
    if metric is None:
        raise FormatError(
            f"--chart: there is no metric {printable(first)!r}; there are {_listed(found.metrics)}"
        )
    attribute = next((one for one in found.attributes if one.name == second), None)
    if attribute is None:
        raise FormatError(
            f"--chart: no row has an attribute {printable(second)!r}; there are "
            f"{_listed(found.attributes)}"
        )
    return metric, attribute


def _listed(found: Sequence[Metric] | Sequence[Attribute]) -> str:
    names = [one.name for one in found]
    return " ".join([*names[:_MOST_LISTED], *(["..."] if len(names) > _MOST_LISTED else [])])


# ---- metrics and attributes --------------------------------------------------------------------

_FIXED = (
    Metric(
        "time",
        "time of a call (µs)",
        lambda row: None if row.entry.time_ns is None else row.entry.time_ns / 1e3,
        inverse_of_time=False,
    ),
    Metric("tflops", "TFLOP/s", lambda row: row.tflops, inverse_of_time=True),
    Metric("gbps", "GB/s", lambda row: row.gbps, inverse_of_time=True),
    Metric(
        "share_arithmetic",
        "% of the arithmetic ceiling",
        lambda row: _percent(get(row.raw, "bound.share_arithmetic")),
        inverse_of_time=True,
    ),
    Metric(
        "share_roofline", "% of the roofline", lambda row: _percent(row.share), inverse_of_time=True
    ),
)
_OF_WORK = {"bytes": "bytes of a call", "flops": "FLOPs of a call"}


def _percent(share: float | None) -> float | None:
    return None if share is None else 100 * share


def _metrics(rows: Sequence[ReportRow]) -> tuple[Metric, ...]:
    """Those that any row has: the columns of every row, then what its operation adds."""
    fixed = [
        replace(metric, title=work_title(rows)) if metric.name == "tflops" else metric
        for metric in _FIXED
        if any(metric.of(row) is not None for row in rows)
    ]
    taken = {metric.name for metric in _FIXED}
    units: dict[str, str] = {}
    for row in rows:
        for name, (_, unit) in operation_metrics(row).items():
            if name not in taken:
                units.setdefault(name, unit)
    own = [
        Metric(
            name,
            f"{name} ({unit})" if unit else name,
            _operation_metric(name),
            inverse_of_time=None,
        )
        for name, unit in units.items()
    ]
    return (*fixed, *own)


def operation_metrics(row: ReportRow) -> Mapping[str, tuple[float, str]]:
    """What the operation measures besides time, by name, each with its unit."""
    return {
        printable(one.get("name")): (float(one["value"]), printable(one.get("unit") or ""))
        for one in row.raw.get("metrics") or ()
        if isinstance(one.get("value"), (int, float))
    }


def _operation_metric(name: str) -> Callable[[ReportRow], float | None]:
    return lambda row: operation_metrics(row).get(name, (None,))[0]


def value_of(row: ReportRow, attribute: str) -> Value | None:
    """An attribute of the row's problem. Bytes and FLOPs of a call are such of every problem that
    has none of its own by that name."""
    if attribute in row.entry.attributes:
        return row.entry.attributes[attribute]
    if attribute in _OF_WORK:
        return row.entry.bytes if attribute == "bytes" else row.entry.flops
    return None


def _attributes(rows: Sequence[ReportRow]) -> tuple[Attribute, ...]:
    names = dict.fromkeys(name for row in rows for name in row.entry.attributes)
    own = set(names)
    names.update(dict.fromkeys(_OF_WORK))
    made = []
    for name in names:
        values = {value for row in rows if (value := value_of(row, name)) is not None}
        if values:
            of_problem = name in own
            title = name if of_problem else _OF_WORK[name]
            is_number = all(map(_is_number, values))
            made.append(Attribute(name, title, of_problem, is_number, len(values)))
    return tuple(made)


def _is_number(value: object) -> bool:
    return isinstance(value, (int, float))


# ---- points ------------------------------------------------------------------------------------


def points(
    files: Sequence[ReportFile], rows: Iterable[ReportRow], metric: Metric, attribute: Attribute
) -> list[Point]:
    """Of every row that is ok and has both, each with its series."""
    places = []
    for row in rows:
        x = value_of(row, attribute.name) if row.good else None
        y = metric.of(row) if x is not None else None
        if x is not None and y is not None:
            places.append((row, x if attribute.is_number else value_text(x), y))
    known = series_of(
        files, [(row, x) for row, x, _ in places], attribute.name, attribute.is_number
    )
    return [
        Point(row, x, y, *_interval(row, metric, y), series)
        for (row, x, y), series in zip(places, known, strict=True)
    ]


def _interval(row: ReportRow, metric: Metric, y: float) -> tuple[float | None, float | None]:
    """The 95 % interval of the median, in the metric's unit."""
    spread, time_ns = row.entry.spread, row.entry.time_ns
    if metric.inverse_of_time is None or spread is None or not time_ns:
        return None, None
    if metric.inverse_of_time:
        return y * time_ns / spread.high_ns, y * time_ns / spread.low_ns
    return y * spread.low_ns / time_ns, y * spread.high_ns / time_ns


def is_verified(row: ReportRow) -> bool:
    return bool(get(row.raw, "verification.status") != "skipped")


def _is_swept(files: Sequence[ReportFile], metric: Metric, attribute: Attribute) -> bool:
    """Whether the rows of every file are few lines of several points."""
    for file in files:
        own = points(files, file.rows, metric, attribute)
        lines = len({point.series for point in own})
        values = len({point.x for point in own})
        if not own or not own[0].series.joined or values < max(_FEWEST_VALUES, lines):
            return False
    return True


# ---- axes --------------------------------------------------------------------------------------


def axis_scale(values: Sequence[Value]) -> str:
    """The scale of an axis for these values: `log` from a decade on, `point` for texts."""
    numbers = [value for value in values if isinstance(value, (int, float))]
    if len(numbers) < len(values):
        return "point"
    low, high = min(numbers), max(numbers)
    return "log" if low > 0 and high >= _DECADE * low else "linear"


def axis_ticks(values: Sequence[Value]) -> list[float] | None:
    """The values of a sweep themselves where they are few and far enough apart on a logarithmic
    axis to be its ticks."""
    known = sorted({float(value) for value in values if isinstance(value, (int, float))})
    numbers = all(map(_is_number, values))
    if not numbers or not 3 <= len(known) <= _MOST_TICKS or known[0] <= 0:
        return None
    apart = all(b >= _MIN_TICK_RATIO * a for a, b in pairwise(known))
    return known if apart else None


def held_fixed(found: Sequence[Point], attribute: Attribute) -> Iterator[str]:
    """What all points have in common: 'gemm m=1024 k=1024', 'hot, default'."""
    rows = [point.row for point in found]
    words = list(_common({row.entry.op for row in rows}))
    names = dict.fromkeys(name for row in rows for name in row.entry.attributes)
    for name in names:
        if name != attribute.name:
            values = {value_text(row.entry.attributes.get(name)) for row in rows}
            words += [f"{name}={value}" for value in _common(values)]
    yield " ".join(words)
    yield from _common({row.regime for row in rows})
    yield from _common({row.entry.library or "" for row in rows})


def _common(values: set[str]) -> Iterator[str]:
    if len(values) == 1:
        yield from (value for value in values if value)
