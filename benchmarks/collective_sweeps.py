"""The sections of pages of several devices about sweeps over sizes: a table for each operation, and
the times that the cost model predicts from sweeps of fewer devices."""

from __future__ import annotations

import re
import statistics
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from command_runs import median_us
from page_parts import Files, files_of, filled_section, section, significant_digits
from row_figures import ok_rows, verified_rows

from deepbench.collective_model import Model, algorithm_of, fit, group_points
from deepbench.results import Row

NAMES = {
    "nccl": "NCCL",
    "nccl_single": "NCCL in one process",
    "peer": "peer",
    "ring": "ring on the host",
}
SWEEP = re.compile(rf"(\w+)_sweep_([a-z0-9]+)_({'|'.join(NAMES)})")
Sizes = Mapping[int, Row]  # rows by their number of elements


@dataclass(frozen=True)
class Prediction:
    """A measured row, and the time that was predicted for it."""

    row: Row
    predicted_us: float

    @property
    def ratio(self) -> float:
        return median_us(self.row) / self.predicted_us

    @property
    def cells(self) -> list[str]:
        times = map(significant_digits, (median_us(self.row), self.predicted_us))
        return [*times, f"{self.ratio:.2f}"]


# ---- cells -------------------------------------------------------------------------------------


def by_size(rows: Iterable[Row]) -> dict[int, Row]:
    return {int(row.attributes["elements"]): row for row in rows}


def sizes_of(columns: Iterable[Sizes]) -> list[int]:
    return sorted({size for column in columns for size in column})


def time_text(row: Row | None) -> str:
    return significant_digits(median_us(row)) if row else ""


def bus_bandwidth(row: Row | None) -> str:
    values = [one.value for one in row.metrics if one.name == "busbw"] if row else []
    return significant_digits(values[0]) if values else ""


def algorithm_text(row: Row | None) -> str:
    return f"`{row.algorithm.name}`" if row else ""


def ratio_text(row: Row | None, other: Row | None) -> str:
    return f"{median_us(row) / median_us(other):.2f}" if row and other else ""


# ---- sweeps ------------------------------------------------------------------------------------


def sweeps_of(files: Files) -> dict[tuple[str, str], dict[str, list[Row]]]:
    """The measured rows of sweeps by operation and precision, and by library."""
    found: dict[tuple[str, str], dict[str, list[Row]]] = {}
    for name, file in files.items():
        if match := SWEEP.fullmatch(name):
            op, precision, library = match.groups()
            found.setdefault((op, precision), {})[library] = ok_rows(file.rows)
    return found


def refusals_of(files: Files, op: str, precision: str) -> list[str]:
    """The reasons why a sweep has blank cells, each once."""
    names = (f"{op}_sweep_{precision}_{library}" for library in NAMES)
    rows = (row for name in names if name in files for row in files[name].rows)
    return list(dict.fromkeys(str(row.reason) for row in rows if row.status == "unsupported"))


def sweep_sections(files: Files) -> Iterator[list[str]]:
    units = ("µs", "GB/s")
    columns = [f"{name}, {unit}" for name in NAMES.values() for unit in units]
    heading = ["elements", *columns, "algorithm of peer", "NCCL / peer"]
    for (op, precision), sweep in sweeps_of(files).items():
        libraries = {name: by_size(verified_rows(sweep.get(name, []))) for name in NAMES}
        versions = {str(row.library) for rows in libraries.values() for row in rows.values()}
        lines = [sweep_cells(size, libraries) for size in sizes_of(libraries.values())]
        text = f"Libraries: {', '.join(sorted(versions))}."
        if refusals := refusals_of(files, op, precision):
            text += f" Blank cells: {'; '.join(refusals)}."
        yield filled_section(f"Sweep of {title_of(op)} in {precision}", text, heading, lines)


def title_of(op: str) -> str:
    return op.replace("_in_place", " in place")


def sweep_cells(size: int, libraries: Mapping[str, Sizes]) -> list[str]:
    rows = {name: of_sizes.get(size) for name, of_sizes in libraries.items()}
    return [
        f"{size:,}",
        *(text(row) for row in rows.values() for text in (time_text, bus_bandwidth)),
        algorithm_text(rows["peer"]),
        ratio_text(rows["nccl"], rows["peer"]),
    ]


# ---- predictions -------------------------------------------------------------------------------


def prediction_sections(files: Files, fewer: str) -> Iterator[list[str]]:
    """The sweeps of a page against predictions from the same sweeps in the folder `fewer`."""
    fitted_sweeps = sweeps_of(files_of(fewer))
    summary, tables = [], []
    for (op, precision), sweep in sweeps_of(files).items():
        columns = {}
        for library, rows in sweep.items():
            fitted = fitted_sweeps.get((op, precision), {}).get(library, [])
            found = predictions(verified_rows(rows), fitted)
            if found:
                summary.append(
                    [title_of(op), precision, NAMES[library], *summary_cells(found, fitted)]
                )
                columns[library] = {int(one.row.attributes["elements"]): one for one in found}
        tables.append(prediction_table(f"Predictions of {title_of(op)} in {precision}", columns))
    yield section(
        "Predictions from fewer devices",
        "Times of the sweeps above over those that [the cost model]"
        "(../explanation/all_reduce.md#the-cost-model) predicts from the same sweeps of fewer "
        f"devices in `results/{fewer}`. A size has a prediction where at least five sizes there "
        "have its library and algorithm. As all of them have one number of ranks, the model "
        "attributes what every call takes to its steps, and its predictions of more steps are "
        "too long.",
        ["operation", "precision", "library", "rows of fewer devices", "of them verified",
         "predicted sizes", "measured / predicted, geometric mean", "smallest", "largest"],
        summary,
    )  # fmt: skip
    yield from tables


def predictions(rows: Iterable[Row], fitted: Sequence[Row]) -> list[Prediction]:
    """The predictions for rows from others of the same operation, precision and library. The
    version of the library may differ."""
    models = models_of(fitted)
    return [
        Prediction(row, model.time_ns(int(row.regime.ranks), float(row.work.bytes)) / 1e3)
        for row in rows
        if (model := models.get(str(row.algorithm.name)))
    ]


def models_of(rows: Iterable[Row]) -> dict[str, Model]:
    """A model for each algorithm with enough sizes."""
    models = {}
    for group, points in group_points(rows).items():
        if found := fit(algorithm_of(group.library, group.algorithm, group.op), points):
            models[group.algorithm] = found.model
    return models


def summary_cells(found: Sequence[Prediction], fitted: Sequence[Row]) -> list[str]:
    algorithms = {one.row.algorithm.name for one in found}
    used = [row for row in fitted if row.algorithm.name in algorithms]
    ratios = [one.ratio for one in found]
    return [
        str(len(used)),
        str(len(verified_rows(used))),
        str(len(found)),
        *(
            f"{value:.2f}"
            for value in (statistics.geometric_mean(ratios), min(ratios), max(ratios))
        ),
    ]


def prediction_table(title: str, columns: Mapping[str, Mapping[int, Prediction]]) -> list[str]:
    words = ("µs", "predicted, µs", "measured / predicted")
    heading = [f"{NAMES[library]}, {word}" for library in columns for word in words]
    lines = []
    for size in sorted({size for column in columns.values() for size in column}):
        found = [column.get(size) for column in columns.values()]
        cells = [one.cells if one else [""] * len(words) for one in found]
        lines.append([f"{size:,}", *(cell for part in cells for cell in part)])
    return filled_section(title, "", ["elements", *heading], lines)
