"""What the rows come to, by family and by application: a line for each file and regime, so that
nothing is averaged over two of them."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace

from deepbench.report.comparison.content import Section, TableRow
from deepbench.report.fields import ABOVE_CEILING, get, rate, share, time_cell, work_unit
from deepbench.report.fleet import fleet_section
from deepbench.results.fleet import FleetSummary

from .report_rows import ReportFile, ReportRow, all_rows

_NO_APPLICATION = "none"
Key = tuple[str | int, ...]
Cells = tuple[str, ...]


def rate_text(precision: object, tflops: float | None, gbps: float | None) -> str:
    """A rate with its unit: rows with FLOPs have the one, others the other."""
    if tflops is not None:
        return f"{rate(tflops)} {work_unit(precision)}"
    return f"{rate(gbps)} GB/s" if gbps is not None else "-"


def families(files: Sequence[ReportFile]) -> Section:
    """By operation, phase and precision."""
    columns = ("family", "regime", "library", "rows", "ok", "best rate", "mean % of roofline",
               "lowest", "bound by", "not converged")  # fmt: skip
    groups = _grouped(files, lambda row: (row.family, row.regime))
    rows = [
        TableRow((*_letter(files, key), *map(str, key[1:]), *_family_cells(rows)), _tone(rows))
        for key, rows in groups.items()
    ]
    many = len(files) > 1
    return Section(
        "By family", (_MEANS,), _headed(files, columns), _words(many, 0, 1, 2, 8), tuple(rows)
    )


def applications(files: Sequence[ReportFile]) -> Section:
    """By what the problems are from."""
    columns = ("application", "family", "regime", "rows", "ok", "time of all", "mean rate",
               "mean % of roofline")  # fmt: skip
    groups = _grouped(
        files,
        lambda row: (row.entry.application or _NO_APPLICATION, row.family, row.regime),
    )
    rows = [
        TableRow((*_letter(files, key), *map(str, key[1:]), *_application_cells(rows)), _tone(rows))
        for key, rows in groups.items()
    ]
    lines = ("The time is of one call of every row that is ok; means are geometric.",)
    many = len(files) > 1
    return Section(
        "By application", lines, _headed(files, columns), _words(many, 0, 1, 2), tuple(rows)
    )


_MEANS = (
    "Means are geometric, over the rows that are ok and not above their ceiling. A line is of one "
    "file and one regime."
)


def fleets(files: Sequence[ReportFile]) -> list[Section]:
    """The ranks of each file that several have made, each on its own device."""
    found = []
    for file in files:
        fleet = FleetSummary()
        fleet.begin(file.result.context)
        for row in file.result.rows:
            fleet.add(row)
        section = fleet_section(fleet)
        if section:
            whose = f" of {file.letter}" if len(files) > 1 else ""
            found.append(replace(section, heading=section.heading + whose))
    return found


def not_ok(files: Sequence[ReportFile]) -> Section | None:
    """Rows that are not ok, by what they say."""
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
    columns = ("status", "family", "reason", "rows", "first of them")
    rows = [
        TableRow((
            *_letter(files, key), status.replace("_", " "), family, reason, str(len(group)),
            group[0].entry.problem,
        ), "" if status == "unsupported" else "slower")
        for key, group in bad.items()
        for _, status, family, reason in [key]
    ]  # fmt: skip
    lines = ("None of these is in a plot or in a mean.",)
    many = len(files) > 1
    return Section(
        "Rows that are not ok",
        lines,
        _headed(files, columns),
        _words(many, 0, 1, 2, 4),
        tuple(rows),
    )


# ---- groups and their figures ------------------------------------------------------------------


def geometric_mean(values: Iterable[float]) -> float | None:
    logarithms = [math.log(value) for value in values if value > 0]
    return math.exp(math.fsum(logarithms) / len(logarithms)) if logarithms else None


def counted_share(row: ReportRow) -> float | None:
    """The row's share of the roofline as means count it; None where it shows the ceiling to be too
    low."""
    part = row.share
    return part if part and part <= ABOVE_CEILING else None


def _grouped(
    files: Sequence[ReportFile], key: Callable[[ReportRow], Key]
) -> dict[Key, list[ReportRow]]:
    groups: dict[Key, list[ReportRow]] = {}
    for row in all_rows(files):
        groups.setdefault((files[row.file_index].letter, *key(row)), []).append(row)
    return groups


def _family_cells(rows: Sequence[ReportRow]) -> Cells:
    good = [row for row in rows if row.good]
    shares = [part for row in good if (part := counted_share(row))]
    libraries = Counter(row.entry.library for row in rows if row.entry.library)
    bounds = Counter(get(row.raw, "bound.by") for row in good)
    stops = Counter(get(row.raw, "statistics.stop") for row in good)
    best = rate_text(
        _precision(rows),
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
        _counts(bounds, ()),
        _counts(stops, ("converged",)),
    )


def _application_cells(rows: Sequence[ReportRow]) -> Cells:
    good = [row for row in rows if row.good]
    total_ns = math.fsum(row.entry.time_ns or 0.0 for row in good)
    tflops = geometric_mean([row.tflops for row in good if row.tflops])
    gbps = geometric_mean([row.gbps for row in good if row.gbps])
    return (
        str(len(rows)),
        str(len(good)),
        time_cell(total_ns if good else None),
        rate_text(_precision(rows), tflops, gbps),
        share(geometric_mean(part for row in good if (part := counted_share(row)))),
    )


def _precision(rows: Sequence[ReportRow]) -> object:
    """That of a family, which all of its rows have."""
    return rows[0].entry.attributes.get("precision")


def _counts(counter: Counter[str | None], without: Sequence[str]) -> str:
    parts = [
        f"{count} {name.replace('_', ' ')}"
        for name, count in counter.most_common()
        if name and name not in without
    ]
    return ", ".join(parts) or "-"


def _tone(rows: Sequence[ReportRow]) -> str:
    """Marks a line some of whose rows are wrong or were lost."""
    bad = any(row.entry.status not in ("ok", "unsupported") for row in rows)
    return "slower" if bad else ""


# ---- the column that names the file, where there are several -----------------------------------


def _letter(files: Sequence[ReportFile], key: Sequence[str | int]) -> Cells:
    return (str(key[0]),) if len(files) > 1 else ()


def _headed(files: Sequence[ReportFile], columns: Cells) -> Cells:
    return ("file", *columns) if len(files) > 1 else columns


def _words(many: bool, *columns: int) -> frozenset[int]:
    return frozenset((0, *(column + 1 for column in columns)) if many else columns)
