"""The lines of a roofline plot: the measured peak rate of each device in each precision, and its
measured bandwidth from each memory level. Every run measures its ceilings; the plot shows the
highest of several runs, and the tooltip also states the lowest."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from deepbench.compare.result_set import printable
from deepbench.report.fields import ceiling_text, level_name, rate, work_unit

from .report_rows import ReportFile, ReportRow, all_rows

_NO_PRECISION = "arithmetic"  # the ceiling of rows without a precision
_MARGIN = 1.6  # factor by which the axes extend beyond the outermost points
_LABELS = 2.4  # the same above the highest line, whose labels may be stacked


@dataclass(frozen=True)
class Ceiling:
    """One ceiling: TFLOP/s or TOP/s of a precision, or GB/s of a memory level."""

    device: str
    name: str  # a precision or a memory level
    arithmetic: bool
    highest: float
    lowest: float
    spread: float | None = None  # of the highest: half of its 95 % interval, as a fraction

    @property
    def label(self) -> str:
        return f"{level_name(self.name)} {self._text(None)}"

    @property
    def description(self) -> str:
        what = f"{self.device}: {level_name(self.name)}, measured {self._text(self.spread)}"
        if self.lowest == self.highest:
            return what
        return f"{what}; the lowest of several runs: {rate(self.lowest)}"

    def _text(self, spread: float | None) -> str:
        unit = work_unit(self.name) if self.arithmetic else "GB/s"
        return ceiling_text(self.highest, unit, spread)


@dataclass(frozen=True)
class Axes:
    """The axis ranges of a roofline plot: FLOP/byte and TFLOP/s."""

    x: tuple[float, float]
    y: tuple[float, float]


def ceilings(files: Sequence[ReportFile]) -> list[Ceiling]:
    """The ceilings of every device that apply to its rows with FLOPs."""
    found: dict[tuple[str, str, bool], list[tuple[float, float | None]]] = {}
    for row in all_rows(files):
        if not roofline_point(row):
            continue
        device = row.entry.device or files[row.file_index].device
        precision = row.raw.arithmetic or _NO_PRECISION
        bound = row.raw.bound
        for name, value, spread in (
            (precision, bound.arithmetic_tflops, bound.arithmetic_spread),
            (None, bound.memory_gbps, bound.memory_spread),
        ):
            level = name or bound.level or "memory"
            if value:
                key = (device, printable(level), name is not None)  # a text of the file
                figures = found.setdefault(key, [])
                figures.append((float(value), spread))
    return [
        Ceiling(device, name, arithmetic, *_range(figures))
        for (device, name, arithmetic), figures in found.items()
    ]


def _range(figures: Sequence[tuple[float, float | None]]) -> tuple[float, float, float | None]:
    """The highest and the lowest figure, and the spread of the highest."""
    highest, spread = max(figures, key=lambda figure: figure[0])
    return highest, min(figure for figure, _ in figures), spread


def roofline_point(row: ReportRow) -> tuple[float, float] | None:
    """FLOP/byte and TFLOP/s of a row that has both."""
    flops, size, tflops = row.entry.flops, row.entry.bytes, row.tflops
    return (flops / size, tflops) if flops and size and tflops else None


def bandwidth_point(row: ReportRow) -> tuple[float, float] | None:
    """Bytes and GB/s of a row that has both and no FLOPs."""
    size, gbps = row.entry.bytes, row.gbps
    return (size, gbps) if size and gbps and not row.entry.flops else None


def axes(points: Iterable[tuple[float, float]], lines: Sequence[Ceiling]) -> Axes | None:
    """Axis ranges that contain every point and the ceilings above them; None without points."""
    known = list(points)
    if not known:
        return None
    xs = [x for x, _ in known]
    ys = [y for _, y in known]
    top = max([*ys, *(line.highest for line in lines if line.arithmetic)])
    return Axes((min(xs) / _MARGIN, max(xs) * _MARGIN), (min(ys) / _MARGIN, top * _LABELS))


def line_ends_of_ceiling(
    ceiling: Ceiling, every: Sequence[Ceiling], room: Axes
) -> list[tuple[float, float]]:
    """The ends of a line within the axes. A bandwidth line ends at the device's highest rate, and a
    rate line begins where the highest bandwidth reaches it."""
    of_device = [one for one in every if one.device == ceiling.device]
    (left, right), (bottom, top) = room.x, room.y
    if ceiling.arithmetic:
        slopes = [one.highest / 1e3 for one in of_device if not one.arithmetic]
        start = max(left, ceiling.highest / max(slopes)) if slopes else left
        return [(start, ceiling.highest), (right, ceiling.highest)] if start < right else []
    slope = ceiling.highest / 1e3  # TFLOP/s at one FLOP/byte
    highest = max([one.highest for one in of_device if one.arithmetic], default=top)
    start, end = max(left, bottom / slope), min(right, highest / slope)
    return [(start, start * slope), (end, end * slope)] if start < end else []
