"""The content of a report, independent of its format."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from deepbench.compare.result_set import printable
from deepbench.report.comparison.content import Section
from deepbench.report.fields import get
from deepbench.results import ResultFile

from . import comparison_tables, facts, headline, summary
from .ceilings import Axes, Ceiling, axes, bandwidth_point, ceilings, roofline_point
from .metric_chart import PlotChoices, plot_choices
from .model_charts import ModelCharts, model_charts
from .pairs import Pair, ReferenceComparison, algorithms, hot_cold_pairs, reference_comparisons
from .report_rows import ReportFile, all_rows, report_files, work_title

_MIB = 1 << 20
_NOTES = {
    "roofline": "Lines are measured ceilings: solid for the peak rate of a precision, dashed for "
    "the bandwidth of a memory level. Drag to pan, use the wheel with Shift to zoom, double-click "
    "to reset.",
    "bandwidth": "Rows of operations without FLOPs: bytes per second against bytes per call.",
}


@dataclass(frozen=True)
class Content:
    """Result files, and the references that they are compared with."""

    files: tuple[ReportFile, ...]
    others: tuple[ResultFile, ...]
    version: str

    @cached_property
    def algorithms(self) -> list[Pair]:
        return algorithms(self.files)

    @cached_property
    def hot_cold_pairs(self) -> list[Pair]:
        return hot_cold_pairs(self.files)

    @property
    def hot_cold_points(self) -> list[Pair]:
        """The pairs in the chart, which has the bytes of a call as its horizontal axis."""
        return [pair for pair in self.hot_cold_pairs if pair.row.entry.bytes]

    @cached_property
    def reference_comparisons(self) -> list[ReferenceComparison]:
        return reference_comparisons(self.files, self.others)

    @cached_property
    def ceilings(self) -> list[Ceiling]:
        return ceilings(self.files)

    @cached_property
    def axes(self) -> Axes | None:
        found = [position for row in all_rows(self.files) if (position := roofline_point(row))]
        return axes(found, self.ceilings)

    @cached_property
    def work_title(self) -> str:
        """The title of the roofline's rate axis."""
        return work_title(row for row in all_rows(self.files) if roofline_point(row))

    @cached_property
    def models(self) -> ModelCharts:
        return model_charts(self.files)

    @cached_property
    def plot_choices(self) -> PlotChoices | None:
        return plot_choices(self.files)

    @property
    def title(self) -> str:
        devices = dict.fromkeys(file.device for file in self.files)
        return ", ".join(devices)

    @property
    def about(self) -> str:
        """The operations, the power regimes and the dates."""
        ops = dict.fromkeys(row.entry.op for row in all_rows(self.files))
        powers = dict.fromkeys(row.entry.power for row in all_rows(self.files) if row.entry.power)
        power = [f"power {' and '.join(powers)}"] if powers else []
        return " · ".join([", ".join(ops), *power, *self.dates])

    @property
    def dates(self) -> list[str]:
        """The day on which the files were started, or the first and the last day."""
        begun = sorted(
            printable(file.result.context["started"])[:10]
            for file in self.files
            if file.result.context.get("started")
        )
        return begun[:1] if begun[:1] == begun[-1:] else [f"{begun[0]} to {begun[-1]}"]

    @property
    def headline(self) -> list[str]:
        return headline.headline(self.files)

    @property
    def tiles(self) -> list[tuple[str, str, bool]]:
        """For each tile its name, its figure, and whether it is bad news."""
        every = list(all_rows(self.files))
        statuses = Counter("inconsistent" if row.entry.doubt else row.entry.status for row in every)
        tiles = [("files", str(len(self.files)), False), ("rows", str(len(every)), False)]
        tiles.append(("ok", str(statuses.pop("ok", 0)), False))
        for status, count in statuses.most_common():
            tiles.append((status.replace("_", " "), str(count), status != "unsupported"))
        stops = Counter(row.raw.statistics.stop for row in every if row.is_plottable)
        tiles += [
            (stop.replace("_", " "), str(stops[stop]), False)
            for stop in ("converged", "noisy", "time_limit", "throttled", "too_few")
            if stops[stop]
        ]
        tiles.append(("warnings", str(len(self.warnings)), False))
        return tiles

    @cached_property
    def charts(self) -> list[str]:
        """The charts that have data."""
        has_data = {
            "roofline": self.axes is not None,
            "bandwidth": any(map(bandwidth_point, all_rows(self.files))),
            "distribution": any(file.rows for file in self.files),
            "algorithms": bool(self.algorithms),
            "caches": bool(self.hot_cold_points),
            "against": any(one.pairs for one in self.reference_comparisons),
        }
        return [*self.models.names, *(name for name, shows in has_data.items() if shows)]

    @property
    def limits(self) -> list[dict[str, float | str]]:
        """The sizes of the last-level caches of devices with hot and cold rows."""
        sizes = {
            self.files[pair.row.file_index].device: get(
                self.files[pair.row.file_index].result.context, "device.last_level_cache_bytes"
            )
            for pair in self.hot_cold_pairs
        }
        known = {
            device: size
            for device, size in sizes.items()
            if isinstance(size, (int, float)) and 0 < size < math.inf
        }
        suffixes = {device: f" of {device}" if len(known) > 1 else "" for device in known}
        return [
            {
                "x": float(size),
                "label": f"last-level cache{suffixes[device]}, {size / _MIB:.4g} MiB",
                "tip": device,
                "place": index,
            }
            for index, (device, size) in enumerate(known.items())
        ]

    # ---- sections ------------------------------------------------------------------------------

    @property
    def summary(self) -> list[Section]:
        return [
            facts.files_section(self.files),
            summary.families(self.files),
            summary.applications(self.files),
            *summary.call_totals(self.files),
            *summary.fleets(self.files),
        ]

    @property
    def not_ok(self) -> Section | None:
        return summary.not_ok(self.files)

    @property
    def warnings(self) -> list[str]:
        return facts.warnings(self.files)

    @property
    def reference_labels(self) -> list[str]:
        """The processors of the chart `against`. The label of a result file includes the file's
        name."""
        return list(dict.fromkeys(one.label for one in self.reference_comparisons if one.pairs))

    def notes(self, chart: str) -> list[str]:
        """The notes that accompany a chart."""
        notes = [_NOTES[chart]] if chart in _NOTES else []
        if chart in self.models.names:
            notes.append(self.models.note(chart))
        if chart == "against":
            named = ", ".join(self.reference_labels)
            notes.append(f"The reference's time over the row's, for each row. References: {named}.")
        if chart == "roofline":
            every = list(all_rows(self.files))
            plotted = sum(roofline_point(one) is not None for one in every)
            bad = sum(not one.is_plottable for one in every)
            excluded = {"not ok": bad, "without FLOPs": len(every) - plotted - bad}
            others = [f"{count} {what}" for what, count in excluded.items() if count]
            rest = f"; excluded: {', '.join(others)}" if others else ""
            notes.append(f"{plotted} of {len(every)} rows are plotted{rest}.")
        return notes

    def tables(self, chart: str) -> list[Section]:
        """The tables that summarize a chart."""
        if chart == "algorithms":
            found = [comparison_tables.algorithm_section(self.files, self.algorithms)]
        elif chart == "caches":
            found = [comparison_tables.cache_section(self.files, self.hot_cold_pairs)]
        elif chart == "layers":
            return summary.models_side_by_side(self.files)
        elif chart == "against":
            return comparison_tables.reference_sections(self.reference_comparisons)
        else:
            found = []
        return [section for section in found if section]


def content(files: Sequence[ResultFile], others: Sequence[ResultFile], version: str) -> Content:
    return Content(report_files(files), tuple(others), version)
