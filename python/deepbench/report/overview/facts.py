"""Under which circumstances the rows came about, and what a reader should be wary of."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from deepbench.compare.sides import plain
from deepbench.report.comparison.content import Row, Section
from deepbench.report.fields import get
from deepbench.report.notes import Notes

from .runs import Run

_LONGEST = 120  # characters of a value
_STOPS = {
    "noisy": "did not become as precise as asked, and more samples would not help",
    "time_limit": "ran out of time before they were as precise as asked",
    "throttled": "were taken while the device was throttled",
    "too_few": "have too few samples to be precise",
}
_WORDS = frozenset((0, 1, 2))


def files_section(files: Sequence[Run]) -> Section:
    """Which file is what."""
    columns = ("file", "name", "device", "backend", "set", "options", "begun", "rows")
    rows = [Row((run.letter, run.name, run.device, *_file_cells(run))) for run in files]
    return Section("Files", (), columns, frozenset(range(7)), tuple(rows))


def _file_cells(run: Run) -> tuple[str, ...]:
    context = run.result.context
    options = context.get("options") or {}
    backend = [get(context, "backend.name"), _version(context)]
    planned, there = int(context["rows"]), len(run.rows)
    return (
        plain(", ".join(str(part) for part in backend if part)) or "-",
        plain(context.get("set") or "-"),
        plain(" ".join(f"{name}={value}" for name, value in options.items()) or "-"),
        plain(context.get("started") or "-"),
        str(there) if there == planned else f"{there} of {planned}",
    )


def _version(context: Mapping[str, Any]) -> str | None:
    version = context.get("version")
    return None if version == "published" else f"deepbench {version}"


def warnings(files: Sequence[Run]) -> list[str]:
    """Of the machine, the file and the rows; each once, with the files and rows it holds for."""
    said: dict[str, list[str]] = {}
    for run in files:
        for text, count in _warnings(run):
            where = [run.letter] if len(files) > 1 else []
            said.setdefault(text, []).append(" ".join([*where, *([count] if count else [])]))
    return [
        _with_places(text, [place for place in places if place]) for text, places in said.items()
    ]


def _with_places(text: str, places: Sequence[str]) -> str:
    return f"{text} ({', '.join(places)})" if places else text


def _warnings(run: Run) -> Iterator[tuple[str, str]]:
    """What is to be said, and of how many rows."""
    for text in run.result.context.get("warnings") or ():
        yield plain(text), ""
    if run.result.torn:
        yield "the last line of the file is cut short and was left out", ""
    missing = int(run.result.context["rows"]) - len(run.rows)
    if missing > 0:
        yield "rows of the run are not in the file", str(missing)
    for text in run.side.footnotes:
        yield text, ""
    yield from _row_warnings(run)


def _row_warnings(run: Run) -> Iterator[tuple[str, str]]:
    measured = [shown for shown in run.rows if shown.good]
    stops = Counter(get(shown.row, "statistics.stop") for shown in measured)
    for stop, meaning in _STOPS.items():
        if stops[stop]:
            yield (
                f"{stop.replace('_', ' ')}: rows that {meaning}",
                f"{stops[stop]} of {len(measured)}",
            )
    skipped = sum(get(shown.row, "verification.status") == "skipped" for shown in measured)
    if skipped:
        yield "rows that were not verified", f"{skipped} of {len(measured)}"
    notes = Notes()
    for shown in run.rows:
        notes.numbers(plain(note) for note in shown.row.get("notes") or ())
    for note, count in notes.by_rows():
        yield note, f"{count} of {len(run.rows)}"


def environment(run: Run) -> list[Section]:
    """Device, libraries with their real paths, host, and variables of one file."""
    context = run.result.context
    device = _facts(context.get("device"))
    host = _facts(context.get("host"))
    variables = {**_facts(context.get("environment")), **_facts(host.pop("environment", None))}
    libraries = _facts(context.get("libraries"))
    rows = tuple(Row(_library(name, facts)) for name, facts in libraries.items())
    columns = ("library", "version", "path, or why it is not used")
    command = {"command": " ".join(context.get("command") or ()) or None}
    sections = [
        _table("Run", command),
        _table("Device", device),
        Section("Libraries", (), columns, _WORDS, rows),
        _table("Host", host),
        _table("Variables", variables),
    ]
    return [section for section in sections if section.rows]


def _facts(value: object) -> dict[str, Any]:
    return dict(value) if isinstance(value, Mapping) else {}


def _library(name: str, facts: object) -> tuple[str, str, str]:
    known = _facts(facts)
    where = known.get("path") or known.get("reason") or "-"
    return plain(name), plain(known.get("version") or "-"), plain(where)


def _table(heading: str, facts: Mapping[str, Any]) -> Section:
    rows = tuple(
        Row((plain(name), _value(value))) for name, value in facts.items() if value is not None
    )
    return Section(heading, (), ("", ""), _WORDS, rows)


def _value(value: object) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    text = plain(value)
    return text if len(text) <= _LONGEST else text[: _LONGEST - 3] + "..."
