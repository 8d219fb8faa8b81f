"""The output of `gemm_bench`: transposes as 0 and 1, padding for int8 inference."""

from __future__ import annotations

from deepbench.report.legacy.text import attributes, banner, microseconds, time_text
from deepbench.results.row import Row

_HEADER = "    m       n      k      a_t     b_t      precision        time (usec) "


class Gemm:
    """Dense products."""

    def __init__(self, inference: bool, precision: str) -> None:
        self._inference = inference
        self._shows_padding = inference and precision == "int8"
        self._rows = self._padded = 0

    def head(self) -> str:
        padding = " pad_kerenels  " if self._shows_padding else ""
        return f"{banner(self._inference)}{'-' * 88}\n{_HEADER}{padding}\n"

    def row(self, row: Row) -> str:
        values = attributes(row)
        precision = str(values.get("precision", ""))
        padded = bool(row.padding.dimensions)
        self._rows += 1
        self._padded += padded
        cells = [f"{values.get(name, 0):>7}" for name in ("m", "n", "k")]
        cells += [f"{values.get(name) == 't':>7d}" for name in ("trans_a", "trans_b")]
        cells.append(f"{precision:>{14 if precision == 'int8' else 13}}")
        cells.append(f"{time_text(microseconds(row)):>20}")
        if self._shows_padding:
            cells.append(f"{padded:>10d}")
        return "".join(cells) + "\n"

    def end(self) -> str:
        if not self._shows_padding:
            return ""
        return f" Total kernels padded: {self._padded}\n Total kernels: {self._rows}\n"
