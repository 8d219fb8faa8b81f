"""The documents as a test: links lead somewhere, pages stay short enough to be read, tables small.

Reads files alone. A heading's anchor is made as forges make it: lower case, spaces as hyphens.
"""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
DOCUMENTS = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md"), *ROOT.glob("results/*.md")])
FOLDERS = ("src", "python", "tests", "benchmarks", "tools")
SUFFIXES = {".c", ".h", ".cpp", ".hpp", ".cu", ".cuh", ".py"}
LONGEST_PAGE = 400
RESULTS_BYTES = 15_000_000  # every clone carries them
LINK = re.compile(r"\]\((?!https?:|mailto:)([^)#\s]*)(?:#([^)\s]+))?\)")
NAMED = re.compile(r"\bdocs/[\w/]+\.md\b")


def anchors(page: Path) -> set[str]:
    headings = re.findall(r"^#+ (.+)$", page.read_text(), re.M)
    return {re.sub(r"[^\w\- ]", "", text.lower()).replace(" ", "-") for text in headings}


def test_links_lead_somewhere() -> None:
    wrong = []
    for page in DOCUMENTS:
        for path, anchor in LINK.findall(page.read_text()):
            there = (page.parent / path) if path else page
            if not there.exists() or (anchor and anchor not in anchors(there)):
                wrong.append(f"{page.relative_to(ROOT)}: {path}#{anchor}")
    assert not wrong, wrong


def test_pages_that_sources_and_documents_name_are_there() -> None:
    sources = [p for f in FOLDERS for p in (ROOT / f).rglob("*") if p.suffix in SUFFIXES]
    wrong = [
        f"{path.relative_to(ROOT)}: {name}"
        for path in [*DOCUMENTS, *sources]
        for name in NAMED.findall(path.read_text())
        if not (ROOT / name).exists()
    ]
    assert not wrong, wrong


def test_no_page_is_longer_than_a_source() -> None:
    pages = (ROOT / "docs").rglob("*.md")
    wrong = [p.name for p in pages if len(p.read_text().splitlines()) > LONGEST_PAGE]
    assert not wrong, wrong


def test_measured_tables_stay_small() -> None:
    files = [path for path in (ROOT / "results").rglob("*") if path.is_file()]
    assert files
    assert sum(path.stat().st_size for path in files) <= RESULTS_BYTES
