"""The guide's commands run: every `bash` block of docs/guide, in order, one folder per page."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from source_tree import ROOT

GUIDE = sorted((ROOT / "docs" / "guide").glob("*.md"))
FENCE = re.compile(r"^```(\w*)\n(.*?)^```$", re.M | re.S)
LANGUAGES = {"bash", "text", "toml", "python", ""}  # a console block would not be run
PAGE_LIMIT_S = 240


def code_blocks(page: Path, language: str) -> list[str]:
    return [
        text for name, text in FENCE.findall(page.read_text(encoding="utf-8")) if name == language
    ]


RUNNABLE = [page for page in GUIDE if code_blocks(page, "bash")]


def test_pages_have_commands() -> None:
    assert len(RUNNABLE) >= 10
    assert sum(len(code_blocks(page, "bash")) for page in RUNNABLE) >= 20


def test_fences_are_of_known_languages() -> None:
    wrong = [
        f"{page.name}: {name}"
        for page in GUIDE
        for name, _ in FENCE.findall(page.read_text(encoding="utf-8"))
        if name not in LANGUAGES
    ]
    assert not wrong, wrong


def test_python_blocks_run() -> None:
    for page in GUIDE:
        for text in code_blocks(page, "python"):
            subprocess.run([sys.executable, "-c", text], check=True, stdout=subprocess.DEVNULL)


# A busy machine may end a row as mistrusted, and make a comparison find a regression: neither is a
# mistake of the guide. Every other status counts.
COMMAND = """\
import subprocess, sys
done = subprocess.run(
    [sys.executable, "-m", "deepbench", *sys.argv[1:]], stderr=subprocess.PIPE, text=True
)
sys.stderr.write(done.stderr)
noise = sys.argv[1:2] == ["compare"] or "mistrusted" in done.stderr
sys.exit(0 if done.returncode == 1 and noise else done.returncode)
"""


def command_folder(folder: Path) -> Path:
    """A folder with a `deepbench` that runs the package under test."""
    folder.mkdir()
    (folder / "command.py").write_text(COMMAND, encoding="utf-8")
    for name, words in (("deepbench", f"{folder}/command.py"), ("python3", "")):
        script = folder / name
        script.write_text(f'#!/bin/sh\nexec "{sys.executable}" {words} "$@"\n', encoding="utf-8")
        script.chmod(0o755)
    return folder


@pytest.mark.slow
@pytest.mark.parametrize("page", RUNNABLE, ids=lambda page: page.stem)
def test_commands_run(page: Path, tmp_path: Path) -> None:
    if page.name == "reports.md":
        pytest.importorskip("vl_convert")
    if page.name == "workbooks.md":
        pytest.importorskip("xlsxwriter")
    if page.name in ("simulators.md", "backends.md") and shutil.which("gcc") is None:
        pytest.skip("the page compiles C and this machine has no gcc")
    work = tmp_path / "work"
    work.mkdir()
    for name in ("src", "examples", "results"):
        (work / name).symlink_to(ROOT / name)
    commands = command_folder(tmp_path / "bin")
    environment = {**os.environ, "PATH": f"{commands}:{os.environ['PATH']}"}
    script = "set -euo pipefail\n" + "\n".join(code_blocks(page, "bash"))
    done = subprocess.run(
        ["bash", "-c", script],
        cwd=work,
        env=environment,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=PAGE_LIMIT_S,
    )
    assert done.returncode == 0, f"{page.name}\n{done.stdout[-3000:]}\n{done.stderr[-3000:]}"
