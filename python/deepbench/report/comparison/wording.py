"""Ratios and intervals as text, the same in every format."""

from __future__ import annotations

from deepbench.compare import Ratio


def result_set_letter(index: int) -> str:
    """The name of a result set: A, B, ... Z, then a number."""
    return chr(ord("A") + index) if index < 26 else f"set {index + 1}"


def ratio_cells(ratio: Ratio | None) -> tuple[str, str]:
    """The ratio and its limits."""
    return ratio_text(ratio), limits_text(ratio)


def ratio_text(ratio: Ratio | None) -> str:
    return "-" if ratio is None else number_text(ratio.value)


def limits_text(ratio: Ratio | None) -> str:
    if ratio is None:
        return "-"
    low, high = ratio.low, ratio.high
    return "-" if low is None or high is None else f"{number_text(low)} to {number_text(high)}"


def factor_text(factor: float) -> str:
    """A speedup: 1.087, 48.5, 485, 4850."""
    if factor < 10:
        return f"{factor:.3f}"
    return f"{factor:.1f}" if factor < 100 else f"{float(f'{factor:.3g}'):.0f}"


def number_text(value: float) -> str:
    """A ratio with three or four significant digits: 1e-05, 0.0123, 0.981, 1.250, 12.35, 1234."""
    if value < 0.1:
        return f"{value:.3g}"
    return f"{value:.3f}" if value < 10 else f"{value:.4g}"
