"""The work of each suite, which `deepbench list` prints without reading its problems."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from command_line import run_command
from deepbench import suites
from source_tree import ROOT


def test_the_work_of_every_suite_is_known(monkeypatch: pytest.MonkeyPatch) -> None:
    command = [sys.executable, ROOT / "tools/suite_work.py", "--check"]
    checked = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (checked.returncode, checked.stdout, checked.stderr) == (0, "", "")
    for pair in suites.available():
        assert suites.known_work(*pair) is not None, pair
    monkeypatch.setattr(suites, "checksum", lambda set_name, op: 0)
    assert suites.known_work("training", "gemm") is None  # its file has changed since


def test_sets_are_listed_alike_without_known_work(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    _, known, _ = run_command(capsys, "list")
    monkeypatch.setattr(suites, "known_work", lambda set_name, op: None)
    _, computed, _ = run_command(capsys, "list")
    assert known == computed
    assert known.count("\n") > len(suites.available())


def test_a_damaged_file_is_not_needed(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(suites, "_FOLDER", tmp_path)
    for text in (None, "", "{"):
        if text is not None:
            (tmp_path / "work.json").write_text(text)
        suites._known_work.cache_clear()
        assert suites.known_work("training", "gemm") is None
    suites._known_work.cache_clear()
