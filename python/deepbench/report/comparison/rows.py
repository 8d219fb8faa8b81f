"""The tables of a comparison: rows by operation, changed rows, and rows without a partner.

Attributes and remarks that all rows of a table share appear once, above the table.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from deepbench.compare import ComparedRow, Comparison, Entry, PairwiseComparison, Unmatched
from deepbench.compare.regimes import cache_state, regime_value
from deepbench.report.columns import RateCells
from deepbench.report.fields import rate, time_cell, work_unit
from deepbench.report.outline import title, value_text

from .remarks import remarks
from .section import Section, TableRow
from .wording import limits_text, ratio_cells, ratio_text, result_set_letter

MOST_CHANGED = 10
_MOST_MISSING = 10  # for each reason
_NO_TIME = time_cell(None)
# The regimes in which a run may measure each problem twice.
_REGIMES: Mapping[str, Callable[[Entry], object]] = {
    "cache": cache_state,
    "power": lambda entry: regime_value(entry, "power"),
}

# The key is the id of a row of A, and then the index of a result set.
Partners = Mapping[int, Mapping[int, ComparedRow]]


def row_tables(comparison: Comparison) -> list[Section]:
    """One table for each operation, with the rows of A that have a partner in any result set."""
    partners: dict[int, dict[int, ComparedRow]] = {}
    for index, against in enumerate(comparison.others, start=1):
        for row in against.rows:
            partners.setdefault(id(row.base), {})[index] = row
    by_op: dict[str, list[Entry]] = {}
    for entry in comparison.base.entries:
        if id(entry) in partners:
            by_op.setdefault(entry.op, []).append(entry)
    indices = range(1, len(comparison.others) + 1)
    return [_row_table(op, entries, partners, indices) for op, entries in by_op.items()]


@dataclass(frozen=True)
class _RowColumn:
    """A column of a table of rows. `text` returns the cell for a row of A and its partners."""

    title: str
    text: Callable[[Entry, Mapping[int, ComparedRow]], str]
    words: bool = False
    dispensable: int = 0  # a narrow screen drops columns with a higher value first
    implied: bool = False  # whether other columns imply this one


def _row_table(
    op: str, entries: Sequence[Entry], partners: Partners, indices: Sequence[int]
) -> Section:
    shared, names = shared_and_differing_attributes(entries)
    texts_of = {id(entry): _labeled_remarks(partners[id(entry)], indices) for entry in entries}
    every = list(texts_of.values())
    always = [text for text in every[0] if all(text in texts for texts in every)]

    def remarks_of(entry: Entry, found: Mapping[int, ComparedRow]) -> str:
        return "; ".join(text for text in texts_of[id(entry)] if text not in always)

    columns = [_RowColumn(title(name), _attribute_cell(name)) for name in names]
    columns += [
        _RowColumn(word, _regime_cell(of), words=True)
        for word, of in _REGIMES.items()
        if len({of(entry) for entry in entries}) > 1
    ]
    columns.append(_RowColumn("A time", lambda entry, found: time_cell(entry.time_ns)))
    published = [index for index in indices if _all_published(entries, partners, index)]
    for index in indices:
        columns += _side_columns(index)[: -1 if index in published else None]
    if any(entry.flops for entry in entries):
        columns.append(_arithmetic_rate_column("A", entries, lambda entry, found: entry))
        for index in indices:
            others = [found[index].other for entry in entries
                      if index in (found := partners[id(entry)])]  # fmt: skip
            columns.append(
                _arithmetic_rate_column(
                    result_set_letter(index), others, _other_entry_getter(index)
                )
            )
    elif any(entry.bytes for entry in entries):
        columns.append(_bandwidth_column("A", lambda entry, found: entry))
        columns += [
            _bandwidth_column(result_set_letter(index), _other_entry_getter(index))
            for index in indices
        ]
    columns.append(_RowColumn("remarks", remarks_of, words=True))
    cells = [[column.text(entry, partners[id(entry)]) for entry in entries] for column in columns]
    empty = {"95 %": "-", "remarks": ""}
    shown = [i for i, column in enumerate(columns)
             if set(cells[i]) != {empty.get(column.title)}]  # fmt: skip
    columns, cells = [columns[i] for i in shown], [cells[i] for i in shown]
    rows = [
        TableRow(row, _tone_of_rows(partners[id(entry)].values()))
        for entry, row in zip(entries, zip(*cells, strict=True), strict=True)
    ]
    column_indices = range(len(columns))
    optional = [i for i in column_indices if columns[i].dispensable]
    optional.sort(key=lambda i: -columns[i].dispensable)
    verdicts = [f"{result_set_letter(index)}: published, without a verdict" for index in published]
    return Section(
        f"{op}: rows",
        tuple(f"all: {text}" for text in (*shared, *verdicts, *always)),
        tuple(column.title for column in columns),
        frozenset(i for i in column_indices if columns[i].words),
        tuple(rows),
        wraps=columns[-1].title == "remarks",
        optional=tuple(optional),
        implied=tuple(i for i in column_indices if columns[i].implied),
    )


def _all_published(entries: Sequence[Entry], partners: Partners, index: int) -> bool:
    """Whether every pair with this result set has the verdict `published`."""
    rows = [partners[id(entry)].get(index) for entry in entries]
    return {row.verdict for row in rows if row is not None} == {"published"}


def _attribute_cell(name: str) -> Callable[[Entry, Mapping[int, ComparedRow]], str]:
    return lambda entry, found: value_text(entry.attributes.get(name))


def _regime_cell(of: Callable[[Entry], object]) -> Callable[[Entry, object], str]:
    return lambda entry, found: str(of(entry) or "-")


def _side_columns(index: int) -> list[_RowColumn]:
    """Time, ratio, interval and verdict of a result set that is compared with A."""

    def cell_of_other(text: Callable[[ComparedRow], str], missing: str = "-") -> Callable[..., str]:
        return lambda entry, found: text(found[index]) if index in found else missing

    name = result_set_letter(index)
    return [
        # Implied by A's time and the ratio.
        _RowColumn(f"{name} time", cell_of_other(_other_time_text, _NO_TIME), implied=True),
        _RowColumn(f"{name}/A", cell_of_other(lambda row: ratio_text(row.ratio))),
        _RowColumn("95 %", cell_of_other(lambda row: limits_text(row.ratio)), dispensable=1),
        _RowColumn("verdict", cell_of_other(lambda row: row.verdict, "missing"), words=True),
    ]


def _other_time_text(row: ComparedRow) -> str:
    """Uses the unit of A's time, so that the two can be compared at a glance."""
    return time_cell(row.other.time_ns, like_ns=row.base.time_ns)


