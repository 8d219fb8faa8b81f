"""Generates the tables of docs/results, and the example in README.md, from the result files under
results/.

python docs/results/generate.py          writes the pages
python docs/results/generate.py --check  exits with 1 where a page differs from its files
"""

from __future__ import annotations

import json
import math
import statistics
import sys
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from textwrap import fill

from deepbench.report.outline import OutlineProblem, outline
from deepbench.report.table import Table
from deepbench.results import ResultFile, Row, read
from deepbench.results.algorithm_choice import algorithm_choice_of

ROOT = Path(__file__).resolve().parents[2]
PAGES = Path(__file__).resolve().parent
EXAMPLE_START = "<!-- docs/results/generate.py writes these lines from results/h200. -->\n"
EXAMPLE_END = "<!-- end -->\n"
EXAMPLE_POSITIONS = (0, 1, 3, 4, 144)  # of the rows that README.md shows
Files = dict[str, ResultFile]


def main(arguments: list[str]) -> int:
    stale = []
    texts = {PAGES / f"{name}.md": text for name, text in pages().items()}
    texts[ROOT / "README.md"] = readme_with_example()
    for page, text in texts.items():
        if "--check" not in arguments:
            page.write_text(text, encoding="utf-8")
        elif not page.exists() or page.read_text(encoding="utf-8") != text:
            stale.append(page.name)
    for name in stale:
        print(f"{name} differs from its result files; python docs/results/generate.py writes it")
    return 1 if stale else 0


def pages() -> dict[str, str]:
    """The text of each generated page by its name."""
    return {
        "h200": h200_page(files_of("h200")),
        "h200x2": collectives_page("h200x2", "two", "2"),
        "h200x4": collectives_page("h200x4", "four", "4") + fleet_page(files_of("h200x4")),
    }


def readme_with_example() -> str:
    """README.md with the rows and the wall time of today's result files between its two markers."""
    before, rest = (ROOT / "README.md").read_text(encoding="utf-8").split(EXAMPLE_START)
    after = rest.split(EXAMPLE_END)[1]
    return before + EXAMPLE_START + example_table() + EXAMPLE_END + after


def example_table() -> str:
    file = read(ROOT / "results/h200/gemm_training_half.jsonl")
    seconds = wall_seconds()["gemm_training_half"]
    rows = [row for row in file.rows if row.position in EXAMPLE_POSITIONS]
    table = Table()
    problems = [
        OutlineProblem(str(row.op), row.attributes, row.work.flops, power=row.regime.power)
        for row in rows
    ]
    parts = [table.begin(file.context, outline(problems)), *map(table.row, rows), table.end()]
    sentences = (
        f"`deepbench gemm` measures the {len(file.rows)} problems of the training set. On one "
        f"NVIDIA H200 with CUDA 13.0 it takes {seconds:.1f} seconds, including start and "
        "verification. Its default precision there is `half`. Five of the rows:"
    )
    return f"{fill(sentences, 100)}\n\n```text\n{''.join(map(str, parts))}```\n"


def wall_seconds() -> dict[str, float]:
    text = (ROOT / "results/h200/wall_seconds.json").read_text(encoding="utf-8")
    seconds: dict[str, float] = json.loads(text)
    return seconds


def files_of(folder: str) -> Files:
    return {path.stem: read(path) for path in sorted((ROOT / "results" / folder).glob("*.jsonl"))}


