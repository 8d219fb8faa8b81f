"""Several ranks as tests start them: by --ranks, or one by one as torchrun would."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import command_line
from deepbench.results import read

LIMIT_S = 600
QUICK = ("--samples", "3", "--time-limit", "1")
Ended = tuple[int, str, str]  # status, output, errors


def rank_environment(**variables: str) -> dict[str, str]:
    ours = ("RANK", "WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT", "DEEPBENCH_")
    kept = {name: value for name, value in os.environ.items() if not name.startswith(ours)}
    return kept | variables


def deepbench(*words: str, **variables: str) -> subprocess.CompletedProcess[str]:
    """Runs a command that is no rank, whatever this process is."""
    return command_line.deepbench(*words, environment=rank_environment(**variables))


class RankProcesses:
    """Ranks started as torchrun would, each with words and variables of its own; behind the words
    of `on`, which put it on a machine."""

    def __init__(
        self, size: int, address: str = "127.0.0.1", on: Callable[[int], list[str]] | None = None
    ) -> None:
        self._size, self._address, self._on = size, address, on or (lambda rank: [])
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port: int = free.getsockname()[1]
        self._processes: list[subprocess.Popen[str]] = []

    def start(self, rank: int, *words: str, **variables: str) -> subprocess.Popen[str]:
        place = {"RANK": str(rank), "WORLD_SIZE": str(self._size), "MASTER_ADDR": self._address,
                 "MASTER_PORT": str(self.port), **variables}  # fmt: skip
        process = subprocess.Popen(
            [*self._on(rank), sys.executable, "-m", "deepbench", *words],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env=rank_environment(**place),
        )
        self._processes.append(process)
        return process

    def wait_for_all(self) -> list[Ended]:
        """How each ended, by itself."""
        ended = []
        try:
            for process in self._processes:
                out, err = process.communicate(timeout=LIMIT_S)
                ended.append((process.returncode, out, err))
        finally:
            for process in self._processes:
                process.kill()
        return ended


def run_two_ranks(*words: str, **variables: str) -> list[Ended]:
    """Two ranks with the same words."""
    ranks = RankProcesses(2)
    for rank in (0, 1):
        ranks.start(rank, *words, **variables)
    return ranks.wait_for_all()


def rows_of(file: Path) -> list[dict[str, Any]]:
    return [dict(row.members) for row in read(file).rows]
