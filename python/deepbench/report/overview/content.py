"""What a report says, before it becomes a page, a text or an image."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from deepbench.compare.sides import plain
from deepbench.report.comparison.content import Section
from deepbench.report.fields import get
from deepbench.results import ResultFile

from . import beside, facts, headline, summary
from .ceilings import Axes, Ceiling, axes, ceilings, point
from .pairs import Against, Pair, against, algorithms, caches
from .runs import Run, all_rows, runs, work_title
from .sweep import Sweep, sweep

_MIB = 1 << 20
_NOTES = {
    "roofline": "Lines are what the device was measured to do: solid in a precision, dashed from a "
    "level of its memory. Drag to move, shift and wheel to zoom, double-click to go back.",
    "bandwidth": "Operations without FLOPs: bytes over time.",
}


@dataclass(frozen=True)
class Content:
    """Files, and what others' rows they are held against."""

    files: tuple[Run, ...]
    others: tuple[ResultFile, ...]
    version: str

    @cached_property
    def algorithms(self) -> list[Pair]:
        return algorithms(self.files)

    @cached_property
    def caches(self) -> list[Pair]:
        return caches(self.files)

    @cached_property
    def against(self) -> list[Against]:
        return against(self.files, self.others)

    @cached_property
    def ceilings(self) -> list[Ceiling]:
        return ceilings(self.files)

    @cached_property
    def axes(self) -> Axes | None:
        found = [place for shown in all_rows(self.files) if (place := point(shown))]
        return axes(found, self.ceilings)

    @cached_property
    def work_title(self) -> str:
        """Of the roofline's axis of rates."""
        return work_title(shown for shown in all_rows(self.files) if point(shown))

    @cached_property
    def sweep(self) -> Sweep | None:
        return sweep(self.files)

    @property
    def title(self) -> str:
        devices = dict.fromkeys(run.device for run in self.files)
        return ", ".join(devices)

    @property
    def about(self) -> str:
        """Operations, and when."""
        ops = dict.fromkeys(shown.entry.op for shown in all_rows(self.files))
        return " · ".join([", ".join(ops), *self.dates])

    @property
    def dates(self) -> list[str]:
        """When the files were begun: a day, or the first and the last."""
        begun = sorted(
            plain(run.result.context["started"])[:10]
            for run in self.files
            if run.result.context.get("started")
        )
        return begun[:1] if begun[:1] == begun[-1:] else [f"{begun[0]} to {begun[-1]}"]

    @property
    def headline(self) -> list[str]:
        return headline.headline(self.files)

    @property
    def tiles(self) -> list[tuple[str, str, bool]]:
        """Name, figure, and whether it is bad news."""
        every = list(all_rows(self.files))
        statuses = Counter(
            "inconsistent" if shown.entry.doubt else shown.entry.status for shown in every
        )
        tiles = [("files", str(len(self.files)), False), ("rows", str(len(every)), False)]
        tiles.append(("ok", str(statuses.pop("ok", 0)), False))
        for status, count in statuses.most_common():
            tiles.append((status.replace("_", " "), str(count), status != "unsupported"))
        stops = Counter(get(shown.row, "statistics.stop") for shown in every if shown.good)
        tiles += [
            (stop.replace("_", " "), str(stops[stop]), False)
            for stop in ("converged", "noisy", "time_limit", "throttled", "too_few")
            if stops[stop]
        ]
        tiles.append(("warnings", str(len(self.warnings)), False))
        return tiles

    @cached_property
    def charts(self) -> list[str]:
        """Those that have anything to show."""
        every = [shown for shown in all_rows(self.files) if shown.good]
        there = {
            "roofline": self.axes is not None,
            "bandwidth": any(shown.gbps and not shown.entry.flops for shown in every),
            "distribution": any(run.rows for run in self.files),
            "algorithms": bool(self.algorithms),
            "caches": bool(self.caches),
            "against": any(one.pairs for one in self.against),
        }
        return [name for name, shows in there.items() if shows]

    @property
    def limits(self) -> list[dict[str, float | str]]:
        """Sizes of last-level caches, of the devices that were hot and cold."""
        sizes = {
            self.files[pair.shown.run].device: get(
                self.files[pair.shown.run].result.context, "device.last_level_cache_bytes"
            )
            for pair in self.caches
        }
        known = {
            device: size
            for device, size in sizes.items()
            if isinstance(size, (int, float)) and 0 < size < math.inf
        }
        whose = {device: f" of {device}" if len(known) > 1 else "" for device in known}
        return [
            {
                "x": float(size),
                "label": f"last-level cache{whose[device]}, {size / _MIB:.4g} MiB",
                "tip": device,
                "place": place,
            }
            for place, (device, size) in enumerate(known.items())
        ]

    # ---- sections ------------------------------------------------------------------------------

    @property
    def summary(self) -> list[Section]:
        return [
            facts.files_section(self.files),
            summary.families(self.files),
            summary.applications(self.files),
            *summary.fleets(self.files),
        ]

    @property
    def not_good(self) -> Section | None:
        return summary.not_good(self.files)

    @property
    def warnings(self) -> list[str]:
        return facts.warnings(self.files)

    @property
    def others_named(self) -> list[str]:
        """The processors of the chart `against`, of result files with the file's name."""
        return list(dict.fromkeys(one.label for one in self.against if one.pairs))

    def notes(self, chart: str) -> list[str]:
        """What a reader of the chart must know."""
        notes = [_NOTES[chart]] if chart in _NOTES else []
        if chart == "against":
            named = ", ".join(self.others_named)
            notes.append(f"Their time over ours, row by row, against {named}.")
        if chart == "roofline":
            every = list(all_rows(self.files))
            plotted = sum(point(one) is not None for one in every)
            bad = sum(not one.good for one in every)
            left = {"not ok": bad, "without FLOPs": len(every) - plotted - bad}
            others = [f"{count} {what}" for what, count in left.items() if count]
            but = f"; left out: {', '.join(others)}" if others else ""
            notes.append(f"{plotted} of {len(every)} rows are plotted{but}.")
        return notes

    def tables(self, chart: str) -> list[Section]:
        """What the chart comes to."""
        if chart == "algorithms":
            found = [beside.algorithm_section(self.files, self.algorithms)]
        elif chart == "caches":
            found = [beside.cache_section(self.files, self.caches)]
        elif chart == "against":
            return beside.against_sections(self.against)
        else:
            found = []
        return [section for section in found if section]


def content(files: Sequence[ResultFile], others: Sequence[ResultFile], version: str) -> Content:
    return Content(runs(files), tuple(others), version)
