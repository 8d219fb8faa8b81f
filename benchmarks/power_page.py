"""The pages of products in both power regimes."""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Iterator, Mapping

from command_runs import median_us
from page_parts import (
    Files,
    device_of,
    files_of,
    filled_section,
    page_head,
    significant_digits,
    wrapped,
)
from row_figures import by_problem, ok_rows

from deepbench.report.fields import percent
from deepbench.report.text_plot import PlotPoint, plot_lines
from deepbench.results import Row

LARGE_FLOPS = 1e10  # a call that draws so much power that the clock falls
DIMENSIONS = ("m", "n", "k", "trans_a", "trans_b")
INTRO = (
    "Two [regimes](../explanation/measuring.md#power-regimes) measure two different things: "
    "`rested` is the time of calls that a device makes now and then, `sustained` that of calls "
    "without pause. A row of one regime is therefore no baseline for a row of the other; the "
    "ratios below show what sustained power costs."
)

POWERS = ("rested", "sustained")
Regimes = Mapping[str, Mapping[str, Row]]  # the rows of each problem, by power regime


def power_page(title: str, folder: str, about: str) -> str:
    """`about` says on which devices and when the sets were measured."""
    files = files_of(folder)
    names = sorted({name.rpartition("_")[0] for name in files})
    sets = {name: rows_by_problem(files, name) for name in names}
    parts = [
        [
            *page_head(title, folder),
            wrapped(f"{INTRO} {about} {visits_text(files)}"),
            "",
        ],
        filled_section(
            "Sustained over rested",
            "Ratios of times. *Large* are problems of at least 10 GFLOP.",
            ["set", "device", "problems in both", "geometric mean", "largest", "large",
             "geometric mean of the large", "GFLOP/J of the large, rested",
             "GFLOP/J of the large, sustained"],
            [summary_cells(files, name, rows) for name, rows in sets.items()],
        ),
        *(efficiency_section(name, rows) for name, rows in sets.items()),
        *(problem_section(name, rows) for name, rows in sets.items()),
    ]  # fmt: skip
    return "\n".join(line for part in parts for line in part)


def visits_text(files: Files) -> str:
    rested, sustained = (visits_of(files, power) for power in POWERS)
    if rested == sustained == "one":
        return "Every row was measured in one visit."
    return f"The rested rows were measured in {rested} visits, the sustained ones in {sustained}."


def visits_of(files: Files, power: str) -> str:
    """The largest number of visits of a row, as a word."""
    rows = [row for name, file in files.items() if name.endswith(power) for row in file.rows]
    visits = [row.statistics.visits for row in rows]
    count = max((one.count or 1 for one in visits if one is not None), default=1)
    return {1: "one", 2: "two", 3: "three"}.get(count, str(count))


def rows_by_problem(files: Files, name: str) -> Regimes:
    rows: dict[str, dict[str, Row]] = {}
    for power in POWERS:
        for row in ok_rows(files[f"{name}_{power}"].rows):
            rows.setdefault(str(row.problem), {}).setdefault(power, row)
    return rows


def ratio(pair: Mapping[str, Row]) -> float:
    return median_us(pair["sustained"]) / median_us(pair["rested"])


def summary_cells(files: Files, name: str, rows: Regimes) -> list[str]:
    pairs = [pair for pair in rows.values() if len(pair) == 2]
    large = [pair for pair in pairs if (pair["rested"].work.flops or 0) >= LARGE_FLOPS]
    ratios, of_large = (
        by_problem((pair["rested"], ratio(pair)) for pair in some) for some in (pairs, large)
    )
    return [
        f"`{name}`",
        device_of(files[f"{name}_rested"]),
        str(len(pairs)),
        f"{statistics.geometric_mean(ratios):.3f}",
        f"{max(ratios):.3f}",
        str(len(large)),
        f"{statistics.geometric_mean(of_large):.3f}",
        *(mean_efficiency(pair[power] for pair in large) for power in POWERS),
    ]


def mean_efficiency(rows: Iterable[Row]) -> str:
    """The geometric mean of GFLOP/J of the rows with energy."""
    values = [value for row in rows if (value := gflops_per_joule(row))]
    return significant_digits(statistics.geometric_mean(values)) if values else ""


def gflops_per_joule(row: Row) -> float | None:
    return row.flops_per_joule and row.flops_per_joule / 1e9


def efficiency_section(name: str, rows: Regimes) -> list[str]:
    """A plot of the efficiency of all problems over their work; nothing without energy."""
    points = [
        PlotPoint(float(row.work.flops) / 1e9, value, "", is_marked=power == "sustained")
        for power in POWERS
        for pair in rows.values()
        if (row := pair.get(power)) and (value := gflops_per_joule(row))
    ]
    if not points:
        return []
    text = (
        "Efficiency of each problem over its work: `o` rested, `*` sustained, which covers a "
        "rested point at the same place. The span that measures energy contains no rests in either "
        "regime."
    )
    works = [point.x for point in points]
    ends = [f"{significant_digits(work)} GFLOP" for work in (min(works), max(works))]
    top = f"{significant_digits(max(point.y for point in points))} GFLOP/J"
    plot = plot_lines(points, (ends[0], ends[1]), ("0", top), "work of a call")
    return [f"## GFLOP/J of `{name}`", "", wrapped(text), "", "```text", *plot, "```", ""]


def problem_section(name: str, rows: Regimes) -> list[str]:
    of_times = ["±%", "TFLOP/s", "J/call", "GFLOP/J"]
    regimes = (heading for power in POWERS for heading in (f"{power}, µs", *of_times))
    heading = [*DIMENSIONS, *regimes, "ratio"]
    return filled_section(f"`{name}`", "", heading, list(problem_rows(rows)))


def problem_rows(rows: Regimes) -> Iterator[list[str]]:
    for pair in rows.values():
        one = next(iter(pair.values()))
        cells = [str(one.attributes[name]) for name in DIMENSIONS]
        for power in POWERS:
            cells += time_cells(pair.get(power))
        yield [*cells, f"{ratio(pair):.3f}" if len(pair) == 2 else ""]


def time_cells(row: Row | None) -> list[str]:
    if row is None:
        return [""] * 5
    spread, efficiency = row.statistics.spread, gflops_per_joule(row)
    return [
        significant_digits(median_us(row), 4),
        "" if spread is None else percent(spread),
        significant_digits(float(row.rates.tflops or 0)),
        "" if row.energy_j is None else significant_digits(row.energy_j),
        "" if efficiency is None else significant_digits(efficiency),
    ]
