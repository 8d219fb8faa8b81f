"""A chart of any metric against any attribute: the metrics and attributes available, and the
points. page/sweep.js computes the same for the rows that pass the page's filters."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

from deepbench.compare.result_set import printable
from deepbench.report import FormatError

from .report_rows import ReportFile, ReportRow, all_rows, work_title
from .series import Series, Value, series_of, value_text

_FEWEST_VALUES = 3  # of the attribute of a sweep, and of points per line on average
_PREFERRED_METRICS = ("tflops", "busbw", "gbps")  # in order of preference
_MOST_LISTED = 30  # names in an error message
_DECADE = 10.0  # smallest ratio of largest to smallest value for a logarithmic axis
_MIN_TICK_RATIO = 1.5  # between adjacent values that serve as ticks
_MOST_TICKS = 12


@dataclass(frozen=True)
class Metric:
    """The quantity on the vertical axis. Its interval follows from the interval of the time;
    `inverse_of_time` tells whether the metric is inversely proportional to the time."""

    name: str
    title: str
    of: Callable[[ReportRow], float | None]
    inverse_of_time: bool | None  # None: the interval is unknown


@dataclass(frozen=True)
class Attribute:
    """The quantity on the horizontal axis."""

    name: str
    title: str
    # False for bytes and FLOPs of a call, unless the problem has such an attribute.
    of_problem: bool
    is_number: bool
    values: int  # number of distinct values


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
class PlotChoices:
    """The metrics and attributes that can be plotted, and the initial choice."""

    metrics: tuple[Metric, ...]
    attributes: tuple[Attribute, ...]
    metric: Metric
    attribute: Attribute
    is_sweep: bool  # one attribute takes several values while the others are mostly fixed


def plot_choices(files: Sequence[ReportFile]) -> PlotChoices | None:
    """Returns None if no row has both a metric and an attribute."""
    every = [row for row in all_rows(files) if row.is_plottable]
    metrics, attributes = _available_metrics(every), _available_attributes(every)
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
    default = max(known, key=lambda one: one.values)
    return PlotChoices(metrics, attributes, metric, default, bool(swept))


def parse_axes(found: PlotChoices | None, name: str) -> tuple[Metric, Attribute]:
    """The metric and the attribute in 'tflops/n'. Raises FormatError, which lists the available
    names."""
    if found is None:
        raise FormatError("no row is ok, so no chart has data")
    first, _, second = name.partition("/")
    metric = next((one for one in found.metrics if one.name == first), None)
    if metric is None:
        raise FormatError(
            f"--chart: unknown metric {printable(first)!r}; the metrics are "
            f"{_listed_names(found.metrics)}"
        )
    attribute = next((one for one in found.attributes if one.name == second), None)
    if attribute is None:
        raise FormatError(
            f"--chart: no row has an attribute {printable(second)!r}; the attributes are "
            f"{_listed_names(found.attributes)}"
        )
    return metric, attribute


def _listed_names(found: Sequence[Metric] | Sequence[Attribute]) -> str:
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
        lambda row: _percent_or_none(row.raw.bound.share_arithmetic),
        inverse_of_time=True,
    ),
    Metric(
        "share_roofline",
        "% of the roofline",
        lambda row: _percent_or_none(row.share),
        inverse_of_time=True,
    ),
)
_OF_WORK = {"bytes": "bytes of a call", "flops": "FLOPs of a call"}


def _percent_or_none(share: float | None) -> float | None:
    return None if share is None else 100 * share


def _available_metrics(rows: Sequence[ReportRow]) -> tuple[Metric, ...]:
    """The metrics that any row has: the columns of every row, then the metrics of the
    operations."""
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
    added = [
        Metric(
            name,
            f"{name} ({unit})" if unit else name,
            _operation_metric(name),
            inverse_of_time=None,
        )
        for name, unit in units.items()
    ]
    return (*fixed, *added)


def operation_metrics(row: ReportRow) -> Mapping[str, tuple[float, str]]:
    """The metrics that the operation adds, by name, each with its unit, and what follows from the
    energy of a call."""
    if not row.raw.metrics:
        return {}
    found = {
        printable(one.name): (float(one.value), printable(one.unit or ""))
        for one in row.raw.metrics
        if one.value is not None
    }
    efficiency = row.raw.flops_per_joule
    return found if efficiency is None else {**found, "efficiency": (efficiency / 1e9, "GFLOP/J")}


def _operation_metric(name: str) -> Callable[[ReportRow], float | None]:
    return lambda row: operation_metrics(row).get(name, (None,))[0]


def value_of(row: ReportRow, attribute: str) -> Value | None:
    """An attribute of the row's problem. Bytes and FLOPs of a call serve as attributes of every
    problem that has no attribute of this name."""
    value = row.entry.attributes.get(attribute)
    if value is None and attribute in _OF_WORK:
        return row.entry.bytes if attribute == "bytes" else row.entry.flops
    return value


def _available_attributes(rows: Sequence[ReportRow]) -> tuple[Attribute, ...]:
    names = dict.fromkeys(name for row in rows for name in row.entry.attributes)
    problem_names = set(names)
    names.update(dict.fromkeys(_OF_WORK))
    made = []
    for name in names:
        values = {value for row in rows if (value := value_of(row, name)) is not None}
        if values:
            of_problem = name in problem_names
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
    """The points of all good rows that have both quantities, each with its series."""
    plotted = _plotted(rows, metric, attribute)
    known = series_of(
        files, [(row, x) for row, x, _ in plotted], attribute.name, attribute.is_number
    )
    return [
        Point(row, x, y, *_median_interval(row, metric, y), series)
        for (row, x, y), series in zip(plotted, known, strict=True)
    ]


def _plotted(
    rows: Iterable[ReportRow], metric: Metric, attribute: Attribute
) -> list[tuple[ReportRow, Value, float]]:
    """The good rows that have both quantities, with these."""
    plotted = []
    for row in rows:
        x = value_of(row, attribute.name) if row.is_plottable else None
        y = metric.of(row) if x is not None else None
        if x is not None and y is not None:
            plotted.append((row, x if attribute.is_number else value_text(x), y))
    return plotted


def _median_interval(row: ReportRow, metric: Metric, y: float) -> tuple[float | None, float | None]:
    """The 95 % interval of the median, in the metric's unit."""
    spread, time_ns = row.entry.spread, row.entry.time_ns
    if metric.inverse_of_time is None or spread is None or not time_ns:
        return None, None
    if metric.inverse_of_time:
        return y * time_ns / spread.high_ns, y * time_ns / spread.low_ns
    return y * spread.low_ns / time_ns, y * spread.high_ns / time_ns


