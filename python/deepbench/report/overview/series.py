"""Groups the points of a chart of a metric against an attribute into series. If the points differ
in few other properties, each combination is a line. If there are many combinations, the color
shows the most distinctive property."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

from .report_rows import ReportFile, ReportRow

_MOST_LINES = 8
_MOST_COLORS = 12  # colors of the theme

Value = int | float | str
# The properties that may distinguish rows, by name: their texts in the order of the rows.
Columns = Mapping[str, Sequence[str]]


@dataclass(frozen=True)
class Series:
    """A group of points that share all distinguishing properties."""

    label: str
    joined: bool  # by a line


def series_of(
    files: Sequence[ReportFile],
    rows_with_x: Sequence[tuple[ReportRow, Value]],
    attribute: str,
    is_number: bool,
) -> list[Series]:
    """The series of each row. `rows_with_x` holds each row with its value of the attribute."""
    columns = _distinguishing_properties(files, [row for row, _ in rows_with_x])
    names = [name for name in _differing_names(columns) if name != f"{attribute}="]
    if "file" in names and len(set(zip(columns["file"], columns["library"], strict=True))) == len(
        set(columns["file"])
    ):
        names = [name for name in names if name != "library"]  # the file implies the library
    if is_number:
        names = _without_covarying(rows_with_x, columns, names)
    labels = _series_labels(columns, names)
    if len(set(labels)) <= _MOST_LINES:
        family = rows_with_x[0][0].family if rows_with_x else ""
        return _series_with(labels, family, is_number)
    return _series_with(
        _series_labels(columns, _most_distinctive(columns, names)), "all rows", False
    )


def _series_with(labels: Sequence[str], unlabeled: str, joined: bool) -> list[Series]:
    known = {label: Series(label or unlabeled, joined) for label in set(labels)}
    return [known[label] for label in labels]


def value_text(value: Value | None) -> str:
    if value is None:
        return "none"
    return f"{value:.6g}" if isinstance(value, float) else str(value)


def _distinguishing_properties(
    files: Sequence[ReportFile], rows: Sequence[ReportRow]
) -> dict[str, list[str]]:
    """The names of attributes end in '=' so that they cannot clash with the other names."""
    file_names = [f"{file.letter} {file.name}" for file in files]
    columns = {
        "file": [file_names[row.file_index] for row in rows],
        "op": [row.entry.op for row in rows],
        "device": [row.entry.device or "none" for row in rows],
        "library": [row.entry.library or "none" for row in rows],
        "regime": [row.regime for row in rows],
    }
    for name in dict.fromkeys(name for row in rows for name in row.entry.attributes):
        columns[f"{name}="] = _value_texts([row.entry.attributes.get(name) for row in rows])
    return columns


def _value_texts(values: Sequence[Value | None]) -> list[str]:
    """The texts of values, of which most repeat."""
    texts = {value: value_text(value) for value in set(values)}
    return [texts[value] for value in values]


def _differing_names(columns: Columns) -> list[str]:
    return [name for name, texts in columns.items() if len(set(texts)) > 1]


def _without_covarying(
    rows_with_x: Sequence[tuple[ReportRow, Value]], columns: Columns, names: Sequence[str]
) -> list[str]:
    """Drops attributes that increase or decrease monotonically with the plotted one and thus
    distinguish nothing: elements with bytes, or m with n in a sweep of squares."""
    numbers = {name: values for name in names if (values := _numeric_values(rows_with_x, name))}
    fixed = [columns[name] for name in names if name not in numbers]
    groups = list(zip(*fixed, strict=True)) if fixed else [()] * len(rows_with_x)
    xs = [float(x) for _, x in rows_with_x]
    return [
        name for name in names if name not in numbers or not _covaries(xs, numbers[name], groups)
    ]


def _numeric_values(rows_with_x: Sequence[tuple[ReportRow, Value]], key: str) -> list[float] | None:
    """The values of an attribute if all of them are numbers."""
    if key[-1] != "=":
        return None
    values = [row.entry.attributes.get(key[:-1]) for row, _ in rows_with_x]
    numbers = [float(value) for value in values if isinstance(value, (int, float))]
    return numbers if len(numbers) == len(values) else None


def _covaries(
    xs: Sequence[float], others: Sequence[float], groups: Sequence[tuple[str, ...]]
) -> bool:
    pairs: dict[tuple[str, ...], dict[float, float]] = {}
    for x, other, group in zip(xs, others, groups, strict=True):
        if pairs.setdefault(group, {}).setdefault(x, other) != other:
            return False  # two values beside one
    return all(_is_monotonic(sorted(some.items())) for some in pairs.values())


def _is_monotonic(pairs: Sequence[tuple[float, float]]) -> bool:
    steps = [(b[0] - a[0], b[1] - a[1]) for a, b in pairwise(pairs)]
    grows = all(dx > 0 and dy > 0 for dx, dy in steps)
    return grows or all(dx > 0 and dy < 0 for dx, dy in steps)


def _series_labels(columns: Columns, names: Sequence[str]) -> list[str]:
    """'A mine.jsonl, k=64' of each row."""
    if not names:
        return [""] * len(columns["op"])
    parts = (
        [f"{name}{text}" for text in columns[name]] if name[-1] == "=" else columns[name]
        for name in names
    )
    return list(map(", ".join, zip(*parts, strict=True)))


def _most_distinctive(columns: Columns, names: Sequence[str]) -> list[str]:
    """The file if there are several, else the property with the fewest values."""
    if "file" in names:
        return ["file"]
    counts = {name: len(set(columns[name])) for name in names}
    fewest = min(counts, key=lambda name: counts[name])
    return [fewest] if counts[fewest] <= _MOST_COLORS else []
