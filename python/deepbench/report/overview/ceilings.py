"""The lines of a roofline plot: what each device was measured to do at best in each precision, and
to move from each level of its memory. A run measures its own; of several the highest is drawn, and
the line says how they lie."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from deepbench.report.fields import get, rate, work_unit

from .report_rows import ReportFile, ReportRow, all_rows

_LEVELS = {"memory": "memory", "llc": "last-level cache", "l1": "L1 cache", "l2": "L2 cache"}
_NO_PRECISION = "arithmetic"  # what rows without one are held against
_MARGIN = 1.6  # of the axes beyond the outermost points, as a factor
_LABELS = 2.4  # the same above the highest line: labels of several may be stacked there


@dataclass(frozen=True)
class Ceiling:
    """One limit: TFLOP/s or TOP/s of a precision, or GB/s of a level."""

    device: str
    name: str  # a precision or a level
    arithmetic: bool
    highest: float
    lowest: float

    @property
    def label(self) -> str:
        return f"{_LEVELS.get(self.name, self.name)} {rate_of(self)}"

    @property
    def about(self) -> str:
        what = f"{self.device}: {_LEVELS.get(self.name, self.name)}, measured {rate_of(self)}"
        if self.lowest == self.highest:
            return what
        return f"{what}; the lowest of several runs {rate(self.lowest)}"


@dataclass(frozen=True)
class Axes:
    """What a roofline plot shows: FLOP/byte and TFLOP/s."""

    x: tuple[float, float]
    y: tuple[float, float]


def rate_of(ceiling: Ceiling) -> str:
    unit = work_unit(ceiling.name) if ceiling.arithmetic else "GB/s"
    return f"{rate(ceiling.highest)} {unit}"


def ceilings(files: Sequence[ReportFile]) -> list[Ceiling]:
    """Of every device, those that its rows with FLOPs were held against."""
    found: dict[tuple[str, str, bool], list[float]] = {}
    for row in all_rows(files):
        if not point(row):
            continue
        device = row.entry.device or files[row.file_index].device
        precision = str(row.entry.attributes.get("precision") or _NO_PRECISION)
        for name, path in ((precision, "arithmetic_tflops"), (None, "memory_gbps")):
            value = get(row.raw, f"bound.{path}")
            level = name or get(row.raw, "bound.level") or "memory"
            if value:
                found.setdefault((device, str(level), name is not None), []).append(float(value))
    return [
        Ceiling(device, name, arithmetic, max(values), min(values))
        for (device, name, arithmetic), values in found.items()
    ]


def point(row: ReportRow) -> tuple[float, float] | None:
    """FLOP/byte and TFLOP/s of a row that has both."""
    flops, size, tflops = row.entry.flops, row.entry.bytes, row.tflops
    return (flops / size, tflops) if flops and size and tflops else None


def axes(points: Iterable[tuple[float, float]], lines: Sequence[Ceiling]) -> Axes | None:
    """Room for every point, and for the ceilings above them; None without points."""
    known = list(points)
    if not known:
        return None
    xs = [x for x, _ in known]
    ys = [y for _, y in known]
    top = max([*ys, *(line.highest for line in lines if line.arithmetic)])
    return Axes((min(xs) / _MARGIN, max(xs) * _MARGIN), (min(ys) / _MARGIN, top * _LABELS))


def ceiling_ends(
    ceiling: Ceiling, every: Sequence[Ceiling], room: Axes
) -> list[tuple[float, float]]:
    """Its ends within the axes: what rises at a constant GB/s ends at its device's highest rate,
    and what is horizontal begins where the highest bandwidth allows so much."""
    own = [one for one in every if one.device == ceiling.device]
    (left, right), (bottom, top) = room.x, room.y
    if ceiling.arithmetic:
        slopes = [one.highest / 1e3 for one in own if not one.arithmetic]
        start = max(left, ceiling.highest / max(slopes)) if slopes else left
        return [(start, ceiling.highest), (right, ceiling.highest)] if start < right else []
    slope = ceiling.highest / 1e3  # TFLOP/s at one FLOP/byte
    highest = max([one.highest for one in own if one.arithmetic], default=top)
    start, end = max(left, bottom / slope), min(right, highest / slope)
    return [(start, start * slope), (end, end * slope)] if start < end else []
