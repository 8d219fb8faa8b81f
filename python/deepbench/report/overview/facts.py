"""The environment in which the rows were measured, and warnings about them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from deepbench.compare.result_set import printable
from deepbench.report.comparison.content import Section, TableRow
from deepbench.report.fields import get
from deepbench.report.notes import Notes
from deepbench.results.build import version_text

from .report_rows import ReportFile

_LONGEST = 120  # characters of a value
_STOPS = {
    "noisy": "missed the precision target, and more samples would not help",
    "time_limit": "reached the time limit before the precision target",
    "throttled": "were measured while the device was throttled",
    "too_few": "have too few samples to reach the precision target",
}
_WORDS = frozenset((0, 1, 2))


def files_section(files: Sequence[ReportFile]) -> Section:
    """The table of result files."""
    columns = ("file", "name", "device", "backend", "set", "options", "started", "rows")
    rows = [TableRow((file.letter, file.name, file.device, *_file_cells(file))) for file in files]
    return Section("Files", (), columns, frozenset(range(7)), tuple(rows))


def _file_cells(file: ReportFile) -> tuple[str, ...]:
    context = file.result.context
    options = context.get("options") or {}
    backend = [get(context, "backend.name"), version_text(context)]
    planned, present = int(context["rows"]), len(file.rows)
    return (
        printable(", ".join(str(part) for part in backend if part)) or "-",
        printable(context.get("set") or "-"),
        printable(" ".join(f"{name}={value}" for name, value in options.items()) or "-"),
        printable(context.get("started") or "-"),
        str(present) if present == planned else f"{present} of {planned}",
    )


def warnings(files: Sequence[ReportFile]) -> list[str]:
    """Warnings about the machine, the file and its rows. Each appears once, with the files and the
    number of rows it applies to."""
    locations_by_text: dict[str, list[str]] = {}
    for file in files:
        for text, count in _warnings_with_counts(file):
            where = [file.letter] if len(files) > 1 else []
            locations_by_text.setdefault(text, []).append(
                " ".join([*where, *([count] if count else [])])
            )
    return [
        _with_locations(text, [location for location in locations if location])
        for text, locations in locations_by_text.items()
    ]


def _with_locations(text: str, locations: Sequence[str]) -> str:
    return f"{text} ({', '.join(locations)})" if locations else text


def _warnings_with_counts(file: ReportFile) -> Iterator[tuple[str, str]]:
    """Each warning with the number of rows that it applies to."""
    for text in file.result.context.get("warnings") or ():
        yield printable(text), ""
    if file.result.torn:
        yield "the last line of the file is incomplete and was ignored", ""
    missing = int(file.result.context["rows"]) - len(file.rows)
    if missing > 0:
        yield "rows of the run are missing from the file", str(missing)
    for text in file.result_set.footnotes:
        yield text, ""
    yield from _row_warnings(file)


def _row_warnings(file: ReportFile) -> Iterator[tuple[str, str]]:
    measured = [row for row in file.rows if row.is_plottable]
    stops = Counter(row.raw.statistics.stop for row in measured)
    for stop, meaning in _STOPS.items():
        if stops[stop]:
            yield (
                f"{stop.replace('_', ' ')}: rows that {meaning}",
                f"{stops[stop]} of {len(measured)}",
            )
    disturbed = sum(row.raw.statistics.is_disturbed for row in measured)
    if disturbed:
        yield (
            "disturbed: rows whose threads waited for processors that other work had",
            f"{disturbed} of {len(measured)}",
        )
    skipped = sum(row.raw.verification.status == "skipped" for row in measured)
    if skipped:
        yield "rows that were not verified", f"{skipped} of {len(measured)}"
    notes = Notes()
    for row in file.rows:
        notes.numbers_of_notes(printable(note) for note in row.raw.notes)
    for note, count in notes.texts_with_row_counts():
        yield note, f"{count} of {len(file.rows)}"


def environment(file: ReportFile) -> list[Section]:
    """Device, libraries with their real paths, host, and environment variables of one file."""
    context = file.result.context
    device = _as_facts(context.get("device"))
    host = _as_facts(context.get("host"))
    variables = {
        **_as_facts(context.get("environment")),
        **_as_facts(host.pop("environment", None)),
    }
    libraries = _as_facts(context.get("libraries"))
    rows = tuple(TableRow(_library_cells(name, facts)) for name, facts in libraries.items())
    columns = ("library", "version", "path, or reason why it is not used")
    command = {"command": " ".join(context.get("command") or ()) or None}
    sections = [
        _facts_table("Run", command),
        _facts_table("Device", device),
        Section("Libraries", (), columns, _WORDS, rows),
        _facts_table("Host", host),
        _facts_table("Variables", variables),
    ]
    return [section for section in sections if section.rows]


def _as_facts(value: object) -> dict[str, Any]:
    return dict(value) if isinstance(value, Mapping) else {}


def _library_cells(name: str, facts: object) -> tuple[str, str, str]:
    known = _as_facts(facts)
    where = known.get("path") or known.get("reason") or "-"
    return printable(name), printable(known.get("version") or "-"), printable(where)


def _facts_table(heading: str, facts: Mapping[str, Any]) -> Section:
    rows = tuple(
        TableRow((printable(name), _fact_text(value)))
        for name, value in facts.items()
        if value is not None
    )
    return Section(heading, (), ("", ""), _WORDS, rows)


def _fact_text(value: object) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    text = printable(value)
    return text if len(text) <= _LONGEST else text[: _LONGEST - 3] + "..."
