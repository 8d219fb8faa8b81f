"""A chart of any metric against any attribute: the choices, the rows, and the series."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from chart_rows import SIZES, Rows, all_reduce_row, rows_over_m_and_n, rows_over_n, with_k
from comparison_rows import make_published_row, timed_gemm, with_regime
from deepbench.cli import main
from deepbench.compare.result_set import printable
from deepbench.report import FormatError
from deepbench.report.overview import metric_chart, vega
from deepbench.report.overview.metric_chart import Point
from deepbench.report.overview.metric_chart_data import metric_chart_data
from deepbench.report.overview.report_rows import all_rows
from example_rows import make_memory, without_times
from report_files import HOSTILE, content_of, hostile_context, hostile_rows, write_result_file
from required_tools import require_module


def chart_points(name: str, *files: Rows) -> list[Point]:
    made = content_of(*files)
    metric, attribute = metric_chart.parse_axes(made.plot_choices, name)
    return metric_chart.points(made.files, all_rows(made.files), metric, attribute)


def series_labels(found: list[Point]) -> list[str]:
    return list(dict.fromkeys(point.series.label for point in found))


def test_each_page_has_charts_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    made = content_of(rows_over_n())
    for name in ("one", "another"):
        monkeypatch.setattr(vega, "compile_to_vega", lambda spec, name=name: {"marks": [name]})
        charts = metric_chart_data(made.files, made.plot_choices)["sweep"]["charts"]
        assert charts["numbers"] == {"marks": [name]}


# ---- points ------------------------------------------------------------------------------------


def test_points_have_the_figures_and_intervals_of_the_file() -> None:
    rows = rows_over_n()
    for name, of in (("tflops", "rates.tflops"), ("gbps", "rates.gbps")):
        part, key = of.split(".")
        found = chart_points(f"{name}/n", rows)
        assert [point.x for point in found] == list(SIZES)
        assert [point.y for point in found] == [row[part][key] for row in rows]
        # A rate is lowest where the time is highest.
        assert [(point.low, point.high) for point in found] == [
            (pytest.approx(point.y / 1.002), pytest.approx(point.y / 0.998)) for point in found
        ]
    times = chart_points("time/n", rows)
    assert [point.y for point in times] == [100.0 * size for size in SIZES]
    assert (times[0].low, times[0].high) == (pytest.approx(1600 * 0.998), pytest.approx(1603.2))


def test_shares_are_in_per_cent() -> None:
    rows = rows_over_n()
    for row in rows:
        row["bound"].update(share_roofline=0.5, share_arithmetic=0.25)
    assert {point.y for point in chart_points("share_roofline/n", rows)} == {50.0}
    assert {point.y for point in chart_points("share_arithmetic/n", rows)} == {25.0}


def test_rows_that_are_not_ok_are_excluded() -> None:
    rows = rows_over_n()
    rows[1].update(status="incorrect", reason="off by one", rates=None)
    rows[2] = without_times(rows[2], "failed", "lost")
    assert [point.x for point in chart_points("time/n", rows)] == [16, 128]


def test_unverified_rows_are_marked() -> None:
    rows = rows_over_n()
    rows[0]["verification"] = {**rows[0]["verification"], "status": "skipped"}
    verified = [metric_chart.is_verified(point.row) for point in chart_points("time/n", rows)]
    assert verified == [False, True, True, True]


def test_published_figures_have_no_interval() -> None:
    rows = [make_published_row(0, n=16), make_published_row(1, n=32)]
    assert [point.low for point in chart_points("time/n", rows)] == [None, None]


def test_bytes_are_an_attribute_of_every_problem() -> None:
    """For memory, the attribute of the problem; for other operations, the bytes of a call."""
    rows = [all_reduce_row(0, 1024), make_memory(1)]
    assert [point.x for point in chart_points("time/bytes", rows)] == [4096, 1 << 20]


def test_metrics_of_an_operation_have_their_unit() -> None:
    made = content_of([all_reduce_row(0, 1024)]).plot_choices
    assert made is not None
    metric, _ = metric_chart.parse_axes(made, "busbw/elements")
    assert metric.title == "busbw (GB/s)"
    assert [point.y for point in chart_points("busbw/elements", [all_reduce_row(0, 1024)])] == [
        4096 / 5e4
    ]


@pytest.mark.parametrize(
    ("name", "message"),
    [
        (
            "speed/n",
            "unknown metric 'speed'; the metrics are time tflops gbps share_arithmetic "
            "share_roofline",
        ),
        (
            "tflops/q",
            "no row has an attribute 'q'; the attributes are m n k trans_a trans_b precision bytes",
        ),
        ("tflops/", "no row has an attribute ''"),
        ("/", "unknown metric ''"),
    ],
)
def test_an_unknown_name_lists_the_valid_ones(name: str, message: str) -> None:
    with pytest.raises(FormatError, match=message) as raised:
        chart_points(name, rows_over_n())
    assert "\n" not in str(raised.value)


def test_without_good_rows_there_is_no_chart() -> None:
    with pytest.raises(FormatError, match="no row is ok"):
        chart_points("time/n", [without_times(timed_gemm(0), "failed", "lost")])
    assert content_of([]).plot_choices is None


# ---- series ------------------------------------------------------------------------------------


def test_a_plain_sweep_is_one_line() -> None:
    found = chart_points("tflops/n", rows_over_n())
    assert series_labels(found) == ["gemm float"]
    assert all(point.series.joined for point in found)


def test_every_combination_of_other_attributes_is_a_line() -> None:
    rows = [*with_k(rows_over_n(), 64), *with_k(rows_over_n(first=4, precision="half"), 128)]
    rows += with_k(rows_over_n(first=8, precision="half"), 64)
    assert series_labels(chart_points("tflops/n", rows)) == [
        "k=64, precision=float", "k=128, precision=half", "k=64, precision=half"
    ]  # fmt: skip


def test_regimes_and_files_are_separate_lines() -> None:
    cold = [with_regime(row, cache="cold", cold="rotation") for row in rows_over_n(first=4)]
    assert series_labels(chart_points("tflops/n", [*rows_over_n(), *cold])) == [
        "hot, default", "cold by rotation, default"
    ]  # fmt: skip
    other = [{**row, "library": "mkl 2024"} for row in rows_over_n()]
    assert series_labels(chart_points("tflops/n", rows_over_n(), other)) == [
        "A mine0.jsonl",
        "B mine1.jsonl",
    ]


def test_with_many_combinations_the_property_with_fewest_values_is_colored() -> None:
    rows = [row for place, k in enumerate(range(10, 20))
            for row in with_k(rows_over_n((16, 32), first=4 * place), k)]  # fmt: skip
    rows += [{**row, "position": 100 + row["position"],
              "attributes": {**row["attributes"], "trans_a": "t"}} for row in rows]  # fmt: skip
    found = chart_points("tflops/n", rows)
    assert series_labels(found) == ["trans_a=n", "trans_a=t"]
    assert not any(point.series.joined for point in found)
    assert series_labels(chart_points("tflops/n", rows, rows)) == ["A mine0.jsonl", "B mine1.jsonl"]


def test_covarying_attributes_form_no_series() -> None:
    """Elements with bytes, or m with n in a sweep of squares; but not k, which repeats."""
    reduced = [all_reduce_row(place, 1 << place) for place in range(12)]
    assert series_labels(chart_points("time/bytes", reduced)) == ["all_reduce float"]
    both = [*reduced, *(all_reduce_row(12 + place, 1 << place, "half") for place in range(12))]
    assert series_labels(chart_points("time/bytes", both)) == ["precision=float", "precision=half"]
    squares = [timed_gemm(place, m=16 << place, n=16 << place) for place in range(10)]
    assert series_labels(chart_points("time/n", squares)) == ["gemm float"]


def test_attributes_that_are_words_are_not_joined() -> None:
    rows = [*rows_over_n((16,)), *rows_over_n((16,), first=1, precision="half")]
    found = chart_points("tflops/precision", rows)
    assert [(point.x, point.series.joined) for point in found] == [
        ("float", False),
        ("half", False),
    ]


# ---- initial choice ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("rows", "metric", "attribute", "is_sweep"),
    [
        (rows_over_n(), "tflops", "n", True),
        ([*with_k(rows_over_n(), 64), *with_k(rows_over_n(first=4), 128)], "tflops", "n", True),
        ([all_reduce_row(place, 1 << place) for place in range(5)], "busbw", "elements", True),
        (rows_over_n((16,)), "tflops", "m", False),
        (rows_over_n((16, 32)), "tflops", "n", False),
        (rows_over_m_and_n(), "tflops", "n", False),
    ],
)  # fmt: skip
def test_a_sweep_is_recognized(rows: Rows, metric: str, attribute: str, is_sweep: bool) -> None:
    made = content_of(rows).plot_choices
    assert made is not None
    assert (made.metric.name, made.attribute.name) == (metric, attribute)
    assert made.is_sweep is is_sweep


# ---- axes --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("values", "scale"),
    [([1, 9], "linear"), ([1, 10], "log"), ([0, 100], "linear"), ([-1, 100], "linear"),
     ([5], "linear"), (["half", "float"], "point")],
)  # fmt: skip
def test_axes_are_logarithmic_from_a_decade_on(values: list[Any], scale: str) -> None:
    assert metric_chart.axis_scale(values) == scale


def test_sweep_values_are_ticks_if_they_fit() -> None:
    assert metric_chart.axis_ticks([64, 16, 32, 16]) == [16, 32, 64]
    assert metric_chart.axis_ticks([100, 110, 120, 2000]) is None  # too close
    assert metric_chart.axis_ticks([1 << place for place in range(13)]) is None  # too many
    assert metric_chart.axis_ticks([16, 32]) is None  # an axis needs three labels


# ---- the command -------------------------------------------------------------------------------


def test_a_chart_names_fixed_attributes(tmp_path: Path, isolated_cache: None) -> None:
    require_module("vl_convert")
    file, image = write_result_file(tmp_path / "mine.jsonl", rows_over_n()), tmp_path / "x.svg"
    assert main(["report", str(file), "--chart", "tflops/n", "-o", str(image)]) == 0
    text = image.read_text(encoding="utf-8")
    assert "gemm m=512 k=1760 trans_a=n trans_b=t precision=float · hot, default" in text
    for label in (">TFLOP/s<", ">n<", ">16<", ">128<"):
        assert label in text
    png = tmp_path / "x.png"
    assert main(["report", str(file), "--chart", "tflops/n", "-o", str(png)]) == 0
    assert png.read_bytes().startswith(b"\x89PNG")


def test_mistakes_are_one_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], isolated_cache: None
) -> None:
    file = write_result_file(tmp_path / "mine.jsonl", rows_over_n())
    for chart, message in (("speed", "or METRIC/ATTRIBUTE such as tflops/n"),
                           ("tflops/q", "attributes are m n k"),
                           ("x/n", "metrics are time")):  # fmt: skip
        words = ["report", str(file), "--chart", chart, "-o", str(tmp_path / "x.svg")]
        assert main(words) == 2
        [line] = capsys.readouterr().err.splitlines()
        assert message in line
    assert not (tmp_path / "x.svg").exists()


def test_untrusted_names_are_only_shown(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], isolated_cache: None
) -> None:
    require_module("vl_convert")
    file, image = tmp_path / "theirs.jsonl", tmp_path / "x.svg"
    write_result_file(file, hostile_rows(), hostile_context())
    many = hostile_rows()
    many[0]["attributes"] |= {f"a{place}\x1b[2J": place for place in range(500)}
    other = write_result_file(tmp_path / "many.jsonl", many, hostile_context())
    assert main(["report", str(other), "--chart", "time/x", "-o", str(image)]) == 2
    line = capsys.readouterr().err
    assert "\x1b" not in line
    assert len(line) < 2000
    for name in ("time/m", "time/precision", f"time/{printable(HOSTILE)}"):
        assert main(["report", str(file), "--chart", name, "-o", str(image), "--overwrite"]) == 0
        text = image.read_text(encoding="utf-8")
        assert "<script" not in text
        assert "<img" not in text
