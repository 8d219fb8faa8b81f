"""The pages of several devices: collectives, and a fleet."""

from __future__ import annotations

import statistics
from collections import Counter

from page_parts import (
    Files,
    count,
    device_of,
    files_of,
    markdown_table,
    page_head,
    section,
    significant_digits,
    wrapped,
)
from row_figures import verified_rows
from sweep_runner import median_us

from deepbench.results import ResultFile, Row

LIBRARIES = ("nccl", "peer", "best")
TIMES_HEADING = ["problem", "time, µs", "busbw, GB/s", "library", "algorithm"]


def collectives_page(folder: str, number: str, device: str = "H200") -> str:
    files = files_of(folder)
    machines = {device_of(file) for file in files.values()}
    each = ", each file from one" if len(machines) > 1 else ""
    come = f"The {len(files)} files come" if len(files) > 1 else "The file comes"
    intro = (
        f"{come} from {count(len(machines), 'machine')}{each}. "
        "Every device has a process of its own, except with `nccl_single`. Every row on this page "
        "is verified exactly on all ranks, before and after timing. GB/s is `busbw`: of all_reduce "
        "bytes/t · 2(n - 1)/n. `best` runs NCCL and `peer`."
    )
    lines = [*page_head(f"{number} NVIDIA {device}s", folder), wrapped(intro), ""]
    for precision in ("float", "half"):
        heading = [
            "elements", "NCCL, µs", "NCCL, GB/s", "peer, µs", "algorithm of peer",
            "best, µs", "algorithm of best", "best, GB/s", "NCCL / best",
        ]  # fmt: skip
        rows = comparison_lines(files, precision)
        lines += section(f"all_reduce in {precision}", "", heading, rows)
    for name in other_files(files):
        lines += section(name, "", TIMES_HEADING, time_lines(files[name]))
    return "\n".join([*lines, *fleet_lines(files)])


def other_files(files: Files) -> list[str]:
    """The files that the comparison above does not show."""
    compared = tuple(f"_{word}" for word in LIBRARIES)
    return [
        name
        for name in files
        if not name.startswith("fleet_")
        and (not name.endswith(compared) or "sweep" in name or "bfloat16" in name)
    ]


def comparison_lines(files: Files, precision: str) -> list[list[str]]:
    nccl, peer, best = (rows_by_size(files, f"{precision}_{word}") for word in LIBRARIES)
    return [
        comparison_cells(size, nccl[size], peer[size], best[size])
        for size in sorted({*nccl} & {*peer} & {*best})
    ]


def rows_by_size(files: Files, suffix: str) -> dict[int, Row]:
    names = [f"all_reduce_{part}_{suffix}" for part in ("training", "sizes")]
    rows = [row for name in names if name in files for row in verified_rows(files[name].rows)]
    return {int(row.attributes["elements"]): row for row in rows}


def comparison_cells(size: int, nccl: Row, peer: Row, best: Row) -> list[str]:
    return [
        f"{size:,}",
        significant_digits(median_us(nccl)),
        bus_bandwidth(nccl),
        significant_digits(median_us(peer)),
        f"`{peer.algorithm.name}`",
        significant_digits(median_us(best)),
        f"`{best.algorithm.name}`",
        bus_bandwidth(best),
        f"{median_us(nccl) / median_us(best):.2f}",
    ]


def bus_bandwidth(row: Row) -> str:
    return significant_digits(next(one.value for one in row.metrics if one.name == "busbw"))


def time_lines(file: ResultFile) -> list[list[str]]:
    return [
        [
            f"`{row.problem}`",
            significant_digits(median_us(row)),
            bus_bandwidth(row),
            str(row.library),
            f"`{row.algorithm.name}`",
        ]
        for row in verified_rows(file.rows)
    ]


def fleet_lines(files: Files) -> list[str]:
    lines = []
    for name, file in files.items():
        if name.startswith("fleet_"):
            heading = ["rows", "ok", "median spread", "third quartile", "largest"]
            table = markdown_table([*heading, "outliers by rank"], [fleet_cells(file)])
            lines += [f"## {name}", "", *table, ""]
    return lines


def fleet_cells(file: ResultFile) -> list[str]:
    ok = verified_rows(file.rows)
    rows = [row for row in ok if row.ranks and row.ranks.spread is not None]
    spreads = [float(row.ranks.spread) for row in rows]
    quartiles = statistics.quantiles(spreads, n=4)
    outliers = Counter(one.rank for row in rows for one in row.ranks.outliers or [])
    return [
        str(len(file.rows)),
        str(len(ok)),
        *(f"{100 * value:.1f} %" for value in (*quartiles[1:], max(spreads))),
        ", ".join(f"rank {rank}: {number}" for rank, number in sorted(outliers.items())),
    ]
