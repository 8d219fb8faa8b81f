"""Tests that the figures of README.md and the documentation are not typed by hand.

Measured figures come from the files under results/: benchmarks/tables.py writes them into whole
pages or into marked regions. Every other figure with a unit of measurements stands in
typed_figures.txt, with the line of the sources that it repeats or with the reason why it is there.
Measurement logs and decisions are history and are not searched.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType

import pytest

from source_tree import ROOT, SOURCE_FOLDERS

LIST = Path(__file__).with_name("typed_figures.txt")
PAGES = ("README.md", "CONTRIBUTING.md", "SECURITY.md", "results/README.md", "docs/**/*.md")
HISTORY = ("docs/decisions/", "docs/results/log/")
NUMBER = r"\d+(?:[.,]\d+)*"
UNITS = r"(?:[TG]?(?:FLOP|OP)/s|[kMGT]?B/s|[kMGT]B|per cent|times|x|[nµm]?s|seconds?|minutes?)"
CROSS = "\u00d7"  # 3.4 and a cross is a ratio, 3 and a cross and 3 a size
FIGURE = re.compile(
    rf"(?<![\w.,^√-])±?{NUMBER}(?: to {NUMBER})?\s?(?:{UNITS}\b(?!=)|%|{CROSS}(?!\s?\d))"
)
ALL_PAGES = "*"


@dataclass(frozen=True)
class TypedFigure:
    """A text that contains a figure, on a page, and why the figure is not generated."""

    page: str  # or ALL_PAGES
    text: str
    source: str  # the file that contains the figure, or ""
    reason: str  # of a figure with a source: the text of that file


@pytest.fixture
def tables(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(str(ROOT / "benchmarks"))
    import tables  # type: ignore[import-not-found]

    module: ModuleType = tables
    return module


def test_generated_figures_equal_the_result_files(tables: ModuleType) -> None:
    stale = [
        name
        for name, text in tables.generated_documents()
        if (ROOT / name).read_text(encoding="utf-8") != text
    ]
    assert not stale, "python benchmarks/tables.py writes them"


def test_every_region_is_generated_and_used(tables: ModuleType) -> None:
    pages = [path.read_text(encoding="utf-8") for path in tables.document_paths()]
    used = [region["name"] for page in pages for region in tables.REGION.finditer(page)]
    assert sorted(used) == sorted(tables.REGIONS)
    # A region whose end is missing is no region, and would not be compared.
    assert len(used) == sum(page.count("<!-- benchmarks/tables.py writes ") for page in pages)


def test_a_change_of_a_generated_figure_is_found(
    tables: ModuleType, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    page = {"docs/results/h200.md": lambda: "another figure\n"}
    monkeypatch.setattr(tables, "PAGES", page)
    assert tables.main(["--check"]) == 1
    assert capsys.readouterr().out.startswith("docs/results/h200.md differs from the result files")


def test_typed_figures_have_a_reason(tables: ModuleType) -> None:
    allowed = typed_figures()
    without = [
        f"{page}: {text[max(0, start - 40) : end + 20]}"
        for page, text in searched_texts(tables)
        for start, end in figures_without_reason(page, text, allowed)
    ]
    assert not without, (
        "generate them (benchmarks/tables.py), move them to a log, or list them in "
        "tests/python/docs/typed_figures.txt"
    )


def test_listed_figures_stand_on_their_page(tables: ModuleType) -> None:
    texts = dict(searched_texts(tables))
    everything = " ".join(texts.values())
    stale = [
        f"{one.page}: {one.text}"
        for one in typed_figures()
        if one.text not in (everything if one.page == ALL_PAGES else texts[one.page])
        or not FIGURE.search(one.text)
    ]
    assert not stale


def test_constants_on_pages_are_those_of_the_sources() -> None:
    typed = [one for one in typed_figures() if one.source]
    assert len(typed) > 50
    different = [
        f"{one.page}: {one.text} ({one.source} has no {one.reason!r})"
        for one in typed
        if one.reason not in one_line((ROOT / one.source).read_text(encoding="utf-8"))
    ]
    assert not different


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("reaches 733 TFLOP/s and 4.3 TB/s", ["733 TFLOP/s", "4.3 TB/s"]),
        ("1.05 x as fast, 3 to 4 times, 12\u00d7", ["1.05 x", "3 to 4 times", "12\u00d7"]),
        ("takes 13.8 seconds or 2 µs, ±0.5 %", ["13.8 seconds", "2 µs", "±0.5 %"]),
        ("10,825 times of 14 processors", ["10,825 times"]),
        ("m=1760 s=3 x=2, 3 \u00d7 3 filters, cuDNN 9.19, float32, 32 MiB", []),
    ],
)
def test_figures_are_recognized(text: str, found: list[str]) -> None:
    assert [match.group() for match in FIGURE.finditer(text)] == found


def typed_figures() -> list[TypedFigure]:
    """The entries of typed_figures.txt. A reason `PATH: TEXT` names a file and what it contains."""
    found, page = [], ""
    for line in LIST.read_text(encoding="utf-8").splitlines():
        if line.startswith("[") and line.endswith("]"):
            page = line[1:-1]
        elif line and not line.startswith("#"):
            text, separator, reason = line.partition(" :: ")
            assert separator, line
            assert reason, line
            source, colon, quote = reason.partition(": ")
            is_source = bool(colon) and source.split("/")[0] in SOURCE_FOLDERS
            found.append(TypedFigure(page, text, source, quote) if is_source
                         else TypedFigure(page, text, "", reason))  # fmt: skip
    return found


def searched_texts(tables: ModuleType) -> Iterator[tuple[str, str]]:
    """The text of each page without its generated parts, on one line."""
    paths = {path for pattern in PAGES for path in ROOT.glob(pattern)}
    for path in sorted(paths):
        name = path.relative_to(ROOT).as_posix()
        if not name.startswith(HISTORY) and name not in tables.PAGES:
            yield name, one_line(tables.REGION.sub("", path.read_text(encoding="utf-8")))


def one_line(text: str) -> str:
    return " ".join(text.split())


def figures_without_reason(
    page: str, text: str, allowed: list[TypedFigure]
) -> Iterator[tuple[int, int]]:
    spans = [
        match.span()
        for one in allowed
        if one.page in (page, ALL_PAGES)
        for match in re.finditer(re.escape(one.text), text)
    ]
    for figure in FIGURE.finditer(text):
        if not any(start <= figure.start() and figure.end() <= end for start, end in spans):
            yield figure.span()
