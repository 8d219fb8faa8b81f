"""The page of the operations of today's models on one device."""

from __future__ import annotations

import math
import statistics
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

from device_page import wall_time_sections
from device_tables import MODELS
from page_parts import (
    ROOT,
    Files,
    count,
    device_of,
    files_of,
    page_head,
    section,
    significant_digits,
    wrapped,
)
from row_figures import by_problem, geometric_mean, ok_rows, wall_times

from deepbench.results import ResultFile, Row
from deepbench.results.build import revision_text

Key = tuple[str, ...]

# The operations whose time is that of moving their data, and what makes the size of a problem.
SIZES = {
    "norm": ("rows", "columns"),
    "softmax": ("rows", "columns"),
    "activation": ("elements",),
    "elementwise": ("rows", "columns"),
    "pool": ("n", "c", "h", "w"),
    "lrn": ("n", "c", "h", "w"),
    "embedding": ("rows", "dim", "batch"),
}
LEAST_BYTES = 64e6
ENOUGH = 0.9  # of the memory ceiling
BOUNDS = ("memory", "cache", "arithmetic", "latency")
# Classes of grouped products: below which mean number of rows of a group they end.
CLASSES = ((1, "less than 1"), (16, "1 to 15"), (128, "16 to 127"), (math.inf, "128 and more"))


def models_page(device: str, folder: str, memory_folder: str) -> str:
    """The page of `results/FOLDER`. The rate of a copy is that of `results/MEMORY_FOLDER`."""
    files = files_of(folder)
    rows = [row for file in files.values() for row in ok_rows(file.rows)]
    parts = [
        page_head(f"Operations of models: one NVIDIA {device}", folder),
        [introduction(folder, files), ""],
        *wall_time_sections(files, wall_times(ROOT / "results" / folder)),
        operations_section(rows),
        transfer_section(files, rows, memory_folder),
        attention_section(rows),
        grouped_products_section(rows),
    ]
    return "\n".join(line for part in parts for line in part)


def introduction(folder: str, files: Files) -> str:
    contexts = [file.context for file in files.values()]
    days = sorted({str(context["started"])[:10] for context in contexts})
    revisions = sorted({str(revision_text(context["build"])) for context in contexts})
    commands = ", ".join(f"`deepbench {' '.join(MODELS[name])}`" for name in files)
    return wrapped(
        f"Measured on {' and '.join(days)} with revision {' and '.join(revisions)}: {commands}. "
        f"`python benchmarks/device_tables.py --folder results/{folder} {' '.join(files)}` "
        "measures these files again. Means and medians count each problem once, also where several "
        f"sets contain it. The [log](log/{folder}.md) states what the tables show."
    )


def groups_of(rows: Iterable[Row], key: Callable[[Row], Key]) -> list[tuple[Key, list[Row]]]:
    """Rows with the same key, sorted by it."""
    groups: defaultdict[Key, list[Row]] = defaultdict(list)
    for row in rows:
        groups[key(row)].append(row)
    return sorted(groups.items())


def precision_of(row: Row) -> str:
    return str(row.attributes["precision"])


def counts(rows: list[Row]) -> list[str]:
    """How many rows and problems."""
    return [str(len(rows)), str(len({row.problem for row in rows}))]


def percent(share: float) -> str:
    return significant_digits(100 * share, 2)


# ---- all operations ----------------------------------------------------------------------------


def operations_section(rows: list[Row]) -> list[str]:
    return section(
        "Operations",
        "Percentages of the rows that memory, a cache, arithmetic or the latency of a call bounds, "
        "and geometric means of %roofline, of all rows and of those that latency does not bound.",
        ["operation", "precision", "rows", "problems", *BOUNDS, "%roofline", "without latency"],
        [
            [f"`{op}`", precision, *counts(some), *operation_cells(some)]
            for (op, precision), some in groups_of(
                rows, lambda row: (str(row.op), precision_of(row))
            )
        ],
    )


def operation_cells(rows: list[Row]) -> list[str]:
    bounds = [row.bound.by for row in rows]
    longer = [row for row in rows if row.bound.by != "latency"]
    return [
        *(f"{100 * bounds.count(by) / len(rows):.0f}" for by in BOUNDS),
        *map(mean_share, (rows, longer)),
    ]


def mean_share(rows: list[Row]) -> str:
    shares = [(row, row.bound.share_roofline) for row in rows if row.bound.share_roofline]
    return percent(geometric_mean(shares)) if shares else ""


# ---- operations that move data -----------------------------------------------------------------


@dataclass(frozen=True)
class Transfer:
    """The rate of a problem, the mean of its rows."""

    row: Row  # one of them
    gbps: float
    share: float  # of the memory ceilings of their files

    def text(self) -> str:
        size = " x ".join(str(self.row.attributes[name]) for name in SIZES[str(self.row.op)])
        return f"{size}: {self.gbps:,.0f} ({self.share:.3f})"


