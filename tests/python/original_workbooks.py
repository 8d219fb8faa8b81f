"""The original's 18 workbooks, made again for tests: each figure in the sheet, row and unit where
it was published, with the mistakes that are known.

The files themselves are not here. What is known of them (docs/workbooks.md): sheets and rows of all
figures, and the columns that their formulas name. Headings are known of products; others are of the
words that the original's documents use.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import xlsxwriter

from deepbench import references

Row = Mapping[str, Any]
Content = str | float | tuple[str, float] | None  # a tuple: a formula and its value

# R before S, and P, Q without rounding.
R_BEFORE_S = ("AMD_MI25", "AMD_VegaFE", "train/DeepBench_NV_1080Ti", "train/DeepBench_NV_P100",
              "train/DeepBench_NV_TitanXp")  # fmt: skip
BACKWARD_ALONE = ("AMD_MI25", "AMD_VegaFE", "Psuedo FP16")  # sheets or files: 'Time Backward'
STRAY = {
    ("DeepBench_Raspberry_Pi_3", "Kernels"): ("S26", ("=ROUNDDOWN(1.6,0)", 1.0)),
    ("server/DeepBench_NV_TitanX_Pascal", "Results - Mixed Precision"): ("V217", 1.0),
    ("train/DeepBench_NV_1080Ti", "Results - FP32"): ("L344", ("=1000/(SUM(U180:U215))", 1.23)),
}
TITLES = {
    "gemm": "Dense Matrix Multiplication", "sparse_gemm": "Sparse Matrix Multiplication",
    "conv": "Convolutions", "rnn": "Recurrent Layers", "all_reduce": "All Reduce",
}  # fmt: skip


@cache
def figures() -> Mapping[str, Sequence[Row]]:
    """Every published row, by workbook."""
    found: defaultdict[str, list[Row]] = defaultdict(list)
    for reference in references.available():
        for row in references.load(reference).rows:
            found[row["regime"]["published"]["workbook"]].append(row)
    return dict(sorted(found.items()))


def facts(row: Row) -> Mapping[str, Any]:
    found: Mapping[str, Any] = row["regime"]["published"]
    return found


def write(workbook: str, path: Path, scale: float = 1.0) -> None:
    """The workbook as a file; times are multiplied."""
    book = xlsxwriter.Workbook(str(path))
    specs = book.add_worksheet("Specs")
    for line, (key, value) in enumerate(_specs(workbook)):
        specs.write_row(line + 1, 1, [key, value])
    sheets: defaultdict[str, list[Row]] = defaultdict(list)
    for row in figures()[workbook]:
        sheets[facts(row)["sheet"]].append(row)
    for name, rows in sheets.items():
        _sheet(book.add_worksheet(name), workbook, name, rows, scale)
    book.close()


def _specs(workbook: str) -> Iterator[tuple[str, str]]:
    mode = "inference" if "/inference/" in workbook else "train"
    name = figures()[workbook][0]["device"]["name"]
    reference = references.find(name)
    assert reference is not None
    for key, value in references.load(reference).context["specs"].items():
        if key.startswith(mode):
            yield key.removeprefix(f"{mode}: "), value


def _sheet(sheet: Any, workbook: str, name: str, rows: Sequence[Row], scale: float) -> None:
    for op in TITLES:
        lines: defaultdict[int, dict[str, Row]] = defaultdict(dict)
        for row in rows:
            if row["op"] == op:
                dense = facts(row).get("algorithm") == "dense baseline"
                lines[facts(row)["row"]]["dense" if dense else facts(row)["phase"]] = row
        if lines:
            table = _Table(sheet, workbook, name, op, lines, scale)
            table.write()
    for (file, of), (place, content) in STRAY.items():
        if file in workbook and of == name:
            if isinstance(content, tuple):
                sheet.write_formula(place, content[0], None, content[1])
            else:
                sheet.write(place, content)


class _Table:
    def __init__(
        self,
        sheet: Any,
        workbook: str,
        name: str,
        op: str,
        lines: Mapping[int, Mapping[str, Row]],
        scale: float,
    ) -> None:
        self._sheet, self._op, self._lines, self._scale = sheet, op, lines, scale
        self._workbook, self._name = workbook, name
        self._flops = "GIGAFLOPS" if "/device/" in workbook else "TERAFLOPS"

    def write(self) -> None:
        head = min(self._lines) - 1
        self._sheet.write(head - 1, 1, TITLES[self._op])
        columns = list(self._columns())
        for place, (title, _) in enumerate(columns, start=2):
            if title:
                self._sheet.write(head - 1, place, title)
        for number, line in self._lines.items():
            for place, (_, of) in enumerate(columns, start=2):
                self._put(number, place, of(line) if of else None)

    def _put(self, number: int, place: int, content: Content) -> None:
        if isinstance(content, tuple):
            self._sheet.write_formula(number - 1, place, content[0], None, content[1])
        elif content is not None:
            self._sheet.write(number - 1, place, content)

    def _columns(self) -> Iterator[tuple[str, Any]]:
        yield from getattr(self, f"_{self._op}")()
        if any(self._fact(line, "padded") is not None for line in self._lines.values()):
            yield "Kernel Padded", lambda line: float(self._fact(line, "padded"))
        yield "Application", lambda line: next(iter(line.values()))["application"]

    def _fact(self, line: Mapping[str, Row], name: str) -> Any:
        return next((facts(row)[name] for row in line.values() if name in facts(row)), None)

    def _dimension(self, name: str) -> Any:
        def of(line: Mapping[str, Row]) -> Content:
            value = next(iter(line.values()))["attributes"][name]
            if isinstance(value, str):
                return {"lstm": "LSTM", "gru": "GRU"}.get(value, value.capitalize())
            return float(value)

        return of

    def _time(self, phase: str) -> Any:
        def of(line: Mapping[str, Row]) -> Content:
            row = line.get(phase)
            missing = "N/A*" if phase == "bwd_data" else None
            return missing if row is None else row["statistics"]["mean_ns"] / 1e6 * self._scale

        return of

    def _rate(self, phase: str) -> Any:
        def of(line: Mapping[str, Row]) -> Content:
            row = line.get(phase)
            if row is None or phase not in line:
                return "N/A*" if phase == "bwd_data" else None
            rate = facts(row).get("tflops")
            if rate is None:
                return " " if phase == "bwd_filter" else "N/A*"
            rate = rate / self._scale * (1e3 if self._flops == "GIGAFLOPS" else 1)
            return f"=2*{rate!r}/2", rate

        return of

    def _products(self) -> Iterator[tuple[str, Any]]:
        for title, name in (("M", "m"), ("N", "n"), ("K", "k"), ("A Transpose", "trans_a"),
                            ("B Transpose", "trans_b")):  # fmt: skip
            yield title, self._dimension(name)

    def _gemm(self) -> Iterator[tuple[str, Any]]:
        yield from self._products()
        yield "", None
        yield "Time (msec)", self._time("fwd")
        yield self._flops, self._rate("fwd")

    def _sparse_gemm(self) -> Iterator[tuple[str, Any]]:
        yield from self._products()
        yield "Sparsity", self._dimension("sparsity")
        yield "Sparse Time (msec)", self._time("fwd")
        yield "Dense Time (msec)", self._time("dense")
        yield "Speedup wrt dense", lambda line: facts(line["fwd"])["speedup"]
        yield self._flops, self._rate("fwd")

    def _conv(self) -> Iterator[tuple[str, Any]]:
        filters = ["R", "S"] if any(one in self._workbook for one in R_BEFORE_S) else ["S", "R"]
        for title in ["W", "H", "C", "N", "K", *filters]:
            yield title, self._dimension(title.lower())
        for name in ("pad_w", "pad_h", "stride_w", "stride_h"):
            yield name, self._dimension(name)
        if "inference" in self._workbook:
            yield "Time (msec)", self._time("fwd")
            yield self._flops, self._rate("fwd")
            return
        phases = (("fwd", "Fwd"), ("bwd_data", "Bwd wrt inputs"), ("bwd_filter", "Bwd wrt params"))
        for phase, title in phases:
            yield f"{title} Time (msec)", self._time(phase)
        for phase, title in phases:
            yield f"{title} {self._flops}", self._rate(phase)
        yield "Total Time (msec)", self._total
        yield "Fwd Algo", lambda line: self._fact(line, "algorithm")

    def _total(self, line: Mapping[str, Row]) -> Content:
        time = self._time("total")(line)
        return None if time is None else ("=N4+O4+P4", time)

    def _rnn(self) -> Iterator[tuple[str, Any]]:
        for title, name in (("Hidden Units", "hidden"), ("Batch Size", "batch"),
                            ("TimeSteps", "timesteps"), ("Recurrent Type", "cell")):  # fmt: skip
            yield title, self._dimension(name)
        if "inference" in self._workbook:
            yield "Time (msec)", self._time("fwd")
            yield self._flops, self._rate("fwd")
            return
        phases = [("fwd", "Forward"), ("bwd_data", "Backward"), ("bwd_params", "Backward weights")]
        if any(one in self._workbook or one in self._name for one in BACKWARD_ALONE):
            phases.pop()
        else:
            phases[1] = ("bwd_data", "Backward inputs")
        for phase, title in phases:
            yield f"Time {title} (msec)", self._time(phase)
        for phase, title in phases:
            yield f"{title} {self._flops}", self._rate(phase)
        yield "Total Time (msec)", self._total

    def _all_reduce(self) -> Iterator[tuple[str, Any]]:
        yield "Size (# of floats)", self._dimension("elements")
        yield "Number of Processors", self._dimension("ranks")
        yield "Time (msec)", self._time("total")
        yield "Std Dev (msec)", lambda line: self._fact(line, "stddev_ms")
        yield "Bandwidth (GB/s)", lambda line: self._fact(line, "bandwidth_gbs")
        yield "Algorithm", lambda line: self._fact(line, "algorithm")
