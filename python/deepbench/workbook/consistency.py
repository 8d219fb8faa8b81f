"""What is to be thought of a time by what stands beside it: its rate, the sum of phases, the
dimensions of the original's set. The words are those of the published figures."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from deepbench.workbook.figures import Figure, phase_of
from deepbench.workbook.suite_alignment import SuitePosition

_NEAR = 2e-3  # of rates and sums: they are printed with three digits or more
_ROUNDED_NS = 2_000.0  # of sums: each time is rounded to a microsecond


@dataclass(frozen=True)
class Consistency:
    """A row's status, and why it is doubted; `doubt` None: nothing speaks against it."""

    status: str = "ok"
    note: str | None = None
    doubt: str | None = None


def check_figure(figure: Figure, position: SuitePosition, flops: float | None) -> Consistency:
    """Of one figure; `flops` are those of a call by our formulas."""
    consistency = _rated(figure, flops)
    if consistency.doubt:
        return consistency
    if position.meant:
        return _misprint(figure, position.meant, consistency)
    return consistency


def sum_error(figure: Figure, line: Sequence[Figure]) -> str | None:
    """What is wrong with a sum over the phases of its row; None if nothing is."""
    parts = [one.time_ns for one in line if phase_of(one) != "total"]
    if not parts:
        return f"is a total of {figure.time_ns / 1e6:g} ms without its phases"
    if _near(sum(parts), figure.time_ns, len(parts) * _ROUNDED_NS):
        return None
    return f"total {figure.time_ns / 1e6:g} ms is not the sum of its phases {sum(parts) / 1e6:g} ms"


def _misprint(figure: Figure, meant: Mapping[str, object], consistency: Consistency) -> Consistency:
    [(name, right)] = meant.items()
    text = f"{right:.15g}" if isinstance(right, float) else str(right)
    printed = figure.dimensions[name]
    note = f"{name}={printed} in the sheet, {name}={text} in the original's set"
    status = "DIMS_1530" if printed == 1530 else consistency.status
    status = "MISMATCH_N_LABEL" if figure.op == "gemm" and name == "n" else status
    return Consistency(status, note, note if status == consistency.status else f"{status}: {note}")


def _rated(figure: Figure, flops: float | None) -> Consistency:
    if figure.tflops is None or phase_of(figure) == "dense":
        return Consistency("no_rate")
    ours = (flops or 0.0) / figure.time_ns / 1e3
    if not ours or _near(figure.tflops, ours):
        return Consistency()
    if figure.op == "sparse_gemm" and (status := _rate_of_zeros(figure)):
        formula = "2*m*n*k*sparsity" if status.startswith("uses_2") else "m*n*k*sparsity"
        return Consistency(status, f"published rate = {formula}/time; not of the nonzero values")
    if figure.op == "conv" and _near(figure.tflops, ours * _unrounded(figure)):
        note = "the rate is of a fractional output size: (dim-filter+1+2*pad)/stride, not rounded"
        return Consistency("MISMATCH_PQ", note, f"MISMATCH_PQ: {note}")
    note = f"the rate {figure.tflops:.4g} TFLOPS does not follow from the time, {ours:.4g} does"
    return Consistency("MISMATCH_RATE", note, f"MISMATCH_RATE: {note}")


def _rate_of_zeros(figure: Figure) -> str | None:
    """The status of a sparse rate that counts the share of zeros in place of the others."""
    m, n, k, sparsity = (float(figure.dimensions[name]) for name in ("m", "n", "k", "sparsity"))
    counted = m * n * k * sparsity / figure.time_ns / 1e3
    for factor, status in ((2, "uses_2mnk*sparsity"), (1, "uses_mnk*sparsity")):
        if figure.tflops is not None and _near(figure.tflops, factor * counted):
            return status
    return None


def _unrounded(figure: Figure) -> float:
    """The output's size without rounding over the right one."""
    share = 1.0
    for size, width, pad, stride in (("w", "s", "pad_w", "stride_w"),
                                     ("h", "r", "pad_h", "stride_h")):  # fmt: skip
        values = figure.dimensions
        steps = float(values[size]) - float(values[width]) + 2 * float(values[pad])
        step = float(values[stride]) or 1.0
        share *= (steps + 1) / step / max(1.0, 1 + steps // step)
    return share


def _near(one: float, other: float, absolute: float = 0.0) -> bool:
    return abs(one - other) <= max(_NEAR * max(abs(one), abs(other)), absolute)
