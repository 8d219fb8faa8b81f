"""Merges the notes of many rows: notes that differ only in numbers and names become one line."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from deepbench.report.fields import TIMES_NS

_AROUND = "(),;:."  # punctuation around a word, which belongs to the sentence
_NAME = re.compile(r"\d|\w[:=_]\w")  # occurs in a word that may differ: cudnn:eng47_k2=2
_UNIT = "|".join(TIMES_NS)
_SPACE = re.compile(rf"(?<!\d) | (?!(?:{_UNIT})(?!\w))")  # not the one in '98.23 ms'
_NUMBER = re.compile(rf"(\d{{1,15}}(?:\.\d{{1,15}})?)(?: ({_UNIT}))?")
_MOST_NAMES = 3  # different names that one line lists
# Before the two times of a row. Their ranges over several rows would look like times of one row.
_PAIR_OF_TIMES = ("measured twice, ", ", then ")


@dataclass
class _NoteTemplate:
    """A sentence with places for the words that differ between notes."""

    parts: tuple[str, ...]  # the text before, between and after the places
    values: list[dict[str, None]]  # the words of each place, in order of appearance
    texts: set[str] = field(default_factory=set)
    rows: int = 0

    def text(self) -> str:
        alike = f" ({len(self.texts)} alike)" if len(self.texts) > 1 else ""
        parts, values = list(self.parts), self.values
        if alike and len(parts) > 2 and self.parts[:2] == _PAIR_OF_TIMES:
            parts, values = ["measured twice" + parts[2], *parts[3:]], values[2:]
        *before, last = parts
        filled = [
            part + _merged_values(list(found)) for part, found in zip(before, values, strict=True)
        ]
        return "".join([*filled, last, alike])


class Notes:
    """Assigns numbers to notes, beginning with 1."""

    def __init__(self) -> None:
        self._numbers: dict[tuple[str, ...], int] = {}
        self._notes: list[_NoteTemplate] = []

    def numbers_of_notes(self, notes: Iterable[str]) -> list[int]:
        """The numbers of the notes of one row, ascending and without duplicates."""
        found = sorted(set(map(self._number_of_note, notes)))
        for number in found:
            self._notes[number - 1].rows += 1
        return found

    def texts(self) -> list[str]:
        """The texts of all notes, in the order of their numbers."""
        return [note.text() for note in self._notes]

    def texts_with_row_counts(self) -> list[tuple[str, int]]:
        """The texts and the number of rows that have each, the most frequent first."""
        ordered = sorted(self._notes, key=lambda note: -note.rows)
        return [(note.text(), note.rows) for note in ordered]

    def _number_of_note(self, note: str) -> int:
        parts, values = _split_note(note)
        number = self._numbers.setdefault(parts, len(self._numbers) + 1)
        if number > len(self._notes):
            self._notes.append(_NoteTemplate(parts, [{} for _ in values]))
        alike = self._notes[number - 1]
        alike.texts.add(note)
        for found, value in zip(alike.values, values, strict=True):
            found[value] = None
        return number


def _split_note(note: str) -> tuple[tuple[str, ...], list[str]]:
    """Splits a note into the text around the words that may differ, and these words."""
    parts, values = [""], list[str]()
    for position, word in enumerate(_SPACE.split(note)):
        parts[-1] += " " if position else ""
        core = word.strip(_AROUND)
        if not _NAME.search(core):
            parts[-1] += word
            continue
        before, _, after = word.partition(core)
        parts[-1] += before
        parts.append(after)
        values.append(core)
    return tuple(parts), values


def _merged_values(values: Sequence[str]) -> str:
    """Merges values: '8', '1 to 16', '394.5 µs to 1.2 ms', 'a or b', 'a, b or 3 others'."""
    if len(values) == 1:
        return values[0]
    numbers = [found for value in values if (found := _NUMBER.fullmatch(value))]
    if len(numbers) == len(values) and len({found[2] is None for found in numbers}) == 1:
        least, most = (
            min(numbers, key=_nanoseconds_or_number),
            max(numbers, key=_nanoseconds_or_number),
        )
        return f"{least[1] if least[2] == most[2] else least[0]} to {most[0]}"
    shown = list(values[:_MOST_NAMES])
    if len(values) > _MOST_NAMES:
        shown[-1] = f"{len(values) - _MOST_NAMES + 1} others"
    return f"{', '.join(shown[:-1])} or {shown[-1]}"


def _nanoseconds_or_number(number: re.Match[str]) -> float:
    return float(number[1]) * TIMES_NS.get(number[2], 1.0)
