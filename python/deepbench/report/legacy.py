"""The original benchmark's text, column for column, misprints included, for scripts that read it.

Column-wise it is what `gemm_bench` printed: transposes as 0 and 1, times as whole microseconds
(cut off, not rounded; the median here, a mean there), `Not Supported` where there is no time.
"""

from __future__ import annotations

from deepbench.report import Context, FormatError, Row
from deepbench.report.fields import get
from deepbench.report.outline import Outline

_RULE = "-" * 88
_HEADER = "    m       n      k      a_t     b_t      precision        time (usec) "


class Legacy:
    """Dense GEMM of one set, as the original had no other mixture."""

    def __init__(self) -> None:
        self._inference = False
        self._shows_padding = False
        self._rows = 0
        self._padded = 0

    def begin(self, context: Context, outline: Outline) -> str:
        others = [op for op in outline if op != "gemm"]
        if others:
            raise FormatError(
                f"--format legacy prints only gemm, not {' '.join(others)}; use --format table"
            )
        self._inference = str(context.get("set") or "").startswith("inference")
        banner = f"Running {'inference' if self._inference else 'training'} benchmark "
        return f"{banner:>45}\n{'Times':>30}\n{_RULE}\n"

    def row(self, row: Row) -> str:
        attributes = row.get("attributes") or {}
        precision = str(attributes.get("precision", ""))
        text = ""
        if self._rows == 0:
            self._shows_padding = self._inference and precision == "int8"
            text = _HEADER + (" pad_kerenels  " if self._shows_padding else "") + "\n"
        self._rows += 1
        padded = bool(get(row, "padding.dimensions"))
        self._padded += padded
        cells = [f"{attributes.get(name, 0):>7}" for name in ("m", "n", "k")]
        cells += [f"{attributes.get(name) == 't':>7d}" for name in ("trans_a", "trans_b")]
        cells.append(f"{precision:>{14 if precision == 'int8' else 13}}")
        cells.append(f"{_time(row):>20}")
        if self._shows_padding:
            cells.append(f"{padded:>10d}")
        return text + "".join(cells) + "\n"

    def end(self) -> str:
        if not self._shows_padding:
            return ""
        return f" Total kernels padded: {self._padded}\n Total kernels: {self._rows}\n"


def _time(row: Row) -> str:
    median = get(row, "statistics.median_ns")
    if median is None or row["status"] != "ok":
        return "Not Supported"
    return str(int(median // 1000))
