"""The data of the page's chart of a metric against an attribute: all attributes and metrics by row,
and the parts of the chart for each kind of axis."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

from . import vega
from .charts import sweep_chart
from .metric_chart import Attribute, Metric, PlotChoices, operation_metrics, value_of
from .report_rows import ReportFile, ReportRow, all_rows
from .vega import Spec

_KINDS = {"x": ("log", "ticks", "linear", "point"), "y": ("log", "linear")}
_TITLE = "title"  # a placeholder that the page's script replaces


def metric_chart_data(files: Sequence[ReportFile], choices: PlotChoices | None) -> dict[str, Any]:
    """Empty if there is nothing to plot."""
    if choices is None:
        return {}
    rows = list(all_rows(files))
    of_operations = {name for row in rows for name in operation_metrics(row)}
    chart = cache(_compiled_chart)  # of this page, which has parts of some charts several times
    axes = {
        "x": {kind: _axis_parts(chart(kind, "log"), "x") for kind in _KINDS["x"]},
        "y": {kind: _axis_parts(chart("log", kind), "y") for kind in _KINDS["y"]},
    }
    return {
        "sweep": {
            "metrics": [_metric_data(metric) for metric in choices.metrics],
            "attributes": [_attribute_data(attribute) for attribute in choices.attributes],
            "metric": choices.metric.name,
            "attribute": choices.attribute.name,
            "problem_attributes": [one.name for one in choices.attributes if one.of_problem],
            "derived": _operations_with_derived_attributes(rows, choices),
            "charts": {
                "numbers": _without_config(chart("log", "log")),
                "words": _without_config(chart("point", "log")),
            },
            "axes": axes,
            "values": {
                one.name: _indexed_values([value_of(row, one.name) for row in rows])
                for one in choices.attributes
            },
            "heights": {
                one.name: [_rounded_value(one.of, row) for row in rows]
                for one in choices.metrics
                if one.name in of_operations
            },
        },
    }


def _metric_data(metric: Metric) -> dict[str, Any]:
    return {"name": metric.name, "title": metric.title, "inverse_of_time": metric.inverse_of_time}


def _attribute_data(attribute: Attribute) -> dict[str, Any]:
    return {"name": attribute.name, "title": attribute.title, "is_number": attribute.is_number}


def _rounded_value(of: Callable[[ReportRow], float | None], row: ReportRow) -> float | None:
    value = of(row)
    return None if value is None else float(f"{value:.9g}")


def _operations_with_derived_attributes(
    rows: Sequence[ReportRow], choices: PlotChoices
) -> dict[str, list[str]]:
    """The operations for which bytes or FLOPs of a call are not attributes of the problem."""
    return {
        name: list(dict.fromkeys(row.entry.op for row in rows if name not in row.entry.attributes))
        for name in ("bytes", "flops")
        if any(one.name == name and one.of_problem for one in choices.attributes)
    }


def _indexed_values(values: Sequence[object]) -> dict[str, Any]:
    """Each distinct value once, and an index into these values for every row. The index is omitted
    if all rows have the same value."""
    numbers: dict[object, int] = {}
    index = [-1 if value is None else numbers.setdefault(value, len(numbers)) for value in values]
    same = len(numbers) == 1 and -1 not in index
    return {"values": list(numbers), "index": None if same else index}


def _compiled_chart(x: str, y: str) -> Spec:
    ticks = (1.0, 2.0, 4.0) if x == "ticks" else None
    return vega.compile_to_vega(
        sweep_chart((_TITLE, "log" if ticks else x), (_TITLE, y), ticks=ticks)
    )


def _without_config(chart: Spec) -> Spec:
    """A chart without its config, which the page holds once for all charts."""
    return {name: part for name, part in chart.items() if name != "config"}


def _axis_parts(spec: Spec, channel: str) -> Spec:
    """The parts that depend on the kind of an axis: its scale and the axes that show it."""
    scale = next((one for one in spec.get("scales", []) if one["name"] == channel), None)
    axes = [one for one in spec.get("axes", []) if one["scale"] == channel]
    return {"scale": scale, "axes": axes}
