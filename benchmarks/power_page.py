"""The pages of products in both power regimes."""

from __future__ import annotations

import statistics
from collections.abc import Iterator, Mapping

from page_parts import Files, device_of, files_of, page_head, section, significant_digits, wrapped
from row_figures import by_problem, ok_rows
from sweep_runner import median_us

from deepbench.report.fields import percent
from deepbench.results import Row

LARGE_FLOPS = 1e10  # a call that draws so much power that the clock falls
DIMENSIONS = ("m", "n", "k", "trans_a", "trans_b")
INTRO = (
    "Two [regimes](../explanation/measuring.md#power-regimes) measure two different things: "
    "`rested` is the time of calls that a device makes now and then, `sustained` that of calls "
    "without pause. Rows of the two do not compare. The sustained rows of a precision were "
    "measured right after the rested ones, on the same device."
)

Regimes = Mapping[str, Mapping[str, Row]]  # the rows of each problem, by power regime


def h100_page() -> str:
    visits = "The rested rows were measured in three visits, the sustained ones in one."
    return power_page("NVIDIA H100: rested and sustained products", "h100_power", visits)


def h200_page() -> str:
    visits = "Every row was measured in one visit."
    return power_page("NVIDIA H200: rested and sustained products", "h200_power", visits)


def power_page(title: str, folder: str, visits: str) -> str:
    files = files_of(folder)
    names = sorted({name.rpartition("_")[0] for name in files})
    sets = {name: rows_by_problem(files, name) for name in names}
    parts = [
        [*page_head(title, folder), wrapped(f"{INTRO} {visits}"), ""],
        section(
            "Sustained over rested",
            "Ratios of times. *Large* are problems of at least 10 GFLOP.",
            ["set", "device", "problems in both", "geometric mean", "largest", "large",
             "geometric mean of the large"],
            [summary_cells(files, name, rows) for name, rows in sets.items()],
        ),
        *(problem_section(name, rows) for name, rows in sets.items()),
    ]  # fmt: skip
    return "\n".join(line for part in parts for line in part)


def rows_by_problem(files: Files, name: str) -> Regimes:
    rows: dict[str, dict[str, Row]] = {}
    for power in ("rested", "sustained"):
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
    ]


def problem_section(name: str, rows: Regimes) -> list[str]:
    heading = [*DIMENSIONS, "rested, µs", "±%", "TFLOP/s", "sustained, µs", "±%", "TFLOP/s",
               "ratio"]  # fmt: skip
    return section(f"`{name}`", "", heading, list(problem_rows(rows)))


def problem_rows(rows: Regimes) -> Iterator[list[str]]:
    for pair in rows.values():
        one = next(iter(pair.values()))
        cells = [str(one.attributes[name]) for name in DIMENSIONS]
        for power in ("rested", "sustained"):
            cells += time_cells(pair.get(power))
        yield [*cells, f"{ratio(pair):.3f}" if len(pair) == 2 else ""]


def time_cells(row: Row | None) -> list[str]:
    if row is None:
        return ["", "", ""]
    spread = row.statistics.spread
    return [
        significant_digits(median_us(row), 4),
        "" if spread is None else percent(spread),
        significant_digits(float(row.rates.tflops or 0)),
    ]
