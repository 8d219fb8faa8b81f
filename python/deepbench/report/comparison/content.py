"""The content of a comparison: sections of text and tables that every format can render.

Result sets are called A, B, C in the order in which the user named them. A ratio is B's time over
A's: a ratio below 1 means that B is faster than A.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable, Iterator, Sequence

from deepbench.compare import Comparison, Group, PairwiseComparison
from deepbench.compare.reference_differences import reference_differences
from deepbench.compare.verdicts import DISTURBED
from deepbench.errors import counted
from deepbench.report.fields import percent, time_text

from .headline import headlines
from .rows import change_tables, missing_tables, row_tables
from .section import Section, TableRow
from .wording import factor_text, ratio_cells, result_set_letter
from .workloads import workload_sections

_JUDGED = ("faster", "slower", "same")

__all__ = ["Section", "TableRow", "sections", "summary"]


def sections(comparison: Comparison) -> list[Section]:
    """All sections in reading order: headline, summary, legend, models, groups, rows, footnotes."""
    indices = range(1, len(comparison.others) + 1)
    parts = [
        Section("", tuple(summary(comparison)), lead=tuple(headlines(comparison))),
        Section("", tuple(_legend_lines(comparison))),
        *(
            section
            for index, against in enumerate(comparison.others, start=1)
            for section in workload_sections(against.workload, index)
        ),
        *_group_table("families", "family", comparison, lambda one: one.families),
        *_group_table("applications", "application", comparison, lambda one: one.applications),
    ]
    for index in indices:
        parts += change_tables(comparison, index)
    parts += row_tables(comparison)
    for index in indices:
        parts += missing_tables(comparison, index)
    footnotes = dict.fromkeys(
        note
        for result_set in (comparison.base, *(against.result_set for against in comparison.others))
        for note in result_set.footnotes
    )
    if footnotes:
        published = comparison.base.published or any(
            against.result_set.published for against in comparison.others
        )
        parts.append(Section("published figures" if published else "references", tuple(footnotes)))
    return parts


def summary(comparison: Comparison) -> Iterator[str]:
    """For each result set one line of counts and, where rows state how often their calls are made,
    one for each regime on the time of all calls; then the noise limit, then the regressions."""
    for index, against in enumerate(comparison.others, start=1):
        letter = result_set_letter(index)
        yield f"{letter} against A: {_counts_line(letter, against)}"
        yield from _all_calls_lines(letter, against)
        yield from reference_differences(comparison.base, against, letter)
    verdicts = {row.verdict for against in comparison.others for row in against.rows}
    if verdicts & set(_JUDGED):
        yield _noise_line(comparison)
    # Published figures cannot cause a regression, so there is nothing to report.
    if comparison.regressions or not verdicts <= {"published", "inconsistent"}:
        yield from regression_lines(comparison)


def regression_lines(comparison: Comparison) -> Iterator[str]:
    """The line on regressions, which decide the exit status; none if every other side is a
    reference, which cannot cause a regression."""
    if all(against.result_set.is_reference for against in comparison.others):
        return
    regressions = comparison.regressions
    allowed = comparison.rules.fail_over
    beyond = f" of more than {percent(allowed)} %" if allowed else ""
    if not regressions:
        unjudged = (
            ": no pair of rows was judged, since other work disturbed them; the exit status is 0"
        )
        yield f"no regressions{beyond}{unjudged if is_all_disturbed(comparison) else ''}"
        return
    more = f" and {len(regressions) - 1} more" if len(regressions) > 1 else ""
    yield f"regressions{beyond}: {regressions[0]}{more}"


def is_all_disturbed(comparison: Comparison) -> bool:
    """Whether other work disturbed every pair of rows that has a ratio, and there is one."""
    rows = [row for against in comparison.others for row in against.rows if row.ratio is not None]
    return bool(rows) and all(row.verdict == DISTURBED for row in rows)


def _counts_line(name: str, against: PairwiseComparison) -> str:
    counts = [
        f"{count} {word}"
        for word in ("faster", "slower", "same", "unsure", "disturbed", "published", "inconsistent")
        if (count := sum(row.verdict == word and not (row.is_broken or row.is_fixed)
                         for row in against.rows))
    ]  # fmt: skip
    fixed = sum(row.is_fixed for row in against.rows)
    if fixed:
        counts.append(f"{fixed} fixed")
    if against.broken_rows:
        counts.append(f"{len(against.broken_rows)} broken")
    total = counted(len(against.rows), "row")
    parts = [f"{total} compared: {', '.join(counts)}"]
    algorithms = sum(row.same_algorithm is False for row in against.rows)
    if algorithms:
        parts.append(f"{algorithms} with another algorithm of the same library")
    explained_by_clock = [row.clocks for row in against.rows if row.explained_by_clock]
    if explained_by_clock:
        clock = percent(math.expm1(statistics.median(explained_by_clock)))
        parts.append(
            f"{len(explained_by_clock)} same only at equal clocks, which differ by {clock} % "
            "in the median (--any-clock counts them)"
        )
    for what, rows in (("only in A", against.missing), (f"only in {name}", against.extra)):
        if rows:
            parts.append(f"{len(rows)} {what}")
    if against.derived:
        sums = counted(against.derived, "sum")
        parts.append(f"{sums} over phases omitted, since the phases are compared")
    return "; ".join(parts)


def _all_calls_lines(name: str, against: PairwiseComparison) -> Iterator[str]:
    for regime, found in against.calls_by_regime.items():
        rows = "1 row" if found.rows == 1 else f"{found.rows} rows"
        times = " in A, ".join((time_text(found.base_ns), time_text(found.other_ns)))
        yield (
            f"all {found.calls} calls of {rows} ({regime}): {times} in {name}, weighted speedup "
            f"{factor_text(found.speedup)}"
        )


def _noise_line(comparison: Comparison) -> str:
    rules = comparison.rules
    threshold = percent(rules.change_threshold)
    text = f"same: the ratio is within {threshold} % of 1, or its interval includes 1"
    if rules.noise is not None:
        return text
    worst = {
        (row.base.op, str(row.base.attributes.get("precision"))): row.noise
        for against in comparison.others
        for row in against.rows
        if row.noise > rules.change_threshold
    }
    drifts = [f"{op} {precision} {percent(noise)} %" for (op, precision), noise in worst.items()]
    return (
        f"{text}; repeated runs of one setup differ by more: {', '.join(drifts)}"
        if drifts
        else text
    )


def _legend_lines(comparison: Comparison) -> Iterator[str]:
    result_sets = [comparison.base, *(against.result_set for against in comparison.others)]
    for index, result_set in enumerate(result_sets):
        about = (
            "published figures" if result_set.about in ("", result_set.name) else result_set.about
        )
        yield f"{result_set_letter(index)} = {result_set.name} ({about})"
    yield "B/A is the time of B over the time of A: below 1, B is faster"


def _group_table(
    heading: str,
    what: str,
    comparison: Comparison,
    of: Callable[[PairwiseComparison], Sequence[Group]],
) -> list[Section]:
    """A table of geometric means with one line for each group of each result set. There is none if
    every result set has a single group, which the headline already covers."""
    if all(len(of(against)) < 2 for against in comparison.others):
        return []
    groups = [
        (index, group)
        for index, against in enumerate(comparison.others, start=1)
        for group in of(against)
    ]
    several = len(comparison.others) > 1
    left_out = any(group.left_out for _, group in groups)
    interval = any(group.ratio.interval is not None for _, group in groups)
    changed = any(group.faster or group.slower for _, group in groups)
    counted = any(group.all_calls is not None for _, group in groups)
    table = {
        "": several, what: True, "rows": True, "excluded": left_out,
        "mean ratio" if several else "B/A": True, "95 %": interval,
        "faster": changed, "slower": changed, "verdict": True,
        "calls": counted, "weighted speedup": counted,
    }  # fmt: skip
    shown = [index for index, wanted in enumerate(table.values()) if wanted]
    rows = []
    for index, group in groups:
        cells = _group_cells(f"{result_set_letter(index)}/A", group)
        rows.append(TableRow(tuple(cells[column] for column in shown), _tone_of_group(group)))
    columns = [name for name, wanted in table.items() if wanted]
    words = frozenset(columns.index(name) for name in columns if name in ("", what, "verdict"))
    optional = tuple(columns.index(name) for name in ("95 %",) if name in columns)
    return [Section(heading, (), tuple(columns), words, tuple(rows), optional=optional)]


def _group_cells(name: str, group: Group) -> list[str]:
    counts = [str(number) for number in (group.rows, group.left_out)]
    changed = [str(group.faster), str(group.slower)]
    return [
        name,
        group.name,
        *counts,
        *ratio_cells(group.ratio),
        *changed,
        group.verdict,
        *_calls_cells(group),
    ]


def _calls_cells(group: Group) -> tuple[str, str]:
    found = group.all_calls
    return ("-", "-") if found is None else (str(found.calls), factor_text(found.speedup))


def _tone_of_group(group: Group) -> str:
    return group.verdict if group.verdict in ("faster", "slower") else ""
