"""The headline of a report in sentences: the machine, how many rows are ok, how close they come to
the roofline, and the best and the worst family."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from deepbench.compare.result_set import printable
from deepbench.errors import counted
from deepbench.report.fields import get, share, threads_text

from .report_rows import ReportFile, ReportRow
from .summary import counted_share, geometric_mean, rate_text

_LISTED_DEVICES = 4  # devices that get a paragraph each
_BAD_FIRST = ("incorrect", "failed")


def headline(files: Sequence[ReportFile]) -> list[str]:
    """One paragraph for each of the first devices, and one for all further devices."""
    by_device: dict[str, list[ReportFile]] = {}
    for file in files:
        by_device.setdefault(_machine_text(file), []).append(file)
    paragraphs = [
        " ".join(_machine_sentences(machine, runs))
        for machine, runs in list(by_device.items())[:_LISTED_DEVICES]
    ]
    more = len(by_device) - _LISTED_DEVICES
    if more > 0:
        paragraphs.append(f"{more} more devices are in the summary below.")
    return paragraphs


def _machine_text(file: ReportFile) -> str:
    """'NVIDIA H200', 'AMD EPYC, 2 threads', '8 ranks of NVIDIA H200'."""
    context = file.result.context
    ranks, threads = get(context, "ranks.count"), context.get("threads")
    if isinstance(ranks, int) and ranks > 1:
        return f"{ranks} ranks of {file.device}"
    return f"{file.device}, {printable(threads_text(threads))}" if threads else file.device


def _machine_sentences(machine: str, runs: Sequence[ReportFile]) -> Iterator[str]:
    rows = [row for file in runs for row in file.rows]
    yield f"{machine}: {_status_sentence(runs, rows)}."
    above = sum(bool(row.share) and counted_share(row) is None for row in rows)
    shares = [(row, part) for row in rows if (part := counted_share(row))]
    if shares:
        yield from _share_sentences(shares)
    elif not above:
        yield from _highest_rate_sentence(rows)
        yield "No row has a share of the roofline."
    if above:
        its = "its" if above == 1 else "their"
        yield f"The mean excludes {_row_count_text(above)} above {its} ceiling."


def _highest_rate_sentence(rows: Sequence[ReportRow]) -> Iterator[str]:
    """The highest rate, for operations without a roofline, such as all_reduce between devices."""
    rates = [(row.gbps, row) for row in rows if row.is_plottable and row.gbps]
    if rates:
        gbps, row = max(rates, key=lambda one: one[0])
        yield f"The highest rate is {rate_text(None, None, gbps)}, of {row.entry.problem}."


def _share_sentences(shares: Sequence[tuple[ReportRow, float]]) -> Iterator[str]:
    """The share of the roofline in the most frequent regime. A mean over several regimes would be
    meaningless."""
    regimes = Counter(row.regime for row, _ in shares)
    regime, count = regimes.most_common(1)[0]
    inside = [(row, part) for row, part in shares if row.regime == regime]
    mean = share(geometric_mean(part for _, part in inside))
    reach = "row reaches" if count == 1 else "rows reach"
    many = " in the geometric mean" if count > 1 else ""
    yield f"In the regime '{regime}', {count} {reach} {mean} % of the roofline{many}."
    yield from _family_sentences(inside)
    others = sum(regimes.values()) - count
    if others:
        verb = _is_or_are(others)
        yield f"{_row_count_text(others)} of other regimes {verb} in the summary below."


def _status_sentence(runs: Sequence[ReportFile], rows: Sequence[ReportRow]) -> str:
    """'157 of 160 rows are ok (2 incorrect, 1 unsupported)'."""
    good = sum(row.is_plottable for row in rows)
    planned = max(len(rows), sum(int(file.result.context["rows"]) for file in runs))
    statuses = Counter(
        "inconsistent" if row.entry.doubt else row.entry.status
        for row in rows
        if not row.is_plottable
    )
    statuses["not in the file"] = planned - len(rows)
    names = sorted(statuses, key=lambda name: (name not in _BAD_FIRST, -statuses[name]))
    counts = [f"{statuses[name]} {name.replace('_', ' ')}" for name in names if statuses[name]]
    if planned and good == planned:
        return "the only row is ok" if planned == 1 else f"all {planned} rows are ok"
    rest = f" ({', '.join(counts)})" if counts else ""
    return f"{good} of {_row_count_text(planned)} {_is_or_are(good)} ok{rest}"


def _family_sentences(shares: Sequence[tuple[ReportRow, float]]) -> Iterator[str]:
    """The best and the worst family by geometric mean."""
    families: dict[str, list[float]] = {}
    for row, part in shares:
        families.setdefault(row.family, []).append(part)
    means = sorted(
        (mean, name) for name, parts in families.items() if (mean := geometric_mean(parts))
    )
    if len(means) == 1:
        if len(shares) > 1:
            parts = families[means[0][1]]
            yield f"All are of {means[0][1]}, from {share(min(parts))} to {share(max(parts))} %."
        return
    (lowest, worst), (highest, best) = means[0], means[-1]
    if share(lowest) == share(highest):
        yield f"Each of {len(means)} families reaches {share(highest)} %."
        return
    yield (
        f"The best of {len(means)} families, {best}, reaches {share(highest)} %, "
        f"the worst, {worst}, {share(lowest)} %."
    )


def _row_count_text(count: int) -> str:
    return counted(count, "row")


def _is_or_are(count: int) -> str:
    return "is" if count == 1 else "are"
