"""A build from a git tree records its commit, and whether the sources were changed since."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

from required_tools import require_program
from source_tree import ROOT

SCRIPT = ROOT / "src/cpp/python/record_revision.cmake"


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """A git tree with one commit."""
    require_program("git")
    require_program("cmake")
    tree = tmp_path / "tree"
    (tree / "src").mkdir(parents=True)
    (tree / "src/a.cpp").write_text("int a;\n")
    for words in (["init", "-q"], ["add", "."], ["commit", "-q", "-m", "first"]):
        run_git(tree, *words)
    return tree


def run_git(tree: Path, *words: str) -> str:
    identity = ["-c", "user.name=a", "-c", "user.email=a@example.org"]
    command = ["git", *identity, *words]
    return subprocess.run(command, cwd=tree, check=True, capture_output=True, text=True).stdout


def recorded(sources: Path, prefix: Path) -> object:
    settings = {"SOURCE_DIR": sources, "LIBRARY_DIR": ".", "CMAKE_INSTALL_PREFIX": prefix}
    words = [f"-D{name}={value}" for name, value in settings.items()]
    subprocess.run(["cmake", *words, "-P", str(SCRIPT)], check=True, capture_output=True)
    return json.loads((prefix / "revision.json").read_text())


def test_commit_of_a_git_tree(tree: Path, tmp_path: Path) -> None:
    commit = run_git(tree, "rev-parse", "HEAD").strip()
    (tree / "notes.txt").write_text("no part of a build\n")
    assert recorded(tree, tmp_path) == {"revision": commit, "modified": False}
    (tree / "src/b.cpp").write_text("int b;\n")
    assert recorded(tree, tmp_path) == {"revision": commit, "modified": True}
    run_git(tree, "add", ".")
    run_git(tree, "commit", "-q", "-m", "second")
    (tree / "src/a.cpp").write_text("int c;\n")
    second = run_git(tree, "rev-parse", "HEAD").strip()
    assert recorded(tree, tmp_path) == {"revision": second, "modified": True}


def test_sources_without_a_tree_of_their_own_have_no_revision(tree: Path, tmp_path: Path) -> None:
    """An unpacked source distribution may lie within the tree of another project."""
    nothing = {"revision": None, "modified": None}
    assert recorded(tree / "src", tmp_path) == nothing
    alone = tmp_path / "alone"
    alone.mkdir()
    assert recorded(alone, tmp_path) == nothing
