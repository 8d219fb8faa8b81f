"""What reports show of rows that count their calls: a column, sections of totals, cells of CSV."""

from __future__ import annotations

import csv
import io
from typing import Any

import pytest

from comparison_rows import timed_gemm, with_regime
from deepbench.report.overview import render
from example_rows import make_context, make_memory
from golden_report import render_rows
from report_files import HOSTILE, content_of

APPLICATIONS = [{"name": "qkv", "count": 30}, {"name": "=out", "count": 6}]


def counted_rows() -> list[dict[str, Any]]:
    return [
        timed_gemm(0, 1000.0, count=40, applications=APPLICATIONS),
        timed_gemm(1, 5000.0, count=2, application="head", applications=[
            {"name": "head", "count": 2}]),
        timed_gemm(2, 7000.0),
    ]  # fmt: skip


def words_of_lines(text: str) -> list[list[str]]:
    return [line.replace("|", " ").split() for line in text.splitlines()]


@pytest.mark.parametrize("name", ["table", "markdown"])
def test_totals_follow_the_rows(name: str) -> None:
    """40 calls of 1 µs and 2 of 5 µs; the row without a count is in no total."""
    lines = words_of_lines(render_rows(name, counted_rows()))
    assert ["hot,", "rested", "2", "42", "50.00", "µs"] in lines
    assert ["60.0", "30.00", "µs", "30", "1", "qkv"] in lines
    assert ["20.0", "10.00", "µs", "2", "1", "head"] in lines
    assert ["12.0", "6.000", "µs", "6", "1", "=out"] in lines
    assert ["8.0", "4.000", "µs", "4", "1", "none"] in lines
    largest = next(line for line in lines if line[:1] == ["80.0"])
    assert largest[:8] == ["80.0", "40.00", "µs", "40", "1.000", "µs", "gemm", "m=1760"]


@pytest.mark.parametrize("name", ["table", "markdown"])
def test_what_the_time_lacks_is_said(name: str) -> None:
    whole, part = (
        render_rows(name, counted_rows(), make_context(rows=rows, option_values={"quick": quick}))
        for rows, quick in ((3, "no"), (5, "yes"))
    )
    assert "Not in it" not in whole
    assert "Not in it: 2 rows that the run did not finish." in part
    assert "Not in it: the problems of the suite that --quick left out." in part


@pytest.mark.parametrize("name", ["table", "markdown"])
def test_the_count_has_a_column_where_rows_state_it(name: str) -> None:
    counted, plain = (
        words_of_lines(render_rows(name, rows)) for rows in (counted_rows(), counted_rows()[2:])
    )
    titles = next(line for line in counted if "%roofline" in line)
    assert titles[:2] == ["count", "m"]
    assert [line[:2] for line in counted if line[1:2] in (["1760"], ["1761"])] == [
        ["40", "1760"],
        ["2", "1761"],
    ]
    assert not any("count" in line or "Time" in line for line in plain)


def test_csv_has_the_count_and_each_application() -> None:
    text = render_rows("csv", counted_rows())
    rows = list(csv.DictReader(io.StringIO(text)))
    assert [(row["count"], row["application"], row["applications"]) for row in rows] == [
        ("40", "", "qkv=30; =out=6"),
        ("2", "head", "head=2"),
        ("", "", ""),
    ]


def test_the_largest_parts_are_listed_and_the_rest_is_summed() -> None:
    rows = [
        timed_gemm(place, 1000.0, count=1 + (place == 24), application=f"layer {place}")
        for place in range(25)
    ]
    text = render_rows("table", rows)
    by_row, by_application = text.index("Time by row"), text.index("Time by application")
    for section, first in (
        (text[by_row:], "gemm m=1784 n=16"),
        (text[by_application:by_row], "layer 24"),
    ):
        title, rest, _, *lines = section.strip().splitlines()
        what = title.removeprefix("Time by ").removesuffix(":")
        assert rest == f"hot, rested: 5 further {what}s have 19.2 % of the time."
        assert len(lines) == 20
        assert first in lines[0]


def test_a_report_weighs_and_keeps_files_and_regimes_apart() -> None:
    cold = [
        with_regime({**row, "position": row["position"] + 3}, cache="cold", cold="rotation")
        for row in counted_rows()
        if row["count"] is not None
    ]
    sections = {one.heading: one for one in content_of([*counted_rows(), *cold], cold).summary}
    assert len(sections["Time of all calls of A"].lines) == 1
    rows = [row.cells for row in sections["Time of all calls of A"].rows]
    assert [cells[:3] for cells in rows] == [
        ("hot, rested", "2", "42"),
        ("cold by rotation, rested", "2", "42"),
    ]
    assert len(sections["Time of all calls of B"].rows) == 1
    assert sections["Time by application of A"].columns[:2] == ("regime", "% of time")
    applications = sections["By application"]
    total = applications.columns.index("total time")
    assert [
        (row.cells[1], row.cells[total].strip())
        for row in applications.rows
        if row.cells[0] == "A" and row.cells[3].startswith("hot")
    ] == [
        ("qkv", "30.00 µs"), ("=out", "6.000 µs"), ("none", "11.00 µs"), ("head", "10.00 µs"),
    ]  # fmt: skip
    assert "as many calls of the application as the row counts" in applications.lines[0]


def test_a_report_without_counts_has_no_totals() -> None:
    found = content_of([make_memory(0), timed_gemm(1)]).summary
    assert not any(section.heading.startswith("Time ") for section in found)
    assert not any("counts" in line for section in found for line in section.lines)


def test_hostile_applications_stay_texts() -> None:
    hostile = timed_gemm(0, count=3, applications=[{"name": HOSTILE, "count": 3}], problem=HOSTILE)
    content = content_of([hostile])
    for text in (render(content, "html").decode(), render(content, "markdown").decode(),
                 render_rows("markdown", [hostile])):  # fmt: skip
        assert "<script>window.stolen" not in text
        assert "<img src=x" not in text