def h200_page(files: Files) -> str:
    seconds = wall_seconds()
    return "\n".join(
        [
            *page_head("One NVIDIA H200", "h200"),
            "`python benchmarks/h200_tables.py` measures these files, and",
            "`python benchmarks/h200_figures.py results/h200` prints further figures of them. The",
            "[measurement logs](log/index.md) describe goals, variations and causes.",
            "",
            "## Sets",
            "",
            "*Stop* counts the rows that did not converge. *Device* is the start of",
            "the device's UUID. The wall time includes start and verification.",
            "",
            *markdown_table(
                [
                    "file",
                    "power",
                    "rows",
                    "ok",
                    "verified",
                    "wall time",
                    "stop",
                    "device",
                    "start (UTC)",
                ],
                [set_line(name, file, seconds) for name, file in files.items()],
            ),
            "",
            "## Wall times of repeated runs",
            "",
            *markdown_table(["set", "wall times"], repetition_lines(seconds)),
            "",
            "## Sustained against rested power",
            "",
            "Time of a call under sustained load over its time after rests, both measured in turns",
            "on one device.",
            "",
            *markdown_table(
                ["file", "problems", "geometric mean", "smallest", "largest", "above 1.03"],
                [power_line(n, f) for n, f in files.items() if n.endswith("_both")],
            ),
            "",
            "## best against default",
            "",
            "Geometric means of the default's time over the winner's. *Interleaved*: both measured",
            "in turns. *Call*: full measurements of the same run. *With conversion*: the call plus",
            "the conversion of a constant operand. *Slower*: rows whose winner has the larger",
            "median in the full measurement.",
            "",
            *markdown_table(
                ["file", "rows", "interleaved", "call", "with conversion", "changed", "slower"],
                [best_line(n, f) for n, f in files.items() if n.endswith("_best")],
            ),
            "",
            "## Rates",
            "",
            "Median and largest rate of each family with the default algorithm. Rates of integers",
            "are in TOP/s.",
            "",
            *markdown_table(
                ["file", "family", "rows", "median TFLOP/s", "largest TFLOP/s"], rate_lines(files)
            ),
            "",
            "## Cold against hot",
            "",
            "Quartiles of the cold time over the hot time of the same problem. The files can come",
            "from two machines.",
            "",
            *markdown_table(
                ["file", "rows", "quartiles", "more than 2 % slower"],
                [cold_line(n, f, files) for n, f in files.items() if n.endswith("_cold")],
            ),
            "",
            "## Memory",
            "",
            *markdown_table(
                ["problem", "time", "GB/s", "algorithm"], memory_lines(files["memory"])
            ),
            "",
            "## Recurrent layers, inference in half",
            "",
            "The default's time over the winner's by cell and selected library: geometric mean and",
            "range.",
            "",
            *markdown_table(
                ["cell", "library", "rows", "speedup"],
                speedup_lines(files["rnn_inference_half_best"], "cell"),
            ),
            "",
            "## gemm with few columns, half",
            "",
            "Rows of the training set that `skinny_mma` wins.",
            "",
            *markdown_table(
                ["m", "n", "k", "trans_a", "default, µs", "best, µs", "algorithm"],
                few_column_lines(files["gemm_training_half_best"], "skinny_mma"),
            ),
            "",
            "## gemm with few columns, int8",
            "",
            "Rows of the inference set that `skinny` wins.",
            "",
            *markdown_table(
                ["m", "n", "k", "trans_a", "default, µs", "best, µs", "algorithm"],
                few_column_lines(files["gemm_inference_int8_best"], "skinny "),
            ),
            "",
            "## Sparse products",
            "",
            "Microseconds, hot: the default, `best`, and the dense baseline.",
            "",
            *markdown_table(
                [
                    "m x n x k, sparsity",
                    "default",
                    "best",
                    "algorithm of best",
                    "dense",
                    "dense TF32",
                ],
                sparse_lines(
                    files["sparse_gemm_inference_float"], files["sparse_gemm_inference_float_best"]
                ),
            ),
            "",
        ]
    )


def page_head(title: str, folder: str) -> list[str]:
    return [
        f"# {title}",
        "",
        f"<!-- docs/results/generate.py writes this page from results/{folder}. -->",
        "",
        f"The tables on this page are generated from the result files in `results/{folder}`.",
        "`results/README.md` describes the machine and the commands.",
        "",
    ]


def markdown_table(heading: list[str], rows: Iterable[list[str]]) -> list[str]:
    return ["| " + " | ".join(cells) + " |" for cells in [heading, ["---"] * len(heading), *rows]]


def ok_rows(file: ResultFile) -> list[Row]:
    return [row for row in file.rows if row.status == "ok"]


def median_us(row: Row) -> float:
    return float(row.statistics.median_ns) / 1e3


def geometric_mean(ratios: Iterable[float]) -> float:
    """Geometric."""
    logarithms = [math.log(ratio) for ratio in ratios]
    return math.exp(sum(logarithms) / len(logarithms)) if logarithms else math.nan


def significant_digits(value: float, count: int = 3) -> str:
    return f"{value:,.{max(0, count - 1 - math.floor(math.log10(value)))}f}" if value > 0 else "0"


def set_line(name: str, file: ResultFile, seconds: dict[str, float]) -> list[str]:
    verified = sum(row.verification.status == "passed" for row in file.rows)
    stops = Counter(row.statistics.stop for row in file.rows)
    ends = ", ".join(
        f"{count} {stop}" for stop, count in sorted(stops.items(), key=str) if stop != "converged"
    )
    wall = f"{seconds[name]:.1f} s" if name in seconds else ""
    uuid = str((file.context.get("device") or {}).get("uuid", "")).removeprefix("GPU-")[:8]
    started = str(file.context.get("started", ""))[:16].replace("T", " ")
    powers = " and ".join(sorted({row.regime.power or "" for row in file.rows}))
    counts = [str(len(file.rows)), str(len(ok_rows(file))), str(verified)]
    return [f"`{name}`", powers, *counts, wall, ends, uuid, started]


