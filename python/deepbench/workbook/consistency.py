"""Checks whether a published time agrees with its rate, with the sum of its phases, and with the
dimensions in the original's set. Statuses are those of the published figures."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from deepbench.workbook.figures import Figure, phase_of
from deepbench.workbook.suite_alignment import SuitePosition

_NEAR = 2e-3  # relative tolerance of rates and sums, which are printed with three digits or more
# Absolute tolerance of a sum per time, since times are rounded to microseconds.
_ROUNDED_NS = 2_000.0


@dataclass(frozen=True)
class Consistency:
    """A row's status, and why it is doubtful. `doubt` is None if the figure is consistent."""

    status: str = "ok"
    note: str | None = None
    doubt: str | None = None


def check_figure(figure: Figure, position: SuitePosition, flops: float | None) -> Consistency:
    """Checks one figure. `flops` are the FLOPs of a call by deepbench's formulas."""
    consistency = _check_rate(figure, flops)
    if consistency.doubt:
        return consistency
    if position.meant:
        return _correct_misprint(figure, position.meant, consistency)
    return consistency


def sum_error(figure: Figure, line: Sequence[Figure]) -> str | None:
    """The error in a sum over the phases of its row; None if it is correct."""
    parts = [one.time_ns for one in line if phase_of(one) != "total"]
    if not parts:
        return f"is a total of {figure.time_ns / 1e6:g} ms without any phase"
    if _is_near(sum(parts), figure.time_ns, len(parts) * _ROUNDED_NS):
        return None
    return f"total {figure.time_ns / 1e6:g} ms is not the sum of its phases {sum(parts) / 1e6:g} ms"


def _correct_misprint(
    figure: Figure, meant: Mapping[str, object], consistency: Consistency
) -> Consistency:
    [(name, right)] = meant.items()
    text = f"{right:.15g}" if isinstance(right, float) else str(right)
    printed = figure.dimensions[name]
    note = f"{name}={printed} in the sheet, {name}={text} in the original's set"
    status = "DIMS_1530" if printed == 1530 else consistency.status
    status = "MISMATCH_N_LABEL" if figure.op == "gemm" and name == "n" else status
    return Consistency(status, note, note if status == consistency.status else f"{status}: {note}")


def _check_rate(figure: Figure, flops: float | None) -> Consistency:
    if figure.tflops is None or phase_of(figure) == "dense":
        return Consistency("no_rate")
    computed = (flops or 0.0) / figure.time_ns / 1e3
    if not computed or _is_near(figure.tflops, computed):
        return Consistency()
    if figure.op == "sparse_gemm" and (status := _rate_of_zeros(figure)):
        formula = "2*m*n*k*sparsity" if status.startswith("uses_2") else "m*n*k*sparsity"
        return Consistency(status, f"published rate = {formula}/time, which counts zeros")
    if figure.op == "conv" and _is_near(figure.tflops, computed * _unrounded_size_ratio(figure)):
        note = "the rate uses an output size that is not rounded: (dim-filter+1+2*pad)/stride"
        return Consistency("MISMATCH_PQ", note, f"MISMATCH_PQ: {note}")
    note = f"the rate is {figure.tflops:.4g} TFLOPS, but the time implies {computed:.4g}"
    return Consistency("MISMATCH_RATE", note, f"MISMATCH_RATE: {note}")


def _rate_of_zeros(figure: Figure) -> str | None:
    """The status of a sparse rate that counts zeros instead of nonzero values."""
    m, n, k, sparsity = (float(figure.dimensions[name]) for name in ("m", "n", "k", "sparsity"))
    counted = m * n * k * sparsity / figure.time_ns / 1e3
    for factor, status in ((2, "uses_2mnk*sparsity"), (1, "uses_mnk*sparsity")):
        if figure.tflops is not None and _is_near(figure.tflops, factor * counted):
            return status
    return None


def _unrounded_size_ratio(figure: Figure) -> float:
    """The ratio of the output's size without rounding to its actual size."""
    share = 1.0
    for size, width, pad, stride in (("w", "s", "pad_w", "stride_w"),
                                     ("h", "r", "pad_h", "stride_h")):  # fmt: skip
        values = figure.dimensions
        steps = float(values[size]) - float(values[width]) + 2 * float(values[pad])
        step = float(values[stride]) or 1.0
        share *= (steps + 1) / step / max(1.0, 1 + steps // step)
    return share


def _is_near(one: float, other: float, absolute: float = 0.0) -> bool:
    return abs(one - other) <= max(_NEAR * max(abs(one), abs(other)), absolute)
