"""The charts of a page in a real browser: selection of metric and attribute, outliers of samples,
labels in narrow windows, and themes."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from browser import Browser, chromium
from chart_rows import Rows, all_reduce_row, rows_over_m_and_n, rows_over_n, with_k
from comparison_rows import timed_gemm, with_regime
from deepbench.cli import main
from deepbench.report.overview import metric_chart
from deepbench.report.overview.report_rows import all_rows
from example_rows import make_memory
from report_files import content_of, make_rows, with_samples, write_result_file
from required_tools import require_module

require_module("vl_convert")
pytestmark = [
    pytest.mark.browser,
    pytest.mark.usefixtures("isolated_cache"),
    pytest.mark.skipif(chromium() is None, reason="chromium is not installed"),
]

COMPLETE = "document.documentElement.dataset.complete"


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    with Browser(tmp_path_factory.mktemp("profile")) as opened:
        yield opened


@pytest.fixture(scope="module")
def narrow_browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    with Browser(tmp_path_factory.mktemp("profile"), 400) as opened:
        yield opened


def open_report(browser: Browser, folder: Path, *files: Rows, words: tuple[str, ...] = ()) -> None:
    paths = [
        str(write_result_file(folder / f"mine{place}.jsonl", rows))
        for place, rows in enumerate(files)
    ]
    page = folder / "page.html"
    assert main(["report", *paths, "-o", str(page), *words]) == 0
    browser.problems.clear()
    browser.open(page)
    browser.wait_for(COMPLETE)


def texts_of_elements(browser: Browser, selector: str) -> list[str]:
    found = f"[...document.querySelectorAll({selector!r})].map((one) => one.textContent)"
    return [str(text) for text in browser.run(found)]


def choose_axes(browser: Browser, metric: str, attribute: str) -> None:
    """Waits until the axes have the titles of both, when the chart is complete."""
    for what, name in (("metric", metric), ("attribute", attribute)):
        browser.run(
            f"(() => {{const select = document.getElementById('sweep-{what}');"
            f"select.value = {name!r}; select.dispatchEvent(new Event('change'));}})()"
        )


TITLES = "#chart-sweep .role-axis-title text"
SERIES = "#chart-sweep .role-legend-label text"
POINTS = "document.querySelectorAll('#chart-sweep .mark-symbol.role-mark > path').length"


def wait_for_titles(browser: Browser, x: str, y: str) -> None:
    found = f"[...document.querySelectorAll({TITLES!r})].map((one) => one.textContent).join('|')"
    browser.wait_for(f"{found} === {f'{x}|{y}'!r}")


# ---- metrics against attributes ----------------------------------------------------------------


def test_the_chart_of_a_sweep_comes_first(browser: Browser, tmp_path: Path) -> None:
    open_report(browser, tmp_path, [*with_k(rows_over_n(), 64), *with_k(rows_over_n(first=4), 128)])
    places = browser.run("[...document.querySelectorAll('main section')].map((one) => one.id)")
    assert places.index("sweep") < places.index("roofline")
    wait_for_titles(browser, "n", "TFLOP/s")
    assert texts_of_elements(browser, SERIES) == ["k=64", "k=128"]
    assert browser.run(POINTS) == 8 + 1  # plus the ring around the selected one
    assert browser.problems == []


def test_other_files_offer_the_sweep_chart(browser: Browser, tmp_path: Path) -> None:
    open_report(browser, tmp_path, rows_over_m_and_n())
    assert texts_of_elements(browser, TITLES) == []
    browser.run("document.getElementById('sweep-fold').open = true")
    wait_for_titles(browser, "n", "TFLOP/s")
    assert browser.problems == []


def test_both_axes_can_be_selected(browser: Browser, tmp_path: Path) -> None:
    rows = [*rows_over_n(), *rows_over_n(first=4, precision="half")]
    open_report(browser, tmp_path, rows)
    choose_axes(browser, "time", "bytes")
    wait_for_titles(browser, "bytes of a call", "time of a call (µs)")
    choose_axes(browser, "share_roofline", "precision")
    wait_for_titles(browser, "precision", "% of the roofline")
    assert "half" in texts_of_elements(browser, "#chart-sweep .role-axis-label text")
    choose_axes(browser, "tflops", "n")
    wait_for_titles(browser, "n", "TFLOP/s")
    where = browser.run(
        "(() => {const mark = document.querySelector('#chart-sweep .mark-symbol.role-mark > path');"
        "mark.scrollIntoView({block: 'center', behavior: 'instant'});"
        "const box = mark.getBoundingClientRect();"
        "return [box.x + box.width / 2, box.y + box.height / 2];})()"
    )
    browser.move_mouse(*where)
    text = browser.wait_for("!document.getElementById('tooltip').hidden && "
                            "document.getElementById('tooltip').innerText")  # fmt: skip
    assert "TFLOP/s: " in text
    assert browser.problems == []


def test_filters_apply_to_the_chart(browser: Browser, tmp_path: Path) -> None:
    open_report(browser, tmp_path, [*rows_over_n(), *rows_over_n(first=4, precision="half")])
    assert texts_of_elements(browser, SERIES) == ["precision=float", "precision=half"]
    browser.run("document.querySelector('[data-facet=precision] input[value=half]').click()")
    browser.wait_for(f"document.querySelectorAll({SERIES!r}).length === 1")
    assert texts_of_elements(browser, SERIES) == ["gemm half"]
    note = "document.getElementById('sweep-note').textContent"
    assert "precision=half" in browser.run(note)
    assert browser.problems == []


MIXED: list[Rows] = [
    [all_reduce_row(place, 1 << place, precision)
     for precision, first in (("float", 0), ("half", 12)) for place in range(first, first + 12)],
    [*rows_over_n(), make_memory(90), *(with_regime(row, cache="cold", cold="flush") for row in
                                  rows_over_n(first=4))],
    [timed_gemm(place, m=16 << place, n=16 << place) for place in range(8)],
]  # fmt: skip


@pytest.mark.parametrize("files", [*([rows] for rows in MIXED), MIXED, [make_rows(), make_rows()]])
def test_page_and_image_form_the_same_series(
    browser: Browser, tmp_path: Path, files: list[Rows]
) -> None:
    """The page groups the rows that pass its filters in the same way as an image."""
    open_report(browser, tmp_path, *files)
    browser.run("(document.getElementById('sweep-fold') || {}).open = true")
    made = content_of(*files)
    assert made.plot_choices is not None
    for attribute in made.plot_choices.attributes:
        for metric in made.plot_choices.metrics[:2]:
            points = metric_chart.points(made.files, all_rows(made.files), metric, attribute)
            if not points:
                continue
            choose_axes(browser, metric.name, attribute.name)
            wait_for_titles(browser, attribute.title, metric.title)
            expected = list(dict.fromkeys(point.series.label for point in points))
            assert texts_of_elements(browser, SERIES) == expected, (metric.name, attribute.name)
            ring = "document.querySelectorAll('#chart-sweep .layer_5_marks > path').length"
            assert browser.run(f"{POINTS} - {ring}") == len(points)
    assert browser.problems == []


# ---- rows without work -------------------------------------------------------------------------

WITHOUT_WORK = ({"flops": None, "bytes": None}, {"flops": 0, "bytes": 0})


@pytest.mark.parametrize("work", WITHOUT_WORK)
def test_charts_of_bytes_leave_out_rows_without_work(
    browser: Browser, tmp_path: Path, work: dict[str, int | None]
) -> None:
    rows = [{**row, "work": {**row["work"], **work}} for row in make_rows()]
    open_report(browser, tmp_path, rows)
    charts = browser.run("[...document.querySelectorAll('.chart')].map((one) => one.id)")
    assert charts == ["chart-sweep", "chart-distribution", "chart-algorithms"]
    caches = browser.run("document.getElementById('caches').textContent")
    assert caches.count("Hot against cold") == 1  # the table needs no work
    assert browser.problems == []


@pytest.mark.parametrize("work", WITHOUT_WORK)
def test_charts_of_bytes_show_the_rows_with_work(
    browser: Browser, tmp_path: Path, work: dict[str, int | None]
) -> None:
    rows = [*make_rows(), make_memory(18)]
    for place in (0, 14):
        rows[place]["work"] = {**rows[place]["work"], **work}
    open_report(browser, tmp_path, rows)
    counts = [
        browser.run(
            f"document.querySelectorAll('#chart-{name} .mark-symbol.role-mark > path').length"
        )
        for name in ("bandwidth", "caches")
    ]
    assert counts == [1, 5]
    assert browser.problems == []


# ---- samples -----------------------------------------------------------------------------------


def test_outlying_samples_are_counted(browser: Browser, tmp_path: Path) -> None:
    row = with_samples(timed_gemm(0))
    row["samples_ns"][7] = 9e6
    open_report(browser, tmp_path, [row])
    said = "1 sample above the scale: 9000 µs"
    assert said in texts_of_elements(browser, "#chart-distribution text")
    assert said in browser.run("document.getElementById('samples-note').textContent")
    labels = texts_of_elements(browser, "#chart-distribution .role-axis-label text")
    assert "100 µs" in labels
    assert not any(text.startswith(("9,000", "9000")) for text in labels)


# ---- layout and colors ------------------------------------------------------------------------

CUT_OFF = """(() => [...document.querySelectorAll('.chart svg')].flatMap((svg) => {
  const room = svg.getBoundingClientRect();
  return [...svg.querySelectorAll('text')].filter((text) => {
    const box = text.getBoundingClientRect();
    const seen = text.textContent && getComputedStyle(text).opacity !== '0';
    return seen && box.width && (box.left < room.left - 1 || box.right > room.right + 1
      || box.top < room.top - 1 || box.bottom > room.bottom + 1);
  }).map((text) => `${svg.closest('.chart').id}: ${text.textContent}`);
}))()"""
SHORTENED = """[...document.querySelectorAll('.chart svg text')].map((one) => one.textContent)
  .filter((text) => text.includes('\N{HORIZONTAL ELLIPSIS}'))"""


@pytest.mark.parametrize("width", [400, 1360])
def test_no_label_is_clipped(
    browser: Browser, narrow_browser: Browser, tmp_path: Path, width: int
) -> None:
    used = narrow_browser if width == 400 else browser
    library = "a library of a long name 12.34.56"
    rows: list[dict[str, Any]] = [
        {**row, "library": library} if place % 2 else row for place, row in enumerate(make_rows())
    ]
    rows[0]["samples_ns"][7] = 9e6
    open_report(used, tmp_path, rows, rows_over_n(), words=("--against", "v100"))
    used.run("(document.getElementById('sweep-fold') || {}).open = true")
    used.wait_for(f"document.querySelectorAll({TITLES!r}).length")
    assert used.run(CUT_OFF) == []
    assert used.run(SHORTENED) == []
    widths = (
        "[...document.querySelectorAll('.chart')].map((one) => one.scrollWidth - one.clientWidth)"
    )
    assert max(used.run(widths)) <= 1


@pytest.mark.parametrize("ending", ["html", "svg"])
def test_long_names_of_many_files_fit(browser: Browser, tmp_path: Path, ending: str) -> None:
    files = [
        str(
            write_result_file(
                tmp_path / f"a_result_file_with_quite_a_long_name_{place}.jsonl", rows_over_n()
            )
        )
        for place in range(5)
    ]
    out = tmp_path / f"x.{ending}"
    words = ["--chart", "tflops/n"] if ending == "svg" else []
    assert main(["report", *files, *words, "-o", str(out)]) == 0
    browser.open(out)
    if ending == "html":
        browser.wait_for(COMPLETE)
    room = CUT_OFF.replace("'.chart svg'", "'svg'").replace("svg.closest('.chart').id", "''")
    labels = f"[...document.querySelectorAll({'.role-legend-label text'!r})].length"
    assert browser.run(labels) >= 5
    assert browser.run(room) == []


def test_charts_follow_the_theme(browser: Browser, tmp_path: Path) -> None:
    open_report(browser, tmp_path, [with_samples(row) for row in rows_over_n()])
    fills = ("[...document.querySelectorAll('.chart .role-axis-label text')]"
             ".map((one) => one.getAttribute('fill'))")  # fmt: skip
    light = set(browser.run(fills))
    browser.run("document.documentElement.dataset.theme = 'dark'")
    browser.wait_for(f"{fills}.every((fill) => !{list(light)!r}.includes(fill))")
    assert browser.run(POINTS) == 4 + 1
    browser.run("document.documentElement.dataset.theme = 'light'")
    browser.wait_for(f"{fills}.every((fill) => {list(light)!r}.includes(fill))")
    assert browser.problems == []


NAMES = ("constructor", "__proto__", "toString", "if")  # of JavaScript's objects and of Vega


def test_names_of_javascript_are_drawn(browser: Browser, tmp_path: Path) -> None:
    rows = make_rows()
    rows[0]["library"] = rows[1]["attributes"]["precision"] = "__proto__"
    rows[0]["bound"].update(by="memory", share_roofline=0.5, level="constructor")
    for row in rows:
        row["attributes"] |= dict.fromkeys(NAMES, 10 * (1 + row["position"]))
        row["metrics"] = [{"name": name, "value": 1 + row["position"]} for name in NAMES]
    rows[2]["library"] = "toString"
    open_report(browser, tmp_path, rows)
    assert {"__proto__", "float"} <= set(
        texts_of_elements(browser, "#chart-roofline .role-legend-label text")
    )
    assert "data in constructor" in browser.run("document.getElementById('facts').textContent")
    for name in NAMES:
        choose_axes(browser, name, name)
        wait_for_titles(browser, name, name)
    choose_axes(browser, "time", "n")
    wait_for_titles(browser, "n", "time of a call (µs)")
    assert browser.problems == []


def test_a_chart_that_cannot_be_drawn_says_why(browser: Browser, tmp_path: Path) -> None:
    open_report(browser, tmp_path, rows_over_n())
    browser.run(
        "[window.kept, window.drawChart] = [drawChart, async () => {throw Error('no room')}]"
    )
    choose_axes(browser, "time", "m")
    browser.wait_for("document.getElementById('chart-sweep').textContent"
                     " === 'This chart cannot be drawn: no room'")  # fmt: skip
    browser.run("void (window.drawChart = kept)")
    choose_axes(browser, "time", "n")
    wait_for_titles(browser, "n", "time of a call (µs)")
    assert browser.problems == []
