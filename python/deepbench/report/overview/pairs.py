"""Pairs of rows to compare: the default algorithm and the selected one, hot and cold operands, rows
of the report and rows of a reference."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass, replace

from deepbench.compare import Entry, NothingInCommon, ResultSet, Rules, compare, to_result_set
from deepbench.compare.ratios import Ratio, ratio
from deepbench.compare.regimes import comparable_kind, compares_hot_with_cold
from deepbench.compare.result_set import printable
from deepbench.report.fields import get
from deepbench.results import ResultFile

from .report_rows import ReportFile, ReportRow, all_rows


@dataclass(frozen=True)
class Pair:
    """A row and its counterpart. `ratio` is the counterpart's time over the row's."""

    row: ReportRow
    time_ns: float
    other_ns: float
    ratio: Ratio
    other: ReportRow | None = None  # the counterpart, if the report contains it
    changed: bool = True  # the selected algorithm is not the default
    doubt: str | None = None  # why means exclude the ratio
    cold: bool = False  # the row is cold while the published figure is hot


@dataclass(frozen=True)
class ReferenceComparison:
    """The rows of a file against those of another file or of a reference."""

    file: ReportFile
    reference: ResultSet
    label: str  # the processor, with the file's name for a result file
    pairs: tuple[Pair, ...]
    no_pairs_reason: str | None  # why there are no pairs


def algorithms(files: Sequence[ReportFile]) -> list[Pair]:
    """Rows with a selected algorithm against their default, from the interleaved comparison."""
    return [pair for row in all_rows(files) for pair in _pairs_with_default(row)]


def _pairs_with_default(row: ReportRow) -> Iterator[Pair]:
    default_ns, time_ns = row.raw.algorithm.default_ns, row.entry.time_ns
    if not row.is_plottable or not time_ns or not default_ns or row.entry.algorithm == "default":
        return
    gain = row.raw.algorithm.speedup or default_ns / time_ns
    yield Pair(row, time_ns, default_ns, Ratio(gain, None), changed=not row.entry.choice.is_default)


def hot_cold_pairs(files: Sequence[ReportFile]) -> list[Pair]:
    """Hot rows against cold rows that are otherwise alike."""
    cold: dict[Hashable, list[ReportRow]] = {}
    for row in all_rows(files):
        if row.is_plottable and (row.entry.cache or "").startswith("cold"):
            cold.setdefault(_key_without_cache(row.entry), []).append(row)
    pairs = []
    for row in all_rows(files):
        waiting = cold.get(_key_without_cache(row.entry))
        if not waiting or not row.is_plottable or row.entry.cache != "hot":
            continue
        other = waiting.pop(0)
        times, both = (row.entry.time_ns, other.entry.time_ns), ratio(row.entry, other.entry)
        if both and times[0] and times[1]:
            pairs.append(Pair(row, times[0], times[1], both, other))
    return pairs


def _key_without_cache(entry: Entry) -> Hashable:
    setup = (entry.backend, entry.device, entry.library, entry.algorithm, entry.threads)
    how = (entry.power, entry.launch, entry.inputs, entry.application)
    return entry.op, entry.problem, setup, how


def reference_comparisons(
    files: Sequence[ReportFile], others: Sequence[ResultFile]
) -> list[ReferenceComparison]:
    """Every file against every reference."""
    result_sets = [to_result_set(other) for other in others]
    references = [
        (reference, _reference_label(reference, other))
        for reference, other in zip(result_sets, others, strict=True)
    ]
    return [
        _compare_with_reference(file, reference, label)
        for file in files
        for reference, label in references
    ]


def _reference_label(reference: ResultSet, other: ResultFile) -> str:
    """The name of a published reference is its processor; the label of a result file adds its
    name."""
    name = printable(reference.name).rpartition("/")[2]
    device = printable(get(other.context, "device.name") or "unknown device")
    return name if name == device else f"{device} ({name})"


def _compare_with_reference(
    file: ReportFile, reference: ResultSet, label: str
) -> ReferenceComparison:
    by_entry = {id(row.entry): row for row in file.rows}
    kinds = {comparable_kind(row.entry, ()) for row in file.rows}
    alike = tuple(entry for entry in reference.entries if comparable_kind(entry, ()) in kinds)
    reference = replace(reference, entries=alike)  # for speed: the other entries cannot match
    if not alike:
        return ReferenceComparison(
            file, reference, label, (), "no row of the same operation, phase and precision"
        )
    try:
        compared = compare([file.result_set, reference], Rules()).others[0].rows
    except NothingInCommon:
        return ReferenceComparison(
            file, reference, label, (), "no common problem in a comparable regime"
        )
    pairs = [
        Pair(
            by_entry[id(row.base)],
            row.base.time_ns,
            row.other.time_ns,
            row.ratio,
            doubt=row.other.doubt or row.base.doubt,
            cold=compares_hot_with_cold(row.base, row.other),
        )
        for row in compared
        if row.ratio is not None and row.base.time_ns and row.other.time_ns
    ]
    no_pairs_reason = None if pairs else "no pair of rows has two times"
    return ReferenceComparison(file, reference, label, tuple(pairs), no_pairs_reason)
