"""CSV as specified by RFC 4180. The first columns are the same for every file of one schema
version; the attributes of the file's operations follow, each name once. Texts are untrusted: an
apostrophe precedes one that a spreadsheet would evaluate as a formula."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Mapping, Sequence
from operator import attrgetter
from typing import TYPE_CHECKING, Any

from deepbench.report import Context
from deepbench.report.fields import metric_text
from deepbench.report.outline import Outline
from deepbench.results.algorithm_choice import algorithm_choice_of
from deepbench.results.row import Row

if TYPE_CHECKING:
    from deepbench.workload.totals import Totals

# The path of each column's value in the row.
_PATHS = {
    "position": "position",
    "op": "op",
    "problem": "problem",
    "application": "application",
    "count": "count",
    "status": "status",
    "reason": "reason",
    "backend": "backend",
    "device": "device.name",
    "library": "library",
    "algorithm_mode": "algorithm.mode",
    "algorithm": "algorithm.name",
    "workspace_bytes": "algorithm.workspace_bytes",
    "cache": "regime.cache",
    "cold": "regime.cold",
    "copies": "regime.copies",
    "fits_cache": "regime.fits_cache",
    "launch": "regime.launch",
    "timer": "regime.timer",
    "power": "regime.power",
    "schedule_perturbed": "regime.schedule_perturbed",
    "threads": "regime.threads",
    "median_ns": "statistics.median_ns",
    "low_ns": "statistics.low_ns",
    "high_ns": "statistics.high_ns",
    "min_ns": "statistics.min_ns",
    "q1_ns": "statistics.q1_ns",
    "q3_ns": "statistics.q3_ns",
    "p99_ns": "statistics.p99_ns",
    "max_ns": "statistics.max_ns",
    "mean_ns": "statistics.mean_ns",
    "stdev_ns": "statistics.stdev_ns",
    "mad_ns": "statistics.mad_ns",
    "samples": "statistics.n",
    "batch": "statistics.batch",
    "batches_per_sample": "statistics.batches_per_sample",
    "stop": "statistics.stop",
    "first_call_ns": "first_call_ns",
    "host_ns": "host_ns",
    "flops": "work.flops",
    "bytes": "work.bytes",
    "tflops": "rates.tflops",
    "gbps": "rates.gbps",
    "bound_by": "bound.by",
    "arithmetic_tflops": "bound.arithmetic_tflops",
    "memory_gbps": "bound.memory_gbps",
    "share_arithmetic": "bound.share_arithmetic",
    "share_roofline": "bound.share_roofline",
    "verification": "verification.status",
    "max_error_ratio": "verification.max_error_ratio",
    "padding": "padding.rule",
    "conversion_ns": "conversion.ns",
}

_VALUES: Mapping[str, Callable[[Row], object]] = {
    column: attrgetter(path) for column, path in _PATHS.items()
}
_FORMULAS = ("=", "+", "-", "@", "\t", "\r")


class Csv:
    """A header, then one line for each row, whatever its status."""

    def __init__(self) -> None:
        self._attributes: list[str] = []

    def begin(self, context: Context, outline: Outline) -> str:
        names = [name for op in outline.values() for name in op.widths]
        self._attributes = list(dict.fromkeys(names))
        return _csv_line(
            [*_PATHS, "applications", "metrics", "notes", *map(_attribute_column, self._attributes)]
        )

    def row(self, row: Row) -> str:
        return _csv_line([
            *(_cell_text(_cell_value(row, name)) for name in _PATHS),
            _without_formula(_applications_text(row)),
            _without_formula(metric_text(row, exact=True)),
            _without_formula("; ".join(row.notes)),
            *(_cell_text(row.attributes.get(name)) for name in self._attributes),
        ])  # fmt: skip

    def end(self, workload: Sequence[Totals] = ()) -> str:
        return ""


def _cell_value(row: Row, column: str) -> object:
    """The algorithm column includes the candidate's id where the library gives several candidates
    the same name."""
    return algorithm_choice_of(row).text if column == "algorithm" else _VALUES[column](row)


def _applications_text(row: Row) -> str:
    """'qkv=32; output=32', with the calls of each application."""
    return "; ".join(f"{one.name}={one.count}" for one in row.applications)


def _attribute_column(attribute: str) -> str:
    """The column name of an attribute. If a fixed column has the same name, the attribute gets a
    prefix."""
    return f"attribute_{attribute}" if attribute in _PATHS else _without_formula(attribute)


def _without_formula(text: str) -> str:
    """The text in a form that no spreadsheet evaluates as a formula."""
    return f"'{text}" if text.startswith(_FORMULAS) else text


_FORMS: Mapping[type, Callable[[Any], str]] = {
    type(None): lambda value: "",
    bool: lambda value: "yes" if value else "no",
    float: repr,
    str: _without_formula,
}


def _cell_text(value: object) -> str:
    return _FORMS.get(type(value), str)(value)


def _csv_line(cells: list[str]) -> str:
    buffer = io.StringIO()
    csv.writer(buffer, lineterminator="\r\n").writerow(cells)
    return buffer.getvalue()
