"""Charts as images: labels of axes, titles, outliers, and the theme's colors."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from comparison_rows import make_published_row, timed_gemm
from deepbench.cli import main
from deepbench.report.overview import vega
from deepbench.report.overview.ceilings import Axes
from deepbench.report.overview.charts import (
    NAMES,
    Spec,
    chart,
    invisible_corner_points,
    layers_chart,
    sweep_chart,
    themes,
    throughput_chart,
)
from deepbench.report.overview.outliers import Outliers, outliers
from example_rows import make_context
from report_files import with_samples, write_result_file
from required_tools import require_module

require_module("vl_convert")

pytestmark = pytest.mark.usefixtures("isolated_cache")

SVG = "{http://www.w3.org/2000/svg}"


def axis_labels(svg: bytes | str) -> list[list[str]]:
    """The visible labels of each axis."""
    root = ElementTree.fromstring(svg)
    groups = [one for one in root.iter(f"{SVG}g") if "role-axis-label" in one.get("class", "")]
    return [
        [text.text for text in group if text.text and text.get("opacity") != "0"]
        for group in groups
    ]


def texts_in_svg(svg: bytes | str) -> str:
    return " ".join(text_lines_in_svg(svg))


def text_lines_in_svg(svg: bytes | str) -> list[str]:
    tags = (f"{SVG}text", f"{SVG}tspan")
    return [one.text for one in ElementTree.fromstring(svg).iter() if one.tag in tags and one.text]


# ---- logarithmic axes --------------------------------------------------------------------------

RANGES = [
    (1.0, 1.0), (1.0, 1.02), (0.37, 0.38), (2.1, 4.9), (9.5, 29.0), (30.0, 130.0), (11.0, 99.0),
    (40.0, 990.0), (95.0, 1050.0), (1.1, 980.0), (3.0, 3000.0), (1e-4, 2e-4), (1e-4, 1e5),
    (1e-9, 1e9), (999_999.0, 1_000_001.0),
]  # fmt: skip


def chart_with_two_rows(name: str, low: float, high: float) -> Spec:
    """A chart with two rows at these ends of both axes."""
    rows = [{"x": end, "y": end, "low": end, "high": end, "color": "a", "series": "a",
             "regime": "hot", "joined": True} for end in (low, high)]  # fmt: skip
    ends = (low / 1.3, high * 1.3)
    if name == "sweep":
        spec = sweep_chart(("n", "log"), ("TFLOP/s", "log"))
    else:
        spec = chart(name, Axes(ends, ends))
    heights = [low, high, *([1.0] if name in ("algorithms", "caches", "against") else [])]
    spec["datasets"] = {
        "rows": rows, "chosen": [], "limits": [], "ceilings": [],
        "corners": invisible_corner_points([low, high], heights),
    }  # fmt: skip
    return spec


@pytest.mark.parametrize("name", ["roofline", "bandwidth", "against", "sweep"])
@pytest.mark.parametrize(("low", "high"), RANGES)
def test_an_axis_has_three_labels_whatever_its_range(name: str, low: float, high: float) -> None:
    spec = chart_with_two_rows(name, low, high)
    spec["width"] = 320  # the width with the least room for labels
    for axis in axis_labels(vega.svg(spec)):
        assert len(axis) >= 3
        assert len(set(axis)) == len(axis)


def test_labels_are_round_numbers() -> None:
    x, _ = axis_labels(vega.svg(chart_with_two_rows("sweep", 40.0, 990.0)))
    assert x == ["50", "100", "200", "500", "1,000"]
    x, _ = axis_labels(vega.svg(chart_with_two_rows("sweep", 3.0, 30000.0)))
    assert x == ["10", "100", "1,000", "10,000"]
    x, _ = axis_labels(vega.svg(chart_with_two_rows("sweep", 3.0, 3e6)))
    assert x == ["10", "100", "1k", "10k", "100k", "1M"]


def test_sweep_values_are_the_ticks() -> None:
    spec = sweep_chart(("bytes", "log"), ("GB/s", "log"), 900, [512.0, 65536.0, 3145728.0])
    spec["datasets"] = chart_with_two_rows("sweep", 512.0, 3145728.0)["datasets"]
    assert axis_labels(vega.svg(spec))[0] == ["512", "64 Ki", "3 Mi"]


# ---- references --------------------------------------------------------------------------------


def test_a_chart_against_references_names_them(tmp_path: Path) -> None:
    mine = write_result_file(tmp_path / "mine.jsonl", [timed_gemm(0), timed_gemm(1)])
    theirs = write_result_file(tmp_path / "theirs.jsonl", [timed_gemm(0, 2e5), timed_gemm(1, 3e5)])
    published = write_result_file(
        tmp_path / "others.jsonl", [make_published_row(0), make_published_row(1)]
    )
    image = tmp_path / "x.svg"
    words = ["report", str(mine), "--chart", "against", "-o", str(image), "--overwrite"]
    assert main([*words, "--against", str(theirs)]) == 0
    title = "Example CPU against Example CPU (theirs.jsonl)"
    assert title in texts_in_svg(image.read_bytes())
    assert main([*words, "--against", f"{theirs},{published}"]) == 0
    found = texts_in_svg(image.read_bytes())
    for name in ("Example CPU (theirs.jsonl)", "others.jsonl"):
        assert found.count(name) >= 2  # in the title and in the legend
    assert str(tmp_path) not in found


def test_a_chart_without_references_names_the_cure(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    mine = write_result_file(tmp_path / "mine.jsonl", [timed_gemm(0), timed_gemm(1)])
    assert main(["report", str(mine), "--chart", "against", "-o", str(tmp_path / "x.svg")]) == 2
    assert "against (--against names references); they have data for" in capsys.readouterr().err


def test_a_reference_is_named_in_the_chart(tmp_path: Path) -> None:
    mine, image = tmp_path / "mine.jsonl", tmp_path / "x.svg"
    write_result_file(mine, [timed_gemm(0, m=1760, n=16, precision="float")])
    row = json.loads(mine.read_text().splitlines()[1])
    row["attributes"] |= {"m": 1760, "n": 16, "k": 1760, "trans_a": "n", "trans_b": "n"}
    write_result_file(mine, [row])
    words = ["report", str(mine), "--chart", "against", "--against", "v100", "-o", str(image)]
    assert main(words) == 0
    assert "Example CPU against NVIDIA Tesla V100" in texts_in_svg(image.read_bytes())


def test_inconsistent_figures_are_rings(tmp_path: Path) -> None:
    theirs = [make_published_row(0), make_published_row(1)]
    theirs[1]["regime"]["published"]["doubt"] = "a misprint"
    mine, others = tmp_path / "mine.jsonl", write_result_file(tmp_path / "theirs.jsonl", theirs)
    write_result_file(mine, [timed_gemm(0), timed_gemm(1)])
    image = tmp_path / "x.svg"
    words = ["--chart", "against", "--against", str(others), "-o", str(image)]
    assert main(["report", str(mine), *words]) == 0
    color = themes()["light"]["range"]["category"][0]
    root = ElementTree.fromstring(image.read_bytes())
    groups = [
        one for one in root.iter(f"{SVG}g") if "mark-symbol role-mark" in one.get("class", "")
    ]
    marks = [mark.attrib for group in groups for mark in group]
    assert "hollow points: 1 of 2 figures are inconsistent" in texts_in_svg(image.read_bytes())
    assert [mark.get("fill") for mark in marks if mark.get("stroke") != color] == [color]
    assert [mark.get("fill") for mark in marks if mark.get("stroke") == color] == [None]


# ---- titles and legends ------------------------------------------------------------------------


def test_long_titles_are_wrapped(tmp_path: Path) -> None:
    problem = "conv " + " ".join(f"attribute_{place}=1" for place in range(20))
    file = write_result_file(
        tmp_path / "mine.jsonl", [with_samples({**timed_gemm(0), "problem": problem})]
    )
    image = tmp_path / "x.svg"
    assert main(["report", str(file), "--chart", "distribution", "-o", str(image)]) == 0
    words = {
        word for word in texts_in_svg(image.read_bytes()).split() if word.startswith("attribute")
    }
    assert len(words) == 20
    assert max(map(len, text_lines_in_svg(image.read_bytes()))) < 80


@pytest.mark.parametrize("name", ["constructor", "toString", "__proto__", "if"])
def test_titles_are_no_names_of_javascript(tmp_path: Path, name: str) -> None:
    rows = [timed_gemm(place) for place in range(3)]
    for row in rows:
        row["attributes"][name] = row["library"] = name
        row["metrics"] = [{"name": name, "value": 1 + row["position"]}]
    file = write_result_file(
        tmp_path / "mine.jsonl", rows, make_context(rows=3, device={"index": 0, "name": name})
    )
    for ending in ("svg", "pdf"):
        image = tmp_path / f"x.{ending}"
        assert main(["report", str(file), "--chart", f"{name}/{name}", "-o", str(image)]) == 0
    found = text_lines_in_svg((tmp_path / "x.svg").read_bytes())
    assert found.count(name) >= 3  # of the chart, both axes


def test_labels_that_are_cut_have_no_half_characters(tmp_path: Path) -> None:
    """vl-convert fails at half of a pair of surrogates."""
    rows = [timed_gemm(place) for place in range(2)]
    for row, letter in zip(rows, "\N{ROCKET}\N{GRINNING FACE}", strict=True):
        row["library"] = row["attributes"]["kind"] = f"{letter} " * 30
    file = write_result_file(tmp_path / "mine.jsonl", rows)
    for name in ("roofline", "time/kind"):
        for ending in ("svg", "pdf", "png"):
            image = tmp_path / f"x.{ending}"
            words = ["--chart", name, "-o", str(image), "--overwrite"]
            assert main(["report", str(file), *words]) == 0
            if ending == "svg":
                shown = texts_in_svg(image.read_bytes())
                assert "<U+1F680> <U+" in shown
                assert "<U+1F600> <U+" in shown


# ---- outliers ----------------------------------------------------------------------------------

USUAL = [100.0 + 0.1 * (place % 9) for place in range(60)]


def test_an_outlier_does_not_stretch_the_scale() -> None:
    far = outliers([*USUAL, 900.0])
    assert far.texts == ("1 sample above the scale: 900.0 µs",)
    assert far.high < 110
    assert all(map(far.shows, USUAL))
    both = outliers([*USUAL, 900.0, 950.0, 3.0])
    assert [text.split(":")[0] for text in both.texts] == [
        "2 samples above the scale", "1 sample below the scale"
    ]  # fmt: skip


@pytest.mark.parametrize(
    "samples",
    [
        [], [5.0], [5.0, 500.0, 6.0], USUAL, [100.0] * 50,
        [float(place) for place in range(100)],
        [*USUAL, 101.6],  # outside the scale, but close to it
        [100.0] * 40 + [200.0] * 20,  # two states rather than outliers
    ],
)  # fmt: skip
def test_ordinary_samples_are_all_shown(samples: list[float]) -> None:
    assert outliers(samples) == Outliers()


def test_equal_samples_can_have_outliers() -> None:
    assert outliers([100.0] * 50 + [300.0]).texts == ("1 sample above the scale: 300.0 µs",)


def test_an_image_of_samples_counts_the_outliers(tmp_path: Path) -> None:
    row = with_samples(timed_gemm(0))
    row["samples_ns"][7] = 9e6
    file, image = write_result_file(tmp_path / "mine.jsonl", [row]), tmp_path / "x.svg"
    assert main(["report", str(file), "--chart", "distribution", "-o", str(image)]) == 0
    assert "1 sample above the scale: 9000 µs" in texts_in_svg(image.read_bytes())
    times = [float(text.removesuffix(" µs")) for text in axis_labels(image.read_bytes())[1]]
    assert all(90 < time < 110 for time in times)


# ---- colors -----------------------------------------------------------------------------------


@pytest.mark.parametrize("name", [*NAMES, "sweep", "layers", "throughput"])
def test_only_the_theme_holds_colors(name: str) -> None:
    spec = {
        "sweep": lambda: sweep_chart(("n", "log"), ("s", "log")),
        "layers": lambda: layers_chart("share", ["norm"]),
        "throughput": lambda: throughput_chart(("images/s", "log"), ["A"]),
    }.get(name, lambda: chart(name))()
    compiled = vega.compile_to_vega(spec)
    config = json.dumps(compiled.pop("config"))
    color = r'"(#[0-9a-fA-F]{3,8}|black|white|gr[ae]y)"'
    assert re.search(color, config)
    assert re.findall(color, json.dumps(compiled)) == []


def test_the_dark_theme_replaces_every_color() -> None:
    def colors_by_path(theme: Any, path: str = "") -> dict[str, str]:
        if isinstance(theme, dict):
            parts = [colors_by_path(value, f"{path}/{name}") for name, value in theme.items()]
        elif isinstance(theme, list):
            parts = [colors_by_path(value, f"{path}/{place}") for place, value in enumerate(theme)]
        else:
            return {path: theme} if str(theme).startswith("#") else {}
        return {key: value for part in parts for key, value in part.items()}

    light, dark = (colors_by_path(themes()[name]) for name in ("light", "dark"))
    assert light.keys() == dark.keys()
    assert [path for path in light if light[path] == dark[path]] == []
