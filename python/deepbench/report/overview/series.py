"""Groups the points of a chart of a metric against an attribute into series. If the points differ
in few other properties, each combination is a line. If there are many combinations, the colour
shows the most distinctive property."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

from .report_rows import ReportFile, ReportRow

_MOST_LINES = 8
_MOST_COLOURS = 12  # colours of the theme

Value = int | float | str
Keys = Mapping[str, str]  # the properties that may distinguish a row, by name


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
    keys = _with_all_names([_distinguishing_properties(files, row) for row, _ in rows_with_x])
    names = [name for name in _differing_names(keys) if name != f"{attribute}="]
    if "file" in names and len({(one["file"], one["library"]) for one in keys}) == len(
        {one["file"] for one in keys}
    ):
        names = [name for name in names if name != "library"]  # the file implies the library
    if is_number:
        names = _without_covarying(rows_with_x, keys, names)
    labels = [_series_label(one, names) for one in keys]
    if len(set(labels)) <= _MOST_LINES:
        family = rows_with_x[0][0].family if rows_with_x else ""
        return [Series(label or family, is_number) for label in labels]
    distinctive = _most_distinctive(keys, names)
    return [Series(_series_label(one, distinctive) or "all rows", False) for one in keys]


def value_text(value: Value | None) -> str:
    if value is None:
        return "none"
    return f"{value:.6g}" if isinstance(value, float) else str(value)


def _distinguishing_properties(files: Sequence[ReportFile], row: ReportRow) -> Keys:
    """The names of attributes end in '=' so that they cannot clash with the other names."""
    entry, file = row.entry, files[row.file_index]
    keys = {
        "file": f"{file.letter} {file.name}",
        "op": entry.op,
        "device": entry.device or "none",
        "library": entry.library or "none",
        "regime": row.regime,
    }
    return keys | {f"{name}=": value_text(value) for name, value in entry.attributes.items()}


def _with_all_names(keys: Sequence[Keys]) -> list[Keys]:
    names = dict.fromkeys(name for one in keys for name in one)
    return [{name: one.get(name, "none") for name in names} for one in keys]


def _differing_names(keys: Sequence[Keys]) -> list[str]:
    return [name for name in (keys[0] if keys else ()) if len({one[name] for one in keys}) > 1]


def _without_covarying(
    rows_with_x: Sequence[tuple[ReportRow, Value]], keys: Sequence[Keys], names: Sequence[str]
) -> list[str]:
    """Drops attributes that increase or decrease monotonically with the plotted one and thus
    distinguish nothing: elements with bytes, or m with n in a sweep of squares."""
    numbers = {name: values for name in names if (values := _numeric_values(rows_with_x, name))}
    groups = [tuple(one[name] for name in names if name not in numbers) for one in keys]
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
    pairs: dict[tuple[str, ...], set[tuple[float, float]]] = {}
    for x, other, group in zip(xs, others, groups, strict=True):
        pairs.setdefault(group, set()).add((x, other))
    return all(_is_monotonic(sorted(some)) for some in pairs.values())


def _is_monotonic(pairs: Sequence[tuple[float, float]]) -> bool:
    steps = [(b[0] - a[0], b[1] - a[1]) for a, b in pairwise(pairs)]
    grows = all(dx > 0 and dy > 0 for dx, dy in steps)
    return grows or all(dx > 0 and dy < 0 for dx, dy in steps)


def _series_label(keys: Keys, names: Sequence[str]) -> str:
    """'A mine.jsonl, k=64'."""
    return ", ".join(f"{name}{keys[name]}" if name[-1] == "=" else keys[name] for name in names)


def _most_distinctive(keys: Sequence[Keys], names: Sequence[str]) -> list[str]:
    """The file if there are several, else the property with the fewest values."""
    if "file" in names:
        return ["file"]
    counts = {name: len({one[name] for one in keys}) for name in names}
    fewest = min(counts, key=lambda name: counts[name])
    return [fewest] if counts[fewest] <= _MOST_COLOURS else []
