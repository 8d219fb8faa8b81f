"""The commands of README.md and of the guide: its code blocks, and how tests run them."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from source_tree import ROOT

GUIDE = sorted((ROOT / "docs" / "guide").glob("*.md"))
PAGES = [ROOT / "README.md", *GUIDE]
# What the commands of a `bash` block need beyond a CPU, as the word after `bash` states it.
NEEDS = {
    "": "a CPU: test_guide.py runs it",
    "gpu": "an NVIDIA GPU: tests/gpu/test_guide_commands.py runs it",
    "gpus": "two NVIDIA GPUs: tests/gpu/test_guide_commands.py runs it",
    "mpi": "an MPI: tests/python/runner/test_mpi.py runs it",
    "torchrun": "PyTorch's launcher",
    "slurm": "a cluster with Slurm",
    "machines": "several machines",
    "profiler": "NVIDIA's profilers",
    "install": "a package index or a build: .ci/run and tests/python/packaging do the same",
}
_FENCE = re.compile(r"^```([\w{}-]*)(?: +([^\n]+))?\n(.*?)^```$", re.M | re.S)
_INLINE = re.compile(r"`(deepbench [^`]+|srun deepbench [^`]+)`")
_HERE_DOCUMENT = re.compile(r"<<'(\w+)'(.*?)\n.*?^\1$", re.M | re.S)
_OPERATORS = set("|&;<>()")


@dataclass(frozen=True)
class Block:
    """A code block of a page. Directives, such as images, are left out."""

    page: Path
    language: str
    needs: str  # the second word of its fence
    text: str


def code_blocks_of(page: Path) -> list[Block]:
    found = _FENCE.findall(page.read_text(encoding="utf-8"))
    return [
        Block(page, language, needs, text)
        for language, needs, text in found
        if not language.startswith("{")
    ]


def shell_text(page: Path, needs: str) -> str:
    """The commands of the page's `bash` blocks that need this, one after the other."""
    return "\n".join(
        block.text
        for block in code_blocks_of(page)
        if (block.language, block.needs) == ("bash", needs)
    )


def deepbench_commands(page: Path) -> list[list[str]]:
    """The words after `deepbench` of every command in blocks and tables of the page."""
    text = page.read_text(encoding="utf-8")
    scripts = [block.text for block in code_blocks_of(page) if block.language == "bash"]
    outside = _FENCE.sub("", text)
    return [
        words for script in [*scripts, *_INLINE.findall(outside)] for words in _commands_in(script)
    ]


def _commands_in(script: str) -> Iterator[list[str]]:
    without_documents = _HERE_DOCUMENT.sub(r"<<\1\2", script).replace("\\\n", " ")
    for line in without_documents.splitlines():
        lexer = shlex.shlex(line, posix=True, punctuation_chars=True)
        lexer.whitespace_split = True
        lexer.commenters = "#"
        words: list[str] = []
        for token in [*lexer, ";"]:
            if "$(" in token:
                yield from _commands_in(token[token.index("$(") + 2 :].rstrip(")"))
            if not set(token) <= _OPERATORS:
                words.append(token)
                continue
            if "deepbench" in words:
                yield words[words.index("deepbench") + 1 :]
            words = []


def run_shell(
    script: str, folder: Path, timeout_s: float, **variables: str
) -> subprocess.CompletedProcess[str]:
    """Runs the commands in a new folder below `folder`, which has the tree's sources, examples and
    results, with a `deepbench` that runs the package under test."""
    work = folder / "work"
    work.mkdir()
    for name in ("src", "examples", "results"):
        (work / name).symlink_to(ROOT / name)
    commands = _command_folder(folder / "bin")
    environment = {**os.environ, **variables}
    environment["PATH"] = f"{commands}:{environment['PATH']}"
    return subprocess.run(
        ["bash", "-c", f"set -euo pipefail\n{script}"],
        cwd=work,
        env=environment,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=timeout_s,
    )


def _command_folder(folder: Path) -> Path:
    folder.mkdir()
    tolerant = ROOT / "tests" / "support" / "tolerant_command.py"
    for name, words in (("deepbench", shlex.quote(str(tolerant))), ("python3", "")):
        script = folder / name
        script.write_text(f'#!/bin/sh\nexec "{sys.executable}" {words} "$@"\n', encoding="utf-8")
        script.chmod(0o755)
    return folder
