"""The documents as a test: links lead somewhere, pages stay short, results equal their files.

Reads files alone. A heading's anchor has the form of code forges: lower case, hyphens for spaces.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from source_tree import ROOT

DOCUMENTS = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md"), *ROOT.glob("results/*.md")])
FOLDERS = ("src", "python", "tests", "benchmarks", "tools")
SUFFIXES = {".c", ".h", ".cpp", ".hpp", ".cu", ".cuh", ".py"}
LONGEST_PAGE = 400
LONGEST_README = 150
RESULTS_BYTES = 15_000_000  # every clone carries them
LINK = re.compile(r"\]\((?!https?:|mailto:)([^)#\s]*)(?:#([^)\s]+))?\)")
NAMED = re.compile(r"\bdocs/[\w/]+\.md\b")
KINDS = {"guide", "reference", "explanation", "results", "decisions"}


def page_anchors(page: Path) -> set[str]:
    text = page.read_text(encoding="utf-8")
    headings = re.findall(r"^#+ (.+)$", text, re.M)
    explicit = re.findall(r"^\(([\w-]+)\)=$", text, re.M)
    return {re.sub(r"[^\w\- ]", "", text.lower()).replace(" ", "-") for text in headings} | {
        *explicit
    }


def test_links_lead_somewhere() -> None:
    wrong = []
    for page in DOCUMENTS:
        for path, anchor in LINK.findall(page.read_text(encoding="utf-8")):
            there = (page.parent / path) if path else page
            if not there.exists() or (anchor and anchor not in page_anchors(there)):
                wrong.append(f"{page.relative_to(ROOT)}: {path}#{anchor}")
    assert not wrong, wrong


def test_pages_that_sources_and_documents_name_are_there() -> None:
    sources = [p for f in FOLDERS for p in (ROOT / f).rglob("*") if p.suffix in SUFFIXES]
    wrong = [
        f"{path.relative_to(ROOT)}: {name}"
        for path in [*DOCUMENTS, *sources]
        for name in NAMED.findall(path.read_text(encoding="utf-8"))
        if not (ROOT / name).exists()
    ]
    assert not wrong, wrong


def test_no_page_is_longer_than_a_source() -> None:
    pages = (ROOT / "docs").rglob("*.md")
    wrong = [p.name for p in pages if len(p.read_text().splitlines()) > LONGEST_PAGE]
    assert not wrong, wrong
    assert len((ROOT / "README.md").read_text().splitlines()) < LONGEST_README


def test_every_page_has_one_kind() -> None:
    pages = [path.relative_to(ROOT / "docs") for path in (ROOT / "docs").rglob("*.md")]
    assert {page.parts[0] for page in pages if len(page.parts) > 1} == KINDS
    assert {page.name for page in pages if len(page.parts) == 1} == {"index.md", "glossary.md"}


def test_decisions_have_context_decision_and_consequences() -> None:
    pages = sorted((ROOT / "docs" / "decisions").glob("*.md"))
    assert len(pages) > 30
    for page in pages:
        if page.name != "index.md":
            headings = re.findall(r"^## (.+)$", page.read_text(encoding="utf-8"), re.M)
            assert headings == ["Context", "Decision", "Consequences"], page.name


def test_measured_tables_stay_small() -> None:
    files = [path for path in (ROOT / "results").rglob("*") if path.is_file()]
    assert files
    assert sum(path.stat().st_size for path in files) <= RESULTS_BYTES


def test_result_pages_equal_the_result_files() -> None:
    command = [sys.executable, str(ROOT / "docs" / "results" / "generate.py"), "--check"]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.slow
@pytest.mark.parametrize("doxygen", [True, False], ids=["with doxygen", "without doxygen"])
def test_the_site_builds_without_warnings(doxygen: bool, tmp_path: Path) -> None:
    for module in ("sphinx", "myst_parser", "pydata_sphinx_theme", "breathe"):
        pytest.importorskip(module)
    if doxygen and shutil.which("doxygen") is None:
        pytest.skip("this machine has no doxygen")
    environment = dict(os.environ)
    if not doxygen:
        environment["PATH"] = str(tmp_path)
    command = [sys.executable, "-m", "sphinx", "-q", "-W", "--keep-going"]
    command += [str(ROOT / "docs"), str(tmp_path / "site")]
    done = subprocess.run(command, capture_output=True, text=True, env=environment)
    assert done.returncode == 0, done.stderr
    page = (tmp_path / "site" / "reference" / "plugin.html").read_text(encoding="utf-8")
    assert "deepbench_plugin" in page
    assert "time_batch" in page
