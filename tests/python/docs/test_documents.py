"""Tests that links lead somewhere, that named files exist, that each page has one kind, and that
pages with results equal the result files.

Reads files alone. A heading's anchor has the form of code forges: lower case, hyphens for spaces.
"""

from __future__ import annotations

import ast
import io
import os
import re
import shutil
import subprocess
import sys
import tokenize
from collections.abc import Iterator
from pathlib import Path

import pytest

from source_tree import ROOT, c_sources, python_sources

DOCUMENTS = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md"), *ROOT.glob("results/*.md")])
FOLDERS = ("src", "python", "third_party", "tests", "benchmarks", "tools", "examples")
LONGEST_README = 150
RESULTS_BYTES = 60_000_000
LINK = re.compile(r"\]\((?!https?:|mailto:)([^)#\s]*)(?:#([^)\s]+))?\)")
# A path of a source or a page, with or without its first folders. Words with a placeholder, such as
# plugin_NAME.h or ops/<op>/spec.cpp, name no single file.
NAMED = re.compile(
    r"(?<![\w./<>*$~{}-])(?:[\w-]+/)*[\w-]+\.(?:c|h|cpp|hpp|cu|cuh|py|md|js|css)(?![\w./*<{-]*\w)"
)
PLACEHOLDER = re.compile(r"(?<![A-Z])[A-Z]{3,}(?![A-Z])")
OTHERS = {"marks.c", "dnnl.h", "mkl_spblas.h", "missing.h"}  # of libraries and of examples
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


def test_named_files_exist() -> None:
    """Checks the files that documents and comments name. The changelog may name removed ones."""
    ends = path_suffixes()
    wrong = [
        f"{path.relative_to(ROOT)}: {name}"
        for path, text in documents_and_comments()
        for name in NAMED.findall(text)
        if name not in ends and not PLACEHOLDER.search(name) and Path(name).name not in OTHERS
    ]
    assert not wrong, wrong


def path_suffixes() -> set[str]:
    """Every way to name a file of the tree: its name after any number of its folders."""
    folders = [*FOLDERS, "docs", "results"]
    files = [*ROOT.glob("*"), *(path for name in folders for path in (ROOT / name).rglob("*"))]
    parts = [path.relative_to(ROOT).parts for path in files if path.is_file()]
    return {"/".join(names[start:]) for names in parts for start in range(len(names))}


def documents_and_comments() -> Iterator[tuple[Path, str]]:
    pages = {*DOCUMENTS, *(path for name in FOLDERS for path in (ROOT / name).rglob("*.md"))}
    for path in sorted(pages - {ROOT / "CHANGELOG.md"}):
        yield path, path.read_text(encoding="utf-8")
    for path in c_sources(*FOLDERS):
        yield path, "\n".join(C_COMMENT.findall(path.read_text(encoding="utf-8")))
    for path in python_sources(*FOLDERS):
        yield path, python_comments(path.read_text(encoding="utf-8"))


C_COMMENT = re.compile(r"//[^\n]*|/\*.*?\*/", re.DOTALL)


def python_comments(text: str) -> str:
    """The comments and docstrings of a Python source."""
    tokens = tokenize.generate_tokens(io.StringIO(text).readline)
    comments = [token.string for token in tokens if token.type == tokenize.COMMENT]
    documented = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
    nodes = [node for node in ast.walk(ast.parse(text)) if isinstance(node, documented)]
    return "\n".join([*comments, *(ast.get_docstring(node) or "" for node in nodes)])


def test_readme_is_short() -> None:
    assert len((ROOT / "README.md").read_text(encoding="utf-8").splitlines()) < LONGEST_README


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
