"""The page of the tables of one kind of device."""

from __future__ import annotations

import statistics
from collections import Counter
from collections.abc import Iterator

from command_runs import median_us
from page_parts import (
    ROOT,
    Files,
    count,
    device_of,
    files_of,
    page_head,
    section,
    short_uuid,
    significant_digits,
    wrapped,
)
from row_figures import (
    Selections,
    WallTime,
    by_problem,
    default_us,
    geometric_mean,
    ok_rows,
    same_problems,
    wall_times,
)

from deepbench.results import ResultFile, Row
from deepbench.results.algorithm_choice import algorithm_choice_of

TOGETHER = ("gemm", "conv", "rnn")  # operations whose sets are also counted together
GROUPS = ("training_half", "inference_half", "training_float")
TURNS = (2, 3)  # wall_seconds.json has repeated runs as NAME_2 and NAME_3
FEW_COLUMNS = ["m", "n", "k", "trans_a", "default, µs", "best, µs", "algorithm"]


def device_page(device: str, folder: str) -> str:
    """The page of `results/FOLDER`, whose files were measured on single devices of a kind."""
    files = files_of(folder)
    times = wall_times(ROOT / "results" / folder)
    devices = {device_of(file) for file in files.values()}
    intro = (
        f"Each file was measured on one {device}. The {len(files)} files come from "
        f"{count(len(devices), 'device')}. If two files come from different devices, the "
        "difference between their figures includes the difference between the devices. Means and "
        "medians count each problem once, also where a set contains it for several applications. "
        f"`python benchmarks/device_tables.py --folder results/{folder}` runs the benchmark and "
        f"writes these files. `python benchmarks/device_figures.py results/{folder}` prints "
        "further figures from them. The [measurement logs](log/index.md) describe goals, "
        "variations and causes."
    )
    parts = [
        [*page_head(f"One NVIDIA {device}", folder), wrapped(intro), ""],
        *wall_time_sections(files, times),
        *selection_sections(files),
        *rate_sections(files),
        *small_problem_sections(files),
    ]
    return "\n".join(line for part in parts for line in part)


# ---- wall times --------------------------------------------------------------------------------


def wall_time_sections(
    files: Files, times: dict[str, WallTime], identity: str = "the device's UUID"
) -> Iterator[list[str]]:
    yield section(
        "Sets",
        f"*Stop* counts the rows that did not converge. *Device* is the start of {identity}. "
        "The wall time includes start and verification"
        + (
            ", and processors that were shared with other devices that were measured."
            if any(time.beside for time in times.values())
            else "."
        ),
        ["file", "power", "rows", "problems", "ok", "verified", "wall time", "stop", "device",
         "start (UTC)"],
        [set_cells(name, file, times) for name, file in files.items()],
    )  # fmt: skip
    yield section(
        "Sets of several operations",
        "Sums of the wall times above. A sum over several devices is the time of no single one.",
        ["sets", "wall times", "sum", "devices"],
        list(sums_of_wall_times(times)),
    )
    yield section(
        "Wall times of repeated runs",
        "",
        ["set", "wall times", "devices"],
        list(repetitions(times)),
    )


def set_cells(name: str, file: ResultFile, times: dict[str, WallTime]) -> list[str]:
    rows = file.rows
    stops = Counter(row.statistics.stop for row in rows)
    ends = [f"{number} {stop}" for stop, number in sorted(stops.items(), key=str)
            if stop != "converged"]  # fmt: skip
    return [
        f"`{name}`",
        " and ".join(sorted({row.regime.power or "" for row in rows})),
        str(len(rows)),
        str(len({row.problem for row in rows})),
        str(len(ok_rows(rows))),
        str(sum(row.verification.status == "passed" for row in rows)),
        f"{times[name].seconds:.1f} s" if name in times else "",
        ", ".join(ends),
        device_of(file),
        str(file.context.get("started", ""))[:16].replace("T", " "),
    ]