def repetition_lines(seconds: dict[str, float]) -> list[list[str]]:
    lines = []
    for name in seconds:
        turns = [name, *(f"{name}_{turn}" for turn in (2, 3))]
        if all(turn in seconds for turn in turns):
            lines.append([f"`{name}`", ", ".join(f"{seconds[turn]:.1f} s" for turn in turns)])
    return lines


def power_line(name: str, file: ResultFile) -> list[str]:
    times: dict[str, dict[str | None, float]] = {}
    for row in ok_rows(file):
        times.setdefault(f"{row.problem} {row.application}", {})[row.regime.power] = median_us(row)
    ratios = [one["sustained"] / one["rested"] for one in times.values() if len(one) == 2]
    figures = (geometric_mean(ratios), min(ratios), max(ratios))
    slower = sum(ratio > 1.03 for ratio in ratios)
    return [f"`{name}`", str(len(ratios)), *(f"{figure:.3f}" for figure in figures), str(slower)]


def best_line(name: str, file: ResultFile) -> list[str]:
    rows = [row for row in ok_rows(file) if row.algorithm.default_ns]
    default = [float(row.algorithm.default_ns) / 1e3 for row in rows]
    conversion = [float(row.conversion.ns or 0) / 1e3 for row in rows]
    call = geometric_mean(one / median_us(row) for one, row in zip(default, rows, strict=True))
    both = geometric_mean(
        one / (median_us(row) + other)
        for one, row, other in zip(default, rows, conversion, strict=True)
    )
    turns = geometric_mean(row.algorithm.speedup or 1.0 for row in rows)
    changed = sum(not algorithm_choice_of(row).is_default for row in rows)
    slower = sum(median_us(row) > one for one, row in zip(default, rows, strict=True))
    figures = [f"{value:.3f}" for value in (turns, call, both)]
    return [f"`{name}`", str(len(rows)), *figures, str(changed), str(slower)]


def rate_lines(files: Files) -> list[list[str]]:
    lines = []
    for name, file in files.items():
        if name.endswith(("_best", "_cold", "_both")):
            continue
        families: dict[str, list[float]] = {}
        for row in ok_rows(file):
            rate = row.rates.tflops
            if rate:
                attributes = row.attributes
                words = [attributes.get("cell"), attributes.get("phase")]
                family = " ".join(str(word) for word in words if word) or "all"
                families.setdefault(family, []).append(float(rate))
        for family, values in families.items():
            figures = [
                significant_digits(statistics.median(values)),
                significant_digits(max(values)),
            ]
            lines.append([f"`{name}`", family, str(len(values)), *figures])
    return lines


def cold_line(name: str, file: ResultFile, files: Files) -> list[str]:
    hot = {(row.position, row.problem): row for row in ok_rows(files[name.removesuffix("_cold")])}
    ratios = [
        median_us(row) / median_us(hot[row.position, row.problem])
        for row in ok_rows(file)
        if (row.position, row.problem) in hot
    ]
    quartiles = ", ".join(f"{value:.2f}" for value in statistics.quantiles(ratios, n=4))
    slower = sum(ratio > 1.02 for ratio in ratios)
    return [f"`{name}`", str(len(ratios)), quartiles, str(slower)]


def memory_lines(file: ResultFile) -> list[list[str]]:
    return [
        [
            f"`{row.problem}`",
            f"{significant_digits(median_us(row), 4)} µs",
            significant_digits(row.rates.gbps, 4),
            row.algorithm.name,
        ]
        for row in ok_rows(file)
    ]


def speedup_lines(file: ResultFile, attribute: str) -> list[list[str]]:
    groups: dict[tuple[str, str], list[float]] = {}
    for row in ok_rows(file):
        if row.algorithm.default_ns:
            key = (str(row.attributes[attribute]), str(row.library).split()[0])
            groups.setdefault(key, []).append(
                float(row.algorithm.default_ns) / 1e3 / median_us(row)
            )
    return [
        [
            *key,
            str(len(values)),
            f"{geometric_mean(values):.2f} ({min(values):.2f} to {max(values):.2f})",
        ]
        for key, values in sorted(groups.items())
    ]


def few_column_lines(file: ResultFile, library: str) -> list[list[str]]:
    lines = []
    for row in ok_rows(file):
        if str(row.library).startswith(library) and row.algorithm.default_ns:
            attributes = row.attributes
            sizes = [str(attributes[key]) for key in ("m", "n", "k", "trans_a")]
            default = float(row.algorithm.default_ns) / 1e3
            times = [significant_digits(default), significant_digits(median_us(row))]
            lines.append([*sizes, *times, f"`{row.algorithm.name}`"])
    return lines


