"""The charts of models: where the time of each pass goes, and latency against throughput. Bars of
one pass in one regime are drawn to one scale, so that files are side by side; others are not."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from deepbench.json_types import MutableJsonObject
from deepbench.report.fields import percent, time_text
from deepbench.report.workload import number_text, regime_words
from deepbench.workload.passes import Item
from deepbench.workload.totals import KNEE_SHARE, PassTotals, Totals

from .charts import Spec, invisible_corner_points, layers_chart, throughput_chart
from .metric_chart import axis_scale
from .report_rows import ReportFile

NAMES = ("layers", "throughput")
_MOST_KINDS = 12  # colors of the theme
_OTHER_KINDS = "other kinds"
_MEASURED, _ESTIMATED = 1.0, 0.4  # opacity


@dataclass(frozen=True)
class ModelChart:
    """A chart with its data, which filters of rows do not change."""

    spec: Spec
    data: dict[str, list[MutableJsonObject]]
    colors: list[str]  # the entries of its legend


@dataclass(frozen=True)
class ShownPass:
    """A pass of a file's model in one regime."""

    file: ReportFile
    totals: Totals
    one: PassTotals

    @property
    def facts(self) -> dict[str, str]:
        """The properties that may distinguish it from others, by name."""
        workload, what = self.one.workload, self.one.what
        return {
            "model": f"{workload.title} {workload.phase}",
            **{name: f"{name}={value}" for name, value in what.values.items()},
            "precision": " ".join(what.precisions),
            "regime": ", ".join(regime_words(self.one)),
            "file": f"{self.file.letter} ({self.file.device})",
        }

    @property
    def same_pass(self) -> Hashable:
        """Equal for the same pass in the same regime of other files."""
        return tuple(value for name, value in self.facts.items() if name != "file")

    @property
    def series(self) -> Hashable:
        """Equal for the batches of a sweep."""
        return tuple(value for name, value in self.facts.items() if name != "batch")


