"""Converts a context to pairs on the sheet `Specs` of a workbook that deepbench writes, and
back."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from deepbench.errors import printable_line
from deepbench.json_types import MutableJsonObject
from deepbench.results import schema
from deepbench.workbook.cells import Book

SHEET = "Specs"


def spec_lines(context: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """The contents of the context as readable pairs."""
    device, backend = context.get("device") or {}, context.get("backend") or {}
    yield "Written by", f"deepbench {context.get('version')}"
    for key, value in (
        ("Device", device.get("name")),
        ("Device index", device.get("index")),
        ("Backend", backend.get("name")),
        ("Threads", context.get("threads")),
        ("Set", context.get("set")),
        ("Started", context.get("started")),
        ("Command", " ".join(context.get("command") or ())),
    ):
        if value not in (None, ""):
            yield key, str(value)
    for name, facts in (context.get("libraries") or {}).items():
        if facts.get("version"):
            yield f"Library {name}", str(facts["version"])
    for group in ("options", "host", "specs"):
        values = context.get(group)  # the schema does not restrict their types
        for name, value in values.items() if isinstance(values, Mapping) else ():
            if isinstance(value, (str, int, float)):
                yield f"{group.removesuffix('s').capitalize()} {name}", str(value)
    notes = context.get("footnotes")
    for number, text in enumerate(notes if isinstance(notes, list) else (), start=1):
        yield f"Footnote {number}", str(text)


def context_of_specs(book: Book, rows: int) -> MutableJsonObject:
    """Restores the context from the pairs."""
    found: dict[str, str] = {}
    for sheet in book.sheets:
        if sheet.name == SHEET:
            for cells in sheet.rows.values():
                texts = [cell.text for cell in cells.values() if not cell.blank]
                if len(texts) >= 2:
                    found.setdefault(texts[0], texts[1])
    written = found.get("Written by", "").removeprefix("deepbench ")
    return {
        "type": "context",
        "schema": schema.VERSION,
        "command": found["Command"].split(" ") if "Command" in found else None,
        "version": written or "unknown",
        "started": found.get("Started"),
        "set": found.get("Set"),
        "rows": rows,
        "backend": {"name": found["Backend"]} if "Backend" in found else None,
        "device": {"index": _index_or_none(found.get("Device index")), "name": found.get("Device")},
        "threads": _index_or_none(found.get("Threads")),
        "libraries": {name: {"version": text} for name, text in _group_members(found, "Library")},
        "options": dict(_group_members(found, "Option")),
        "host": dict(_group_members(found, "Host")),
        "specs": dict(_group_members(found, "Spec")),
        "footnotes": [text for _, text in _group_members(found, "Footnote")],
        "workbook": printable_line(book.path.name),
    }


def _group_members(found: Mapping[str, str], name: str) -> Iterator[tuple[str, str]]:
    for key, value in found.items():
        if key.startswith(f"{name} "):
            yield key.removeprefix(f"{name} "), value


def _index_or_none(text: str | None) -> int | None:
    return int(text) if text and text.isascii() and text.isdigit() and len(text) < 10 else None
