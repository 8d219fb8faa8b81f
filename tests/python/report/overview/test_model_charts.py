"""The charts of models: where the time goes, and latency against throughput."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from browser import Browser, chromium
from deepbench.cli import main
from deepbench.report.overview import Content, content
from deepbench.report.overview.markdown import render_report
from deepbench.report.overview.model_charts import ModelCharts
from deepbench.results import ResultFile, parsed
from report_files import HOSTILE, content_of, make_rows
from required_tools import require_module
from workload_files import Members, model_file, model_rows, model_text

US = 1000.0
FAST_DEVICE = {"index": 0, "name": "Fast"}
SWEEP = {
    1: model_rows(1, 10 * US, 5 * US),
    8: model_rows(8, 12 * US, 6 * US),
    64: model_rows(64, 90 * US, 40 * US),
}


def contents(*files: ResultFile) -> Content:
    return content(files, (), "0.1.0")


def charts(*files: ResultFile) -> ModelCharts:
    return contents(*files).models


def rows_of(found: ModelCharts, name: str) -> list[Members]:
    return found.chart(name, 900).data["rows"]


def bars_of(found: ModelCharts) -> list[str]:
    return [bar["text"] for bar in found.chart("layers", 900).data["bars"]]


def test_files_of_no_model_have_none() -> None:
    found = content_of(make_rows())
    assert found.models.names == []
    assert not {"layers", "throughput"} & set(found.charts)


def test_the_bar_of_a_pass_has_its_kinds_and_what_is_estimated() -> None:
    """The example rows have 25 GB/s: 125,000 bytes take 5 µs, of 40 µs in all."""
    found = charts(model_file({1: model_rows(1, 10 * US, 5 * US)}, norm_bytes=125_000))
    assert set(found.kinds) == {"product", "norm", "output"}
    parts = {
        row["color"]: (row["to"] - row["from"], row["opacity"]) for row in rows_of(found, "layers")
    }
    assert parts == {
        "product": (pytest.approx(0.75), 1.0),
        "output": (pytest.approx(0.125), 1.0),
        "norm": (pytest.approx(0.125), 0.4),
    }
    assert bars_of(found) == ["40.00 µs, 87.5 % measured"]
    assert "Mine fwd, batch=1, float, cache hot, power rested, A (Example CPU)." in found.note(
        "layers"
    )


def test_two_files_are_side_by_side_with_one_scale_for_each_pass() -> None:
    slow = model_file({1: model_rows(1, 10 * US, 5 * US), 8: model_rows(8, 20 * US, 10 * US)})
    fast = model_file({1: model_rows(1, 5 * US, 2.5 * US)}, device=FAST_DEVICE)
    found = charts(slow, fast)
    assert bars_of(found) == [
        "batch=1, A (Example CPU): 35.00 µs",
        "batch=1, B (Fast): 17.50 µs",
        "batch=8, A (Example CPU): 70.00 µs",
    ]
    ends = [max(row["to"] for row in rows_of(found, "layers") if row["bar"] == bar)
            for bar in range(3)]  # fmt: skip
    assert ends == [pytest.approx(1), pytest.approx(0.5), pytest.approx(1)]


def test_other_regimes_have_their_own_scale() -> None:
    hot = model_rows(1, 10 * US, 5 * US)
    cold = model_rows(1, 30 * US, 15 * US, cache="cold", cold="rotation")
    found = charts(model_file({1: [*hot, *cold]}))
    ends = [max(row["to"] for row in rows_of(found, "layers") if row["bar"] == bar)
            for bar in range(2)]  # fmt: skip
    assert ends == [pytest.approx(1), pytest.approx(1)]
    assert [text.partition(":")[0] for text in bars_of(found)] == [
        "cache hot, power rested",
        "cache cold, power rested",
    ]


def test_a_sweep_has_throughput_and_a_knee() -> None:
    found = charts(model_file(SWEEP))
    assert found.names == ["layers", "throughput"]
    points = rows_of(found, "throughput")
    assert [(round(point["x"], 3), point["label"]) for point in points] == [
        (0.035, "1"), (0.042, "8 (knee)"), (0.31, "64"),
    ]  # fmt: skip
    assert points[0]["y"] == pytest.approx(1 / 35e-6)
    assert [point["label"] for point in found.chart("throughput", 900).data["knees"]] == [
        "8 (knee)"
    ]


def test_two_sweeps_are_two_series() -> None:
    found = charts(model_file(SWEEP), model_file(SWEEP, device=FAST_DEVICE))
    assert found.chart("throughput", 900).colors == ["A (Example CPU)", "B (Fast)"]
    assert len(rows_of(found, "throughput")) == 6


def test_passes_without_enough_coverage_have_no_throughput() -> None:
    found = charts(model_file(SWEEP, norm_bytes=1e6))  # 40 µs of each pass
    assert found.names == ["layers"]
    one = charts(model_file(SWEEP), model_file(SWEEP, device=FAST_DEVICE, norm_bytes=1e6))
    assert "3 of 6 passes have no throughput" in one.note("throughput")


@pytest.mark.parametrize(("time_ns", "norm_bytes"), [(1e-90, 1e-90), (1e14, 1e30)])
def test_impossible_numbers_end_no_report(time_ns: float, norm_bytes: float) -> None:
    """A file may hold any number that the schema allows, such as 10^15 calls of 10^30 bytes."""
    rows = {batch: model_rows(batch, time_ns, time_ns) for batch in (1, 2)}
    text = model_text(rows, norm_bytes).replace('"count": 1,', '"count": 1000000000000000,')
    found = contents(parsed(Path("mine.jsonl"), text.encode()))
    assert render_report(found)
    assert "layers" in found.charts
    for name in found.models.names:
        json.dumps(found.models.chart(name, 900).data, allow_nan=False)


def test_markdown_has_the_plot_and_both_machines() -> None:
    fast = {batch: model_rows(batch, 5 * US, 2 * US) for batch in SWEEP}
    text = render_report(contents(model_file(SWEEP), model_file(fast, device=FAST_DEVICE)))
    assert "\n    images/s by batch, * is the knee\n" in text
    assert "## Mine fwd, float, cache hot, power rested, B against A" in text


@pytest.mark.usefixtures("isolated_cache")
@pytest.mark.parametrize("name", ["layers", "throughput"])
def test_images(tmp_path: Path, name: str) -> None:
    require_module("vl_convert")
    file, image = tmp_path / "mine.jsonl", tmp_path / "x.svg"
    file.write_text(model_text(SWEEP), encoding="utf-8")
    assert main(["report", str(file), "-o", str(image), "--chart", name]) == 0
    text = image.read_text(encoding="utf-8")
    assert ("8 (knee)" if name == "throughput" else "batch=64: 310.0 µs") in text
    assert "Example CPU" in text


# ---- the page ----------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    if chromium() is None:
        pytest.skip("chromium is not installed")
    require_module("vl_convert")
    with Browser(tmp_path_factory.mktemp("profile"), 400) as opened:
        yield opened


def show_page(browser: Browser, folder: Path, text: str) -> None:
    (folder / "mine.jsonl").write_text(text, encoding="utf-8")
    page = folder / "page.html"
    assert main(["report", str(folder / "mine.jsonl"), "-o", str(page)]) == 0
    browser.problems.clear()
    browser.open(page)
    browser.wait_for("document.documentElement.dataset.complete")


def count(browser: Browser, selector: str) -> int:
    return int(browser.run(f"document.querySelectorAll({selector!r}).length"))


@pytest.mark.browser
@pytest.mark.usefixtures("isolated_cache")
def test_the_page_shows_them_before_the_charts_of_rows(browser: Browser, tmp_path: Path) -> None:
    show_page(browser, tmp_path, model_text(SWEEP))
    places = browser.run("[...document.querySelectorAll('main section')].map((one) => one.id)")
    assert places[:3] == ["summary", "layers", "throughput"]
    assert count(browser, "#chart-layers .mark-rect path") == 6
    assert count(browser, "#chart-throughput .mark-symbol.role-mark > path") == 3 + 1  # the knee
    # Filters of rows leave them as they are.
    browser.run(
        "(() => {const one = document.querySelector('#filters input[type=search]');"
        "one.value = 'nothing'; one.dispatchEvent(new Event('input'));})()"
    )
    assert count(browser, "#chart-layers .mark-rect path") == 6
    width = "document.querySelector('#chart-layers svg').getBoundingClientRect().right"
    assert browser.run(f"{width} <= innerWidth")
    assert browser.problems == []


@pytest.mark.browser
@pytest.mark.usefixtures("isolated_cache")
def test_hostile_texts_stay_texts(browser: Browser, tmp_path: Path) -> None:
    rows = {1: model_rows(1, 10 * US, 5 * US), 2: model_rows(2, 10 * US, 5 * US)}
    names = dict.fromkeys(("name", "title", "phase", "unit"), HOSTILE)
    show_page(browser, tmp_path, model_text(rows, **names))
    assert count(browser, "#chart-layers .mark-rect path") == 4
    assert browser.run("window.stolen === undefined")
    assert browser.problems == []
