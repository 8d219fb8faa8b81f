"""Tests of the commands in README.md and the guide: each is accepted by the command line, and those
that a CPU suffices for run, in the order of their page and in one folder per page."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from deepbench.cli import commands
from deepbench.cli.ops import OperationCommand
from example_rows import make_context, make_gemm, without_times
from guide_commands import (
    GUIDE,
    NEEDS,
    PAGES,
    code_blocks_of,
    deepbench_commands,
    run_shell,
    shell_text,
)
from report_files import result_file_text
from required_tools import require_module, require_program
from tolerant_command import has_nothing_worse_than_mistrusted

LANGUAGES = {"bash", "text", "toml", "python", "c"}  # `text` is output, or a file's content
PAGE_LIMIT_S = 1800
# Pages that show ceilings. On the others, measuring them would take most of the time.
WITH_CEILINGS = ("first_run", "reports")
RUNNABLE = [page for page in GUIDE if shell_text(page, "")]


def test_pages_have_commands() -> None:
    assert len(RUNNABLE) >= 10
    assert sum(len(shell_text(page, "").splitlines()) for page in RUNNABLE) >= 40


def test_fences_state_language_and_needs() -> None:
    wrong = [
        f"{page.name}: {block.language} {block.needs}"
        for page in PAGES
        for block in code_blocks_of(page)
        if block.language not in LANGUAGES or block.needs not in NEEDS
    ]
    assert not wrong, wrong


def test_text_blocks_are_no_commands() -> None:
    texts = [block for page in PAGES for block in code_blocks_of(page) if block.language == "text"]
    starts = ("deepbench ", "pip ", "python", "cmake ", "srun ", "mpirun ")
    wrong = [block for block in texts if block.text.startswith(starts)]
    assert not wrong, wrong


class RunWithoutRows:
    """Stands for the run of a command whose words and options are checked."""

    def __init__(self, *arguments: object) -> None:
        pass

    def run(self) -> int:
        return 0


def test_command_line_accepts_every_command(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("deepbench.runner.run.Run", RunWithoutRows)
    checked = 0
    for page in PAGES:
        for words in deepbench_commands(page):
            if "M=64" in words:  # the example of an error
                continue
            try:
                check_command(words)
            except Exception as error:
                raise AssertionError(f"{page.name}: deepbench {' '.join(words)}") from error
            checked += 1
    assert checked >= 80, checked


def check_command(words: list[str]) -> None:
    """Raises if the command line does not accept the words. The problems of operations are checked
    too. Of other commands, whose files do not exist here, only the options are checked."""
    command = commands.group()
    prints_only = words[0].startswith("-") or words[0] in ("help", "version")
    if prints_only or "--help" in words:
        assert commands.run(words) == 0
        return
    with command.make_context("deepbench", list(words)) as context:
        name, chosen, rest = command.resolve_command(context, list(words))
        assert chosen is not None
        if isinstance(chosen, OperationCommand):
            assert commands.run(words) == 0
        else:
            chosen.make_context(name, rest, parent=context)


def test_python_blocks_run() -> None:
    texts = [
        block.text for page in PAGES for block in code_blocks_of(page) if block.language == "python"
    ]
    assert texts
    for text in texts:
        subprocess.run([sys.executable, "-c", text], check=True, stdout=subprocess.DEVNULL)


@pytest.mark.slow
@pytest.mark.parametrize("page", RUNNABLE, ids=lambda page: page.stem)
def test_commands_run(page: Path, tmp_path: Path) -> None:
    if page.name == "reports.md":
        require_module("vl_convert")
    if page.name == "workbooks.md":
        require_module("xlsxwriter")
    if page.name in ("simulators.md", "backends.md"):
        require_program("gcc")
    options = [f"--hang-limit={PAGE_LIMIT_S // 3}"]  # a busy machine makes no row hang
    options += [] if page.stem in WITH_CEILINGS else ["--no-ceilings"]
    done = run_shell(shell_text(page, ""), tmp_path, PAGE_LIMIT_S, GUIDE_OPTIONS=" ".join(options))
    assert done.returncode == 0, f"{page.name}\n{done.stdout[-3000:]}\n{done.stderr[-3000:]}"


@pytest.mark.parametrize(
    ("statuses", "tolerated"),
    [
        (["ok", "mistrusted"], True),
        (["mistrusted", "unsupported"], True),
        (["ok", "mistrusted", "incorrect"], False),
        (["ok", "failed"], False),
        (["mistrusted"], False),  # a row is missing
    ],
)
def test_only_mistrusted_rows_are_tolerated(
    tmp_path: Path, statuses: list[str], tolerated: bool
) -> None:
    rows = [
        row if word == "ok" else without_times(row, word, "an example")
        for row, word in zip(map(make_gemm, range(len(statuses))), statuses, strict=True)
    ]
    file = tmp_path / "rows.jsonl"
    file.write_text(result_file_text(rows, make_context(rows=max(2, len(rows)))))
    assert has_nothing_worse_than_mistrusted(file) is tolerated
