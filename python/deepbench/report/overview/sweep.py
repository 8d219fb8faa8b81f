"""A chart of any metric against any attribute: which there are, and where rows are. page/sweep.js
does the same with the rows that pass the page's filters."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

from deepbench.compare.sides import plain
from deepbench.report import FormatError
from deepbench.report.fields import get

from .runs import Run, Shown, all_rows, work_title
from .series import Series, Value, series_of, value_text

_FEWEST_VALUES = 3  # of the attribute of a sweep, and of points in a line on average
_TELLING = ("tflops", "busbw", "gbps")  # metrics, the best known of an operation first
_MOST_LISTED = 30  # names in an error
_DECADE = 10.0  # a logarithmic axis from this ratio on
_STEP = 1.5  # between the values of a sweep that are ticks of their own
_MOST_TICKS = 12


@dataclass(frozen=True)
class Metric:
    """What is plotted upwards. Its interval is that of the time: `falls` where it falls with it."""

    name: str
    title: str
    of: Callable[[Shown], float | None]
    falls: bool | None  # None: an interval is not known


@dataclass(frozen=True)
class Attribute:
    """What is plotted to the right."""

    name: str
    title: str
    is_own: bool  # of the problem; bytes and FLOPs of a call need not be
    is_number: bool
    values: int  # how many different ones


@dataclass(frozen=True)
class Point:
    """A row in the chart."""

    shown: Shown
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


def sweep(files: Sequence[Run]) -> Sweep | None:
    """None where no row has a metric and an attribute."""
    every = [shown for shown in all_rows(files) if shown.good]
    metrics, attributes = _metrics(every), _attributes(every)
    if not metrics or not attributes:
        return None
    names = {one.name: one for one in metrics}
    metric = next((names[name] for name in _TELLING if name in names), metrics[0])
    swept = [
        one
        for one in attributes
        if one.is_number
        and one.is_own
        and one.values >= _FEWEST_VALUES
        and _is_swept(files, metric, one)
    ]
    numbers = [one for one in attributes if one.is_number and one.is_own]
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
            f"--chart: there is no metric {plain(first)!r}; there are {_listed(found.metrics)}"
        )
    attribute = next((one for one in found.attributes if one.name == second), None)
    if attribute is None:
        raise FormatError(
            f"--chart: no row has an attribute {plain(second)!r}; there are "
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
        lambda shown: None if shown.entry.time_ns is None else shown.entry.time_ns / 1e3,
        falls=False,
    ),
    Metric("tflops", "TFLOP/s", lambda shown: shown.tflops, falls=True),
    Metric("gbps", "GB/s", lambda shown: shown.gbps, falls=True),
    Metric(
        "share_arithmetic",
        "% of the arithmetic ceiling",
        lambda shown: _percent(get(shown.row, "bound.share_arithmetic")),
        falls=True,
    ),
    Metric("share_roofline", "% of the roofline", lambda shown: _percent(shown.share), falls=True),
)
_OF_WORK = {"bytes": "bytes of a call", "flops": "FLOPs of a call"}


def _percent(share: float | None) -> float | None:
    return None if share is None else 100 * share


def _metrics(rows: Sequence[Shown]) -> tuple[Metric, ...]:
    """Those that any row has: the columns of every row, then what its operation adds."""
    fixed = [
        replace(metric, title=work_title(rows)) if metric.name == "tflops" else metric
        for metric in _FIXED
        if any(metric.of(shown) is not None for shown in rows)
    ]
    taken = {metric.name for metric in _FIXED}
    units: dict[str, str] = {}
    for shown in rows:
        for name, (_, unit) in own_metrics(shown).items():
            if name not in taken:
                units.setdefault(name, unit)
    own = [
        Metric(name, f"{name} ({unit})" if unit else name, _own_metric(name), falls=None)
        for name, unit in units.items()
    ]
    return (*fixed, *own)


def own_metrics(shown: Shown) -> Mapping[str, tuple[float, str]]:
    """What the operation measures besides time, by name, each with its unit."""
    return {
        plain(one.get("name")): (float(one["value"]), plain(one.get("unit") or ""))
        for one in shown.row.get("metrics") or ()
        if isinstance(one.get("value"), (int, float))
    }


def _own_metric(name: str) -> Callable[[Shown], float | None]:
    return lambda shown: own_metrics(shown).get(name, (None,))[0]


def value_of(shown: Shown, attribute: str) -> Value | None:
    """An attribute of the row's problem. Bytes and FLOPs of a call are such of every problem that
    has none of its own by that name."""
    if attribute in shown.entry.attributes:
        return shown.entry.attributes[attribute]
    if attribute in _OF_WORK:
        return shown.entry.bytes if attribute == "bytes" else shown.entry.flops
    return None


def _attributes(rows: Sequence[Shown]) -> tuple[Attribute, ...]:
    names = dict.fromkeys(name for shown in rows for name in shown.entry.attributes)
    own = set(names)
    names.update(dict.fromkeys(_OF_WORK))
    made = []
    for name in names:
        values = {value for shown in rows if (value := value_of(shown, name)) is not None}
        if values:
            is_own = name in own
            title = name if is_own else _OF_WORK[name]
            is_number = all(map(_is_number, values))
            made.append(Attribute(name, title, is_own, is_number, len(values)))
    return tuple(made)


def _is_number(value: object) -> bool:
    return isinstance(value, (int, float))


# ---- points ------------------------------------------------------------------------------------


def points(
    files: Sequence[Run], rows: Iterable[Shown], metric: Metric, attribute: Attribute
) -> list[Point]:
    """Of every row that is ok and has both, each with its series."""
    places = []
    for shown in rows:
        x = value_of(shown, attribute.name) if shown.good else None
        y = metric.of(shown) if x is not None else None
        if x is not None and y is not None:
            places.append((shown, x if attribute.is_number else value_text(x), y))
    known = series_of(
        files, [(shown, x) for shown, x, _ in places], attribute.name, attribute.is_number
    )
    return [
        Point(shown, x, y, *_interval(shown, metric, y), series)
        for (shown, x, y), series in zip(places, known, strict=True)
    ]


def _interval(shown: Shown, metric: Metric, y: float) -> tuple[float | None, float | None]:
    """The 95 % interval of the median, in the metric's unit."""
    spread, time_ns = shown.entry.spread, shown.entry.time_ns
    if metric.falls is None or spread is None or not time_ns:
        return None, None
    if metric.falls:
        return y * time_ns / spread.high_ns, y * time_ns / spread.low_ns
    return y * spread.low_ns / time_ns, y * spread.high_ns / time_ns


