"""Numbers as a reader meets them: their unit, their digits, where they stand, and what an output
that lacks the signs gets instead."""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from comparison_rows import timed_gemm
from deepbench.report.comparison.wording import number_text
from deepbench.report.fields import (
    metric_text,
    percent,
    rate,
    share,
    time_cell,
    time_text,
    work_unit,
)
from deepbench.report.overview.charts import chart
from deepbench.runner.progress import Screen
from example_rows import make_context, make_gemm, row_of_members
from golden_report import render_rows
from number_texts import NUMBER_TEXTS
from report_files import content_of

MICRO = "\N{MICRO SIGN}s"


FORMATTERS: dict[str, Callable[..., str]] = {
    "rate": rate,
    "share": share,
    "percent": percent,
    "timeText": time_text,
    "ratioText": number_text,
    "workUnit": work_unit,
    "general": lambda value, count: f"{value:.{count}g}",
}


@pytest.mark.parametrize(("name", "values", "expected"), NUMBER_TEXTS)
def test_each_number_has_the_text_of_the_number_table(
    name: str, values: list[Any], expected: str
) -> None:
    assert FORMATTERS[name](*values) == expected


@pytest.mark.parametrize(
    ("nanoseconds", "text"),
    [
        (None, "-"),
        (0.3, "0.3000 ns"),
        (52, "52.00 ns"),
        (394_540, f"394.5 {MICRO}"),
        (999_940, f"999.9 {MICRO}"),
        (999_960, "1.000 ms"),
        (98_232_400, "98.23 ms"),
        (2_453_432_800, "2.453 s"),
        (1.5e12, "1500 s"),
    ],
)
def test_a_time_has_four_digits_and_a_fitting_unit(nanoseconds: float | None, text: str) -> None:
    assert time_text(nanoseconds) == text


@pytest.mark.parametrize(
    ("nanoseconds", "like_ns", "text"),
    [
        (973_862, 1_360_000, "0.9739 ms"),
        (1_200_000, 136_000, f"1200 {MICRO}"),
        (5_000, 2.4e9, f"5.000 {MICRO}"),
        (2.4e9, 5_000, "2.400 s"),
    ],
)
def test_a_time_is_in_the_unit_of_its_row(nanoseconds: float, like_ns: float, text: str) -> None:
    assert time_text(nanoseconds, like_ns) == text


@given(st.floats(1, 9e11))
def test_times_of_a_column_are_aligned(nanoseconds: float) -> None:
    cell = time_cell(nanoseconds)
    assert len(cell) <= len("394.5 us")
    assert cell[-3] == " "
    assert cell[-4].isdigit()


@given(st.floats(1e-6, 1e6))
def test_a_rate_has_three_digits(value: float) -> None:
    assert float(rate(value)) == pytest.approx(value, rel=0.0051)


def test_integer_work_is_counted_in_operations() -> None:
    title = render_rows("table", [make_gemm(precision="int8")]).splitlines()[1]
    assert "TOP/s" in title
    assert "TFLOP/s" not in title
    mixed = [make_gemm(precision="int8"), make_gemm(1, precision="half")]
    mixed.append(make_gemm(2, precision="half", rates=None))
    lines = render_rows("table", mixed).splitlines()[1:]
    assert "  rate  " in lines[0]
    assert "OP/s" not in lines[0]
    assert "  0.9912 TOP/s    " in lines[1]
    assert "  0.9912 TFLOP/s  " in lines[2]
    assert len({line.index(" 79.3") for line in lines[1:]}) == 1