def _other_entry_getter(index: int) -> Callable[[Entry, Mapping[int, ComparedRow]], Entry | None]:
    return lambda entry, found: found[index].other if index in found else None


def _arithmetic_rate_column(
    name: str,
    entries: Iterable[Entry],
    of: Callable[[Entry, Mapping[int, ComparedRow]], Entry | None],
) -> _RowColumn:
    """The arithmetic rates of one result set. `entries` are its rows of this operation."""
    units = frozenset(work_unit(entry.attributes.get("precision")) for entry in entries)
    cells = RateCells.for_units(units, f"{name} ")

    def text(entry: Entry, found: Mapping[int, ComparedRow]) -> str:
        one = of(entry, found)
        if one is None:
            return cells.text(None, None)
        return cells.text(one.tflops, one.attributes.get("precision"))

    return _RowColumn(cells.title, text, dispensable=2)


def _bandwidth_column(
    name: str, of: Callable[[Entry, Mapping[int, ComparedRow]], Entry | None]
) -> _RowColumn:
    """The rates of one result set for an operation without arithmetic, in GB/s."""

    def text(entry: Entry, found: Mapping[int, ComparedRow]) -> str:
        one = of(entry, found)
        return rate(None if one is None else one.gbps)

    return _RowColumn(f"{name} GB/s", text, dispensable=2)


def shared_and_differing_attributes(entries: Sequence[Entry]) -> tuple[list[str], list[str]]:
    """Returns the attributes that all rows share, as one text, and the names of the other
    attributes."""
    names = list(dict.fromkeys(name for entry in entries for name in entry.attributes))
    if len(entries) < 2:
        return [], names
    values = {name: {value_text(entry.attributes.get(name)) for entry in entries} for name in names}
    alike = [f"{name}={next(iter(values[name]))}" for name in names if len(values[name]) == 1]
    return [" ".join(alike)] if alike else [], [name for name in names if len(values[name]) > 1]


