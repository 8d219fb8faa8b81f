"""The output of `conv_bench`: all phases of a problem on one line, and the sum of their times."""

from __future__ import annotations

from deepbench.report.legacy.text import (
    PhaseCollector,
    Phases,
    attributes,
    banner,
    microseconds,
    row_of_any_phase,
    time_text,
)
from deepbench.results.row import Row

_HEADER = (
    "   w      h      c      n      k      f_w    f_h  pad_w  pad_h    stride_w  stride_h"
    "    precision  fwd_time (usec)  "
)
_TRAINING = "bwd_inputs_time (usec)  bwd_params_time (usec)  total_time (usec)"
_WIDTHS = {"w": 5, "h": 7, "c": 7, "n": 7, "k": 7, "s": 7, "r": 7, "pad_w": 7, "pad_h": 8,
           "stride_w": 10, "stride_h": 10, "precision": 10}  # fmt: skip


class Conv:
    """Convolutions."""

    def __init__(self, inference: bool, precision: str) -> None:
        self._inference = inference
        self._shows_padding = inference and precision == "int8"
        self._collector = PhaseCollector()
        self._lines = self._padded = 0

    def head(self) -> str:
        columns = "" if self._inference else _TRAINING
        columns += " pad_kerenels  " if self._shows_padding else ""
        rules = ("-" * 190, "-" * 200)
        header = f"{_HEADER}{columns}   fwd_algo "
        return f"{banner(self._inference)}{rules[0]}\n{header}\n{rules[1]}\n"

    def row(self, row: Row) -> str:
        return "".join(map(self._phases_line, self._collector.add(row)))

    def end(self) -> str:
        text = "".join(map(self._phases_line, self._collector.flush()))
        if self._shows_padding:
            text += f" Total kernels padded: {self._padded}\n Total kernels: {self._lines}\n"
        return text

    def _phases_line(self, phases: Phases) -> str:
        row = row_of_any_phase(phases)
        padded = bool(row.padding.dimensions)
        self._lines += 1
        self._padded += padded
        values = attributes(row)
        cells = [f"{values.get(name, 0):>{width}}" for name, width in _WIDTHS.items()]
        times = [microseconds(phases.get(name)) for name in ("fwd", "bwd_data", "bwd_filter")]
        cells.append(f"{time_text(times[0]):>15}")
        if self._shows_padding:
            cells.append(f"{padded:>15d}")
        if not self._inference:
            total = sum(time for time in times if time is not None)
            cells.append(f"{time_text(times[1]):>24}{time_text(times[2]):>24}{total:>19}")
        algorithm = phases["fwd"].algorithm.name if "fwd" in phases else None
        return "".join(cells) + f"{algorithm or '':>25}\n"
