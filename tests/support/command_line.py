"""The command line, in a process of its own or in this one."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

DEEPBENCH = [sys.executable, "-m", "deepbench"]
TIMEOUT_S = 600
WAITING = "deepbench: waiting for the backend\n"  # said where a busy machine takes its time


def deepbench(
    *arguments: object,
    text: str | None = None,
    folder: Path | None = None,
    environment: Mapping[str, str] = os.environ,
    timeout_s: float = TIMEOUT_S,
    **variables: str,
) -> subprocess.CompletedProcess[str]:
    """Runs a command to its end, with `text` as its input, in `folder`. The variables are added to
    the environment."""
    return subprocess.run(
        [*DEEPBENCH, *map(str, arguments)],
        input=text,
        cwd=folder,
        env={**environment, **variables},
        capture_output=True,
        text=True,
        timeout=timeout_s,
    )


def run_command(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    """The status, standard output and standard error of a command that runs in this process."""
    from deepbench.cli import main

    status = main(list(arguments))
    said = capsys.readouterr()
    return status, said.out, said.err
