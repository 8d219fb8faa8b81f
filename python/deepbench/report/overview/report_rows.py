"""The rows of a report, from one or several result files, each with its regime. Rows of different
regimes or files are never combined implicitly."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from sys import intern

from deepbench.compare import Entry, ResultSet, to_result_set
from deepbench.compare.groups import family
from deepbench.compare.result_set import printable
from deepbench.report.comparison.wording import result_set_letter
from deepbench.report.fields import get, work_unit
from deepbench.results import ResultFile, Row
from deepbench.results.makers import quickly_made


@quickly_made
@dataclass(frozen=True, slots=True)
class ReportRow:
    """A row of a report."""

    id: int  # unique within the report
    file_index: int  # index of its file
    raw: Row  # as in the file
    entry: Entry  # the same, checked and cleaned
    regime: str  # 'hot, default', followed by a loaded power regime and any unusual inputs
    family: str  # 'conv fwd half'
    is_plottable: bool  # whether plots and means include its time
    # The rate in the file; of a published figure, the rate by deepbench's formula.
    tflops: float | None
    gbps: float | None
    share: float | None  # of the roofline


def _report_row(id: int, file_index: int, raw: Row, entry: Entry, regime: str) -> ReportRow:
    plottable = entry.time_ns is not None and not entry.doubt
    tflops = entry.tflops if entry.published else _positive(raw.rates.tflops)
    return ReportRow(
        id=id,
        file_index=file_index,
        raw=raw,
        entry=entry,
        regime=regime,
        family=intern(family(entry, entry)),
        is_plottable=plottable,
        tflops=tflops if plottable else None,
        gbps=_positive(raw.rates.gbps) if plottable else None,
        share=_positive(raw.bound.share_roofline) if plottable else None,
    )


def _positive(value: float | None) -> float | None:
    return float(value) if value is not None and value > 0 else None


@dataclass(frozen=True)
class ReportFile:
    """A result file."""

    letter: str
    result: ResultFile
    result_set: ResultSet
    rows: tuple[ReportRow, ...]

    @property
    def name(self) -> str:
        """The file's name without its folder, which may be private."""
        return self.result_set.name.rpartition("/")[2]

    @property
    def device(self) -> str:
        return printable(get(self.result.context, "device.name") or "unknown device")


def report_files(files: Sequence[ResultFile]) -> tuple[ReportFile, ...]:
    """The files with their rows, numbered consecutively."""
    made = []
    first = 0
    for index, file in enumerate(files):
        made.append(_report_file(index, file, first))
        first += len(file.rows)
    return tuple(made)


def _report_file(index: int, file: ResultFile, first: int) -> ReportFile:
    result_set = to_result_set(file)
    rows = sorted(file.rows, key=lambda row: row.position)
    cache = get(file.context, "options.cache")
    asked = cache if cache in ("hot", "cold") else None if cache else "hot"
    report_rows = (
        _report_row(first + number, index, row, entry, _regime(entry, asked))
        for number, (row, entry) in enumerate(zip(rows, result_set.entries, strict=True))
    )
    return ReportFile(result_set_letter(index), file, result_set, tuple(report_rows))


def _regime(entry: Entry, asked: str | None) -> str:
    """`asked` is the cache regime of the file, if the file has only one."""
    if entry.published:
        return "published"
    words = [entry.cache or asked or "cache unknown", entry.algorithm or "default"]
    if entry.power in ("sustained", "steady"):
        words.append(f"{entry.power} power")
    if entry.inputs != "uniform":
        words.append(f"inputs {entry.inputs}")
    return intern(", ".join(words))


def all_rows(files: Sequence[ReportFile]) -> Iterator[ReportRow]:
    for file in files:
        yield from file.rows


def regimes(rows: Iterable[ReportRow]) -> list[str]:
    """Every regime of good rows: hot before cold, the default algorithm before others."""
    found = {row.regime for row in rows if row.is_plottable}
    return sorted(found, key=lambda name: (not name.startswith("hot"), "default" not in name, name))


def work_title(rows: Iterable[ReportRow]) -> str:
    """The title of a rate axis: 'TFLOP/s', 'TOP/s' if all rows are integer, 'TFLOP/s or TOP/s' if
    some are."""
    units = {work_unit(row.entry.attributes.get("precision")) for row in rows if row.tflops}
    return " or ".join(sorted(units)) or work_unit(None)