def transfer_section(files: Files, rows: list[Row], memory_folder: str) -> list[str]:
    large = [row for row in rows if row.op in SIZES and (row.work.bytes or 0) >= LEAST_BYTES]
    groups = [(key, list(transfers(some))) for key, some in groups_of(large, operation_of)]
    found = [one for _, group in groups for one in group]
    memory = files_of(memory_folder)["memory"]
    copy_gbps = rate_of_copy(memory)
    return section(
        "Operations that move 64 MB or more",
        f"{ceilings_text(files, large)} A copy had {copy_gbps:,.0f} GB/s on the device "
        f"{device_of(memory)} of `results/{memory_folder}`. Of {len(found)} problems "
        f"{reaching(found)} reach {ENOUGH} of the ceiling and {copying(found, copy_gbps)} {ENOUGH} "
        f"of that copy. The last column has those below {ENOUGH} of the ceiling, as size: GB/s "
        "(ratio to the ceiling). A size is rows x columns, elements, images x channels x height x "
        f"width, or rows x dim x lookups. {without_ceiling_text(large)}",
        ["operation", "precision", "library", "algorithm", "problems", f"{ENOUGH} of the ceiling",
         f"{ENOUGH} of a copy", f"below {ENOUGH} of the ceiling"],
        [
            [*key, str(len(group)), str(reaching(group)), str(copying(group, copy_gbps)),
             ", ".join(one.text() for one in group if one.share < ENOUGH)]
            for key, group in groups if group
        ],
    )  # fmt: skip


def operation_of(row: Row) -> Key:
    words = [value for key, value in row.attributes.items()
             if isinstance(value, str) and key != "precision"]  # fmt: skip
    name = " ".join([f"`{row.op}`", *words])
    return name, precision_of(row), str(row.library), f"`{row.algorithm.name}`"


def transfers(rows: list[Row]) -> Iterator[Transfer]:
    """The problems, the lowest share first."""
    problems = groups_of(filter(has_ceiling, rows), lambda row: (str(row.problem),))
    found = (
        Transfer(
            some[0],
            geometric_mean((row, float(row.rates.gbps)) for row in some),
            geometric_mean((row, row.rates.gbps / row.bound.memory_gbps) for row in some),
        )
        for _, some in problems
    )
    yield from sorted(found, key=lambda one: one.share)


def has_ceiling(row: Row) -> bool:
    return row.bound.level == "memory" and row.bound.memory_gbps is not None


def reaching(found: list[Transfer]) -> int:
    return sum(one.share >= ENOUGH for one in found)


def copying(found: list[Transfer], copy_gbps: float) -> int:
    return sum(one.gbps >= ENOUGH * copy_gbps for one in found)


def ceilings_text(files: Files, large: list[Row]) -> str:
    """Which problem is the memory ceiling of the files, and its rate."""
    lines = [line for file in files.values() for line in file.ceilings
             if (line["kind"], line["level"]) == ("bandwidth", "memory")]  # fmt: skip
    problems = " and ".join(sorted({f"`{line['problem']}`" for line in lines}))
    rates = sorted(row.bound.memory_gbps for row in large if has_ceiling(row))
    return (
        f"The ceiling is that of the same file, {problems} with {rates[0]:,.0f} to "
        f"{rates[-1]:,.0f} GB/s."
    )


def without_ceiling_text(large: list[Row]) -> str:
    names = {row.problem: f"`{row.op}`" for row in large if not has_ceiling(row)}
    if not names:
        return ""
    return (
        f"There is no ceiling for {count(len(names), 'problem')} of "
        f"{', '.join(sorted(set(names.values())))}, since caches hold a part of what they read."
    )


def rate_of_copy(memory: ResultFile) -> float:
    """The rate of the largest copy within a device, in GB/s."""
    copies = [row for row in ok_rows(memory.rows) if row.attributes["kind"] == "copy"]
    return float(max(copies, key=lambda row: row.attributes["bytes"]).rates.gbps)


# ---- attention and the products of experts -----------------------------------------------------


def attention_section(rows: list[Row]) -> list[str]:
    return section(
        "Attention",
        "*Decode* is forward with one query of each sequence, *prefill* forward with several, also "
        "in training.",
        ["precision", "phase", "sinks", "library", "rows", "problems", "median TFLOP/s", "largest",
         "median %roofline", "range"],
        [
            [*key, *counts(some), *rate_cells(some)]
            for key, some in groups_of(
                (row for row in rows if row.op == "attention"),
                lambda row: (
                    precision_of(row),
                    phase_of(row),
                    str(row.attributes.get("sink", "no")),
                    str(row.library),
                ),
            )
        ],
    )  # fmt: skip


def phase_of(row: Row) -> str:
    if row.attributes["phase"] == "bwd":
        return "gradients"
    return "decode" if row.attributes["seq_q"] == 1 else "prefill"


def grouped_products_section(rows: list[Row]) -> list[str]:
    return section(
        "Grouped products",
        "By the mean number of rows of a group.",
        ["precision", "rows of a group", "library", "rows", "problems", "median TFLOP/s",
         "largest", "median %roofline", "range"],
        [
            [precision, CLASSES[int(place)][1], library, *counts(some), *rate_cells(some)]
            for (precision, place, library), some in groups_of(
                (row for row in rows if row.op == "grouped_gemm"),
                lambda row: (precision_of(row), str(class_of(row)), str(row.library)),
            )
        ],
    )  # fmt: skip


def class_of(row: Row) -> int:
    """The place of its class in CLASSES."""
    mean = row.attributes["rows"] / row.attributes["groups"]
    return next(place for place, (end, _) in enumerate(CLASSES) if mean < end)


def rate_cells(rows: list[Row]) -> list[str]:
    rates = by_problem((row, float(row.rates.tflops)) for row in rows)
    shares = by_problem((row, row.bound.share_roofline) for row in rows)
    return [
        *map(significant_digits, (statistics.median(rates), max(rates))),
        percent(statistics.median(shares)),
        f"{percent(min(shares))} to {percent(max(shares))}",
    ]
