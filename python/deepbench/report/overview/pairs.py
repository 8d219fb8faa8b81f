"""Rows beside rows: the library's own choice of an algorithm against the best, operands that are
hot in the caches against cold ones, our times against those of others."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass, replace

from deepbench.compare import Entry, NothingInCommon, Rules, Side, compare, of_file
from deepbench.compare.ratios import Ratio, ratio
from deepbench.compare.regimes import hot_beside_cold, kind
from deepbench.compare.sides import plain
from deepbench.report.fields import get
from deepbench.results import ResultFile

from .runs import Run, Shown, all_rows


@dataclass(frozen=True)
class Pair:
    """A row and what it is held against: `ratio` is the other's time over the row's."""

    shown: Shown
    time_ns: float
    other_ns: float
    ratio: Ratio
    other: Shown | None = None  # where it is a row of the report as well
    changed: bool = True  # another algorithm than the default is used
    doubt: str | None = None  # why the ratio enters no mean
    cold: bool = False  # ours is cold, the published figure hot


@dataclass(frozen=True)
class Against:
    """A file's rows against those of another file or of a reference."""

    run: Run
    side: Side
    label: str  # the processor, of a result file with the file's name
    pairs: tuple[Pair, ...]
    nothing: str | None  # why there are no pairs


def algorithms(files: Sequence[Run]) -> list[Pair]:
    """Rows with a chosen algorithm against their own default, measured in the same turns."""
    return [pair for shown in all_rows(files) for pair in _algorithm(shown)]


def _algorithm(shown: Shown) -> Iterator[Pair]:
    default_ns, time_ns = get(shown.row, "algorithm.default_ns"), shown.entry.time_ns
    if not shown.good or not time_ns or not default_ns or shown.entry.algorithm == "default":
        return
    gain = get(shown.row, "algorithm.gain") or default_ns / time_ns
    yield Pair(
        shown, time_ns, default_ns, Ratio(gain, None), changed=not shown.entry.choice.is_default
    )


def caches(files: Sequence[Run]) -> list[Pair]:
    """Hot rows against cold ones that differ in nothing else."""
    cold: dict[Hashable, list[Shown]] = {}
    for shown in all_rows(files):
        if shown.good and (shown.entry.cache or "").startswith("cold"):
            cold.setdefault(_all_but_cache(shown.entry), []).append(shown)
    pairs = []
    for shown in all_rows(files):
        waiting = cold.get(_all_but_cache(shown.entry))
        if not waiting or not shown.good or shown.entry.cache != "hot":
            continue
        other = waiting.pop(0)
        times, both = (shown.entry.time_ns, other.entry.time_ns), ratio(shown.entry, other.entry)
        if both and times[0] and times[1]:
            pairs.append(Pair(shown, times[0], times[1], both, other))
    return pairs


def _all_but_cache(entry: Entry) -> Hashable:
    setup = (entry.backend, entry.device, entry.library, entry.algorithm, entry.threads)
    how = (entry.power, entry.launch, entry.inputs, entry.application)
    return entry.op, entry.problem, setup, how


def against(files: Sequence[Run], others: Sequence[ResultFile]) -> list[Against]:
    """Every file against every other one."""
    sides = [(side, _label(side, other)) for other in others for side in [of_file(other)]]
    return [_against(run, side, label) for run in files for side, label in sides]


def _label(side: Side, other: ResultFile) -> str:
    """A reference is called like its processor; a result file is not."""
    name = plain(side.name).rpartition("/")[2]
    device = plain(get(other.context, "device.name") or "unknown device")
    return name if name == device else f"{device} ({name})"


def _against(run: Run, side: Side, label: str) -> Against:
    by_entry = {id(shown.entry): shown for shown in run.rows}
    ours = {kind(shown.entry, ()) for shown in run.rows}
    alike = tuple(entry for entry in side.entries if kind(entry, ()) in ours)
    side = replace(side, entries=alike)  # the rest only takes time
    if not alike:
        return Against(run, side, label, (), "no row of the same operation, phase and precision")
    try:
        compared = compare([run.side, side], Rules()).others[0].rows
    except NothingInCommon:
        return Against(
            run, side, label, (), "no problem in common in a regime that can be compared"
        )
    pairs = [
        Pair(
            by_entry[id(row.base)],
            row.base.time_ns,
            row.other.time_ns,
            row.ratio,
            doubt=row.other.doubt or row.base.doubt,
            cold=hot_beside_cold(row.base, row.other),
        )
        for row in compared
        if row.ratio is not None and row.base.time_ns and row.other.time_ns
    ]
    nothing = None if pairs else "no row of both has a time"
    return Against(run, side, label, tuple(pairs), nothing)
