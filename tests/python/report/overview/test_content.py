"""The content of a report: no figure mixes regimes, and none includes rows that are not ok."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from comparison_rows import make_published_row, timed_gemm, with_regime
from deepbench.report import overview
from deepbench.report.comparison.content import Section
from deepbench.report.overview import ceilings, page_data, roofline_lines
from deepbench.report.overview.content import Content
from deepbench.results import parsed
from example_rows import make_context, make_row
from report_files import content_of, make_rows, result_file_text, with_best_algorithm, with_samples


def column_cells(section: Section, column: str) -> list[str]:
    place = section.columns.index(column)
    return [row.cells[place] for row in section.rows]


def tables_by_heading(*files: list[dict[str, Any]]) -> dict[str, Section]:
    return {section.heading: section for section in content_of(*files).summary}


def test_a_summary_line_covers_one_family_and_regime() -> None:
    families = tables_by_heading(make_rows())["By family"]
    assert list(
        zip(column_cells(families, "family"), column_cells(families, "regime"), strict=True)
    ) == [
        ("gemm float", "hot, default"),
        ("gemm float", "cold by rotation, default"),
        ("gemm float", "hot, best"),
        ("memory", "hot, default"),
    ]
    assert column_cells(families, "rows") == ["9", "6", "2", "1"]
    assert column_cells(families, "ok") == ["6", "6", "2", "1"]  # without the three that are not ok


def test_files_are_never_combined() -> None:
    families = tables_by_heading([timed_gemm(0)], [timed_gemm(0)])["By family"]
    assert column_cells(families, "file") == ["A", "B"]
    assert "file" not in tables_by_heading([timed_gemm(0)])["By family"].columns


def test_means_are_geometric_and_exclude_rows_that_are_not_ok() -> None:
    rows = [timed_gemm(0), timed_gemm(1), timed_gemm(2)]
    for row, share in zip(rows, (0.25, 1.0, 0.01), strict=True):
        row["bound"]["share_roofline"] = share
    rows[2].update(status="incorrect", reason="wrong", rates=None)
    families = tables_by_heading(rows)["By family"]
    assert column_cells(families, "mean % of roofline") == ["50.0"]
    assert column_cells(families, "lowest") == ["25.0"]
    assert families.rows[0].tone == "slower"


def test_the_best_rate_comes_from_the_file() -> None:
    row = timed_gemm(0)
    row["rates"]["tflops"] = 123.456789
    assert column_cells(tables_by_heading([row])["By family"], "best rate") == ["123.46 TFLOP/s"]


def test_applications_sum_one_call_of_each_row() -> None:
    rows = [
        timed_gemm(0, 1e6, application="a"),
        timed_gemm(1, 2e6, application="a"),
        timed_gemm(2, 4e6),
    ]
    applications = tables_by_heading(rows)["By application"]
    assert column_cells(applications, "application") == ["a", "none"]
    assert column_cells(applications, "total time") == ["3.000 ms", "4.000 ms"]


def test_rows_that_are_not_ok_are_listed_and_not_plotted() -> None:
    content = content_of(make_rows())
    assert content.not_ok is not None
    assert column_cells(content.not_ok, "status") == ["incorrect", "failed", "unsupported"]
    assert "off by one" in column_cells(content.not_ok, "reason")
    document = page_document(content)
    for place, status in enumerate(document["texts"]["status"]["index"]):
        good = document["texts"]["status"]["values"][status] == "ok"
        assert document["numbers"]["good"][place] == good
        if not good:
            for name in ("tflops", "gbps", "roofline", "ceiling"):
                assert document["numbers"][name][place] is None


def test_rows_that_fail_early_count_for_the_requested_regime() -> None:
    lost = {
        **timed_gemm(0),
        "regime": None,
        "statistics": None,
        "status": "failed",
        "reason": "lost",
    }
    assert column_cells(tables_by_heading([lost])["By family"], "regime") == ["hot, default"]


def test_numbers_of_the_page_match_the_file() -> None:
    rows = make_rows()
    content = content_of(rows)
    document = page_document(content)
    numbers = document["numbers"]
    for place, row in enumerate(rows):
        statistics = row["statistics"] or {}
        for name, key in (("time", "median_ns"), ("low", "low_ns"), ("p99", "p99_ns")):
            value = statistics.get(key)
            assert numbers[name][place] == (value and pytest.approx(value, rel=1e-8))
        assert document["samples"][place] == pytest.approx(
            [ns / 1e3 for ns in row["samples_ns"] or ()], rel=1e-5
        )


def test_many_samples_are_thinned_evenly() -> None:
    rows = [with_samples(timed_gemm(i), 1000) for i in range(400)]
    content = content_of(rows)
    document = page_document(content)
    kept = document["samples"][0]
    assert len(kept) == 500
    assert kept[1] == pytest.approx(rows[0]["samples_ns"][2] / 1e3, rel=1e-5)
    assert document["numbers"]["n"][0] == 100  # the statistics cover all samples


def test_short_names_hold_only_differing_attributes_without_defaults() -> None:
    rows = [
        make_row("gemm", {"m": 1, "n": 2, "trans_a": "n", "precision": "float"}, 0, 1.0),
        make_row("gemm", {"m": 3, "n": 2, "trans_a": "t", "precision": "half"}, 1, 1.0),
        make_row("memory", {"kind": "copy", "bytes": 8}, 2, 1.0),
        make_row("of_a_plugin", {"size": 8}, 3, 1.0),
    ]
    document = page_document(content_of(rows))
    assert named_values(document, "brief") == [
        "gemm m=1 precision=float",
        "gemm m=3 trans_a=t precision=half",
        "memory kind=copy bytes=8",
        "of_a_plugin size=8",
    ]
    assert document["shared"] == ["gemm n=2"]
    assert document["hides_defaults"]
    assert list(document["colorable"]) == ["m", "trans_a"]
    # A bare number would be ambiguous.
    assert document["colorable"]["m"]["values"] == ["m=1", "m=3"]


def test_a_default_is_shown_if_problems_differ_only_in_it() -> None:
    rows = [make_row("gemm", {"m": 1, "trans_a": one}, i, 1.0) for i, one in enumerate("nt")]
    document = page_document(content_of(rows))
    assert named_values(document, "brief") == ["gemm trans_a=n", "gemm trans_a=t"]
    assert not document["hides_defaults"]


def page_document(content: Content) -> dict[str, Any]:
    """The data of the page as its scripts read them."""
    data = page_data.page_data(
        content.files, content.algorithms, content.hot_cold_pairs, content.reference_comparisons
    )
    document: dict[str, Any] = json.loads(page_data.script_text(data))
    return document


def named_values(document: dict[str, Any], name: str) -> list[str]:
    column = document["texts"][name]
    return [column["values"][place] for place in column["index"]]


# ---- the headline ------------------------------------------------------------------------------


def row_with_roofline_share(
    share: float | None, position: int = 0, **changes: Any
) -> dict[str, Any]:
    row = timed_gemm(position, **changes)
    row["bound"]["share_roofline"] = share
    return row


def test_the_headline_names_machine_rows_and_roofline_share() -> None:
    rows = [
        row_with_roofline_share(0.25),
        row_with_roofline_share(0.81, 1, precision="half"),
        row_with_roofline_share(1.2, 2),  # its ceiling is too low
        with_regime(row_with_roofline_share(0.5, 3), cache="cold", cold="rotation"),
        {**timed_gemm(4), "status": "incorrect", "reason": "off by one", "rates": None},
    ]
    assert content_of(rows).headline == [
        "Example CPU, 2 threads: 4 of 5 rows are ok (1 incorrect). In the regime 'hot, default', 2 "
        "rows reach 45.0 % of the roofline in the geometric mean. The best of 2 families, gemm "
        "half, reaches 81.0 %, the worst, gemm float, 25.0 %. 1 row of other regimes is in the "
        "summary below. The mean excludes 1 row above its ceiling."
    ]
    families = tables_by_heading(rows)["By family"]
    assert column_cells(families, "mean % of roofline") == ["25.0", "81.0", "50.0"]


def test_one_thread_is_singular() -> None:
    text = result_file_text([timed_gemm()], make_context(threads=1))
    [text] = overview.content([parsed(Path("a.jsonl"), text.encode())], [], "0.1.0").headline
    assert text.startswith("Example CPU, 1 thread: ")


def test_the_headline_handles_one_row_and_no_rows() -> None:
    [text] = content_of([row_with_roofline_share(0.00012)]).headline
    assert text.endswith("the only row is ok. In the regime 'hot, default', 1 row reaches 0.012 % "
                         "of the roofline.")  # fmt: skip
    [text] = content_of([]).headline
    assert text.endswith(": 0 of 0 rows are ok. No row has a share of the roofline.")


def test_the_headline_without_a_roofline_names_the_highest_rate() -> None:
    rows = [row_with_roofline_share(None), row_with_roofline_share(None, 1, m=3)]
    for row, gbps in zip(rows, (25.0, 12.5), strict=True):
        row["rates"] = {"tflops": None, "gbps": gbps}
    [text] = content_of(rows).headline
    assert f"The highest rate is 25.000 GB/s, of {rows[0]['problem']}." in text


def test_equal_families_have_no_best_one() -> None:
    rows = [row_with_roofline_share(0.5), row_with_roofline_share(0.5, 1, precision="half")]
    assert "Each of 2 families reaches 50.0 %." in content_of(rows).headline[0]


def test_every_device_has_a_headline() -> None:
    files = []
    for name in "abcdef":
        context = make_context(rows=1, device={"index": 0, "name": name})
        files.append(
            parsed(Path("mine.jsonl"), result_file_text([timed_gemm(0)], context).encode())
        )
    said = overview.content(files, [], "0.1.0").headline
    assert [text[:1] for text in said[:4]] == ["a", "b", "c", "d"]
    assert said[4:] == ["2 more devices are in the summary below."]


def test_the_headline_counts_missing_rows() -> None:
    text = result_file_text([timed_gemm(0)], make_context(rows=5))
    [said] = overview.content([parsed(Path("mine.jsonl"), text.encode())], [], "0.1.0").headline
    assert "1 of 5 rows is ok (4 not in the file)" in said


# ---- pairs -------------------------------------------------------------------------------------


def test_default_against_best_uses_the_speedup_of_the_row() -> None:
    content = content_of(make_rows())
    assert [(pair.ratio.value, pair.changed) for pair in content.algorithms] == [
        (2.0, True), (1.0, False)
    ]  # fmt: skip
    [section] = content.tables("algorithms")
    assert column_cells(section, "other algorithm") == ["1"]
    assert column_cells(section, "largest") == ["2.000"]


def test_selected_algorithms_are_counted_by_id() -> None:
    """oneDNN gives an implementation the same name in two layouts."""
    rows = [with_best_algorithm(timed_gemm(i, 50_000.0), 2.0) for i in range(4)]
    for row, candidate in zip(rows, ("nhwc:own", "nhwc:own", "nchw:own", None), strict=True):
        row["algorithm"] |= {"name": "own", "candidate": candidate}
    content = content_of(rows)
    [section] = content.tables("algorithms")
    assert column_cells(section, "other algorithm") == ["3"]
    assert column_cells(section, "selected most often") == ["nhwc:own (2 of 3)"]
    document = page_document(content)
    texts = document["texts"]["algorithm"]
    said = [texts["values"][place] for place in texts["index"]]
    assert said == ["nhwc:own", "nhwc:own", "nchw:own", "own"]


def test_a_gain_that_needs_a_conversion_is_shown_with_it() -> None:
    row = with_best_algorithm(timed_gemm(0, 50_000.0), 4.0)
    row["conversion"] = {"operand": "a", "ns": 50_000.0, "constant": True}
    [section] = content_of([row]).tables("algorithms")
    assert column_cells(section, "mean gain") == ["4.000"]
    assert column_cells(section, "with conversion") == ["2.000"]
    assert any("convert a constant operand beforehand" in line for line in section.lines)


def test_hot_and_cold_rows_are_paired_if_otherwise_alike() -> None:
    content = content_of(make_rows())
    assert [pair.ratio.value for pair in content.hot_cold_pairs] == pytest.approx([1.5] * 6)
    [section] = content.tables("caches")
    assert column_cells(section, "regimes") == ["cold by rotation, default over hot, default"]
    assert column_cells(section, "mean ratio") == ["1.500"]


@pytest.mark.parametrize(
    "changes",
    [{"library": "mkl 2024"}, {"device": {"index": 0, "name": "Other"}}, {"application": "x"}],
)
def test_rows_of_other_setups_are_not_paired(changes: dict[str, Any]) -> None:
    cold = {**with_regime(timed_gemm(1, m=1760), cache="cold", cold="rotation"), **changes}
    assert content_of([timed_gemm(0), cold]).hot_cold_pairs == []


def test_rows_against_published_figures() -> None:
    theirs = [make_published_row(0, 300_000.0), make_published_row(1, 400_000.0)]
    theirs[1]["regime"]["published"]["doubt"] = "a misprint"
    content = content_of([timed_gemm(0, 100_000.0), timed_gemm(1, 100_000.0)], others=(theirs,))
    [one] = content.reference_comparisons
    assert [(pair.ratio.value, pair.doubt) for pair in one.pairs] == [
        (pytest.approx(3.0), None), (pytest.approx(4.0), "a misprint")
    ]  # fmt: skip
    [section] = content.tables("against")
    assert column_cells(section, "rows") == ["1"]
    assert column_cells(section, "excluded") == ["1"]
    assert column_cells(section, "mean ratio") == ["3.000"]
    assert any("published" in line for line in section.lines)


def test_cold_rows_against_published_figures_form_a_separate_line() -> None:
    cold = with_regime(timed_gemm(0), cache="cold", cold="rotation")
    content = content_of([cold], others=([make_published_row(0, 300_000.0)],))
    [section] = content.tables("against")
    assert column_cells(section, "regime") == [
        "cold by rotation, default (published figures are hot)"
    ]


def test_missing_pairs_have_a_reason() -> None:
    other = make_row("conv", {"phase": "fwd", "precision": "half"}, 0, 1e9)
    content = content_of([timed_gemm(0)], others=([other],))
    [section] = content.tables("against")
    assert "A: no row of the same operation, phase and precision" in section.lines
    assert "against" not in content.charts


def test_published_figures_alone_are_shown_as_published() -> None:
    families = tables_by_heading([make_published_row(0, 300_000.0)])["By family"]
    assert column_cells(families, "regime") == ["published"]


# ---- rooflines ---------------------------------------------------------------------------------


def test_ceilings_are_the_highest_of_several_runs() -> None:
    rows = [timed_gemm(0), timed_gemm(1)]
    rows[1]["bound"]["arithmetic_tflops"] = 1.5
    found = {one.name: one for one in content_of(rows).ceilings}
    assert found["float"].highest == 1.5
    assert "the lowest of several runs: 1.2500" in found["float"].description
    assert found["memory"].label == "memory 25.000 GB/s"


def test_rows_that_compute_in_another_precision_have_its_ceiling() -> None:
    row = timed_gemm(0)
    row["attributes"]["precision"] = "tf32"
    row["work"]["arithmetic"] = "float"
    content = content_of([row])
    assert {one.name for one in content.ceilings} == {"float", "memory"}


def test_rows_without_a_precision_have_a_ceiling_as_well() -> None:
    row = timed_gemm(0)
    del row["attributes"]["precision"]
    assert "arithmetic 1.2500 TFLOP/s" in {one.label for one in content_of([row]).ceilings}


def test_lines_meet_at_the_ridge_and_stay_within_the_axes() -> None:
    roof = ceilings.Ceiling("d", "float", True, 1.0, 1.0)
    slope = ceilings.Ceiling("d", "memory", False, 100.0, 100.0)
    room = ceilings.Axes((0.1, 1000.0), (0.001, 10.0))
    (left, height), (right, _) = ceilings.line_ends_of_ceiling(roof, [roof, slope], room)
    assert (left, height, right) == pytest.approx((10.0, 1.0, 1000.0))
    (start, low), (end, high) = ceilings.line_ends_of_ceiling(slope, [roof, slope], room)
    assert (start, low, end, high) == pytest.approx((0.1, 0.01, 10.0, 1.0))


def test_labels_of_close_lines_do_not_overlap() -> None:
    lines = [ceilings.Ceiling("d", name, True, height, height)
             for name, height in (("a", 100.0), ("b", 101.0), ("c", 102.0))]  # fmt: skip
    room = ceilings.Axes((1.0, 1000.0), (0.1, 1000.0))
    rises = {
        point["label"]: point["rise"]
        for point in roofline_lines.roofline_points(lines, room)
        if point["label"]
    }
    assert [round(float(rise or 0), 1) for rise in rises.values()] == [0.0, 12.5, 25.0]


def test_crowded_labels_are_only_in_the_tooltip() -> None:
    lines = [ceilings.Ceiling("d", name, False, height, height)
             for name, height in (("memory", 100.0), ("llc", 101.0), ("l2", 102.0))]  # fmt: skip
    room = ceilings.Axes((0.1, 1000.0), (0.001, 10.0))
    points = [point for point in roofline_lines.roofline_points(lines, room) if point["label"]]
    assert [(point["label"], point["under"]) for point in points] == [
        ("memory 100.00 GB/s", True), ("L2 cache 102.00 GB/s", False)
    ]  # fmt: skip
    assert {point["tip"] for point in roofline_lines.roofline_points(lines, room)} >= {
        "d: last-level cache, measured 101.00 GB/s"
    }


def test_lines_of_several_devices_name_them() -> None:
    lines = [ceilings.Ceiling(device, "float", True, 1.0, 1.0) for device in ("a", "b")]
    room = ceilings.Axes((0.1, 1000.0), (0.001, 10.0))
    labels = [
        point["label"] for point in roofline_lines.roofline_points(lines, room) if point["label"]
    ]
    assert labels == ["float 1.0000 TFLOP/s, a", "float 1.0000 TFLOP/s, b"]


def test_without_rows_there_is_no_chart() -> None:
    content = content_of([])
    assert content.axes is None
    assert content.charts == []


# ---- environment and warnings ------------------------------------------------------------------


def test_warnings_name_files_and_rows() -> None:
    noisy = timed_gemm(0)
    noisy["statistics"]["stop"] = "noisy"
    noted = {**timed_gemm(0), "notes": ["weights are small"]}
    said = content_of([noisy], [noted]).warnings
    assert any(text.startswith("noisy: ") and text.endswith(" (A 1 of 1)") for text in said)
    assert "weights are small (B 1 of 1)" in said


def test_missing_rows_are_reported() -> None:
    text = result_file_text(make_rows()[:2], make_context(rows=5))
    file = parsed(Path("mine.jsonl"), text.encode() + b'{"torn')
    said = overview.content([file], [], "0.1.0").warnings
    assert "rows of the run are missing from the file (3)" in said
    assert "the last line of the file is incomplete and was ignored" in said


def test_observed_values_have_units() -> None:
    facts = {"power_w": 404.134, "throttle": "power cap", "samples": 3, "rest_ns": 500_000}
    row = {**timed_gemm(0), "observed": facts}
    texts = page_document(content_of([row]))["texts"]["observed"]["values"]
    assert texts == ["power 404.13 W, throttle power cap, samples 3, rest 500.0 µs"]


@given(st.floats(-1e300, 1e300) | st.floats(-1e15, 1e15), st.integers(1, 15))
@example(901_120.0, 9)  # whole
@example(4_294_967_296.0, 9)  # of an exponent, which JSON does not have for it
@example(0.00001234, 9)
@example(999_999.9999, 6)
@example(-0.0, 6)
def test_the_text_of_a_rounded_number_is_its_json(value: float, digits: int) -> None:
    form = f"%.{digits}g"
    assert page_data.rounded_text(value, form) == json.dumps(float(form % value))


@pytest.mark.parametrize("value", [math.inf, -math.inf, math.nan])
def test_a_page_has_no_number_that_json_lacks(value: float) -> None:
    with pytest.raises(ValueError, match="no number of JSON"):
        page_data.rounded_text(value, "%.9g")


def test_samples_are_the_json_of_their_rounded_values() -> None:
    samples_ns = [102_000.0, 1e-7, 123_456.789, 3e9, 5e14]
    row = {**timed_gemm(0), "samples_ns": samples_ns}
    columns = page_data.page_data(content_of([row]).files, [], [], [])
    expected = [[float(f"{ns / 1e3:.6g}") for ns in samples_ns]]
    assert page_data.script_text(columns["samples"]) == json.dumps(expected, separators=(",", ":"))


def test_script_text_cannot_end_its_element() -> None:
    text = page_data.script_text({"<a>": "</script><!--\u2028\u2029&"})
    assert not set("<>&\u2028\u2029") & set(text)
    assert json.loads(text) == {"<a>": "</script><!--\u2028\u2029&"}


def test_script_text_is_the_whole_json_however_many_parts_it_has() -> None:
    value = {
        "list": list(range(25_001)), "short": [[1.5, None], {}], "texts": {"a": [], "b": {}},
        "by_number": {3: {"low": 1}}, "empty": {},
    }  # fmt: skip
    assert page_data.script_text(value) == json.dumps(value, separators=(",", ":"))
