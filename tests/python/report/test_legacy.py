"""The original's output: columns, one line for all phases of a problem, and footers."""

from __future__ import annotations

from typing import Any

import pytest

from deepbench.report import FormatError
from example_rows import make_context, make_gemm, make_memory, make_row, without_times
from golden_files import check_golden
from golden_report import render_rows


def split_cells(line: str, *widths: int) -> list[str]:
    assert len(line) == sum(widths)
    starts = [sum(widths[:i]) for i in range(len(widths))]
    return [
        line[start : start + width].strip() for start, width in zip(starts, widths, strict=True)
    ]


def timed_gemm(row: dict[str, Any], nanoseconds: float) -> dict[str, Any]:
    return {**row, "statistics": {**row["statistics"], "median_ns": nanoseconds}}


def conv_rows(position: int, n: int = 8, precision: str = "float") -> list[dict[str, Any]]:
    """Three phases of 100, 200 and 300 us."""
    shape = {"w": 112, "h": 56, "c": 64, "n": n, "k": 128, "s": 5, "r": 3, "pad_w": 1, "pad_h": 2,
             "stride_w": 2, "stride_h": 1}  # fmt: skip
    rows = []
    for index, phase in enumerate(("fwd", "bwd_data", "bwd_filter")):
        attributes = {**shape, "phase": phase, "layout": "library", "precision": precision}
        row = make_row("conv", attributes, position + index, 1e9)
        row["algorithm"] = {**row["algorithm"], "name": "jit:avx2"}
        rows.append(timed_gemm(row, 100_900.0 * (index + 1)))
    return rows


def rnn_rows(phases: dict[str, float], position: int = 0) -> list[dict[str, Any]]:
    shape = {"cell": "lstm", "hidden": 512, "batch": 16, "timesteps": 25}
    rows = []
    for index, (phase, time) in enumerate(phases.items()):
        attributes = {**shape, "phase": phase, "precision": "float"}
        rows.append(timed_gemm(make_row("rnn", attributes, position + index, 1e9), time))
    return rows


def test_legacy_int8_inference() -> None:
    rows = [make_gemm(0, precision="int8"), make_gemm(1, m=35, precision="int8")]
    rows[1]["padding"] = {"rule": "m to a multiple of 4", "dimensions": {"m": 36}}
    context = make_context(set="inference_server", rows=2)
    check_golden("report/int8_inference.legacy", render_rows("legacy", rows, context))


def test_legacy_columns_match_the_original() -> None:
    """Facts about the original's output, independent of the golden file."""
    lines = render_rows("legacy", [make_gemm(0), make_gemm(1)]).splitlines()
    assert lines[0] == "Running training benchmark ".rjust(45)
    assert lines[1] == "Times".rjust(30)
    assert lines[2] == "-" * 88
    header = "    m       n      k      a_t     b_t      precision        time (usec) "
    assert lines[3] == header
    row = lines[4]
    widths = [7, 7, 7, 7, 7, 13, 20]
    cells = [row[sum(widths[:i]) : sum(widths[: i + 1])].strip() for i in range(len(widths))]
    assert cells == ["1760", "16", "1760", "0", "1", "float", "100"]
    assert len(row) == sum(widths)


def test_legacy_supports_only_the_original_operations() -> None:
    with pytest.raises(FormatError, match="prints gemm conv rnn sparse_gemm, not memory"):
        render_rows("legacy", [make_memory()])


def test_phases_of_a_convolution_are_one_line_and_their_sum() -> None:
    lines = render_rows("legacy", conv_rows(0) + conv_rows(3, n=16)).splitlines()
    assert lines[2] == "-" * 190
    assert lines[3].startswith("   w      h      c      n      k      f_w    f_h  pad_w  pad_h    ")
    assert lines[3].endswith("bwd_params_time (usec)  total_time (usec)   fwd_algo ")
    assert lines[4] == "-" * 200
    widths = (5, 7, 7, 7, 7, 7, 7, 7, 8, 10, 10, 10, 15, 24, 24, 19, 25)
    shape = ["112", "56", "64", "8", "128", "5", "3", "1", "2", "2", "1", "float"]
    assert split_cells(lines[5], *widths) == [*shape, "100", "201", "302", "603", "jit:avx2"]
    assert split_cells(lines[6], *widths)[3] == "16"
    assert len(lines) == 7