def sums_of_wall_times(times: dict[str, WallTime]) -> Iterator[list[str]]:
    for group in GROUPS:
        names = [f"{op}_{group}" for op in TOGETHER if f"{op}_{group}" in times]
        if len(names) > 1:
            parts = [times[name] for name in names]
            yield [
                ", ".join(f"`{name}`" for name in names),
                seconds_text(parts),
                f"{sum(one.seconds for one in parts):.1f} s",
                devices_text(parts),
            ]


def repetitions(times: dict[str, WallTime]) -> Iterator[list[str]]:
    for name in times:
        turns = [name, *(f"{name}_{turn}" for turn in TURNS)]
        if all(turn in times for turn in turns):
            parts = [times[turn] for turn in turns]
            yield [f"`{name}`", seconds_text(parts), devices_text(parts)]


def seconds_text(times: list[WallTime]) -> str:
    return ", ".join(f"{one.seconds:.1f} s" for one in times)


def devices_text(times: list[WallTime]) -> str:
    return ", ".join(dict.fromkeys(short_uuid(one.device) for one in times))


# ---- selections --------------------------------------------------------------------------------


def selection_sections(files: Files) -> Iterator[list[str]]:
    yield section(
        "best against default",
        "Geometric means of the default's time over the winner's. *Interleaved*: both measured "
        "in turns. *Call*: full measurements of the same run. *With conversion*: the call plus "
        "the conversion of a constant operand. *Changed*: rows with another algorithm than the "
        "default. `best` keeps the default where the winner's full measurement is slower, so "
        "that no row can be slower but for the default's own second measurement. *Slower* counts "
        "such rows, and *by at most* is the largest of these differences.",
        ["file", "rows", "problems", "interleaved", "call", "with conversion", "changed", "slower",
         "by at most"],
        [best_cells(name, file) for name, file in files.items() if name.endswith("_best")],
    )  # fmt: skip


def best_cells(name: str, file: ResultFile) -> list[str]:
    selections = Selections.of(file.rows)
    means = (selections.interleaved(), selections.call(), selections.with_conversion())
    slower = [median_us(row) / default_us(row) - 1 for row in selections.slower()]
    return [
        f"`{name}`",
        str(len(selections.rows)),
        str(len({row.problem for row in selections.rows})),
        *(f"{mean:.3f}" for mean in means),
        str(sum(not algorithm_choice_of(row).is_default for row in selections.rows)),
        str(len(slower)),
        f"{100 * max(slower):.2f} %" if slower else "",
    ]


# ---- rates -------------------------------------------------------------------------------------


def rate_sections(files: Files) -> Iterator[list[str]]:
    yield section(
        "Rates",
        "Median and largest rate of each family with the default algorithm. Rates of integers "
        "are in TOP/s.",
        ["file", "family", "problems", "median TFLOP/s", "largest TFLOP/s"],
        [cells for name, file in files.items() for cells in rate_cells(name, file)],
    )
    yield section(
        "Cold against hot",
        "Quartiles of the cold time over the hot time of the same problem.",
        ["file", "problems", "quartiles", "more than 2 % slower", "devices (cold, hot)"],
        [cold_cells(name, file, files[name.removesuffix("_cold")])
         for name, file in files.items() if name.endswith("_cold")],
    )  # fmt: skip
    yield section(
        "Memory",
        "",
        ["problem", "time", "GB/s", "algorithm"],
        [memory_cells(row) for row in ok_rows(files["memory"].rows)],
    )


def rate_cells(name: str, file: ResultFile) -> Iterator[list[str]]:
    if name.endswith(("_best", "_cold")):
        return
    families: dict[str, list[tuple[Row, float]]] = {}
    for row in ok_rows(file.rows):
        if row.rates.tflops:
            words = (row.attributes.get("cell"), row.attributes.get("phase"))
            family = " ".join(str(word) for word in words if word) or "all"
            families.setdefault(family, []).append((row, float(row.rates.tflops)))
    for family, rates in families.items():
        values = by_problem(rates)
        figures = (statistics.median(values), max(rate for _, rate in rates))
        yield [f"`{name}`", family, str(len(values)), *map(significant_digits, figures)]


