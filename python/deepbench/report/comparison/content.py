"""What a comparison says, as sections of text and tables that every format can write down.

Sides are called A, B, C in the order in which they were named. A ratio is B's time over A's: less
than 1 is faster than A.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

from deepbench.compare import Against, Compared, Comparison, Entry, Group, Unmatched
from deepbench.report.fields import microseconds, percent, rate
from deepbench.report.outline import title, value_text

from .remarks import remarks
from .words import letter, ratio_cells, verdict_word

_MOST_CHANGED = 10
_MOST_MISSING = 10  # of each reason


@dataclass(frozen=True)
class Row:
    """A line of a table; `tone` is faster, slower or nothing."""

    cells: tuple[str, ...]
    tone: str = ""


@dataclass(frozen=True)
class Section:
    """A heading, lines of text, and a table where it has columns."""

    heading: str
    lines: tuple[str, ...] = ()
    columns: tuple[str, ...] = ()
    left: frozenset[int] = field(default_factory=frozenset)  # columns of words
    rows: tuple[Row, ...] = ()


def sections(comparison: Comparison) -> list[Section]:
    """Everything, in the order of reading; what it comes to is last."""
    parts = [_sides(comparison), *_row_tables(comparison)]
    parts += _group_table("families", "family", comparison, lambda one: one.families)
    parts += _group_table("applications", "application", comparison, lambda one: one.applications)
    for index, against in enumerate(comparison.others, start=1):
        parts += _changes(letter(index), against)
        parts += _missing(letter(index), against)
    footnotes = dict.fromkeys(
        note
        for side in (comparison.base, *(against.side for against in comparison.others))
        for note in side.footnotes
    )
    if footnotes:
        parts.append(Section("published figures", tuple(footnotes)))
    parts.append(Section("summary", tuple(summary(comparison))))
    return parts


def summary(comparison: Comparison) -> Iterator[str]:
    """What it comes to, one line a side, then what counts as a regression."""
    for index, against in enumerate(comparison.others, start=1):
        yield f"{letter(index)} against A: {_verdict_line(against)}"
    yield _noise_line(comparison)
    regressions = comparison.regressions
    allowed = comparison.rules.fail_over
    beyond = f" of more than {percent(allowed)} %" if allowed else ""
    if regressions:
        more = f" and {len(regressions) - 1} more" if len(regressions) > 1 else ""
        yield f"regressions{beyond}: {regressions[0]}{more}"
    else:
        yield f"no regressions{beyond}"


def _verdict_line(against: Against) -> str:
    counts = [
        f"{count} {verdict_word(word)}"
        for word in ("faster", "slower", "noise", "unknown", "published", "doubted")
        if (count := sum(row.verdict == word and not (row.broken or row.mended)
                         for row in against.rows))
    ]  # fmt: skip
    mended = sum(row.mended for row in against.rows)
    if mended:
        counts.append(f"{mended} mended")
    if against.broken:
        counts.append(f"{len(against.broken)} broken")
    parts = [f"{len(against.rows)} rows compared: {', '.join(counts)}"]
    if against.whole is not None:
        value, interval = ratio_cells(against.whole.ratio)
        within = f" ({interval})" if interval != "-" else ""
        parts.append(f"geometric mean of the times {value}{within}")
        if against.whole.left_out:
            parts[-1] += f", {against.whole.left_out} rows left out of it"
    by_clock = [row.clocks for row in against.rows if row.by_clock]
    if by_clock:
        clock = percent(math.expm1(statistics.median(by_clock)))
        parts.append(f"{len(by_clock)} the same only at equal clocks: {clock} % in the median "
                     "(--any-clock)")  # fmt: skip
    for what, rows in (("only in A", against.missing), ("not in A", against.extra)):
        if rows:
            parts.append(f"{len(rows)} {what}")
    return "; ".join(parts)


def _noise_line(comparison: Comparison) -> str:
    rules = comparison.rules
    if rules.noise is not None:
        return f"noise: less than {percent(rules.noise)} %, or an interval that holds 1"
    text = f"noise: less than {percent(rules.floor)} %, or an interval that holds 1"
    worst = {
        (row.base.op, str(row.base.attributes.get("precision"))): row.noise
        for against in comparison.others
        for row in against.rows
        if row.noise > rules.floor
    }
    drifts = [f"{op} {precision} {percent(noise)} %" for (op, precision), noise in worst.items()]
    return f"{text}; runs of one setup lie further apart: {', '.join(drifts)}" if drifts else text


def _sides(comparison: Comparison) -> Section:
    sides = [comparison.base, *(against.side for against in comparison.others)]
    lines = [f"{letter(i)}: {side.name} ({side.about})" for i, side in enumerate(sides)]
    return Section("compared", tuple(lines))


# ---- rows -------------------------------------------------------------------------------------


def _row_tables(comparison: Comparison) -> list[Section]:
    """A table an operation: rows of A that have a partner somewhere."""
    partners: dict[int, dict[int, Compared]] = {}  # by position in A, then by side
    entries: dict[int, Entry] = {}
    for index, against in enumerate(comparison.others):
        for row in against.rows:
            entries[id(row.base)] = row.base
            partners.setdefault(id(row.base), {})[index] = row
    by_op: dict[str, list[Entry]] = {}
    for entry in comparison.base.entries:
        if id(entry) in partners:
            by_op.setdefault(entry.op, []).append(entry)
    count = len(comparison.others)
    return [_row_table(op, rows, partners, count) for op, rows in by_op.items()]


def _row_table(
    op: str, entries: Sequence[Entry], partners: dict[int, dict[int, Compared]], count: int
) -> Section:
    names = list(dict.fromkeys(name for entry in entries for name in entry.attributes))
    arithmetic = any(entry.flops for entry in entries)
    columns = [*map(title, names), "A us", *(["A TFLOP/s"] if arithmetic else [])]
    words: set[int] = set()
    for index in range(1, count + 1):
        name = letter(index)
        columns += [f"{name} us", *([f"{name} TFLOP/s"] if arithmetic else [])]
        columns += [f"{name}/A", "95 %", "verdict"]
        words.add(len(columns) - 1)
    words.add(len(columns))
    rows = [_row(entry, names, partners[id(entry)], arithmetic, count) for entry in entries]
    return Section(f"{op}: rows", (), (*columns, "remarks"), frozenset(words), tuple(rows))


def _row(
    entry: Entry, names: Sequence[str], partners: dict[int, Compared], arithmetic: bool, count: int
) -> Row:
    cells = [value_text(entry.attributes.get(name)) for name in names]
    cells += _time_cells(entry, arithmetic)
    said = []
    tones = []
    for index in range(count):
        row = partners.get(index)
        if row is None:
            cells += [*_time_cells(None, arithmetic), "-", "-", "missing"]
            continue
        cells += _time_cells(row.other, arithmetic)
        cells += [*ratio_cells(row.ratio), verdict_word(row.verdict)]
        tones.append("slower" if row.broken else row.verdict)
        said += [f"{letter(index + 1)}: {text}" if count > 1 else text for text in remarks(row)]
    return Row((*cells, "; ".join(said)), _tone(tones))


def _time_cells(entry: Entry | None, arithmetic: bool) -> list[str]:
    time = microseconds(entry.time_ns if entry else None)
    return [time, rate(entry.tflops if entry else None)] if arithmetic else [time]


def _tone(verdicts: Sequence[str]) -> str:
    return next((word for word in ("slower", "faster") if word in verdicts), "")


# ---- means, changes, what is missing -----------------------------------------------------------


def _group_table(
    heading: str, what: str, comparison: Comparison, of: Callable[[Against], Sequence[Group]]
) -> list[Section]:
    """Geometric means of all sides, one line for each group of each."""
    rows = [
        _group_row(letter(index), group)
        for index, against in enumerate(comparison.others, start=1)
        for group in of(against)
    ]
    columns = ("", what, "rows", "left out", "mean ratio", "95 %", "faster", "slower", "verdict")
    return [Section(heading, (), columns, frozenset((0, 1, 8)), tuple(rows))] if rows else []


def _group_row(name: str, group: Group) -> Row:
    counts = [str(number) for number in (group.rows, group.left_out)]
    changed = [str(group.faster), str(group.slower)]
    word = verdict_word(group.verdict)
    cells = (f"{name}/A", group.name, *counts, *ratio_cells(group.ratio), *changed, word)
    return Row(cells, _tone([group.verdict]))


def _changes(name: str, against: Against) -> list[Section]:
    """The rows that changed most in either direction, and those that broke."""
    found = []
    for verdict in ("slower", "faster"):
        changed = against.changed(verdict)
        if changed:
            shown = changed[:_MOST_CHANGED]
            most = len(changed) > len(shown)
            rest = f", the first {len(shown)} of {len(changed)}" if most else ""
            rows = [Row((row.base.problem, *ratio_cells(row.ratio)), verdict) for row in shown]
            heading = f"{verdict} in {name}{rest}"
            columns = ("problem", f"{name}/A", "95 %")
            found.append(Section(heading, (), columns, frozenset((0,)), tuple(rows)))
    if against.broken:
        broken = against.broken
        lines = [
            f"{row.base.problem}: {row.other.status}: {row.other.reason or 'no reason given'}"
            for row in broken[:_MOST_CHANGED]
        ]
        if len(broken) > len(lines):
            lines.append(f"and {len(broken) - len(lines)} more")
        found.append(Section(f"broken in {name}", tuple(lines)))
    return found


def _missing(name: str, against: Against) -> list[Section]:
    found = []
    if against.missing:
        found.append(Section(f"only in A, not in {name}", tuple(_listed(against.missing))))
    if against.extra:
        if against.side.published:  # it has sets that nobody asked for
            lines = [f"{len(against.extra)} more published rows"]
        else:
            lines = list(_listed(against.extra))
        found.append(Section(f"only in {name}, not in A", tuple(lines)))
    return found


def _listed(rows: Sequence[Unmatched]) -> Iterator[str]:
    by_reason: dict[str, list[Unmatched]] = {}
    for row in rows:
        by_reason.setdefault(row.reason, []).append(row)
    for reason, same in by_reason.items():
        for row in same[:_MOST_MISSING]:
            yield f"{row.entry.problem}: {reason}"
        if len(same) > _MOST_MISSING:
            yield f"and {len(same) - _MOST_MISSING} more: {reason}"