@pytest.mark.parametrize(
    ("precisions", "unit"),
    [
        (("int8", "int8"), "TOP/s"),
        (("half", "float"), "TFLOP/s"),
        (("int8", "half"), "TFLOP/s or TOP/s"),
    ],
)
def test_summaries_and_axes_count_operations_of_integers(
    precisions: tuple[str, str], unit: str
) -> None:
    rows = [
        timed_gemm(place, precision=one, application="a") for place, one in enumerate(precisions)
    ]
    made = content_of(rows)
    units = ["TOP/s" if one == "int8" else "TFLOP/s" for one in precisions]
    for heading, column in (("By family", "best rate"), ("By application", "mean rate")):
        [section] = [one for one in made.summary if one.heading == heading]
        place = section.columns.index(column)
        rates = [row.cells[place].split()[1] for row in section.rows]
        assert sorted(rates) == sorted(dict.fromkeys(units) if len(rates) < 2 else units)
    assert {one.label.split()[-1] for one in made.ceilings if one.arithmetic} == set(units)
    assert made.work_title == unit
    assert made.plot_choices is not None
    assert made.plot_choices.metric.title == unit
    assert chart("roofline", made.axes, work=unit)["encoding"]["y"]["title"] == unit


def test_every_time_of_a_row_has_its_unit() -> None:
    row = make_gemm()
    row["statistics"] |= {"median_ns": 136_000.0, "low_ns": 135_900.0, "high_ns": 136_100.0}
    row["metrics"] = [
        {"name": "slowest", "value": 1_973_862.4, "unit": "ns", "better": "lower"},
        {"name": "dense", "value": 12.345, "unit": "us", "better": "lower"},
        {"name": "spread", "value": 0.19779, "unit": "%", "better": "lower"},
        {"name": "nnz_rate", "value": 202.7, "unit": "GFLOP/s", "better": "higher"},
        {"name": "bitwise", "value": 100, "unit": "/100"},
    ]
    row["conversion"] = {"operand": "a", "ns": 2_000_000.0, "constant": False}
    line = render_rows("table", [row]).splitlines()[2]
    assert f"  136.0 {MICRO}  " in line
    assert f"a converted in 2000 {MICRO}, not in the time: 2136 {MICRO} with it" in line
    assert (
        f"slowest=1974 {MICRO}, dense=12.35 {MICRO}, spread=0.198 %, nnz_rate=0.2027 TFLOP/s, "
        "bitwise=100/100" in line
    )
    exact = "slowest=1973862.4 ns, dense=12.345 us, spread=0.19779 %, nnz_rate=202.7 GFLOP/s"
    exact += ", bitwise=100/100"
    assert metric_text(row_of_members(row), exact=True) == exact


def test_untrusted_times_have_bounded_width() -> None:
    row = make_gemm()
    row["metrics"] = [{"name": "t", "value": value, "unit": "ns"} for value in (1e300, -1e-99)]
    assert len(metric_text(row_of_members(row))) < 60


@pytest.mark.parametrize("name", ["table", "markdown"])
def test_one_sample_has_no_plus_minus_sign(name: str) -> None:
    row = make_gemm(precision="half")
    row["statistics"] |= {"n": 1, "relative_standard_error": None, "low_ns": None, "high_ns": None}
    text = render_rows(name, [row])
    body = text[text.index("half") :]
    assert "\N{PLUS-MINUS SIGN}" not in body
    assert "+-" not in body


def test_other_encodings_get_ascii_of_the_same_width() -> None:
    text = render_rows("table", [make_gemm()])
    raw = io.BytesIO()
    out = io.TextIOWrapper(raw, encoding="ascii")
    Screen(out, io.StringIO()).report(text)
    ascii_lines = raw.getvalue().decode("ascii").splitlines()
    assert [len(line) for line in ascii_lines] == [len(line) for line in text.splitlines()]
    assert "100.0 us" in ascii_lines[2]
    assert " +-% " in ascii_lines[1]


@pytest.mark.parametrize("encoding", ["ascii", "latin-1", "utf-8"])
def test_a_table_is_shown_in_every_locale(tmp_path: Path, encoding: str) -> None:
    file = tmp_path / "a.jsonl"
    lines: list[dict[str, Any]] = [make_context(rows=1), make_gemm()]
    file.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    done = subprocess.run(
        [sys.executable, "-m", "deepbench", "show", str(file)],
        env={**os.environ, "LC_ALL": "C", "PYTHONIOENCODING": encoding},
        capture_output=True,
        check=True,
    )
    micro = "us" if encoding == "ascii" else MICRO
    assert f"100.0 {micro}" in done.stdout.decode(encoding)
