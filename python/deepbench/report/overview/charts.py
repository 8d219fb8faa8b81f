"""The charts as Vega-Lite specifications: charts/*.json plus the parts that depend on the report.
The rows are added later as named data sets, by the page's scripts or, for an image, by image.py.
charts/theme.json defines all colors, and charts/dark.json those of dark pages."""

from __future__ import annotations

import copy
import json
import math
from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import Any

from deepbench.report.fields import work_unit

from .ceilings import Axes

_FOLDER = Path(__file__).with_name("charts")
HEIGHT = 460  # height of a roofline plot in pixels
_LONGEST_LABEL, _LETTER, _SYMBOL = 300, 7.0, 40.0  # pixels in a legend
_NARROWEST = 1.5  # smallest ratio between the ends of an axis

Spec = dict[str, Any]

# Labels for powers of two; large ones are abbreviated: 64 Ki, 16 Mi.
_KI, _MI = 1 << 10, 1 << 20
_BINARY = (
    f"domain('x')[1] >= {_KI << 6} && datum.value >= {_KI} && datum.value % {_KI} == 0"
    f" ? datum.value % {_MI} == 0 ? format(datum.value / {_MI}, ',~r') + ' Mi'"
    f" : format(datum.value / {_KI}, ',~r') + ' Ki' : format(datum.value, ',~r')"
)
# Labels for samples in microseconds, in the unit of the largest one.
_TIMES = (
    "".join(
        f"domain('y')[1] >= {size} ? format(datum.value / {size}, ',~r') + ' {unit}' : "
        for unit, size in (("s", 1e6), ("ms", 1e3), ("\N{MICRO SIGN}s", 1))
    )
    + "format(datum.value * 1e3, ',~r') + ' ns'"
)
# Titles of both axes of the three ratio charts.
_RATIOS = {
    "algorithms": ("time of a call (µs)", "default time / time"),
    "caches": ("bytes of a call's operands", "cold time / hot time"),
    "against": ("time of a call (µs)", "reference time / time"),
}
NAMES = ("roofline", "bandwidth", "distribution", *_RATIOS)


def chart(
    name: str, room: Axes | None = None, width: int = 900, work: str = work_unit(None)
) -> Spec:
    """The chart called `name`, one of NAMES. A roofline needs its axes and the unit of its
    rates."""
    spec = _chart_template("ratio" if name in _RATIOS else name)
    spec["config"] = _chart_template("theme")
    if name in _RATIOS:
        _title_axes(spec, *_RATIOS[name])
    if name == "caches":
        spec["encoding"]["x"]["axis"] = {"format": "~s"}
    if name == "roofline" and room is not None:
        _fix_axes(spec, room)
        spec["encoding"]["y"]["title"] = work
    if name == "distribution":
        spec["hconcat"][0]["layer"][1]["encoding"]["y"]["axis"]["labelExpr"] = _TIMES
    else:
        _set_width_and_labels(spec, width)
    return spec


def sweep_chart(
    x: tuple[str, str], y: tuple[str, str], width: int = 900, ticks: Sequence[float] | None = None
) -> Spec:
    """A chart of a metric against an attribute. Each axis has a title and a scale: `log`, `linear`,
    or `point` for an attribute that is not a number. `ticks` replace the default ticks of a
    logarithmic x axis."""
    spec = _chart_template("sweep")
    spec["config"] = _chart_template("theme")
    for channel, (title, scale) in (("x", x), ("y", y)):
        encoding = spec["encoding"][channel]
        encoding["title"] = title
        encoding["scale"]["type"] = scale
        if scale == "linear":
            encoding["scale"]["zero"] = channel == "y"
            encoding["axis"] = {"format": ",~r", "tickCount": 6}
        if scale == "point":
            encoding.update(type="ordinal", sort=None, scale={"padding": 0.5})
            encoding["axis"] = {"labelAngle": 0, "labelLimit": 110}
    _set_width_and_labels(spec, width)
    if x[1] == "log" and ticks:
        spec["encoding"]["x"]["axis"] = {"values": list(ticks), "labelExpr": _BINARY}
    return spec


def layers_chart(x_title: str, kinds: Sequence[str], width: int = 900) -> Spec:
    """Where the time of models goes, by kind of layer."""
    spec = _chart_template("layers")
    spec["config"] = _chart_template("theme")
    _set_width_and_labels(spec, width)
    spec["encoding"]["x"]["title"] = x_title
    _fix_colors(spec, kinds)
    return spec


def throughput_chart(y: tuple[str, str], series: Sequence[str], width: int = 900) -> Spec:
    """Latency against throughput; `y` is the title and the scale of the throughput."""
    spec = _chart_template("throughput")
    spec["config"] = _chart_template("theme")
    spec["encoding"]["y"].update(title=y[0], scale={"type": y[1], "nice": False, "padding": 24})
    if y[1] == "linear":
        spec["encoding"]["y"].update(axis={"format": ",~r", "tickCount": 6})
    _set_width_and_labels(spec, width)
    _fix_colors(spec, series)
    return spec


def _fix_colors(spec: Spec, names: Sequence[str]) -> None:
    """Gives the names the colors of the theme in this order."""
    for layer in spec["layer"]:
        if "color" in layer.get("encoding", {}):
            layer["encoding"]["color"]["scale"] = {"domain": list(names)}


