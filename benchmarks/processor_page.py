"""The page of the tables of one processor."""

from __future__ import annotations

import statistics
from collections.abc import Iterator

from device_page import rate_sections, wall_time_sections
from page_parts import ROOT, Files, count, device_of, files_of, page_head, section, wrapped
from power_page import POWERS, ratio, rows_by_problem
from row_figures import wall_times

from deepbench.references import kind_of_device


def processor_page(folder: str) -> str:
    """The page of `results/FOLDER`, whose files were measured on processors of one kind."""
    files = files_of(folder)
    context = next(iter(files.values())).context
    machines = {device_of(file) for file in files.values()}
    isa = context["device"].get("isa")
    intro = (
        f"The {count(len(files), 'file')} come from {count(len(machines), 'machine')}"
        f"{f' with the instruction sets `{isa}`' if isa else ''}, each measured with "
        f"{count(context['threads'], 'thread')}. Means and medians count each problem once, also "
        "where a set contains it for several applications. `python benchmarks/device_tables.py "
        f"--backend cpu --folder results/{folder}` runs the benchmark and writes these files."
    )
    parts = [
        [*page_head(str(kind_of_device(context["device"])), folder), wrapped(intro), ""],
        *wall_time_sections(
            files, wall_times(ROOT / "results" / folder), "the identity of its machine"
        ),
        *rate_sections(files),
        *power_sections(files),
    ]
    return "\n".join(line for part in parts for line in part)


def power_sections(files: Files) -> Iterator[list[str]]:
    """What sustained load changes, for the sets that have files of both power regimes."""
    names = sorted({name.rpartition("_")[0] for name in files})
    yield section(
        "Sustained over rested",
        "Ratios of times.",
        ["set", "problems in both", "geometric mean", "largest"],
        [
            cells
            for name in names
            if all(f"{name}_{power}" in files for power in POWERS)
            for cells in power_cells(files, name)
        ],
    )


def power_cells(files: Files, name: str) -> Iterator[list[str]]:
    pairs = [pair for pair in rows_by_problem(files, name).values() if len(pair) == len(POWERS)]
    if pairs:
        ratios = list(map(ratio, pairs))
        figures = (statistics.geometric_mean(ratios), max(ratios))
        yield [f"`{name}`", str(len(pairs)), *(f"{value:.3f}" for value in figures)]
