"""What the rows come to, by family and by application: a line for each file and regime, so that
nothing is averaged over two of them."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace

from deepbench.fleet import Fleet
from deepbench.report.comparison.content import Row, Section
from deepbench.report.fields import ABOVE_CEILING, get, rate, share, time_cell, work_unit
from deepbench.report.fleet import fleet_section

from .runs import Run, Shown, all_rows

_NO_APPLICATION = "none"
Key = tuple[str | int, ...]
Cells = tuple[str, ...]


def rate_text(precision: object, tflops: float | None, gbps: float | None) -> str:
    """A rate with its unit: rows with FLOPs have the one, others the other."""
    if tflops is not None:
        return f"{rate(tflops)} {work_unit(precision)}"
    return f"{rate(gbps)} GB/s" if gbps is not None else "-"


def families(files: Sequence[Run]) -> Section:
    """By operation, phase and precision."""
    columns = ("family", "regime", "library", "rows", "ok", "best rate", "mean % of roofline",
               "lowest", "bound by", "not converged")  # fmt: skip
    groups = _grouped(files, lambda shown: (shown.family, shown.regime))
    rows = [
        Row((*_letter(files, key), *map(str, key[1:]), *_family_cells(rows)), _tone(rows))
        for key, rows in groups.items()
    ]
    many = len(files) > 1
    return Section(
        "By family", (_MEANS,), _headed(files, columns), _words(many, 0, 1, 2, 8), tuple(rows)
    )


def applications(files: Sequence[Run]) -> Section:
    """By what the problems are from."""
    columns = ("application", "family", "regime", "rows", "ok", "time of all", "mean rate",
               "mean % of roofline")  # fmt: skip
    groups = _grouped(
        files,
        lambda shown: (shown.entry.application or _NO_APPLICATION, shown.family, shown.regime),
    )
    rows = [
        Row((*_letter(files, key), *map(str, key[1:]), *_application_cells(rows)), _tone(rows))
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


def fleets(files: Sequence[Run]) -> list[Section]:
    """The ranks of each file that several have made, each on its own device."""
    found = []
    for run in files:
        fleet = Fleet()
        fleet.begin(run.result.context)
        for row in run.result.rows:
            fleet.add(row)
        section = fleet_section(fleet)
        if section:
            whose = f" of {run.letter}" if len(files) > 1 else ""
            found.append(replace(section, heading=section.heading + whose))
    return found


def not_good(files: Sequence[Run]) -> Section | None:
    """Rows that are not ok, by what they say."""
    bad: dict[tuple[str, ...], list[Shown]] = {}
    for shown in all_rows(files):
        entry = shown.entry
        if entry.status != "ok" or entry.doubt:
            status = entry.status if entry.status != "ok" else "inconsistent"
            reason = entry.doubt or entry.reason or "no reason given"
            key = (files[shown.run].letter, status, shown.family, reason)
            bad.setdefault(key, []).append(shown)
    if not bad:
        return None
    columns = ("status", "family", "reason", "rows", "first of them")
    rows = [
        Row((
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


def counted_share(shown: Shown) -> float | None:
    """The row's share of the roofline as means count it; None where it shows the ceiling to be too
    low."""
    part = shown.share
    return part if part and part <= ABOVE_CEILING else None


def _grouped(files: Sequence[Run], key: Callable[[Shown], Key]) -> dict[Key, list[Shown]]:
    groups: dict[Key, list[Shown]] = {}
    for shown in all_rows(files):
        groups.setdefault((files[shown.run].letter, *key(shown)), []).append(shown)
    return groups


def _family_cells(rows: Sequence[Shown]) -> Cells:
    good = [shown for shown in rows if shown.good]
    shares = [part for shown in good if (part := counted_share(shown))]
    libraries = Counter(shown.entry.library for shown in rows if shown.entry.library)
    bounds = Counter(get(shown.row, "bound.by") for shown in good)
    stops = Counter(get(shown.row, "statistics.stop") for shown in good)
    best = rate_text(
        _precision(rows),
        max((shown.tflops for shown in good if shown.tflops), default=None),
        max((shown.gbps for shown in good if shown.gbps), default=None),
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


def _application_cells(rows: Sequence[Shown]) -> Cells:
    good = [shown for shown in rows if shown.good]
    total_ns = math.fsum(shown.entry.time_ns or 0.0 for shown in good)
    tflops = geometric_mean([shown.tflops for shown in good if shown.tflops])
    gbps = geometric_mean([shown.gbps for shown in good if shown.gbps])
    return (
        str(len(rows)),
        str(len(good)),
        time_cell(total_ns if good else None),
        rate_text(_precision(rows), tflops, gbps),
        share(geometric_mean(part for shown in good if (part := counted_share(shown)))),
    )


def _precision(rows: Sequence[Shown]) -> object:
    """That of a family, which all of its rows have."""
    return rows[0].entry.attributes.get("precision")


def _counts(counter: Counter[str | None], without: Sequence[str]) -> str:
    parts = [
        f"{count} {name.replace('_', ' ')}"
        for name, count in counter.most_common()
        if name and name not in without
    ]
    return ", ".join(parts) or "-"


def _tone(rows: Sequence[Shown]) -> str:
    """Marks a line some of whose rows are wrong or were lost."""
    bad = any(shown.entry.status not in ("ok", "unsupported") for shown in rows)
    return "slower" if bad else ""


# ---- the column that names the file, where there are several -----------------------------------


def _letter(files: Sequence[Run], key: Sequence[str | int]) -> Cells:
    return (str(key[0]),) if len(files) > 1 else ()


def _headed(files: Sequence[Run], columns: Cells) -> Cells:
    return ("file", *columns) if len(files) > 1 else columns


def _words(many: bool, *columns: int) -> frozenset[int]:
    return frozenset((0, *(column + 1 for column in columns)) if many else columns)