def _labeled_remarks(found: Mapping[int, ComparedRow], indices: Sequence[int]) -> list[str]:
    """The remarks on all pairs of a row of A. If there are several result sets, each remark names
    its letter."""
    texts = []
    for index, row in found.items():
        name = result_set_letter(index)
        for text in remarks(row, name):
            is_clear = len(indices) == 1 or text.startswith((f"{name}: ", "A: "))
            texts.append(text if is_clear else f"{name}: {text}")
    return list(dict.fromkeys(texts))


def _tone_of_rows(rows: Iterable[ComparedRow]) -> str:
    tones = ["slower" if row.is_broken else row.verdict for row in rows]
    return next((word for word in ("slower", "faster") if word in tones), "")


def change_tables(comparison: Comparison, index: int) -> list[Section]:
    """The rows that changed most in either direction, and the broken rows."""
    against, name = comparison.others[index - 1], result_set_letter(index)
    found = []
    for verdict in ("slower", "faster"):
        changed = against.changed_rows(verdict)
        # In a smaller table, the rows themselves show it.
        if changed and len(against.rows) > MOST_CHANGED:
            shown = changed[:MOST_CHANGED]
            rest = f", the first {len(shown)} of {len(changed)}" if changed != shown else ""
            problems = _short_problems(against)
            rows = [
                TableRow((*ratio_cells(row.ratio), problems[id(row)]), verdict) for row in shown
            ]
            columns = (f"{name}/A", "95 %", "problem")
            heading = f"{verdict} in {name}{rest}"
            words = frozenset((2,))
            found.append(Section(heading, (), columns, words, tuple(rows), wraps=True))
    if against.broken_rows:
        broken = against.broken_rows
        lines = [
            f"{row.base.problem}: {row.other.status}: {row.other.reason or 'no reason given'}"
            for row in broken[:MOST_CHANGED]
        ]
        if len(broken) > len(lines):
            lines.append(f"and {len(broken) - len(lines)} more")
        found.append(Section(f"broken in {name}", tuple(lines)))
    return found


def _short_problems(against: PairwiseComparison) -> dict[int, str]:
    """The problem of each row without the attributes that all rows of its operation share, by row
    id."""
    by_op: dict[str, list[ComparedRow]] = {}
    for row in against.rows:
        by_op.setdefault(row.base.op, []).append(row)
    texts = {}
    for op, rows in by_op.items():
        names = shared_and_differing_attributes([row.base for row in rows])[1]
        for row in rows:
            attributes = row.base.attributes
            words = [
                f"{name}={value_text(attributes[name])}" for name in names if name in attributes
            ]
            texts[id(row)] = " ".join([op, *words]) if attributes else row.base.problem
    return texts


def missing_tables(comparison: Comparison, index: int) -> list[Section]:
    """Rows of either result set without a partner, and the reasons."""
    against, name = comparison.others[index - 1], result_set_letter(index)
    found = []
    if against.missing:
        lines = (
            iter([_rest_of_reference(against.missing)])
            if comparison.base.is_reference
            else _unmatched_lines(against.missing, name)
        )
        found.append(Section(f"rows of A without a partner in {name}", tuple(lines)))
    if against.extra:
        if against.result_set.published:
            lines = iter([f"{len(against.extra)} more published rows"])
        elif against.result_set.is_reference:
            lines = iter([_rest_of_reference(against.extra)])
        else:
            lines = _unmatched_lines(against.extra, "A")
        found.append(Section(f"rows of {name} without a partner in A", tuple(lines)))
    return found


def _rest_of_reference(rows: Sequence[Unmatched]) -> str:
    """Counts the rest of a reference: it covers sets and regimes that were not run, which is no
    loss."""
    return f"{len(rows)} more rows of these operations in the reference"


def _unmatched_lines(rows: Sequence[Unmatched], there: str) -> Iterator[str]:
    """`there` is the letter of the result set that lacks these rows."""
    by_reason: dict[str, list[Unmatched]] = {}
    for row in rows:
        by_reason.setdefault(row.reason, []).append(row)
    for reason, same in by_reason.items():
        for row in same[:_MOST_MISSING]:
            yield f"{row.entry.problem}: {there} has {reason}"
        if len(same) > _MOST_MISSING:
            yield f"and {len(same) - _MOST_MISSING} more: {there} has {reason}"