def is_verified(shown: Shown) -> bool:
    return bool(get(shown.row, "verification.status") != "skipped")


def _is_swept(files: Sequence[Run], metric: Metric, attribute: Attribute) -> bool:
    """Whether the rows of every file are few lines of several points."""
    for run in files:
        own = points(files, run.rows, metric, attribute)
        lines = len({point.series for point in own})
        values = len({point.x for point in own})
        if not own or not own[0].series.joined or values < max(_FEWEST_VALUES, lines):
            return False
    return True


# ---- axes --------------------------------------------------------------------------------------


def scale_of(values: Sequence[Value]) -> str:
    """The scale of an axis for these values: `log` from a decade on, `point` for texts."""
    numbers = [value for value in values if isinstance(value, (int, float))]
    if len(numbers) < len(values):
        return "point"
    low, high = min(numbers), max(numbers)
    return "log" if low > 0 and high >= _DECADE * low else "linear"


def ticks_of(values: Sequence[Value]) -> list[float] | None:
    """The values of a sweep themselves where they are few and far enough apart on a logarithmic
    axis to be its ticks."""
    known = sorted({float(value) for value in values if isinstance(value, (int, float))})
    numbers = all(map(_is_number, values))
    if not numbers or not 3 <= len(known) <= _MOST_TICKS or known[0] <= 0:
        return None
    apart = all(b >= _STEP * a for a, b in pairwise(known))
    return known if apart else None


def held_fixed(found: Sequence[Point], attribute: Attribute) -> Iterator[str]:
    """What all points have in common: 'gemm m=1024 k=1024', 'hot, default'."""
    rows = [point.shown for point in found]
    words = list(_common({shown.entry.op for shown in rows}))
    names = dict.fromkeys(name for shown in rows for name in shown.entry.attributes)
    for name in names:
        if name != attribute.name:
            values = {value_text(shown.entry.attributes.get(name)) for shown in rows}
            words += [f"{name}={value}" for value in _common(values)]
    yield " ".join(words)
    yield from _common({shown.regime for shown in rows})
    yield from _common({shown.entry.library or "" for shown in rows})


def _common(values: set[str]) -> Iterator[str]:
    if len(values) == 1:
        yield from (value for value in values if value)
