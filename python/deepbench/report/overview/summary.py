"""Summaries of the rows by family and by application. Each line covers one file and one regime, so
that nothing is averaged over several."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace

from deepbench.compare import compare_workloads
from deepbench.report.call_totals import call_total_sections
from deepbench.report.comparison.content import Section, TableRow
from deepbench.report.comparison.workloads import workload_sections as comparison_sections
from deepbench.report.fields import rate, share, time_cell, work_unit
from deepbench.report.fleet import fleet_section
from deepbench.report.workload import workload_sections
from deepbench.results.call_totals import CallTotals
from deepbench.results.fleet import FleetSummary
from deepbench.results.row import ABOVE_CEILING
from deepbench.workload.totals import totals_of

from .report_rows import ReportFile, ReportRow, all_rows

_NO_APPLICATION = "none"
Key = tuple[str | int, ...]
Cells = tuple[str, ...]


def rate_text(precision: object, tflops: float | None, gbps: float | None) -> str:
    """A rate with its unit: TFLOP/s or TOP/s for rows with FLOPs, GB/s for others."""
    if tflops is not None:
        return f"{rate(tflops)} {work_unit(precision)}"
    return f"{rate(gbps)} GB/s" if gbps is not None else "-"


def families(files: Sequence[ReportFile]) -> Section:
    """The table by operation, phase and precision."""
    columns = ("family", "regime", "library", "rows", "ok", "best rate", "mean % of roofline",
               "lowest", "bound by", "not converged")  # fmt: skip
    groups = _group_by_file_and_key(files, lambda row: (row.family, row.regime))
    rows = [
        TableRow(
            (*_file_letter_cell(files, key), *map(str, key[1:]), *_family_cells(rows)),
            _tone_of_rows(rows),
        )
        for key, rows in groups.items()
    ]
    many = len(files) > 1
    return Section(
        "By family",
        (_MEANS,),
        _with_file_column(files, columns),
        _text_column_numbers(many, 0, 1, 2, 8),
        tuple(rows),
    )


def applications(files: Sequence[ReportFile]) -> Section:
    """The table by application."""
    columns = ("application", "family", "regime", "rows", "ok", "total time", "mean rate",
               "mean % of roofline")  # fmt: skip
    groups: dict[Key, list[tuple[ReportRow, int]]] = {}
    for row in all_rows(files):
        for name, calls in row.entry.calls_by_application:
            key = (files[row.file_index].letter, name or _NO_APPLICATION, row.family, row.regime)
            groups.setdefault(key, []).append((row, calls))
    rows = [
        TableRow(
            (*_file_letter_cell(files, key), *map(str, key[1:]), *_application_cells(found)),
            _tone_of_rows([row for row, _ in found]),
        )
        for key, found in groups.items()
    ]
    sums = "sums one call of every row that is ok"
    if any(row.entry.count is not None for row in all_rows(files)):
        sums += ", or as many calls of the application as the row counts"
    lines = (f"The total time {sums}; means are geometric.",)
    many = len(files) > 1
    return Section(
        "By application",
        lines,
        _with_file_column(files, columns),
        _text_column_numbers(many, 0, 1, 2),
        tuple(rows),
    )


_MEANS = (
    "Means are geometric, over the rows that are ok and not above their ceiling. Each line covers "
    "one file and one regime."
)


def fleets(files: Sequence[ReportFile]) -> list[Section]:
    """The ranks of each file that was measured by several ranks, each on its own device."""
    found = []
    for file in files:
        fleet = FleetSummary()
        fleet.begin(file.result.context)
        for row in file.result.rows:
            fleet.add(row)
        section = fleet_section(fleet)
        if section:
            suffix = f" of {file.letter}" if len(files) > 1 else ""
            found.append(replace(section, heading=section.heading + suffix))
    return found


def call_totals(files: Sequence[ReportFile]) -> list[Section]:
    """The time of each file's model, or of all calls where rows state how often they are made."""
    found = []
    for file in files:
        totals = CallTotals()
        totals.begin(file.result.context)
        for row in file.rows:
            totals.add(row.raw)
        workload = totals_of(file.result.context, file.result.rows, file.result.chains)
        suffix = f" of {file.letter}" if len(files) > 1 else ""
        found += [
            replace(section, heading=section.heading + suffix)
            for section in workload_sections(workload) or call_total_sections(totals)
        ]
    return found


def models_side_by_side(files: Sequence[ReportFile]) -> list[Section]:
    """The model of the first file and that of each other file."""
    first, *others = files
    return [
        section
        for index, file in enumerate(others, start=1)
        for section in comparison_sections(
            compare_workloads(first.result_set, file.result_set), index
        )
    ]


