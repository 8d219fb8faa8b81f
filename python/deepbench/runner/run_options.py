"""The options by which a run measures, shows and keeps its rows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from deepbench.problems.problem_arguments import quoted

VISITS_OF_SETS = 3
SINGLE_PROCESS_LIBRARIES = ("nccl_single",)  # libraries whose one process has all devices


@dataclass(frozen=True)
class RunOptions:
    """The checked options of a run."""

    backend: str
    rows: Mapping[str, str]  # options that apply to every row, by key
    caches: tuple[str, ...]  # the cache states in which each problem runs
    powers: tuple[str, ...]  # the power regimes in which each problem runs
    quick: bool
    corrected: bool
    output: Path | None
    resume: bool
    overwrite: bool
    format: str
    hang_limit_s: float | None
    in_process: bool
    retry: bool = False
    against: str | None = None  # the reference or result file to show beside the run
    columns: tuple[str, ...] = ()  # of the table; empty: all, or those that fit the terminal
    price: float | None = None  # of a device per hour, for the cost of calls
    ranks: int | None = None  # number of ranks that deepbench starts itself
    keeps_history: bool = False  # whether the history keeps the rows
    devices: int = 0  # number of devices with one rank each; `rows` holds their indices

    @property
    def candidate(self) -> str | None:
        """The candidate that --algorithm names, or None for a selection mode."""
        word = self.rows.get("algorithm", "default")
        return None if word in ("default", "best", "exhaustive") else word

    @property
    def processes(self) -> int | None:
        """The number of ranks that deepbench starts if no launcher has started them."""
        in_one = not self.devices or self.rows.get("library") in SINGLE_PROCESS_LIBRARIES
        return self.ranks if in_one else self.devices

    @property
    def energy(self) -> bool:
        return self.rows.get("energy") == "yes"

    @property
    def visits(self) -> int:
        """The number of visits in which each row is measured."""
        return int(self.rows.get("visits", "1"))

    @property
    def once(self) -> bool:
        return self.rows.get("once") == "yes"

    def for_set(self, name: str | None) -> RunOptions:
        """The options for a set. The inference-device set runs on one thread without --threads."""
        if name != "inference_device" or "threads" in self.rows:
            return self
        return replace(self, rows={**self.rows, "threads": "1"})

    def for_several_rows(self) -> RunOptions:
        """The options for a set or a suite. Its rows take three visits, unless the command requests
        a short run or something that a single process does."""
        given = self.rows.keys() & {"visits", "samples", "soak", "once"}
        if given or self.quick or self.in_process or self.processes is not None:
            return self
        return replace(self, rows={**self.rows, "visits": str(VISITS_OF_SETS)})

    def worker_words(self) -> list[str]:
        """The options as words of a worker's command line."""
        return [f"{key}={quoted(value)}" for key, value in self.rows.items()]

    def recorded(self) -> dict[str, str]:
        """The options that differ from their defaults and decide which rows a file has."""
        options = dict(self.rows)
        if self.ranks is not None:
            options["ranks"] = str(self.ranks)
        if self.caches != ("hot",):
            options["cache"] = _one_or_both(self.caches)
        if self.powers != ("rested",):
            options["power"] = _one_or_both(self.powers)
        return options

    def values(self) -> dict[str, str | None]:
        """Every option that can influence what is measured, with its value, given or not."""
        from deepbench import _core

        return {
            **_core.option_values(" ".join(self.worker_words())),
            "backend": self.backend,
            "cache": _one_or_both(self.caches),
            "power": _one_or_both(self.powers),
            "ranks": None if self.ranks is None else str(self.ranks),
            "quick": _yes_or_no(self.quick),
            "corrected": _yes_or_no(self.corrected),
            "resume": _yes_or_no(self.resume),
            "retry": _yes_or_no(self.retry),
            "in_process": _yes_or_no(self.in_process),
            "hang_limit": None if self.hang_limit_s is None else f"{self.hang_limit_s:g}",
        }


def _one_or_both(values: tuple[str, ...]) -> str:
    return values[0] if len(values) == 1 else "both"


def _yes_or_no(value: bool) -> str:
    return "yes" if value else "no"
