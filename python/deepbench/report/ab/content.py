"""The content of a result: sections of text and tables that every format can render. A ratio is B's
time over A's: above 1, B is slower."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from deepbench.ab.paired_test import ALPHA, DIFFERENCE, PairedTest
from deepbench.ab.result import AbResult, Mean, RowResult, verdict
from deepbench.json_types import JsonObject
from deepbench.report.comparison.rows import shared_and_differing_attributes
from deepbench.report.comparison.section import Section, TableRow
from deepbench.report.comparison.wording import number_text
from deepbench.report.fields import percent, time_cell
from deepbench.report.outline import title, value_text

_UNRESOLVED = f"cannot resolve {percent(DIFFERENCE, 0)} %"
_SURE = f"{percent(1 - ALPHA, 0)} %"  # the confidence of intervals
_MOST_NAMED = 10
_TONES = {"slower": "slower", "faster": "faster", "failed": "slower"}


def sections(result: AbResult) -> list[Section]:
    """All sections in reading order: the finding, the sides, failed rows, means, rows."""
    return [
        Section("", tuple(_summary(result)), lead=(headline(result),)),
        Section("", tuple(_sides(result))),
        *_failures(result),
        *_means(result.families),
        *_row_tables(result.rows),
    ]


def headline(result: AbResult) -> str:
    """The finding of the run in one sentence."""
    pairs = f"{result.pairs} pair" + ("" if result.pairs == 1 else "s")
    if result.is_different:
        found = [row.verdict for row in result.decisive]
        counts = [f"{found.count(word)} {word} in B" for word in ("slower", "faster")
                  if word in found]  # fmt: skip
        if result.one_sided:
            counts.append(f"{len(result.one_sided)} in one of them only")
        return f"A and B differ: of {_rows_text(len(result.rows))} {', '.join(counts)} ({pairs})"
    if all(row.verdict in ("unresolved", "failed") for row in result.rows):
        return f"{_UNRESOLVED}: no difference found, and none of 1 % would be ({pairs})"
    return f"no difference between A and B ({_rows_text(len(result.tested))}, {pairs})"


def _summary(result: AbResult) -> Iterator[str]:
    if result.mean is not None and result.mean.rows > 1:
        ratio, interval = _ratio_cells(result.mean.test)
        yield (
            f"geometric mean of {result.mean.rows} rows: B/A {ratio}, {_SURE} interval {interval}"
        )
    different = [row for row in result.tested if row.test and row.test.is_different]
    if len(different) > len(result.decisive):
        rest = len(different) - len(result.decisive)
        yield (
            f"{_rows_text(rest)} of {len(result.tested)} differ at an error of "
            f"{percent(ALPHA, 0)} % each, and not by Holm's rule for all rows: they may be chance"
        )
    yield from _unresolved(result.unresolved)
    disturbed = sum(row.disturbed for row in result.rows)
    if disturbed:
        yield f"other work disturbed {disturbed} pairs of rows"


def _unresolved(rows: Sequence[RowResult]) -> Iterator[str]:
    deviations = [row.test.deviation for row in rows if row.test is not None]
    if deviations:
        yield (
            f"{_UNRESOLVED} in {_rows_text(len(deviations))}: pairs repeat within "
            f"{_percent_text(max(deviations))} at worst"
        )
    if lacking := len(rows) - len(deviations):
        yield f"{_UNRESOLVED} in {_rows_text(lacking)}: fewer than two pairs have both times"


def _sides(result: AbResult) -> Iterator[str]:
    for setup in result.setups:
        yield f"{setup.letter} = {setup.text}"
    if result.same_environment:
        yield "A and B have the same environment: what differs is chance"
    same = [one for one in result.libraries if one.is_same]
    other = [one for one in result.libraries if not one.is_same]
    for library in other:
        yield f"{library.name}: A {_library_text(library.a)}, B {_library_text(library.b)}"
    if same:
        named = ", ".join(f"{one.name} {_version(one.a)}" for one in same)
        both = "A and B loaded the same " + ("library" if len(same) == 1 else "libraries")
        yield f"{both}: {named}"
    yield f"B/A is the time of B over the time of A: below 1, B is faster; intervals: {_SURE}"


def _library_text(facts: JsonObject | None) -> str:
    if facts is None:
        return "none"
    return f"{_version(facts)} ({facts.get('path') or 'built in'})"


def _version(facts: JsonObject | None) -> str:
    return str((facts or {}).get("version") or "of an unknown version")


def _failures(result: AbResult) -> Iterator[Section]:
    lines = [
        f"{letter}: {entry.problem}: {entry.status}: {entry.reason or 'no reason given'}"
        for row in result.rows
        for letter, entry in (("A", row.a), ("B", row.b))
        if entry.status != "ok"
    ]
    if not lines:
        return
    more = len(lines) - _MOST_NAMED
    rest = (f"and {more} more",) if more > 0 else ()
    yield Section("rows that are not ok", (*lines[:_MOST_NAMED], *rest))


def _means(means: Sequence[Mean]) -> Iterator[Section]:
    if len(means) < 2:
        return
    rows = tuple(
        TableRow(
            (mean.name, str(mean.rows), *_ratio_cells(mean.test), _verdict_text(verdict(mean.test)))
        )
        for mean in means
    )
    columns = ("family", "rows", "B/A", _SURE, "verdict")
    yield Section("families", (), columns, frozenset({0, 4}), rows)


def _row_tables(rows: Sequence[RowResult]) -> Iterator[Section]:
    """One table for each operation."""
    by_op: dict[str, list[RowResult]] = {}
    for row in rows:
        by_op.setdefault(row.a.op, []).append(row)
    for op, of_op in by_op.items():
        shared, names = shared_and_differing_attributes([row.a for row in of_op])
        columns = (
            *map(title, names),
            "A time", "B time", "B/A", _SURE, "pairs", "repeat within", "finds", "verdict",
        )  # fmt: skip
        yield Section(
            f"{op}: rows",
            tuple(f"all: {text}" for text in shared),
            columns,
            frozenset({len(columns) - 1}),
            tuple(TableRow(_cells(row, names), _TONES.get(row.verdict, "")) for row in of_op),
            optional=tuple(len(names) + column for column in (4, 6, 5)),
        )


def _cells(row: RowResult, names: Sequence[str]) -> tuple[str, ...]:
    test = row.test
    return (
        *(value_text(row.a.attributes.get(name)) for name in names),
        time_cell(row.a.time_ns),
        time_cell(row.b.time_ns, row.a.time_ns),
        *_ratio_cells(test),
        str(len(row.pairs)),
        "-" if test is None else _percent_text(test.deviation),
        "-" if test is None else _percent_text(test.resolution),
        _row_verdict_text(row),
    )


def _row_verdict_text(row: RowResult) -> str:
    return _verdict_text(row.verdict) if row.failed_in is None else f"not ok in {row.failed_in}"


def _verdict_text(word: str) -> str:
    return _UNRESOLVED if word == "unresolved" else word


def _ratio_cells(test: PairedTest | None) -> tuple[str, str]:
    """The ratio and its limits, with one digit more than in a comparison, because a difference of 1
    % must be visible."""
    if test is None:
        return "-", "-"
    low, high = test.interval
    return _ratio_text(test.ratio), f"{_ratio_text(low)} to {_ratio_text(high)}"


def _ratio_text(ratio: float) -> str:
    return f"{ratio:.4f}" if 0.1 <= ratio < 10 else number_text(ratio)


def _percent_text(share: float) -> str:
    """A percentage such as '0.32 %'. An amount beyond 100 %, as on a machine with other work, is
    meaningless and is not stated."""
    return f"{percent(share, 2)} %" if share < 1 else "over 100 %"


def _rows_text(count: int) -> str:
    return "1 row" if count == 1 else f"{count} rows"
