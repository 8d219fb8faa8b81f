"""Regenerates the original's 18 workbooks for tests: each figure is in its published sheet, row and
unit, with the known mistakes.

Sheets, rows and values are those of the published figures. Columns, titles and headings cover all
variants of six of the files. The other twelve use the variants of the most similar file, and
alternate where the six differ.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import xlsxwriter

from deepbench import references
from example_rows import members, published_facts

Row = Mapping[str, Any]
Lines = Mapping[int, Mapping[str, Row]]
Content = str | float | tuple[str, float] | None  # a tuple: a formula and its value

# These files have R before S, and P and Q without rounding.
R_BEFORE_S = ("AMD_MI25", "AMD_VegaFE", "train/DeepBench_NV_1080Ti", "train/DeepBench_NV_P100",
              "train/DeepBench_NV_TitanXp")  # fmt: skip
# sheets or files with a heading 'Time Backward'
BACKWARD_ALONE = ("AMD_MI25", "AMD_VegaFE", "Psuedo FP16")
STRAY = {
    ("DeepBench_Raspberry_Pi_3", "Kernels"): ("S26", ("=ROUNDDOWN(1.6,0)", 1.0)),
    ("server/DeepBench_NV_TitanX_Pascal", "Results - Mixed Precision"): ("V217", 1.0),
    ("train/DeepBench_NV_1080Ti", "Results - FP32"): ("L344", ("=1000/(SUM(U180:U215))", 1.23)),
}
# Tables without times in a sheet, and the workbook that provides their rows.
EMPTY = {
    "device/DeepBench_iPhone_6": (("conv",), "device/DeepBench_Raspberry_Pi_3"),
    "device/DeepBench_iPhone_7": (("conv",), "device/DeepBench_Raspberry_Pi_3"),
    "inference/DeepBench_NV_T4": (("sparse_gemm", "rnn"), "server/DeepBench_NV_TitanXp"),
    "train/DeepBench_IA_KNL7250": (("rnn",), "train/DeepBench_NV_M40"),
    "train/DeepBench_NV_T4": (("rnn",), "train/DeepBench_NV_V100"),
    "train/DeepBench_NV_V100": (("all_reduce",), "train/DeepBench_NV_TitanX.xlsx"),
}
TITLES = {
    "gemm": "Dense Matrix Multiplication", "sparse_gemm": "Sparse Matrix Multiplication",
    "conv": "Convolution", "rnn": "Recurrent Layers - {}", "all_reduce": "All-Reduce",
}  # fmt: skip
PRECISIONS = {
    "Results - Mixed Precision": ("GEMM, Conv: Int8 multiplication, 32 bit accumulation",
                                  "Sparse Ops, RNN: single precision"),
    "Kernels": ("Int8 inputs 32 bit math",),
    "Results - Psuedo FP16": ("16 bit inputs, 32 bit multiplication, 32 bit addition",),
    "Results - FP16 ip, Mixed math": ("16 bit inputs, 16 bit multiplication, 32 bit addition",),
}  # fmt: skip
FOOTNOTE = ("* = The backward pass wrt inputs is excluded for these kernels since they are "
            "typically the input layers of a neural network")  # fmt: skip


@cache
def figures() -> Mapping[str, Sequence[Row]]:
    """Every published row, by workbook."""
    found: defaultdict[str, list[Row]] = defaultdict(list)
    for reference in references.published():
        for row in members(references.load(reference).rows):
            found[row["regime"]["published"]["workbook"]].append(row)
    return dict(sorted(found.items()))


def is_sum(row: Row) -> bool:
    """Whether a published row is a sum over phases. All-reduces have a single phase called
    total."""
    return published_facts(row)["phase"] == "total" and row["op"] != "all_reduce"


def write_workbook(workbook: str, path: Path, scale: float = 1.0) -> None:
    """Writes the workbook to a file. Times are multiplied by `scale`."""
    book = xlsxwriter.Workbook(str(path))
    sheets: defaultdict[str, list[Row]] = defaultdict(list)
    for row in figures()[workbook]:
        sheets[published_facts(row)["sheet"]].append(row)
    for name, rows in sheets.items():
        _write_sheet(book.add_worksheet(name), workbook, name, rows, scale)
    specs = book.add_worksheet("Specs")
    for line, (key, value) in enumerate(_spec_cells(workbook)):
        specs.write_row(line, 0, [key, value])
    book.close()


def _spec_cells(workbook: str) -> Iterator[tuple[str, str]]:
    mode = "inference" if "/inference/" in workbook else "train"
    name = figures()[workbook][0]["device"]["name"]
    reference = references.find(name)
    assert reference is not None
    for key, value in references.load(reference).context["specs"].items():
        if key.startswith(mode):
            yield key.removeprefix(f"{mode}: "), value


def _write_sheet(sheet: Any, workbook: str, name: str, rows: Sequence[Row], scale: float) -> None:
    sheet.write(0, 0, "Precision")
    for line, text in enumerate(PRECISIONS.get(name, ("Float",))):
        sheet.write(line, 1, text)
    for op in TITLES:
        for lines in _lines_of_tables(rows, op):
            _Table(sheet, workbook, name, op, lines, scale).write()
    for part, (ops, other) in EMPTY.items():
        if part in workbook:
            _write_empty_tables(sheet, workbook, name, ops, other)
    for (file, of), (place, content) in STRAY.items():
        if file in workbook and of == name:
            if isinstance(content, tuple):
                sheet.write_formula(place, content[0], None, content[1])
            else:
                sheet.write(place, content)


def _write_empty_tables(
    sheet: Any, workbook: str, name: str, ops: Sequence[str], other: str
) -> None:
    """Tables of an operation that was not measured, with the layout of another workbook."""
    like = next(rows for workbook, rows in figures().items() if other in workbook)
    sheet_of_first = published_facts(like[0])["sheet"]
    for op in ops:
        rows = [
            row for row in like if op != "rnn" or published_facts(row)["sheet"] == sheet_of_first
        ]
        for lines in _lines_of_tables(rows, op):
            _Table(sheet, workbook, name, op, lines, None).write()


def _lines_of_tables(rows: Sequence[Row], op: str) -> Iterator[Lines]:
    """The rows of an operation's tables: recurrent layers have one table for each cell."""
    found: defaultdict[str, defaultdict[int, dict[str, Row]]]
    found = defaultdict(lambda: defaultdict(dict))
    for row in rows:
        if row["op"] == op:
            dense = published_facts(row).get("algorithm") == "dense baseline"
            cell = str(row["attributes"].get("cell"))
            found[cell][published_facts(row)["row"]][
                "dense" if dense else published_facts(row)["phase"]
            ] = row
    yield from found.values()


