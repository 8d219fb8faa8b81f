"""The report's page in a real browser without a network: no errors, visible charts, tooltips,
sorting, filters, and harmless texts."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from browser import Browser, chromium
from comparison_rows import timed_gemm
from deepbench.cli import main
from deepbench.report.fields import rate, share, time_text
from example_rows import without_times
from report_files import hostile_context, hostile_rows, make_rows, write_result_file
from required_tools import require_module
from source_tree import ROOT

require_module("vl_convert")
pytestmark = [
    pytest.mark.browser,
    pytest.mark.usefixtures("isolated_cache"),
    pytest.mark.skipif(chromium() is None, reason="chromium is not installed"),
]

H200 = ROOT / "results/h200"
READY = "document.documentElement.dataset.ready"
LINES = "[...document.querySelectorAll('#table tbody tr')]"


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    with Browser(tmp_path_factory.mktemp("profile")) as opened_page:
        yield opened_page


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("page")
    file, page = write_result_file(folder / "mine.jsonl", make_rows()), folder / "page.html"
    assert main(["report", str(file), "-o", str(page), "--against", "v100"]) == 0
    return page


@pytest.fixture
def opened_page(browser: Browser, page: Path) -> Browser:
    open_page(browser, page)
    return browser


def open_page(browser: Browser, page: Path) -> None:
    browser.problems.clear()
    browser.requests.clear()
    browser.open(page)
    browser.wait_for(READY)
    browser.wait_for("document.documentElement.dataset.complete")
    browser.run("document.documentElement.style.scrollBehavior = 'auto'")


def plotted_points(browser: Browser, chart: str) -> int:
    return int(
        browser.run(f"document.querySelectorAll('#chart-{chart} .mark-symbol > path').length")
    )


def center_of(browser: Browser, selector: str) -> tuple[float, float]:
    """Scrolls an element into view and returns its center."""
    x, y = browser.run(
        f"(() => {{const found = document.querySelector({selector!r});"
        "found.scrollIntoView({block: 'center'});"
        "const box = found.getBoundingClientRect();"
        "return [box.x + box.width / 2, box.y + box.height / 2];})()"
    )
    return x, y


def column_texts(browser: Browser, title: str) -> list[str]:
    script = (
        "(() => {const place = [...document.querySelectorAll('#table th')]"
        f".findIndex((cell) => cell.textContent === {title!r});"
        f"return {LINES}.map((line) => line.children[place].textContent);}})()"
    )
    return [str(text) for text in browser.run(script)]


def test_the_page_opens_without_errors_or_requests(opened_page: Browser, page: Path) -> None:
    assert opened_page.problems == []
    assert opened_page.requests == [page.resolve().as_uri()]


def test_charts_show_only_good_rows(opened_page: Browser) -> None:
    assert (
        plotted_points(opened_page, "roofline") >= 14
    )  # six hot, six cold, two of best, and the legend
    for chart in ("bandwidth", "algorithms", "caches"):
        assert plotted_points(opened_page, chart) >= 1
    seen = opened_page.run(
        "document.querySelector('#chart-roofline').closest('section').textContent"
    )
    assert "14 of 18 rows are plotted; excluded: 3 not ok, 1 without FLOPs" in seen


def test_the_table_has_the_numbers_of_the_file(opened_page: Browser) -> None:
    rows = make_rows()
    opened_page.run("document.querySelector('#switch input').click()")
    assert column_texts(opened_page, "problem") == [row["problem"] for row in rows]
    statistics = [row["statistics"] or {} for row in rows]
    assert column_texts(opened_page, "time") == [
        time_text(one.get("median_ns")) for one in statistics
    ]
    rates = [(row["rates"] or {}).get("tflops") for row in rows]
    assert column_texts(opened_page, "TFLOP/s") == [rate(one) for one in rates]
    shares = [(row["bound"] or {}).get("share_roofline") if row["status"] == "ok" else None
              for row in rows]  # fmt: skip
    assert column_texts(opened_page, "% roofline") == [share(one) for one in shares]
    bad = opened_page.run(f"{LINES}.filter((line) => line.classList.contains('bad')).length")
    assert bad == 2  # incorrect and failed; unsupported is not bad


def time_ns(text: str) -> float:
    number, unit = text.split()
    return float(number) * {"s": 1e9, "ms": 1e6, "\N{MICRO SIGN}s": 1e3, "ns": 1.0}[unit]


def test_the_table_sorts_both_ways(opened_page: Browser) -> None:
    times = [time_ns(text) for text in column_texts(opened_page, "time") if text != "-"]
    head = "#table th:nth-child(4)"  # row, problem, regime, time
    assert opened_page.run(f"document.querySelector({head!r}).textContent") == "time"
    for down in (False, True):
        opened_page.click(*center_of(opened_page, f"{head} button"))
        seen = column_texts(opened_page, "time")
        assert [time_ns(text) for text in seen if text != "-"] == sorted(times, reverse=down)
        assert seen[-2:] == ["-", "-"]  # rows without a time come last


def test_filters_apply_to_table_and_charts(opened_page: Browser) -> None:
    opened_page.run("document.querySelector('[data-facet=cache] input[value^=cold]').click()")
    assert column_texts(opened_page, "regime") == ["cold by rotation, default"] * 6
    opened_page.wait_for(
        "document.querySelectorAll('#chart-roofline .mark-symbol.role-mark > path').length < 10"
    )
    assert opened_page.run("document.getElementById('count').textContent").startswith("6 of 18")
    opened_page.run("document.querySelector('#filters button').click()")
    assert len(column_texts(opened_page, "regime")) == 18
    opened_page.run(
        "(() => {const box = document.querySelector('#filters input[type=search]');"
        "box.value = 'SIGSEGV'; box.dispatchEvent(new Event('input'));})()"
    )
    assert len(column_texts(opened_page, "problem")) == 1
    assert opened_page.problems == []


def test_ceilings_belong_to_the_visible_rows(browser: Browser, tmp_path: Path) -> None:
    rows = [timed_gemm(0), timed_gemm(1, precision="half")]
    file, page = write_result_file(tmp_path / "two.jsonl", rows), tmp_path / "page.html"
    assert main(["report", str(file), "-o", str(page)]) == 0
    open_page(browser, page)
    labels = (
        "[...document.querySelectorAll('#chart-roofline svg text')].map((one) => one.textContent)"
    )
    assert {"float 1.2500 TFLOP/s", "half 1.2500 TFLOP/s"} <= set(browser.run(labels))
    browser.run("document.querySelector('[data-facet=precision] input[value=half]').click()")
    browser.wait_for(f"!{labels}.includes('float 1.2500 TFLOP/s')")
    assert {"half 1.2500 TFLOP/s", "memory 25.000 GB/s"} <= set(browser.run(labels))
    assert browser.problems == []


def test_the_pointer_shows_a_row_and_a_click_selects_it(opened_page: Browser) -> None:
    mark = "#chart-algorithms .mark-symbol.role-mark > path"
    where = center_of(opened_page, mark)
    opened_page.move_mouse(*where)
    text = opened_page.wait_for("!document.getElementById('tooltip').hidden && "
                           "document.getElementById('tooltip').innerText")  # fmt: skip
    assert "gemm m=" in text
    assert "2.000 \N{MULTIPLICATION SIGN} this time" in text
    opened_page.click(*where)
    title = opened_page.wait_for("document.getElementById('chosen-title').textContent")
    assert title in text


@pytest.mark.parametrize("known", [True, False])
def test_a_row_without_an_interval_shows_none(
    browser: Browser, tmp_path: Path, known: bool
) -> None:
    row = timed_gemm(0, 2.4534328e9)
    if not known:
        row["statistics"].update(n=1, error=None, low_ns=None, high_ns=None)
    file, page = write_result_file(tmp_path / "mine.jsonl", [row]), tmp_path / "page.html"
    assert main(["report", str(file), "-o", str(page)]) == 0
    open_page(browser, page)
    browser.move_mouse(*center_of(browser, "#chart-roofline .mark-symbol.role-mark > path"))
    text = browser.wait_for("!document.getElementById('tooltip').hidden && "
                            "document.getElementById('tooltip').innerText")  # fmt: skip
    spread = " \N{PLUS-MINUS SIGN}0.2 %" if known else ""
    assert f"2.453 s{spread}, 0.9912 TFLOP/s" in text


def test_a_line_of_the_table_shows_its_samples(opened_page: Browser) -> None:
    opened_page.click(*center_of(opened_page, "#table tbody tr:nth-child(4) td:nth-child(2)"))
    assert "m=1763" in opened_page.run("document.getElementById('chosen-title').textContent")
    marks = "document.querySelectorAll('#chart-distribution .mark-symbol > path').length"
    opened_page.wait_for(f"{marks} === 60")
    assert "60 of 100 samples" in opened_page.run(
        "document.getElementById('samples-note').textContent"
    )
    # The panel scrolls into view, and a button scrolls back.
    top = "document.getElementById('row').getBoundingClientRect().top"
    assert 0 <= opened_page.run(top) < 300
    opened_page.run("document.getElementById('back').click()")
    assert not 0 <= opened_page.run(top) < 300
    opened_page.click(*center_of(opened_page, "#table tbody tr:nth-child(17) td:nth-child(2)"))
    assert opened_page.run("document.getElementById('samples-note').textContent").startswith(
        "The file has no"
    )
    assert opened_page.problems == []


def test_malicious_texts_have_no_effect(browser: Browser, tmp_path: Path) -> None:
    file = write_result_file(tmp_path / "theirs.jsonl", hostile_rows(), hostile_context())
    page = tmp_path / "page.html"
    assert main(["report", str(file), "-o", str(page)]) == 0
    open_page(browser, page)
    browser.move_mouse(*center_of(browser, "#chart-roofline .mark-symbol.role-mark > path"))
    browser.wait_for("!document.getElementById('tooltip').hidden")
    assert browser.run("window.stolen === undefined")
    assert browser.run("document.images.length") == 0
    assert browser.problems == []
    assert browser.requests == [page.resolve().as_uri()]


@pytest.mark.parametrize("rows", [[], [without_times(timed_gemm(0), "failed", "lost")]])
def test_a_page_without_a_good_row_opens_as_well(
    browser: Browser, tmp_path: Path, rows: list[dict[str, object]]
) -> None:
    file, page = write_result_file(tmp_path / "bad.jsonl", rows), tmp_path / "page.html"
    assert main(["report", str(file), "-o", str(page)]) == 0
    open_page(browser, page)
    assert len(column_texts(browser, "problem")) == len(rows)
    assert browser.problems == []


@pytest.mark.skipif(not H200.is_dir(), reason="the measured tables are not in this tree")
def test_the_page_of_the_whole_h200_set_is_small_and_fast(browser: Browser, tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    files = [str(file) for file in sorted(H200.glob("*.jsonl"))]
    assert main(["report", *files, "-o", str(page), "--against", "v100"]) == 0
    assert page.stat().st_size <= 8_000_000
    open_page(browser, page)
    assert plotted_points(browser, "roofline") > 1600
    # Scrolling the table adds lines, and the headings stay in place.
    before = browser.run(f"{LINES}.length")
    assert before < 1000
    browser.run(f"{LINES}.at(-1).scrollIntoView()")
    browser.wait_for(f"{LINES}.length > {before}")
    top = browser.run(
        "document.querySelector('#table th').getBoundingClientRect().top"
        " - document.querySelector('.box').getBoundingClientRect().top"
    )
    assert abs(top) < 2
    assert browser.problems == []
    print(f"{page.stat().st_size / 1e6:.1f} MB, usable after {browser.run(READY)} ms")
