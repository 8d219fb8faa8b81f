"""The pages of several devices: collectives, and a fleet."""

from __future__ import annotations

import re
import statistics
from collections import Counter
from collections.abc import Iterator, Mapping

from collective_sweeps import (
    SWEEP,
    Sizes,
    algorithm_text,
    bus_bandwidth,
    by_size,
    prediction_sections,
    ratio_text,
    sizes_of,
    sweep_sections,
    time_text,
)
from page_parts import (
    Files,
    count,
    device_of,
    files_of,
    filled_section,
    markdown_table,
    page_head,
    section,
    wrapped,
)
from row_figures import verified_rows

from deepbench.results import ResultFile, Row

PRECISIONS = ("float", "half", "bfloat16")
LIBRARIES = ("nccl", "peer", "best")
COLUMNS = (*LIBRARIES, "in_place_nccl", "in_place_peer", "nccl_single")
COMPARED = re.compile(
    rf"all_reduce_(training|sizes)_({'|'.join(PRECISIONS)})_({'|'.join(COLUMNS)})"
)
TIMES_HEADING = ["problem", "time, µs", "busbw, GB/s", "library", "algorithm"]


def collectives_page(
    folder: str, number: str, device: str = "H200", fewer: str | None = None
) -> str:
    """The page of `results/FOLDER`. `fewer` is the folder of fewer devices of the same kind."""
    files = files_of(folder)
    on_devices = [file for file in files.values() if file.context["backend"]["name"] != "cpu"]
    machines = {device_of(file) for file in on_devices}
    each = ", each file from one" if len(machines) > 1 else ""
    come = f"The {len(files)} files come" if len(files) > 1 else "The file comes"
    single = any(name.endswith("_nccl_single") for name in files)
    all_in_one = "With `nccl_single` one process has all devices; otherwise each"
    best = " `best` runs NCCL and `peer`." if any(name.endswith("_best") for name in files) else ""
    intro = (
        f"{come} from {count(len(machines), 'machine')}{each}. "
        f"{all_in_one if single else 'Each'} device has its own process. Every measured row on "
        "this page is verified exactly on all ranks, before and after timing. GB/s is `busbw`, as "
        "each operation's page defines it." + best
    )
    parts = [
        [*page_head(f"{number} NVIDIA {device}s", folder), wrapped(intro), ""],
        *(part for precision in PRECISIONS for part in comparison_sections(files, precision)),
        *sweep_sections(files),
        *(prediction_sections(files, fewer) if fewer else ()),
        *(section(name, "", TIMES_HEADING, time_lines(files[name])) for name in other_files(files)),
        fleet_lines(files),
    ]
    return "\n".join(line for part in parts for line in part)


def other_files(files: Files) -> list[str]:
    """The files that no table of several files shows."""
    return [
        name
        for name in files
        if not name.startswith("fleet_")
        and not any(pattern.fullmatch(name) for pattern in (COMPARED, SWEEP))
    ]


def comparison_sections(files: Files, precision: str) -> Iterator[list[str]]:
    columns = {name: rows_by_size(files, f"{precision}_{name}") for name in COLUMNS}
    yield filled_section(
        f"all_reduce in {precision}",
        "",
        ["elements", "NCCL, µs", "NCCL, GB/s", "peer, µs", "algorithm of peer", "best, µs",
         "algorithm of best", "best, GB/s", "NCCL / best"],
        [comparison_cells(size, columns)
         for size in sizes_of(columns[name] for name in LIBRARIES)],
    )  # fmt: skip
    variants = [name for name in COLUMNS if name not in LIBRARIES and columns[name]]
    words = dict.fromkeys("in one process" if "single" in name else "in place" for name in variants)
    yield filled_section(
        f"all_reduce in {precision}, {' and '.join(words)}",
        "",
        ["elements", "NCCL, µs", "NCCL in place, µs", "NCCL in place, GB/s",
         "NCCL in one process, µs", "peer, µs", "peer in place, µs", "peer in place, GB/s",
         "algorithm of peer in place", "NCCL / peer in place"],
        [variant_cells(size, columns)
         for size in sizes_of(columns[name] for name in variants)],
    )  # fmt: skip


def rows_by_size(files: Files, suffix: str) -> dict[int, Row]:
    names = [f"all_reduce_{part}_{suffix}" for part in ("training", "sizes")]
    return by_size(
        row for name in names if name in files for row in verified_rows(files[name].rows)
    )


def comparison_cells(size: int, columns: Mapping[str, Sizes]) -> list[str]:
    nccl, peer, best = (columns[name].get(size) for name in LIBRARIES)
    return [
        f"{size:,}",
        time_text(nccl),
        bus_bandwidth(nccl),
        time_text(peer),
        algorithm_text(peer),
        time_text(best),
        algorithm_text(best),
        bus_bandwidth(best),
        ratio_text(nccl, best),
    ]


def variant_cells(size: int, columns: Mapping[str, Sizes]) -> list[str]:
    nccl, peer, _, nccl_in_place, peer_in_place, single = (
        columns[name].get(size) for name in COLUMNS
    )
    return [
        f"{size:,}",
        time_text(nccl),
        time_text(nccl_in_place),
        bus_bandwidth(nccl_in_place),
        time_text(single),
        time_text(peer),
        time_text(peer_in_place),
        bus_bandwidth(peer_in_place),
        algorithm_text(peer_in_place),
        ratio_text(nccl_in_place, peer_in_place),
    ]


def time_lines(file: ResultFile) -> list[list[str]]:
    return [
        [
            f"`{row.problem}`",
            time_text(row),
            bus_bandwidth(row),
            str(row.library),
            algorithm_text(row),
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
