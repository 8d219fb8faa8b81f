"""Every format against its golden file, and properties that each format must have.

DEEPBENCH_UPDATE_GOLDEN=1 rewrites the golden files. Review them before committing.
"""

from __future__ import annotations

import csv
import io
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deepbench.report import FORMATS, FormatError, create
from deepbench.report.fields import rate, share
from deepbench.report.outline import OutlineProblem, outline
from example_rows import (
    make_context,
    make_gemm,
    make_memory,
    make_row,
    row_of_members,
    without_times,
)
from golden_files import check_golden
from golden_report import render_rows


def gemm_rows() -> list[dict[str, Any]]:
    """One row of each kind that a run can produce."""
    cold = make_gemm(2)
    cold["regime"] = {**cold["regime"], "cache": "cold", "cold": "rotation", "copies": 48}
    large = make_gemm(3, m=5124, n=9124)
    large["regime"] = {**large["regime"], "fits_cache": False, "power": "sustained"}
    large["statistics"] = {**large["statistics"], "median_ns": 12_345_678.9, "stop": "noisy"}
    best = make_gemm(4, notes=["beta is 0", "weights packed"], application="DeepSpeech")
    best["algorithm"] = {**best["algorithm"], "mode": "best", "name": "packed"}
    padded = make_gemm(5, m=35, notes=["beta is 0"])
    padded["padding"] = {"rule": "multiples of 8", "dimensions": {"m": 40}}
    wrong = make_gemm(6, status="incorrect", reason="output 3 is 1, not 2", rates=None)
    wrong["verification"] = {**wrong["verification"], "status": "failed"}
    wrong["bound"] = {**wrong["bound"], "share_arithmetic": None, "share_roofline": None}
    return [
        make_gemm(0),
        make_gemm(1, n=7000),
        cold,
        large,
        best,
        padded,
        wrong,
        without_times(make_gemm(7), "unsupported", "no tf32 on this CPU"),
        without_times(make_gemm(8), "failed", "the worker crashed: SIGSEGV"),
    ]


def mixed_rows() -> list[dict[str, Any]]:
    """Two operations, one of which has metrics."""
    reduced = make_row("all_reduce", {"elements": 100000}, 2, 0.0)
    reduced["metrics"] = [
        {"name": "busbw", "value": 12.3456, "unit": "GB/s", "better": "higher"},
        {"name": "p50", "value": 534851.7, "unit": "ns", "better": "lower"},
        {"name": "p90", "value": 99999.7, "unit": "ns", "better": "lower"},
        {"name": "p99", "value": None, "unit": "us", "better": "lower"},
    ]
    return [make_gemm(0), make_memory(1), reduced]


@pytest.mark.parametrize("name", ["table", "legacy", "json", "csv", "markdown"])
def test_gemm(name: str) -> None:
    check_golden(f"report/gemm.{name}", render_rows(name, gemm_rows()))


@pytest.mark.parametrize("name", ["table", "csv", "markdown"])
def test_several_operations(name: str) -> None:
    check_golden(f"report/mixed.{name}", render_rows(name, mixed_rows()))


def test_an_unsupported_group_is_one_line() -> None:
    rows = [without_times(make_gemm(i), "unsupported", "pip install it") for i in range(3)]
    text = render_rows("table", [*rows, make_memory(3)])
    assert text.splitlines()[0] == "gemm: all 3 rows unsupported: pip install it"
    assert text.count("pip install it") == 1


def test_unsupported_rows_beside_other_rows_are_shown() -> None:
    rows = [without_times(make_gemm(i), "unsupported", "no") for i in range(2)]
    assert render_rows("table", [*rows, make_gemm(2)]).count("unsupported: no") == 2
    other = without_times(make_gemm(2), "unsupported", "not this either")
    assert render_rows("table", [*rows, other]).count("unsupported: no") == 3


@pytest.mark.parametrize("name", ["table", "markdown"])
def test_one_sample_has_no_spread(name: str) -> None:
    row = make_gemm(precision="half")
    row["statistics"] |= {
        "n": 1,
        "relative_standard_error": None,
        "low_ns": 100_000.0,
        "high_ns": 100_000.0,
    }
    line = next(line for line in render_rows(name, [row]).splitlines() if "half" in line)
    words = line.replace("|", " ").split()
    assert words[words.index("100.0") + 2] == "-"


@pytest.mark.parametrize(
    ("high_ns", "stop", "said"),
    [
        (109_000.0, "converged", ""),
        (120_000.0, "converged", "noisy"),
        (120_000.0, "too_few", "too few samples"),
    ],
)
def test_a_wide_interval_is_noisy_whatever_the_standard_error(
    high_ns: float, stop: str, said: str
) -> None:
    row = make_gemm()
    row["statistics"] |= {"low_ns": 99_500.0, "high_ns": high_ns, "stop": stop}
    assert render_rows("table", [row]).splitlines()[2].partition(" yes ")[2].strip() == said


def test_samples_that_are_means_of_batches_get_a_remark() -> None:
    row = make_gemm()
    row["statistics"]["batches_per_sample"] = 12
    assert render_rows("table", [row]).splitlines()[2].partition(" yes ")[2].strip() == (
        "samples are means of 12 batches"
    )


