"""One chart as an image: the specification of the page together with the data of its rows."""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

from deepbench.report import FormatError

from . import vega
from .ceilings import bandwidth_point, roofline_point
from .charts import Spec, chart, invisible_corner_points, label_width, sweep_chart
from .content import Content
from .metric_chart import Point, axis_scale, axis_ticks, held_fixed, is_verified, parse_axes, points
from .outliers import Outliers, outliers
from .pairs import Pair
from .report_rows import ReportRow, all_rows, regimes
from .roofline_lines import roofline_points

_WIDTH = 860
_TITLE_LETTER, _SUBTITLE_LETTER = 8.2, 6.3  # approximate width of a character in pixels
_DISTRIBUTION_WIDTH = 600
_COLORS: tuple[Callable[[ReportRow], str | None], ...] = (
    lambda row: row.entry.op,
    lambda row: None if (name := row.entry.attributes.get("precision")) is None else str(name),
    lambda row: row.entry.library,
    lambda row: row.regime,
)
_NONE = "none"

Value = dict[str, Any]


def render_image(content: Content, kind: str, name: str, row: int | None) -> bytes:
    """The chart in a format of IMAGES. Raises FormatError if the files have no data for it."""
    if "/" in name:
        return _draw_chart(_sweep_chart(content, name), kind)
    if name not in content.charts:
        available = " ".join(content.charts)
        cure = (
            " (--against names references)"
            if name == "against" and not content.reference_comparisons
            else ""
        )
        raise FormatError(
            f"the files have no data for the chart {name}{cure}; they have data for {available}"
            if available not in ("", "distribution")
            else "no row is ok, so no chart has data"
        )
    if name in content.models.names:
        return _draw_chart(_model_chart(content, name), kind)
    spec = chart(name, content.axes, _WIDTH, content.work_title)
    if name == "distribution":
        _add_distribution(spec, _row_at_position(content, row))
    else:
        references = content.reference_labels if name == "against" else []
        against = f" against {', '.join(references)}" if references else ""
        spec["datasets"] = _datasets(content, name)
        about = [content.about, *_hollow_points_note(spec["datasets"]["rows"])]
        spec["title"] = _chart_title(content.title + against, about, _WIDTH)
        _order_shapes(spec, regimes(all_rows(content.files)))
    return _draw_chart(spec, kind)


def _model_chart(content: Content, name: str) -> Spec:
    made = content.models.chart(name, _WIDTH)
    about = [content.models.note(name), *content.dates]
    title = _chart_title(content.title, about, _WIDTH)
    return {**made.spec, "datasets": made.data, "title": title}


def _hollow_points_note(rows: Sequence[Value]) -> Iterator[str]:
    count = sum(bool(row.get("doubt")) for row in rows)
    if count:
        yield f"hollow points: {count} of {len(rows)} figures are inconsistent"


def _draw_chart(spec: Spec, kind: str) -> bytes:
    rows = spec["datasets"].get("rows", ())
    labels = {
        str(row[name]) for row in rows for name in ("color", "regime", "series") if name in row
    }
    for parameter in spec.get("params", ()):
        if parameter["name"] == "label_width":
            parameter["value"] = label_width(labels)
    spec["background"] = "#ffffff"
    spec["padding"] = 14
    return {"png": vega.png, "svg": vega.svg, "pdf": vega.pdf}[kind](spec)


def _chart_title(text: str, about: Sequence[str], width: int) -> Spec:
    """A title whose lines fit the width of the chart."""
    below = [line for part in about for line in _wrapped_lines(part, width / _SUBTITLE_LETTER)]
    return {"text": _wrapped_lines(text, width / _TITLE_LETTER), "subtitle": below}


def _wrapped_lines(text: str, letters: float) -> list[str]:
    return textwrap.wrap(text, int(letters)) or [""]


def _order_shapes(spec: Spec, names: Sequence[str]) -> None:
    """Gives each regime the same shape as in the page."""
    plotted = {value["regime"] for value in spec["datasets"]["rows"]}
    for layer in spec["layer"]:
        shape = layer["encoding"].get("shape") if "encoding" in layer else None
        if shape:
            shape["scale"] = {"domain": list(names)}
            if "legend" in shape:
                shape["legend"]["values"] = [name for name in names if name in plotted]


def _datasets(content: Content, name: str) -> dict[str, list[Value]]:
    room = content.axes
    rows = _chart_rows(content, name)
    heights = [row.get(end) or row["y"] for row in rows for end in ("low", "y", "high")]
    return {
        "rows": rows,
        "chosen": [],
        "corners": invisible_corner_points(
            [row["x"] for row in rows], [*heights, *_values_always_shown(name)]
        ),
        "ceilings": list(roofline_points(content.ceilings, room))
        if room and name == "roofline"
        else [],
        "limits": list(content.limits) if name == "caches" else [],
    }


def _values_always_shown(name: str) -> list[float]:
    """Charts of ratios always include 1."""
    return [] if name in ("roofline", "bandwidth") else [1.0]