@dataclass(frozen=True)
class ModelCharts:
    """The passes of all files that have a measured kernel."""

    passes: tuple[ShownPass, ...]  # the same pass of several files side by side

    @property
    def names(self) -> list[str]:
        """The charts that have data."""
        return [*(["layers"] if self.passes else []), *(["throughput"] if self._points else [])]

    def chart(self, name: str, width: int) -> ModelChart:
        if name == "layers":
            spec = layers_chart(self._layers_title, self.kinds, width)
            return ModelChart(spec, self._layers_data, self.kinds)
        data = self._throughput_data
        ys = [point["y"] for point in data["rows"]]
        series = self._series
        spec = throughput_chart((self._throughput_title, axis_scale(ys)), series, width)
        return ModelChart(spec, data, series)

    def note(self, name: str) -> str:
        return self._layers_note if name == "layers" else self._throughput_note

    # ---- where the time goes -------------------------------------------------------------------

    @property
    def _is_side_by_side(self) -> bool:
        """Whether a pass has several bars."""
        return len({shown.same_pass for shown in self.passes}) < len(self.passes)

    @property
    def _layers_title(self) -> str:
        if self._is_side_by_side:
            return "time over the longest of the same pass"
        return "share of the time of the pass"

    @property
    def _layers_note(self) -> str:
        scale = (
            "The bars of one pass in one regime have one scale." if self._is_side_by_side else ""
        )
        common = [text for name, text in self._common.items() if text]
        return " ".join(filter(None, (
            f"{', '.join(common)}.", scale, "Paler parts are not measured, but estimated.",
        )))  # fmt: skip

    @cached_property
    def kinds(self) -> list[str]:
        """The kinds by their time in all passes, the longest first."""
        times: dict[str, float] = {}
        for shown in self.passes:
            for kind, found in shown.one.all.grouped(lambda item: item.kind).items():
                share = found.known_ns / shown.one.all.known_ns
                times[kind] = times.get(kind, 0.0) + share
        longest = sorted(times, key=lambda kind: -times[kind])
        if len(longest) <= _MOST_KINDS:
            return longest
        return [*longest[: _MOST_KINDS - 1], _OTHER_KINDS]

    @property
    def _layers_data(self) -> dict[str, list[MutableJsonObject]]:
        longest: dict[Hashable, float] = {}
        for shown in self.passes:
            known_ns = shown.one.all.known_ns
            longest[shown.same_pass] = max(longest.get(shown.same_pass, 0.0), known_ns)
        rows: list[MutableJsonObject] = []
        bars: list[MutableJsonObject] = []
        for number, shown in enumerate(self.passes):
            scale_ns = longest[shown.same_pass]
            rows += self._segments(number, shown, scale_ns)
            bars.append({"bar": number, "text": self._bar_text(shown)})
        return {"rows": rows, "bars": bars}

    def _segments(
        self, number: int, shown: ShownPass, scale_ns: float
    ) -> Iterator[MutableJsonObject]:
        """The parts of a bar: for each kind the measured part, then the estimated part."""
        whole_ns, begin = shown.one.all.known_ns, 0.0
        groups = shown.one.all.grouped(self._shown_kind)
        for kind in self.kinds:
            if kind not in groups:
                continue
            measured_ns = groups[kind].measured_ns
            estimated_ns = groups[kind].known_ns - measured_ns
            for time_ns, opacity in ((measured_ns, _MEASURED), (estimated_ns, _ESTIMATED)):
                if time_ns <= 0:
                    continue
                end = begin + time_ns / scale_ns
                how = "" if opacity == _MEASURED else ", estimated"
                tip = f"{kind}: {time_text(time_ns)}, {percent(time_ns / whole_ns)} %{how}"
                yield {
                    "bar": number, "from": begin, "to": end, "color": kind, "opacity": opacity,
                    "tip": tip,
                }  # fmt: skip
                begin = end

    def _shown_kind(self, item: Item) -> str:
        return item.kind if item.kind in self.kinds else _OTHER_KINDS

    def _bar_text(self, shown: ShownPass) -> str:
        """'A (NVIDIA H200), batch=4: 1.340 s, 98.0 % measured'."""
        name = ", ".join(value for value in self._differing(shown) if value)
        one = shown.one
        parts = [time_text(one.all.known_ns)]
        if one.coverage is None:
            parts.append("more is neither measured nor estimated")
        elif one.unmeasured:
            parts.append(f"{percent(one.coverage)} % measured")
        return ": ".join(filter(None, (name, ", ".join(parts))))

    def _differing(self, shown: ShownPass) -> list[str]:
        return [value for name, value in shown.facts.items() if name not in self._common]

    @cached_property
    def _common(self) -> dict[str, str]:
        """The facts that all passes share."""
        every = [shown.facts for shown in self.passes]
        first: Mapping[str, str] = every[0] if every else {}
        return {
            name: value for name, value in first.items()
            if all(one.get(name) == value for one in every)
        }  # fmt: skip

    # ---- latency against throughput ------------------------------------------------------------

    @cached_property
    def _points(self) -> list[ShownPass]:
        """The passes of sweeps over the batch that have a throughput."""
        known = [
            shown
            for shown in self.passes
            if shown.one.units_per_s and shown.totals.share_of_best(shown.one) is not None
        ]
        members = [shown.series for shown in known]
        return [shown for shown in known if members.count(shown.series) > 1]

    @property
    def _throughput_title(self) -> str:
        units = {shown.one.workload.unit for shown in self._points}
        return f"{units.pop()}/s" if len(units) == 1 else "units of the batch per second"

    @property
    def _throughput_note(self) -> str:
        swept = sum(len(shown.totals.passes) > 1 for shown in self.passes)
        missing = swept - len(self._points)
        left_out = (
            f" {missing} of {swept} passes have no throughput, since too little of their time is "
            "measured, or a kernel failed." if missing else ""
        )  # fmt: skip
        return (
            "Numbers are batches. A ring marks the knee, the smallest batch with "
            f"{percent(KNEE_SHARE, 0)} % of the best throughput.{left_out}"
        )

    @property
    def _series(self) -> list[str]:
        return list(dict.fromkeys(map(self._series_text, self._points)))

    @property
    def _throughput_data(self) -> dict[str, list[MutableJsonObject]]:
        fastest = max(self._points, key=lambda shown: shown.one.units_per_s or 0.0)
        rows = [
            {**self._point(shown), "below": shown.series != fastest.series}
            for shown in self._points
        ]
        xs, ys = ([row[axis] for row in rows] for axis in ("x", "y"))
        return {
            "rows": rows,
            "knees": [row for row in rows if row["knee"]],
            "corners": invisible_corner_points(xs, ys),
        }

    def _point(self, shown: ShownPass) -> MutableJsonObject:
        one = shown.one
        is_knee = one is shown.totals.knee
        rate = one.units_per_s or 0.0
        tip = f"batch={one.what.batch}: {time_text(one.time_ns)}, {number_text(rate)} "
        return {
            "x": one.time_ns / 1e6,
            "y": rate,
            "color": self._series_text(shown),
            "label": f"{one.what.batch} (knee)" if is_knee else str(one.what.batch),
            "knee": is_knee,
            "tip": f"{tip}{one.workload.unit}/s",
        }

    def _series_text(self, shown: ShownPass) -> str:
        facts = shown.facts
        words = [
            value for name, value in facts.items()
            if value and name not in self._common and name != "batch"
        ]  # fmt: skip
        return ", ".join(words) or facts["model"]


def model_charts(files: Sequence[ReportFile]) -> ModelCharts:
    shown = [
        ShownPass(file, totals, one)
        for file in files
        for totals in file.result_set.totals
        for one in totals.passes
        if one.all.measured_ns
    ]
    order = {key: place for place, key in enumerate(dict.fromkeys(one.same_pass for one in shown))}
    return ModelCharts(tuple(sorted(shown, key=lambda one: order[one.same_pass])))