class _Table:
    """One table of a workbook. If `scale` is None, its cells for times are empty."""

    def __init__(
        self, sheet: Any, workbook: str, name: str, op: str, lines: Lines, scale: float | None
    ) -> None:
        self._sheet, self._op, self._lines, self._scale = sheet, op, lines, scale
        self._workbook, self._name = workbook, name
        self._device, self._inference = "/device/" in workbook, "/inference/" in workbook
        # alternates between the variants of the six files
        self._turn = sorted(figures()).index(workbook) % 2
        self._unit = "GIGAFLOPS" if self._device else "TERAFLOPS"

    def write(self) -> None:
        """The title is in the row of the headings or above it. A blank row follows the title of the
        first recurrent layers and of all-reduces."""
        cell = str(next(iter(self._first().values()))["attributes"].get("cell"))
        blank = self._op == "all_reduce" or (cell == "vanilla" and not self._inference)
        head = min(self._lines) - (2 if blank else 1)
        title = TITLES[self._op].format(cell.capitalize() if cell == "vanilla" else cell.upper())
        self._sheet.write(head - (2 if self._op == "conv" else 1), 0, title)
        if self._op == "conv" and not self._inference:
            self._sheet.write(max(self._lines) + 2, 3, FOOTNOTE)
        columns = list(self._columns(cell))
        for place, (heading, _) in enumerate(columns, start=1):
            if heading:
                self._sheet.write(head - 1, place, heading)
        for number, line in self._lines.items():
            for place, (_, of) in enumerate(columns, start=1):
                self._write_cell(number, place, of(line) if of else None)

    def _first(self) -> Mapping[str, Row]:
        return self._lines[min(self._lines)]

    def _write_cell(self, number: int, place: int, content: Content) -> None:
        if isinstance(content, tuple):
            self._sheet.write_formula(number - 1, place, content[0], None, content[1])
        elif content is not None:
            self._sheet.write(number - 1, place, content)

    def _columns(self, cell: str) -> Iterator[tuple[str, Any]]:
        source = "Source" if self._turn and cell in ("lstm", "gru") else ""
        yield source, self._application
        yield from getattr(self, f"_{self._op}")(cell)
        if any(self._published_fact(line, "padded") is not None for line in self._lines.values()):
            yield "Padded Kernels", lambda line: float(self._published_fact(line, "padded"))

    def _application(self, line: Mapping[str, Row]) -> Content:
        """Some workbooks name the applications; for the others, the set provides them."""
        return next(iter(line.values()))["application"]

    def _published_fact(self, line: Mapping[str, Row], name: str) -> Any:
        return next(
            (published_facts(row)[name] for row in line.values() if name in published_facts(row)),
            None,
        )

    def _dimension(self, name: str) -> Any:
        def cell_content(line: Mapping[str, Row]) -> Content:
            value = next(iter(line.values()))["attributes"][name]
            return str(value).upper() if isinstance(value, str) else float(value)

        return cell_content

    def _time(self, phase: str) -> Any:
        def cell_content(line: Mapping[str, Row]) -> Content:
            row = line.get(phase)
            missing = "N/A*" if phase == "bwd_data" and self._turn else None
            if row is None or self._scale is None:
                return missing
            return row["statistics"]["mean_ns"] / 1e6 * self._scale

        return cell_content

    def _rate(self, phase: str) -> Any:
        def cell_content(line: Mapping[str, Row]) -> Content:
            row = line.get(phase)
            if row is None or self._scale is None:
                return "N/A*" if phase == "bwd_data" else None
            rate = published_facts(row).get("tflops")
            if rate is None:
                return " " if phase == "bwd_filter" else "N/A*"
            rate = rate / self._scale * (1e3 if self._device else 1)
            return f"=2*{rate!r}/2", rate

        return cell_content

    def _total(self, line: Mapping[str, Row]) -> Content:
        time = self._time("total")(line)
        return None if time is None else ("=N4+O4+P4", time)

    def _products(self) -> Iterator[tuple[str, Any]]:
        for title, name in (("M", "m"), ("N", "n"), ("K", "k"), ("A Transpose", "trans_a"),
                            ("B Transpose", "trans_b")):  # fmt: skip
            yield title, self._dimension(name)

    def _gemm(self, _: str) -> Iterator[tuple[str, Any]]:
        yield from self._products()
        yield "", None
        yield "Time (msec)", self._time("fwd")
        yield self._unit, self._rate("fwd")

    def _sparse_gemm(self, _: str) -> Iterator[tuple[str, Any]]:
        yield from self._products()
        yield "Sparsity", self._dimension("sparsity")
        yield "", None
        yield "Sparse Time (msec)", self._time("fwd")
        yield "Dense Time (msec)", self._time("dense")
        yield "Sparse GIGAFLOPS" if self._device else "SparseTERAFLOPS", self._rate("fwd")
        filled = self._scale is not None
        yield (
            "Speedup wrt dense",
            lambda line: published_facts(line["fwd"])["speedup"] if filled else None,
        )

    def _conv(self, _: str) -> Iterator[tuple[str, Any]]:
        turned = any(one in self._workbook for one in R_BEFORE_S)
        if self._inference:
            sizes = ["W (input - time)", "H (input)", "C (channels)", "N (batch size)",
                     "K  (number of filters)", "S (filter width)", "R (filter height)"]  # fmt: skip
        elif turned:
            sizes = ["W", "H", "C", "N", "K ", "R", "S"]
        else:
            width = "S (Fitler width)" if self._turn else "S (Filter width)"
            sizes = ["W", "H", "C", "N", "K ", width, "R (Filter height)"]
        for title in sizes:
            yield title, self._dimension(title[0].lower())
        word = "Stride" if self._inference else "stride"
        steps = [("pad_w", "pad_w"), ("pad_h", "pad_h"), (f"Horizontal {word}", "stride_w"),
                 (f"Vertical {word}", "stride_h")]  # fmt: skip
        for title, name in [steps[i] for i in ((1, 0, 3, 2) if turned else (0, 1, 2, 3))]:
            yield title, self._dimension(name)
        output = (("P", self._output_size_column("h" if turned else "w", turned)),
                  ("Q", self._output_size_column("w" if turned else "h", turned)))  # fmt: skip
        if self._inference:
            yield "Forward" if self._device else "Forward (msec)", self._time("fwd")
            yield from output
            yield self._flops("FWD"), self._rate("fwd")
            return
        yield "Forward (msec)", self._time("fwd")
        yield "wrt Inputs (msec)", self._time("bwd_data")
        yield "wrt Parameters (msec)", self._time("bwd_filter")
        yield "", None
        yield from output
        yield "Total Time (msec)", self._total
        yield self._flops("FWD"), self._rate("fwd")
        yield self._flops("BWD INPUTS"), self._rate("bwd_data")
        yield self._flops("BWD PARMS"), self._rate("bwd_filter")
        yield "Forward Algorithm", lambda line: self._published_fact(line, "algorithm")

    def _output_size_column(self, side: str, turned: bool) -> Any:
        def cell_content(line: Mapping[str, Row]) -> Content:
            sizes = next(iter(line.values()))["attributes"]
            steps = sizes[side] - sizes["s" if side == "w" else "r"] + 2 * sizes[f"pad_{side}"]
            stride = sizes[f"stride_{side}"]
            return "=1", (steps + 1) / stride if turned else 1.0 + steps // stride

        return cell_content

    def _rnn(self, cell: str) -> Iterator[tuple[str, Any]]:
        hidden = "Hidden units" if cell == "gru" else "Hidden Units"
        hidden = "Input" if self._inference and cell == "lstm" else hidden
        for title, name in ((hidden, "hidden"), ("N", "batch"), ("Timesteps", "timesteps")):
            yield title, self._dimension(name)
        yield "", None
        space = "" if cell == "vanilla" else " "
        yield f"Time Forward (msec){space}", self._time("fwd")
        if self._inference:
            yield self._flops("FWD") if self._turn else f"FWD {self._unit}", self._rate("fwd")
            return
        if any(one in self._workbook or one in self._name for one in BACKWARD_ALONE):
            yield f"Time Backward (msec){space}", self._time("bwd_data")
            yield self._flops("FWD"), self._rate("fwd")
            yield self._flops("BWD"), self._rate("bwd_data")
            return
        inputs = "Inputs" if self._turn else "inputs"
        weights = ("Weights", "Weights") if self._turn else ("weights", "Params")
        yield f"Time Backward wrt {inputs} (msec)", self._time("bwd_data")
        yield f"Time Backward wrt {weights[0]} (msec)", self._time("bwd_params")
        yield self._flops("FWD"), self._rate("fwd")
        yield self._flops("BWD Inputs"), self._rate("bwd_data")
        yield self._flops(f"BWD {weights[1]}"), self._rate("bwd_params")
        yield "Total Time", self._total

    def _all_reduce(self, _: str) -> Iterator[tuple[str, Any]]:
        nodes = "IA_KNL" in self._workbook
        yield "Size # floats", self._dimension("elements")
        count = "# nodes (1 process per node)" if nodes else "# chips / accelerator cards"
        yield count, self._dimension("ranks")
        yield "", None if nodes else self._nodes
        yield "", None
        yield "Mean All Reduce Time (msec)", self._time("total")
        yield "", None
        filled = self._scale is not None
        for title, name in (("Gigabytes/sec", "bandwidth_gbs"), ("Selected Algorithm", "algorithm"),
                            ("Std Dev All Reduce Time (msec)", "stddev_ms")):  # fmt: skip
            yield title, self._published_fact_column(name) if filled else None

    def _flops(self, name: str) -> str:
        return f"{name} {self._unit}" if self._op == "conv" else f"{self._unit} {name}"

    def _published_fact_column(self, name: str) -> Any:
        return lambda line: self._published_fact(line, name)

    def _nodes(self, line: Mapping[str, Row]) -> Content:
        """A number of nodes above one is written without a heading."""
        ranks = next(iter(line.values()))["attributes"]["ranks"]
        return float(ranks // 8) if ranks > 8 else None