def _chart_rows(content: Content, name: str) -> list[Value]:
    if name in ("roofline", "bandwidth"):
        positions = [
            (row, position)
            for row in all_rows(content.files)
            if (position := roofline_point(row) if name == "roofline" else bandwidth_point(row))
        ]
        color = _distinguishing_property(row for row, _ in positions)
        return [{"x": x, "y": y, **_color_and_shape(row, color)} for row, (x, y) in positions]
    pairs = list(_chart_pairs(content, name))
    color = _distinguishing_property(pair.row for pair, _ in pairs)
    several = len({reference for _, reference in pairs}) > 1  # several references differ in color
    return [
        {
            "x": pair.row.entry.bytes if name == "caches" else pair.time_ns / 1e3,
            "y": pair.ratio.value,
            "low": pair.ratio.low,
            "high": pair.ratio.high,
            "doubt": bool(pair.doubt),
            **_color_and_shape(pair.row, color),
            **({"color": reference} if several else {}),
        }
        for pair, reference in pairs
    ]


def _chart_pairs(content: Content, name: str) -> Iterator[tuple[Pair, str]]:
    """The pairs of a chart, each with the label of its reference, which is empty within one
    report."""
    if name == "against":
        yield from (
            (pair, one.label) for one in content.reference_comparisons for pair in one.pairs
        )
        return
    for pair in content.algorithms if name == "algorithms" else content.hot_cold_points:
        yield pair, ""


def _distinguishing_property(rows: Iterable[ReportRow]) -> Callable[[ReportRow], str | None]:
    """The first property in which the rows differ."""
    every = list(rows)
    return next((of for of in _COLORS if len({of(row) for row in every}) > 1), _COLORS[0])


def _color_and_shape(row: ReportRow, color: Callable[[ReportRow], str | None]) -> Value:
    return {"color": color(row) or _NONE, "regime": row.regime}


# ---- a metric against an attribute -------------------------------------------------------------


def _sweep_chart(content: Content, name: str) -> Spec:
    metric, attribute = parse_axes(content.plot_choices, name)
    found = points(content.files, all_rows(content.files), metric, attribute)
    if not found:
        raise FormatError(f"--chart: no row has both {metric.name} and {attribute.name}")
    xs = [point.x for point in found]
    ys = [y for point in found for y in (point.low, point.y, point.high) if y is not None]
    ticks = axis_ticks(xs)
    x = attribute.title, "log" if ticks else axis_scale(xs)
    spec = sweep_chart(x, (metric.title, axis_scale(ys)), _WIDTH, ticks)
    skipped = sum(not is_verified(point.row) for point in found)
    about = [" · ".join([*held_fixed(found, attribute), *content.dates])]
    if skipped:
        about.append(f"hollow points: {skipped} of {len(found)} rows are not verified")
    spec["title"] = _chart_title(content.title, about, _WIDTH)
    names = list(dict.fromkeys(point.series.label for point in found))
    for layer in spec["layer"]:
        if "color" in layer.get("encoding", {}):
            layer["encoding"]["color"]["scale"] = {"domain": names}
    numbers = [x for x in xs if isinstance(x, (int, float))]
    spec["datasets"] = {
        "rows": [_point_data(point) for point in found],
        "chosen": [],
        "corners": invisible_corner_points(numbers, ys) if len(numbers) == len(xs) else [],
    }
    return spec


def _point_data(point: Point) -> Value:
    return {
        "x": point.x,
        "y": point.y,
        "low": point.low,
        "high": point.high,
        "series": point.series.label,
        "joined": point.series.joined,
        "hollow": not is_verified(point.row),
    }


# ---- the samples of a row ----------------------------------------------------------------------


def _row_at_position(content: Content, position: int | None) -> ReportRow:
    """The row at a position of the first file. Without a position, the first row that has
    samples."""
    rows = content.files[0].rows
    found = next(
        (row for row in rows if row.raw.samples_ns and position in (None, row.entry.position)),
        None,
    )
    if found is None:
        where = "has no samples"
        if position is not None:
            where = f"has no row {position} with samples (the first is 0)"
        raise FormatError(f"{content.files[0].name}: {where}")
    return found


def _add_distribution(spec: Spec, row: ReportRow) -> None:
    samples = [ns / 1e3 for ns in row.raw.samples_ns]
    far = outliers(samples)
    statistics = row.raw.statistics
    ends = [statistics.low_ns, statistics.high_ns]
    median = statistics.median_ns
    marks: list[Value] = [{"y": ns / 1e3, "main": False} for ns in ends if ns is not None]
    if median is not None:
        marks.append({"y": median / 1e3, "main": True, "label": "median"})
    about = f"{row.entry.device}, {row.entry.library}: {row.regime}"
    spec["title"] = _chart_title(row.entry.problem, [about], _DISTRIBUTION_WIDTH)
    spec["datasets"] = {
        **_samples_within_scale(samples, far),
        "marks": [one for one in marks if far.shows(one["y"])],
    }


def _samples_within_scale(samples: Sequence[float], far: Outliers) -> dict[str, list[Value]]:
    """The samples within the scale, and markers at its edge for those outside."""
    numbered = [{"x": index + 1, "y": y} for index, y in enumerate(samples)]
    return {
        "samples": [one for one in numbered if far.shows(one["y"])],
        "outside": [
            {"x": one["x"], "above": one["y"] > far.high}
            for one in numbered
            if not far.shows(one["y"])
        ],
        "outside_count": [
            {"label": text, "place": index} for index, text in enumerate(reversed(far.texts))
        ],
    }
