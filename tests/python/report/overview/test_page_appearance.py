"""The appearance of the page of a report: short names and remarks in the table, a key for colors,
light and dark themes, number formats, and a layout that fits the window."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from browser import Browser, chromium
from comparison_rows import timed_gemm
from deepbench.cli import main
from deepbench.report.comparison.wording import number_text
from deepbench.report.fields import percent, rate, share, time_text, work_unit
from deepbench.report.overview import page as page_parts
from number_texts import NUMBER_TEXTS
from report_files import hostile_context, hostile_rows, make_rows, with_samples, write_result_file
from required_tools import require_module

require_module("vl_convert")
pytestmark = [
    pytest.mark.browser,
    pytest.mark.usefixtures("isolated_cache"),
    pytest.mark.skipif(chromium() is None, reason="chromium is not installed"),
]

NUMBERS = Path(page_parts.__file__).with_name("page") / "numbers.js"
TITLES = "[...document.querySelectorAll('#table th')].map((one) => one.textContent)"
GROUND = "getComputedStyle(document.body).backgroundColor"
DARK, LIGHT = "rgb(18, 23, 29)", "rgb(244, 246, 248)"
LINES = "[...document.querySelectorAll('#table tbody tr')]"
KEYS = "[...document.querySelectorAll('#key span')].map((one) => one.textContent)"

# Elements that extend beyond the window, except for those inside a scrolling box.
TOO_WIDE = """[...document.querySelectorAll('body *')].filter((one) => {
  if (!one.checkVisibility() || one.closest('svg svg, svg g')) return false;
  const box = one.getBoundingClientRect();
  if (box.left > -1 && box.right < document.documentElement.clientWidth + 1) return false;
  for (let above = one.parentElement; above; above = above.parentElement) {
    if (getComputedStyle(above).overflowX === 'auto') return false;
  }
  return true;
}).map((one) => `${one.tagName} ${one.id}`)"""


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    with Browser(tmp_path_factory.mktemp("profile"), width=1400) as opened:
        yield opened


@pytest.fixture(autouse=True)
def reset_appearance(browser: Browser) -> None:
    browser.resize(1400)
    browser.prefer_color_scheme("light")


def open_report(
    browser: Browser,
    folder: Path,
    rows: list[dict[str, Any]],
    context: dict[str, Any] | None = None,
) -> None:
    file, page = write_result_file(folder / "mine.jsonl", rows, context), folder / "page.html"
    assert main(["report", str(file), "-o", str(page), "--overwrite"]) == 0
    browser.problems.clear()
    browser.open(page)
    browser.wait_for("document.documentElement.dataset.complete")


def text_of(browser: Browser, selector: str) -> str:
    return str(browser.run(f"document.querySelector({selector!r}).innerText"))


# ---- numbers -----------------------------------------------------------------------------------


LIKE = [None, 2.4e9, 1_360_000.0, 5_000.0, 0.3]
PRECISIONS = ["float", "half", "int8", None]


def texts_in_every_format(value: float | None) -> list[str]:
    """The value in every format of numbers.js."""
    times = [time_text(value, ns) for ns in LIKE]
    ratios = [] if value is None else [number_text(abs(value)), f"{value:.6g}"]
    return [rate(value), share(value), percent(value), *times, *ratios]


def test_page_formats_each_number_as_the_number_table(browser: Browser, tmp_path: Path) -> None:
    browser.open(write_result_file(tmp_path / "empty.html", []))
    script = NUMBERS.read_text(encoding="utf-8")
    calls = [f"{name}({', '.join(map(json.dumps, values))})" for name, values, _ in NUMBER_TEXTS]
    texts = browser.run(f"(() => {{{script}; return [{', '.join(calls)}];}})()")
    for (name, values, expected), text in zip(NUMBER_TEXTS, texts, strict=True):
        assert text == expected, (name, values)


def test_page_formats_random_numbers_as_the_command_line_does(
    browser: Browser, tmp_path: Path
) -> None:
    chance = random.Random(0)
    values = [sign * 10 ** chance.uniform(-9, 6) for sign in (1, 1, 1, -1) for _ in range(300)]
    values += [0.0, 5.24e-05, 0.00123456, 0.9e-4, 1e-7, 2.5e12, 0.125, 12.375, 0.0625, -0.5]
    values += [394_250.0, 394_350.0, 1_234_500.0, 999_950.0, 999_960.0, 1e3, 1e6, 1e9, 1e12]
    browser.open(write_result_file(tmp_path / "nothing.html", []))
    script = NUMBERS.read_text(encoding="utf-8")
    numbers = (
        "[rate(value), share(value), percent(value), ...LIKE.map((ns) => timeText(value, ns)),"
        " ...(value === null ? [] : [ratioText(Math.abs(value)), general(value, 6)])]"
    )
    seen = browser.run(
        f"(() => {{{script}; const LIKE = {json.dumps(LIKE)}; "
        f"return {json.dumps([*values, None])}.map((value) => {numbers});}})()"
    )
    for value, found in zip([*values, None], seen, strict=True):
        assert found == texts_in_every_format(value), value
    assert browser.run(f"(() => {{{script}; return timeText(1e28);}})()") == time_text(1e28)
    units = browser.run(f"(() => {{{script}; return {json.dumps(PRECISIONS)}.map(workUnit);}})()")
    assert units == [work_unit(precision) for precision in PRECISIONS]


def integer_row(place: int, time_ns: float) -> dict[str, Any]:
    return with_samples(timed_gemm(place, time_ns, precision="int8"))


def test_every_time_of_a_row_is_in_one_unit(browser: Browser, tmp_path: Path) -> None:
    slow = with_samples(timed_gemm(0, 2.4534328e9))
    slow["samples_ns"] = [2.4534328e9 + 1e6 * place for place in range(12)]
    slow["host_ns"] = 98_232_400.0
    open_report(browser, tmp_path, [slow, timed_gemm(1, 52_361.0)])
    assert {"2.453 s", "52.36 \N{MICRO SIGN}s"} <= set(text_of(browser, "#table tbody").split("\t"))
    facts = text_of(browser, "#facts")
    assert "2.453 s" in facts
    assert "2.449 to 2.458 s" in facts
    assert "host time per call\t0.0982 s" in facts
    labels = "[...document.querySelectorAll('#chart-distribution .role-axis-label text')]"
    seen = browser.run(f"{labels}.map((one) => one.textContent)")
    assert any(text.endswith(" s") for text in seen)
    assert not any("\N{MICRO SIGN}s" in text or "," in text for text in seen)
    assert browser.problems == []


def test_rates_of_integers_are_operations_on_the_page(browser: Browser, tmp_path: Path) -> None:
    open_report(browser, tmp_path, [integer_row(0, 100_000.0), integer_row(1, 200_000.0)])
    assert "TOP/s" in browser.run(TITLES)
    drawn = "[...document.querySelectorAll('#chart-roofline text')].map((one) => one.textContent)"
    assert "TOP/s" in browser.run(drawn)
    for selector in ("#summary", "#facts", "#chart-roofline"):
        assert "TFLOP/s" not in browser.run(f"document.querySelector({selector!r}).textContent")
    open_report(browser, tmp_path, [integer_row(0, 100_000.0), with_samples(timed_gemm(1))])
    assert "rate" in browser.run(TITLES)
    cells = text_of(browser, "#table tbody").split("\t")
    assert sum(cell.endswith(" TOP/s") for cell in cells) == 1
    assert sum(cell.endswith(" TFLOP/s") for cell in cells) == 1


def test_a_small_rate_keeps_its_digits_on_the_page(browser: Browser, tmp_path: Path) -> None:
    rows = [with_samples(timed_gemm(0)), timed_gemm(1, n=5)]
    for row, tflops in zip(rows, (5.24e-05, 0.00123456), strict=True):
        row["rates"]["tflops"] = tflops
        row["bound"].update(share_roofline=tflops, share_arithmetic=tflops)
    open_report(browser, tmp_path, rows)
    table = text_of(browser, "#table tbody")
    assert "5.24e-05\t" in table
    assert "0.00123\t" in table
    assert "\t0.0052\t" in table  # share of the ceiling in per cent
    assert "5.24e-05 TFLOP/s" in text_of(browser, "#facts")


# ---- the table of all rows ---------------------------------------------------------------------


def test_the_table_hides_shared_values_until_they_are_requested(
    browser: Browser, tmp_path: Path
) -> None:
    rows = [timed_gemm(0), timed_gemm(1, m=64), {**timed_gemm(2, m=128), "notes": ["beta is 0"]}]
    rows[1]["statistics"]["stop"] = "noisy"
    open_report(browser, tmp_path, rows)
    names = f"{LINES}.map((one) => one.children[1].textContent)"
    assert browser.run(names) == ["gemm m=1760", "gemm m=64", "gemm m=128"]
    assert {"verified", "regime", "library", "file"}.isdisjoint(browser.run(TITLES))
    same = text_of(browser, "#same")
    for text in ("n=16", "precision=float", "regime: hot, default", "verified: yes"):
        assert text in same
    assert "noisy" in text_of(browser, "#table tbody")
    browser.run("document.querySelector('#switch input').click()")
    assert browser.run(names) == [row["problem"] for row in rows]
    assert {"verified", "regime", "library", "remarks"} <= set(browser.run(TITLES))
    assert not browser.run("document.getElementById('same').checkVisibility()")
    assert browser.problems == []


def test_remarks_are_visible_in_a_wide_window(browser: Browser, tmp_path: Path) -> None:
    open_report(browser, tmp_path, make_rows())
    place = browser.run(f"{TITLES}.indexOf('remarks')")
    edge = "getBoundingClientRect().right"
    remarks = browser.run(f"document.querySelectorAll('#table th')[{place}].{edge}")
    assert remarks <= browser.run(f"document.querySelector('.box').{edge}") + 1


def test_a_single_row_keeps_its_attributes(browser: Browser, tmp_path: Path) -> None:
    open_report(browser, tmp_path, [with_samples(timed_gemm(0))])
    assert "gemm m=1760 n=16 k=1760" in text_of(browser, "#table tbody")
    assert browser.problems == []


# ---- colors -----------------------------------------------------------------------------------


def test_the_key_explains_colors_for_a_single_operation(browser: Browser, tmp_path: Path) -> None:
    rows = [
        {
            **timed_gemm(place, m=64, n=2 ** (3 + place)),
            "application": "Speech" if place % 2 else "Vision",
        }
        for place in range(4)
    ]
    open_report(browser, tmp_path, rows)
    chosen = "document.getElementById('color').selectedOptions[0].textContent"
    assert browser.run(chosen) == "application"
    browser.wait_for(f"{KEYS}.join() === 'Speech,Vision'")
    # The key has the same colors as the points.
    dots = "[...document.querySelectorAll('#key i')].map((one) => one.style.backgroundColor)"
    assert len(set(browser.run(dots))) == 2
    # Attributes that differ between rows can be selected as well.
    options = "[...document.querySelectorAll('#color option')].map((one) => one.textContent)"
    assert browser.run(options) == ["application", "n"]
    browser.run(
        "(() => {const box = document.getElementById('color');"
        "box.value = 'n='; box.dispatchEvent(new Event('change'));})()"
    )
    browser.wait_for(f"{KEYS}.join() === 'n=8,n=16,n=32,n=64'")
    assert browser.problems == []


def test_the_color_menu_is_hidden_if_nothing_differs(browser: Browser, tmp_path: Path) -> None:
    open_report(browser, tmp_path, [with_samples(timed_gemm(0))])
    assert not browser.run("document.getElementById('color').checkVisibility()")
    assert browser.run(KEYS) == []


# ---- light and dark ----------------------------------------------------------------------------


def test_the_page_follows_the_system_theme_until_the_reader_selects_one(
    browser: Browser, tmp_path: Path
) -> None:
    theme = "document.documentElement.dataset.theme"
    browser.prefer_color_scheme("dark")
    open_report(browser, tmp_path, make_rows())
    assert (browser.run(theme), browser.run(GROUND)) == ("dark", DARK)
    browser.run(f"delete {theme}")  # as in a page without scripts
    assert browser.run(GROUND) == DARK
    browser.run("document.getElementById('theme').click()")
    assert (browser.run(theme), browser.run(GROUND)) == ("light", LIGHT)
    browser.run("document.getElementById('theme').click()")
    assert (browser.run(theme), browser.run(GROUND)) == ("dark", DARK)
    browser.prefer_color_scheme("light")
    assert browser.run(theme) == "dark"  # the reader's selection persists
    assert browser.problems == []


def test_the_page_follows_a_change_of_the_system_theme(browser: Browser, tmp_path: Path) -> None:
    open_report(browser, tmp_path, [timed_gemm(0)])
    assert browser.run(GROUND) == LIGHT
    browser.prefer_color_scheme("dark")
    browser.wait_for("document.documentElement.dataset.theme === 'dark'")
    assert browser.run(GROUND) == DARK


# ---- widths ------------------------------------------------------------------------------------


@pytest.mark.parametrize("width", [400, 1400])
@pytest.mark.parametrize("kind", ["ordinary", "hostile", "long", "one"])
def test_nothing_is_wider_than_the_window(
    browser: Browser, tmp_path: Path, width: int, kind: str
) -> None:
    word = "x" * 280
    long = {**timed_gemm(0, 100_000.0, application=word), "notes": [word], "library": word}
    rows = {
        "ordinary": make_rows(),
        "hostile": hostile_rows(),
        "long": [long, timed_gemm(1, n=7)],
        "one": [with_samples(timed_gemm(0))],
    }[kind]
    browser.resize(width)
    open_report(browser, tmp_path, rows, hostile_context() if kind == "hostile" else None)
    browser.run("document.querySelectorAll('section details').forEach((one) => {one.open = true;})")
    scrolls = "document.documentElement.scrollWidth"
    assert browser.run(scrolls) <= width
    assert browser.run(TOO_WIDE) == []
    for place in range(browser.run("document.querySelectorAll('.facet').length")):
        facet = f"document.querySelectorAll('.facet')[{place}]"
        browser.run(f"{facet}.open = true")
        browser.wait_for(
            f"new Promise((done) => {facet}.offsetWidth && setTimeout(done, 30, true))"
        )
        assert browser.run(scrolls) <= width
        assert browser.run(TOO_WIDE) == []
        browser.run(f"{facet}.open = false")


def test_a_wide_table_scrolls_in_its_box(browser: Browser, tmp_path: Path) -> None:
    browser.resize(400)
    open_report(browser, tmp_path, make_rows())
    inside = "[...document.querySelectorAll('table')].every((one) => one.closest('.wide, .box'))"
    assert browser.run(inside)
    box = "document.querySelector('.box')"
    assert browser.run(f"{box}.scrollWidth - {box}.clientWidth") > 100