def label_width(labels: Iterable[str]) -> float:
    """The width in pixels of a legend column with its symbol. Legends use as many columns as
    fit."""
    longest = max(map(len, labels), default=0)
    return _SYMBOL + min(_LONGEST_LABEL, _LETTER * longest)


def invisible_corner_points(xs: Sequence[float], ys: Sequence[float]) -> list[dict[str, float]]:
    """Two invisible points that give logarithmic axes a minimum length."""
    if not xs:
        return []
    pairs = zip(_logarithmic_ends(xs), _logarithmic_ends(ys), strict=True)
    return [{"x": x, "y": y} for x, y in pairs]


def _logarithmic_ends(values: Sequence[float]) -> tuple[float, float]:
    low, high = min(values), max(values)
    if low <= 0 or high >= _NARROWEST * low:
        return low, high
    middle = math.sqrt(low) * math.sqrt(high)
    return middle / math.sqrt(_NARROWEST), middle * math.sqrt(_NARROWEST)


def themes() -> dict[str, Spec]:
    """The light theme, and the dark one, which overrides some of its colors."""
    light, dark = _chart_template("theme"), _chart_template("theme")
    for part, changes in _chart_template("dark").items():
        for name, value in changes.items():
            if isinstance(value, dict):
                dark[part][name].update(value)
            else:
                dark[part][name] = value
    return {"light": light, "dark": dark}


def _set_width_and_labels(spec: Spec, width: int) -> None:
    spec["width"] = width
    spec["autosize"] = {"type": "fit-x", "contains": "padding"}
    for channel in ("x", "y"):
        encoding = spec["encoding"][channel]
        if encoding["scale"].get("type") == "log":
            axis = encoding.setdefault("axis", {})
            axis["labelExpr"] = _log_axis_label_expression(channel, axis.pop("format", None))
            axis["tickCount"] = 8
    # These parameters replace the width of the plot itself, which changes while Vega lays out the
    # chart, so that a legend that depends on it would be clipped.
    spec.setdefault("params", []).extend(
        {"name": name, "value": value}
        for name, value in (("outer_width", width), ("label_width", label_width([])))
    )
    for legend in _legends_in(spec):
        legend["columns"] = {"expr": "max(1, floor(outer_width / label_width))"}
        beside = 80 if legend.get("title") else 30
        limit = f"max(120, min({_LONGEST_LABEL}, outer_width - {beside}))"
        legend["labelLimit"] = {"expr": limit}


def _legends_in(spec: Spec) -> Iterator[Spec]:
    for layer in spec["layer"]:
        for encoding in layer.get("encoding", {}).values():
            if encoding and "legend" in encoding:
                yield encoding["legend"]


def _log_axis_label_expression(channel: str, form: str | None) -> str:
    """Labels of a logarithmic axis: at least three, whatever its range. Powers of ten are labeled
    if three of them are in the range, else also 2 and 5 times these, else every tick. Without a
    format, the numbers of a long axis are abbreviated (1M), so that they do not touch on a narrow
    screen."""
    low, high = (f"domain('{channel}')[{end}]" for end in (0, 1))

    def label_count(digit: int) -> str:
        above, below = (f"log({end} / {digit}) / LN10" for end in (high, low))
        return f"(floor({above} + 1e-9) - ceil({below} - 1e-9) + 1)"

    def is_step(digit: int) -> str:
        exponent = f"log(datum.value / {digit}) / LN10"
        return f"abs({exponent} - round({exponent})) < 1e-6"

    steps = (1, 2, 5)
    some = " + ".join(label_count(digit) for digit in steps)
    one_of = " || ".join(is_step(digit) for digit in steps)
    labeled = f"({label_count(1)} >= 3 ? {is_step(1)} : {some} >= 3 ? ({one_of}) : true)"
    is_short = f"{high} >= 1e5 && datum.value >= 1e3"
    shown = f"'{form}'" if form else f"{is_short} ? '~s' : ',~r'"
    return f"{labeled} ? format(datum.value, {shown}) : ''"


def _title_axes(spec: Spec, x: str, y: str) -> None:
    spec["encoding"]["x"]["title"] = x
    spec["encoding"]["y"]["title"] = y


def _fix_axes(spec: Spec, room: Axes) -> None:
    """Fixes the axes, so that filters do not move them, and tilts labels along bandwidth lines."""
    for name, ends in (("x", room.x), ("y", room.y)):
        spec["encoding"][name]["scale"]["domain"] = list(ends)
    decades = [math.log10(ends[1] / ends[0]) for ends in (room.y, room.x)]
    tilt = f"-180 / PI * atan2(height / {decades[0]:.6g}, width / {decades[1]:.6g})"
    spec["params"][0]["expr"] = tilt
    spec["height"] = HEIGHT


def _chart_template(name: str) -> Spec:
    return copy.deepcopy(_parsed_chart_file(name))


@cache
def _parsed_chart_file(name: str) -> Spec:
    spec: Spec = json.loads((_FOLDER / f"{name}.json").read_text(encoding="utf-8"))
    return spec