def is_verified(row: ReportRow) -> bool:
    return bool(row.raw.verification.status != "skipped")


def _is_swept(files: Sequence[ReportFile], metric: Metric, attribute: Attribute) -> bool:
    """Whether the rows of every file form a few lines of several points each."""
    for file in files:
        rows_with_x = [(row, x) for row, x, _ in _plotted(file.rows, metric, attribute)]
        values = len({x for _, x in rows_with_x})
        if values < _FEWEST_VALUES:
            return False
        series = series_of(files, rows_with_x, attribute.name, attribute.is_number)
        if not series[0].joined or values < len(set(series)):
            return False
    return True


# ---- axes --------------------------------------------------------------------------------------


def axis_scale(values: Sequence[Value]) -> str:
    """The scale of an axis: `log` if the values span at least a decade, `point` for texts, else
    `linear`."""
    numbers = [value for value in values if isinstance(value, (int, float))]
    if len(numbers) < len(values):
        return "point"
    low, high = min(numbers), max(numbers)
    return "log" if low > 0 and high >= _DECADE * low else "linear"


def axis_ticks(values: Sequence[Value]) -> list[float] | None:
    """The values themselves as ticks of a logarithmic axis, if they are few and far enough
    apart."""
    known = sorted({float(value) for value in values if isinstance(value, (int, float))})
    numbers = all(map(_is_number, values))
    if not numbers or not 3 <= len(known) <= _MOST_TICKS or known[0] <= 0:
        return None
    apart = all(b >= _MIN_TICK_RATIO * a for a, b in pairwise(known))
    return known if apart else None


def held_fixed(found: Sequence[Point], attribute: Attribute) -> Iterator[str]:
    """What all points have in common: 'gemm m=1024 k=1024', 'hot, default'."""
    rows = [point.row for point in found]
    words = list(_single_value({row.entry.op for row in rows}))
    names = dict.fromkeys(name for row in rows for name in row.entry.attributes)
    for name in names:
        if name != attribute.name:
            values = {value_text(row.entry.attributes.get(name)) for row in rows}
            words += [f"{name}={value}" for value in _single_value(values)]
    yield " ".join(words)
    yield from _single_value({row.regime for row in rows})
    yield from _single_value({row.entry.library or "" for row in rows})


def _single_value(values: set[str]) -> Iterator[str]:
    if len(values) == 1:
        yield from (value for value in values if value)