@pytest.mark.parametrize(
    ("regime", "unsaid"),
    [
        ({"cache": "cold", "cold": "rotation"}, "cold"),
        ({"fits_cache": False}, "operands exceed the cache"),
        ({"power": "sustained"}, "sustained power"),
    ],
)
def test_rows_without_a_time_state_only_the_reason(regime: dict[str, Any], unsaid: str) -> None:
    row = without_times(make_gemm(), "out_of_memory", "needs 9 GiB")
    row["regime"] |= regime
    row["padding"] = {"rule": "multiples of 8", "dimensions": {"m": 40}}
    text = render_rows("table", [row, make_gemm(1)])
    assert "  out_of_memory: needs 9 GiB\n" in text
    assert unsaid not in text
    assert "padded" not in text


@pytest.mark.parametrize("value", [5.2367e-05, 0.0012345, 0.012345])
def test_small_rates_and_shares_keep_their_digits(value: float) -> None:
    row = make_gemm()
    row["rates"]["tflops"] = value
    row["bound"].update(share_arithmetic=value, share_roofline=value)
    for name in ("table", "markdown"):
        text = render_rows(name, [row])
        cells = text.splitlines()[-1].replace("|", " ").split()
        place = cells.index("arithmetic")
        rate, *shares = map(float, cells[place - 3 : place])
        assert rate == pytest.approx(value, rel=0.005)
        assert shares == pytest.approx([100 * value] * 2, rel=0.05)
    [read] = csv.DictReader(io.StringIO(render_rows("csv", [row]), newline=""))
    assert float(read["tflops"]) == value
    assert float(read["share_roofline"]) == value


@given(st.floats(1e-12, 1e12))
def test_rates_are_never_rounded_to_zero(value: float) -> None:
    assert float(rate(value)) == pytest.approx(value, rel=0.006)
    assert float(share(value)) == pytest.approx(100 * value, rel=0.06)


@pytest.mark.parametrize("name", ["table", "markdown"])
def test_applications_of_user_problems_have_a_column(name: str) -> None:
    long = "a | long name of a layer, longer than its column"
    rows = [make_gemm(0, application="block 1"), make_gemm(1, application=long), make_gemm(2)]
    check_golden(f"report/applications.{name}", render_rows(name, rows, make_context(set=None)))
    assert "block 1" not in render_rows(name, rows)


def test_table_shows_each_row_immediately() -> None:
    report = create("table")
    report.begin(make_context(), outline([OutlineProblem("gemm", make_gemm()["attributes"], 1.0)]))
    assert report.row(row_of_members(make_gemm(0))).count("\n") == 2  # with the header
    assert report.row(row_of_members(make_gemm(1))).count("\n") == 1


def test_csv_reads_back() -> None:
    rows = gemm_rows()
    rows[0]["application"] = 'a "quoted", one\nwith two lines'
    text = render_rows("csv", rows)
    read = list(csv.DictReader(io.StringIO(text, newline="")))
    assert [row["position"] for row in read] == [str(row["position"]) for row in rows]
    assert read[0]["application"] == rows[0]["application"]
    assert read[1]["n"] == "7000"
    assert float(read[0]["median_ns"]) == 100_000.0
    assert all(len(row) == len(read[0]) and None not in row for row in read)
    assert text.count("\r\n") == len(rows) + 1


def test_csv_distinguishes_candidates_with_the_same_name() -> None:
    row = make_gemm()
    row["algorithm"] |= {"name": "own", "default_name": "own", "candidate": "nhwc:own"}
    [line] = csv.DictReader(io.StringIO(render_rows("csv", [row]), newline=""))
    assert line["algorithm"] == "nhwc:own"


def test_csv_columns_depend_only_on_the_operations() -> None:
    def header(rows: list[dict[str, Any]]) -> str:
        return render_rows("csv", rows).split("\r\n", 1)[0]

    assert header(gemm_rows()) == header(gemm_rows()[-1:])
    names = header(mixed_rows()).split(",")
    assert len(names) == len(set(names))
    # the attribute `bytes` of memory beside the bytes of the work
    assert "attribute_bytes" in names


def test_json_keeps_everything() -> None:
    row = {**make_gemm(), "of_the_future": [1]}
    document = json.loads(render_rows("json", [row, make_memory(1)]))
    assert document["context"] == make_context(rows=2)
    assert document["rows"] == [row, make_memory(1)]
    assert json.loads(render_rows("json", [])) == {"context": make_context(rows=0), "rows": []}


def test_json_without_a_begin_is_empty() -> None:
    assert create("json").end() == ""


NULLABLE = sorted(
    {"statistics", "samples_ns", "rates", "bound", "regime", "padding", "verification", "notes",
     "metrics", "algorithm", "conversion", "application", "device", "reason", "attributes", "op"}
)  # fmt: skip


@given(
    st.sampled_from(FORMATS), st.sets(st.sampled_from(NULLABLE)), st.sampled_from(["ok", "failed"])
)
def test_any_part_of_a_row_may_be_null(name: str, nulls: set[str], status: str) -> None:
    row: dict[str, Any] = {**make_gemm(), **dict.fromkeys(nulls), "status": status}
    if name == "legacy" and row["op"] is None:
        return
    assert isinstance(render_rows(name, [row, make_gemm(1)]), str)


def test_unknown_format() -> None:
    with pytest.raises(FormatError, match="unknown format 'xml'"):
        create("xml")