def cold_cells(name: str, cold: ResultFile, hot: ResultFile) -> list[str]:
    ratios = by_problem(
        (one, median_us(one) / median_us(other))
        for one, other in same_problems(cold.rows, hot.rows)
    )
    return [
        f"`{name}`",
        str(len(ratios)),
        ", ".join(f"{value:.2f}" for value in statistics.quantiles(ratios, n=4)),
        str(sum(ratio > 1.02 for ratio in ratios)),
        ", ".join(device_of(file) for file in (cold, hot)),
    ]


def memory_cells(row: Row) -> list[str]:
    return [
        f"`{row.problem}`",
        f"{significant_digits(median_us(row), 4)} µs",
        significant_digits(row.rates.gbps, 4),
        row.algorithm.name,
    ]


# ---- problems with few columns, steps or numbers ----------------------------------------------


def small_problem_sections(files: Files) -> Iterator[list[str]]:
    yield section(
        "Recurrent layers, inference in half",
        "The default's time over the winner's by cell and selected library: geometric mean and "
        "range.",
        ["cell", "library", "problems", "speedup"],
        list(speedups(files["rnn_inference_half_best"])),
    )
    yield section(
        "gemm with few columns, half",
        "Rows of the training set that `skinny_mma` wins.",
        FEW_COLUMNS,
        list(few_column_cells(files["gemm_training_half_best"], "skinny_mma")),
    )
    yield section(
        "gemm with few columns, int8",
        "Rows of the inference set that `skinny` wins.",
        FEW_COLUMNS,
        list(few_column_cells(files["gemm_inference_int8_best"], "skinny ")),
    )
    pairs = same_problems(
        files["sparse_gemm_inference_float"].rows, files["sparse_gemm_inference_float_best"].rows
    )
    yield section(
        "Sparse products",
        "Microseconds, hot: the default, `best`, and the dense baseline.",
        ["m x n x k, sparsity", "default", "best", "algorithm of best", "dense", "dense TF32"],
        [sparse_cells(default, best) for default, best in pairs],
    )


def speedups(file: ResultFile) -> Iterator[list[str]]:
    groups: dict[tuple[str, str], list[tuple[Row, float]]] = {}
    for row in Selections.of(file.rows).rows:
        key = (str(row.attributes["cell"]), str(row.library).split()[0])
        groups.setdefault(key, []).append((row, default_us(row) / median_us(row)))
    for key, pairs in sorted(groups.items()):
        values = by_problem(pairs)
        spread = f"{min(values):.2f} to {max(values):.2f}"
        yield [*key, str(len(values)), f"{geometric_mean(pairs):.2f} ({spread})"]


def few_column_cells(file: ResultFile, library: str) -> Iterator[list[str]]:
    for row in Selections.of(file.rows).rows:
        if str(row.library).startswith(library):
            sizes = [str(row.attributes[key]) for key in ("m", "n", "k", "trans_a")]
            times = [significant_digits(default_us(row)), significant_digits(median_us(row))]
            yield [*sizes, *times, f"`{row.algorithm.name}`"]


def sparse_cells(default: Row, best: Row) -> list[str]:
    size = " x ".join(str(default.attributes[key]) for key in ("m", "n", "k"))
    metrics = {metric.name: metric for metric in default.metrics}
    dense = [metrics.get("dense_time"), metrics.get("dense_time_tf32")]
    if any(metric and metric.unit != "us" for metric in dense):
        raise ValueError(f"{default.problem}: the dense baseline is not in microseconds")
    return [
        f"{size}, {default.attributes['sparsity']}",
        significant_digits(median_us(default)),
        significant_digits(median_us(best)),
        f"`{best.algorithm.name}`",
        *(significant_digits(metric.value) if metric else "" for metric in dense),
    ]