def not_ok(files: Sequence[ReportFile]) -> Section | None:
    """The rows that are not ok, grouped by status and reason."""
    bad: dict[tuple[str, ...], list[ReportRow]] = {}
    for row in all_rows(files):
        entry = row.entry
        if entry.status != "ok" or entry.doubt:
            status = entry.status if entry.status != "ok" else "inconsistent"
            reason = entry.doubt or entry.reason or "no reason given"
            key = (files[row.file_index].letter, status, row.family, reason)
            bad.setdefault(key, []).append(row)
    if not bad:
        return None
    columns = ("status", "family", "reason", "rows", "first row")
    rows = [
        TableRow((
            *_file_letter_cell(files, key), status.replace("_", " "), family, reason,
            str(len(group)), group[0].entry.problem,
        ), "" if status == "unsupported" else "slower")
        for key, group in bad.items()
        for _, status, family, reason in [key]
    ]  # fmt: skip
    lines = ("Plots and means exclude these rows.",)
    many = len(files) > 1
    return Section(
        "Rows that are not ok",
        lines,
        _with_file_column(files, columns),
        _text_column_numbers(many, 0, 1, 2, 4),
        tuple(rows),
    )


# ---- groups and their figures ------------------------------------------------------------------


def geometric_mean(values: Iterable[float]) -> float | None:
    logarithms = [math.log(value) for value in values if value > 0]
    return math.exp(math.fsum(logarithms) / len(logarithms)) if logarithms else None


def counted_share(row: ReportRow) -> float | None:
    """The row's share of the roofline if means include it. None above the ceiling, since such a
    share shows that the ceiling is too low."""
    part = row.share
    return part if part and part <= ABOVE_CEILING else None


def _group_by_file_and_key(
    files: Sequence[ReportFile], key: Callable[[ReportRow], Key]
) -> dict[Key, list[ReportRow]]:
    groups: dict[Key, list[ReportRow]] = {}
    for row in all_rows(files):
        groups.setdefault((files[row.file_index].letter, *key(row)), []).append(row)
    return groups


def _family_cells(rows: Sequence[ReportRow]) -> Cells:
    good = [row for row in rows if row.is_plottable]
    shares = [part for row in good if (part := counted_share(row))]
    libraries = Counter(row.entry.library for row in rows if row.entry.library)
    bounds = Counter(row.raw.bound.by for row in good)
    stops = Counter(row.raw.statistics.stop for row in good)
    best = rate_text(
        _precision_of_family(rows),
        max((row.tflops for row in good if row.tflops), default=None),
        max((row.gbps for row in good if row.gbps), default=None),
    )
    return (
        ", ".join(name for name, _ in libraries.most_common()) or "-",
        str(len(rows)),
        str(len(good)),
        best,
        share(geometric_mean(shares)),
        share(min(shares, default=None)),
        _counts_text(bounds, ()),
        _counts_text(stops, ("converged",)),
    )


def _application_cells(rows_with_calls: Sequence[tuple[ReportRow, int]]) -> Cells:
    rows = [row for row, _ in rows_with_calls]
    good = [row for row in rows if row.is_plottable]
    total_ns = math.fsum(
        (row.entry.time_ns or 0.0) * calls for row, calls in rows_with_calls if row.is_plottable
    )
    tflops = geometric_mean([row.tflops for row in good if row.tflops])
    gbps = geometric_mean([row.gbps for row in good if row.gbps])
    return (
        str(len(rows)),
        str(len(good)),
        time_cell(total_ns if good else None),
        rate_text(_precision_of_family(rows), tflops, gbps),
        share(geometric_mean(part for row in good if (part := counted_share(row)))),
    )


def _precision_of_family(rows: Sequence[ReportRow]) -> object:
    """The precision of a family, which all its rows share."""
    return rows[0].entry.attributes.get("precision")


def _counts_text(counter: Counter[str | None], without: Sequence[str]) -> str:
    parts = [
        f"{count} {name.replace('_', ' ')}"
        for name, count in counter.most_common()
        if name and name not in without
    ]
    return ", ".join(parts) or "-"


def _tone_of_rows(rows: Sequence[ReportRow]) -> str:
    """Marks a line with rows that are wrong or lost."""
    bad = any(row.entry.status not in ("ok", "unsupported") for row in rows)
    return "slower" if bad else ""


# ---- the column that names the file ------------------------------------------------------------


def _file_letter_cell(files: Sequence[ReportFile], key: Sequence[str | int]) -> Cells:
    return (str(key[0]),) if len(files) > 1 else ()


def _with_file_column(files: Sequence[ReportFile], columns: Cells) -> Cells:
    return ("file", *columns) if len(files) > 1 else columns


def _text_column_numbers(many: bool, *columns: int) -> frozenset[int]:
    return frozenset((0, *(column + 1 for column in columns)) if many else columns)
