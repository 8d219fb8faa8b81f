"""Finds the attributes that distinguish the rows of an operation. The table of all rows names a
problem by these alone and omits attributes that all rows share or that have their default value."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from deepbench import _core
from deepbench.report.outline import value_text

from .report_rows import ReportRow

# Never hidden as a default, since all other tables group rows by these.
_NAMING = ("precision", "phase", "kind", "mode")
_MOST_VALUES = 12  # colors of one chart

Texts = Mapping[str, str]


def attribute_texts(row: ReportRow) -> Texts:
    return {name: value_text(value) for name, value in row.entry.attributes.items()}


def _shared_attributes(
    rows: Sequence[ReportRow], texts: Sequence[Texts]
) -> dict[str, dict[str, str]]:
    """The attributes that all rows of an operation share, by operation. Empty if all its rows are
    alike."""
    problems: dict[str, list[Texts]] = {}
    for row, one in zip(rows, texts, strict=True):
        problems.setdefault(row.entry.op, []).append(one)
    found = {}
    for op, every in problems.items():
        same = dict(set(every[0].items()).intersection(*(one.items() for one in every)))
        if any(len(one) > len(same) for one in every):
            found[op] = {name: text for name, text in every[0].items() if name in same}
    return found


class ShortNames:
    """Short names of problems. `texts` are the attributes of all rows."""

    def __init__(self, rows: Sequence[ReportRow], texts: Sequence[Texts]) -> None:
        self.hides_defaults = False  # whether any name so far omits a default
        self._shared = _shared_attributes(rows, texts)
        self._defaults = {
            operation.name: {
                parameter.name: parameter.default
                for parameter in operation.parameters
                if parameter.default is not None and parameter.name not in _NAMING
            }
            for operation in _core.operations()
        }

    def name(self, row: ReportRow, texts: Texts) -> str:
        """'gemm m=1760 n=16 k=1760'; the name omits shared attributes and defaults."""
        op = row.entry.op
        if not texts:
            return row.entry.problem
        hidden = self._shared.get(op, {})
        differing = {name: text for name, text in texts.items() if name not in hidden}
        defaults = self._defaults.get(op, {})
        shown = {name: text for name, text in differing.items() if defaults.get(name) != text}
        self.hides_defaults |= bool(shown) and shown != differing
        return " ".join([op, *_assignment_words(shown or differing)])

    def notes(self) -> list[str]:
        """The shared attributes that the names omit, by operation."""
        return [
            " ".join([op, *_assignment_words(texts)]) for op, texts in self._shared.items() if texts
        ]


def attributes_for_coloring(every: Sequence[Texts]) -> dict[str, list[str | None]]:
    """The attributes that can be shown as colors: those with at least two and at most _MOST_VALUES
    values. Each has a legend text per row, such as 'n=16'. `every` are the attributes of all
    rows."""
    names = dict.fromkeys(name for texts in every for name in texts if name not in _NAMING)
    values = {name: {texts[name] for texts in every if name in texts} for name in names}
    return {
        name: [f"{name}={texts[name]}" if name in texts else None for texts in every]
        for name in names
        if 1 < len(values[name]) <= _MOST_VALUES
    }


def _assignment_words(texts: Texts) -> list[str]:
    return [f"{name}={text}" for name, text in texts.items()]