def sparse_lines(default: ResultFile, best: ResultFile) -> list[list[str]]:
    chosen = {(row.position, row.problem): row for row in ok_rows(best)}
    lines = []
    for row in ok_rows(default):
        other = chosen[row.position, row.problem]
        attributes = row.attributes
        size = " x ".join(str(attributes[key]) for key in ("m", "n", "k"))
        metrics = {metric.name: metric.value for metric in row.metrics}
        dense = [metrics.get("dense_time"), metrics.get("dense_time_tf32")]
        lines.append(
            [
                f"{size}, {attributes['sparsity']}",
                significant_digits(median_us(row)),
                significant_digits(median_us(other)),
                f"`{other.algorithm.name}`",
                *(significant_digits(value / 1e3) if value else "" for value in dense),
            ]
        )
    return lines


def collectives_page(folder: str, count: str, number: str) -> str:
    files = files_of(folder)
    lines = [
        *page_head(f"{count.capitalize()} NVIDIA H200", folder),
        "One process per device. Every row on this page is verified exactly on all ranks, before",
        "and after timing. GB/s is `busbw`, bytes/t · 2(n - 1)/n. `best` runs NCCL and `peer`.",
        "",
    ]
    for precision in ("float", "half"):
        libraries = {
            word: merged_rows(files, f"{precision}_{word}") for word in ("nccl", "peer", "best")
        }
        lines += [
            f"## all_reduce in {precision}",
            "",
            *markdown_table(
                [
                    "elements", "NCCL, µs", "NCCL, GB/s", "peer, µs", "algorithm of peer",
                    "best, µs", "algorithm of best", "best, GB/s", "NCCL / best",
                ],
                collective_lines(libraries),
            ),
            "",
        ]  # fmt: skip
    others = [
        name
        for name in files
        if name.startswith("all_reduce") and not name.endswith(("_nccl", "_peer", "_best"))
    ] + [name for name in files if "bfloat16" in name]
    for name in others:
        lines += [
            f"## {name}",
            "",
            *markdown_table(
                ["problem", "time, µs", "busbw, GB/s", "library", "algorithm"],
                collective_time_lines(files[name]),
            ),
            "",
        ]
    return "\n".join(lines)


def merged_rows(files: Files, suffix: str) -> dict[int, Row]:
    rows = [
        row
        for part in ("training", "sizes")
        if f"all_reduce_{part}_{suffix}" in files
        for row in ok_rows(files[f"all_reduce_{part}_{suffix}"])
    ]
    return {int(row.attributes["elements"]): row for row in rows}


def metric_value(row: Row, name: str) -> float:
    return next(float(one.value) for one in row.metrics if one.name == name)


def collective_lines(libraries: dict[str, dict[int, Row]]) -> list[list[str]]:
    lines = []
    for elements in sorted(libraries["nccl"]):
        if not all(elements in rows for rows in libraries.values()):
            continue
        nccl, peer, best = (libraries[word][elements] for word in ("nccl", "peer", "best"))
        lines.append(
            [
                f"{elements:,}",
                significant_digits(median_us(nccl)),
                significant_digits(metric_value(nccl, "busbw")),
                significant_digits(median_us(peer)),
                f"`{peer.algorithm.name}`",
                significant_digits(median_us(best)),
                f"`{best.algorithm.name}`",
                significant_digits(metric_value(best, "busbw")),
                f"{median_us(nccl) / median_us(best):.2f}",
            ]
        )
    return lines


def collective_time_lines(file: ResultFile) -> list[list[str]]:
    return [
        [
            f"`{row.problem}`",
            significant_digits(median_us(row)),
            significant_digits(metric_value(row, "busbw")),
            str(row.library),
            f"`{row.algorithm.name}`",
        ]
        for row in ok_rows(file)
    ]


def fleet_page(files: Files) -> str:
    file = files["fleet_all_half_quick"]
    rows = [row for row in ok_rows(file) if row.ranks and row.ranks.spread is not None]
    spreads = [float(row.ranks.spread) for row in rows]
    quartiles = statistics.quantiles(spreads, n=4)
    outliers = Counter(one.rank for row in rows for one in row.ranks.outliers or [])
    counted = ", ".join(f"rank {rank}: {count}" for rank, count in sorted(outliers.items()))
    lines = [
        "",
        "## A fleet of four",
        "",
        *markdown_table(
            ["rows", "ok", "median spread", "third quartile", "largest", "outliers by rank"],
            [
                [
                    str(len(file.rows)),
                    str(len(ok_rows(file))),
                    *(f"{100 * value:.1f} %" for value in (*quartiles[1:], max(spreads))),
                    counted,
                ]
            ],
        ),
        "",
    ]
    return "\n".join(lines)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
