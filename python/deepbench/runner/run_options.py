"""How a run measures, shows and keeps its rows."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

from deepbench.problems.problem_arguments import quoted

SINGLE_PROCESS_LIBRARIES = ("nccl_single",)  # libraries whose one process has all devices


@dataclass(frozen=True)
class RunOptions:
    """How rows are to be run, shown and kept."""

    backend: str
    rows: dict[str, str]  # options of every row, by their keys
    caches: tuple[str, ...]  # each problem is run in each of these
    quick: bool
    corrected: bool
    output: Path | None
    resume: bool
    overwrite: bool
    format: str
    hang_limit_s: float | None
    in_process: bool
    retry: bool = False
    against: str | None = None  # whose rows stand beside those of the run in the report
    columns: tuple[str, ...] = ()  # of the table; none: all, or those that fit the terminal
    ranks: int | None = None  # that deepbench starts itself
    devices: int = 0  # so many, each a rank's: which they are is in `rows`

    @property
    def candidate(self) -> str | None:
        """The candidate that --algorithm names, where it is no way to choose."""
        word = self.rows.get("algorithm", "default")
        return None if word in ("default", "best", "exhaustive") else word

    @property
    def processes(self) -> int | None:
        """How many ranks we start ourselves, where nobody else has."""
        in_one = not self.devices or self.rows.get("library") in SINGLE_PROCESS_LIBRARIES
        return self.ranks if in_one else self.devices

    @property
    def energy(self) -> bool:
        return self.rows.get("energy") == "yes"

    @property
    def once(self) -> bool:
        return self.rows.get("once") == "yes"

    def for_set(self, name: str | None) -> RunOptions:
        """The options for a set: those of devices run on one thread, unless --threads says else."""
        if name != "inference_device" or "threads" in self.rows:
            return self
        return replace(self, rows={**self.rows, "threads": "1"})

    def worker_words(self) -> list[str]:
        """The options as a worker's command line takes them."""
        return [f"{key}={quoted(value)}" for key, value in self.rows.items()]

    def recorded(self) -> dict[str, str]:
        """Options as the context of a result keeps them."""
        options = dict(self.rows)
        if self.ranks is not None:
            options["ranks"] = str(self.ranks)
        if self.caches != ("hot",):
            options["cache"] = "both" if len(self.caches) > 1 else self.caches[0]
        return options
