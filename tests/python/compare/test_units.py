"""Units in a comparison: the times of a row share a unit, and rates name what they count."""

from __future__ import annotations

import json

import pytest

from comparison_rows import make_published_row, make_result_set, render, timed_gemm
from deepbench.compare import Comparison, ResultSet, Rules, compare, to_result_set
from deepbench.results import read
from example_rows import make_memory
from source_tree import ROOT

H200 = ROOT / "results/h200"
MICRO = "\N{MICRO SIGN}s"


def compare_result_sets(*sides: ResultSet, across: tuple[str, ...] = ()) -> Comparison:
    return compare(list(sides), Rules(across=across))


@pytest.mark.parametrize("name", ["table", "markdown", "html"])
def test_times_of_a_row_share_a_unit(name: str) -> None:
    a = make_result_set(
        timed_gemm(0, 2.4534328e9), timed_gemm(1, 98_232_400.0), timed_gemm(2, 52_361.0)
    )
    b = make_result_set(timed_gemm(0, 9.8e8), timed_gemm(1, 9.8e6), timed_gemm(2, 2_345_600.0))
    text = render(compare_result_sets(a, b), name)
    pairs = [("2.453 s", "0.9800 s"), ("98.23 ms", "9.800 ms"), (f"52.36 {MICRO}", f"2346 {MICRO}")]
    for ours, theirs in pairs:
        [row] = [line for line in text.splitlines() if ours in line]
        assert theirs in row[row.index(ours) :]
    assert "A us" not in text
    assert "2453432" not in text


def test_times_of_a_table_are_aligned() -> None:
    a = make_result_set(
        timed_gemm(0, 2.4534328e9), timed_gemm(1, 98_232_400.0), timed_gemm(2, 52_361.0)
    )
    text = render(compare_result_sets(a, a), "table")
    numbers = ("2.453 s", "98.23 ms", "52.36 ")
    rows = [next(line for line in text.splitlines() if number in line) for number in numbers]
    ends = {row.index(number) for row, number in zip(rows, numbers, strict=True)}
    assert len(ends) == 1


def test_a_conversion_is_in_the_unit_of_its_row() -> None:
    a, b = timed_gemm(0, 2_000_000.0), timed_gemm(0, 1_500_000.0)
    b["conversion"] = {"operand": "a", "ns": 300_000.0, "constant": False}
    text = render(compare_result_sets(make_result_set(a), make_result_set(b)), "markdown")
    assert "B: 0.3000 ms of conversion, not in the time" in text


def test_rates_of_integers_are_operations() -> None:
    whole = make_result_set(*(timed_gemm(i, precision="int8") for i in range(2)))
    text = render(compare_result_sets(whole, whole), "table")
    assert "A TOP/s  B TOP/s" in text
    assert "TFLOP/s" not in text
    half = make_result_set(*(timed_gemm(i, precision="half") for i in range(2)))
    text = render(compare_result_sets(half, whole, across=("precision",)), "table")
    assert "A TFLOP/s  B TOP/s" in text
    mixed = make_result_set(timed_gemm(0, precision="int8"), timed_gemm(1, precision="half"))
    text = render(compare_result_sets(mixed, mixed), "table")
    assert "A rate" in text
    [titles] = [line for line in text.splitlines() if "A rate" in line]
    assert "OP/s" not in titles
    assert text.count(" TOP/s") == text.count(" TFLOP/s") == 2


def test_a_row_without_a_partner_has_no_time() -> None:
    a = make_result_set(timed_gemm(0), timed_gemm(1))
    text = render(compare_result_sets(a, a, make_result_set(timed_gemm(0))), "table")
    [row] = [line for line in text.splitlines() if " missing" in line]
    assert row.split().count("-") == 4  # time, ratio, interval, rate


def test_json_has_nanoseconds() -> None:
    found = json.loads(
        render(
            compare_result_sets(
                make_result_set(timed_gemm(0, 2.4e9)), make_result_set(make_published_row(0, 9.8e8))
            ),
            "json",
        )
    )
    row = found["against"][0]["rows"][0]
    assert row["base"]["time_ns"] == 2.4e9
    assert row["other"]["time_ns"] == 9.8e8


@pytest.mark.parametrize(("width", "both"), [(80, False), (120, True)])
def test_a_table_of_convolutions_fits_the_screen(width: int, both: bool) -> None:
    sides = [
        to_result_set(read(H200 / f"conv_inference_{name}.jsonl")) for name in ("half", "int8")
    ]
    text = render(compare_result_sets(*sides, across=("precision",)), "table", width)
    lines = text.splitlines()
    assert max(map(len, lines)) <= width
    titles = next(line for line in lines if "verdict" in line and " w " in line)
    assert ("B time" in titles) == both
    assert "B/A" in titles


def test_an_operation_without_arithmetic_has_rates_in_bytes() -> None:
    a, b = make_memory(0), make_memory(0)
    a["statistics"]["median_ns"], b["statistics"]["median_ns"] = 2_000.0, 1_000.0
    a["work"] = b["work"] = {"flops": 0, "bytes": 40_000}
    sides = make_result_set(a), make_result_set(b)
    lines = render(compare_result_sets(*sides), "table").splitlines()
    [titles] = [line for line in lines if "A time" in line]
    assert titles.split()[-4:] == ["A", "GB/s", "B", "GB/s"]
    assert "20.000  40.000" in lines[lines.index(titles) + 1]
    assert "FLOP/s" not in titles
    [row] = json.loads(render(compare_result_sets(*sides), "json"))["against"][0]["rows"]
    assert (row["base"]["gbps"], row["other"]["gbps"]) == (20.0, 40.0)