def test_a_phase_without_a_time_is_not_supported() -> None:
    rows = conv_rows(0)
    rows[1] = without_times(rows[1], "unsupported", "no")
    line = render_rows("legacy", rows).splitlines()[5]
    assert line.split()[-5:] == ["Not", "Supported", "302", "402", "jit:avx2"]


def test_the_same_problem_twice_is_two_lines() -> None:
    assert len(render_rows("legacy", conv_rows(0) + conv_rows(3)).splitlines()) == 7


def test_alternating_hot_and_cold_rows_are_two_lines() -> None:
    hot = conv_rows(0)
    cold = [timed_gemm(row, 7e6) for row in conv_rows(3)]
    for row in cold:
        row["regime"] = {**row["regime"], "cache": "cold"}
    rows = [row for pair in zip(hot, cold, strict=True) for row in pair]
    lines = render_rows("legacy", rows).splitlines()[5:]
    assert [line.split()[-5:-1] for line in lines] == [
        ["100", "201", "302", "603"],
        ["7000", "7000", "7000", "21000"],
    ]


def test_inference_of_convolutions_in_int8_counts_padded_ones() -> None:
    rows = [conv_rows(0, precision="int8")[0], conv_rows(1, n=2, precision="int8")[0]]
    rows[1]["padding"] = {"rule": "c to a multiple of 4", "dimensions": {"c": 64}}
    context = make_context(set="inference_device", rows=2)
    lines = render_rows("legacy", rows, context).splitlines()
    assert lines[3].endswith("fwd_time (usec)   pad_kerenels     fwd_algo ")
    widths = (5, 7, 7, 7, 7, 7, 7, 7, 8, 10, 10, 10, 15, 15, 25)
    assert [split_cells(line, *widths)[-2] for line in lines[5:7]] == ["0", "1"]
    assert lines[7:] == [" Total kernels padded: 1", " Total kernels: 2"]


def test_recurrent_layers() -> None:
    rows = rnn_rows({"fwd": 1e6, "bwd_data": 2e6, "bwd_weights": 3e6})
    lines = render_rows("legacy", rows).splitlines()
    assert lines[2] == "-" * 115
    header = "    type    hidden   N     timesteps   precision   fwd_time (usec)   "
    assert lines[3] == header + "bwd_inputs_time (usec)  bwd_params_time (usec)"
    widths = (8, 8, 8, 8, 14, 18, 20, 20)
    layer = ["lstm", "512", "16", "25", "float"]
    assert split_cells(lines[4], *widths) == [*layer, "1000", "2000", "3000"]
    both = render_rows("legacy", rnn_rows({"fwd": 1e6, "bwd": 5e6})).splitlines()[4]
    assert split_cells(both, *widths)[5:] == ["1000", "5000", "Not Supported"]
    context = make_context(set="inference_server", rows=1)
    line = render_rows("legacy", rnn_rows({"fwd": 1e6}), context).splitlines()[4]
    assert split_cells(line, *widths[:6]) == [*layer, "1000"]


def test_sparse_products_beside_the_dense_ones() -> None:
    shape = {"m": 7680, "n": 1, "k": 2560, "trans_a": "n", "trans_b": "n", "sparsity": 0.95}
    row = make_row("sparse_gemm", {**shape, "precision": "float"}, 0, 1e6)
    row["metrics"] = [
        {"name": "dense_time", "value": 1234.56, "unit": "us", "better": "lower"},
        {"name": "speedup", "value": 12.3456, "unit": "x", "better": "higher"},
    ]
    lines = render_rows("legacy", [row, without_times(row, "unsupported", "no")]).splitlines()
    assert lines[:2] == ["Times".rjust(30), "-" * 110]
    widths = (7, 7, 7, 7, 7, 11, 16, 16, 20)
    shape_cells = ["7680", "1", "2560", "0", "0", "0.95"]
    assert split_cells(lines[3], *widths) == [*shape_cells, "100", "1234", "12.346"]
    assert split_cells(lines[4], *widths)[6] == "Not Supported"


def test_every_operation_has_a_section() -> None:
    rows = [make_gemm(0), *conv_rows(1), *rnn_rows({"fwd": 1e6}, 4)]
    text = render_rows("legacy", rows)
    assert text.count("Running training benchmark") == 3
    assert text.index("a_t") < text.index("fwd_algo") < text.index("timesteps")
