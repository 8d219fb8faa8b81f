"""Slightly malformed files: a report on them ends with a status and one line, never a traceback,
and its page contains none of their markup. Vega is replaced, since it only sees numbers and
texts."""

from __future__ import annotations

import json
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from comparison_rows import timed_gemm, with_regime
from deepbench.cli import main
from deepbench.report.overview import vega
from mutated_lines import JSON, VALID_LINES, example_settings, mutated, write_lines
from report_files import with_best_algorithm, with_samples

ROWS: list[dict[str, Any]] = [
    *VALID_LINES,
    with_best_algorithm(with_samples(timed_gemm(3)), 2.0),
    with_regime(timed_gemm(4, m=1763), cache="cold", cold="rotation"),
]
CHARTS = ("roofline", "caches", "distribution", "against", "tflops/m", "time/bytes")
FORMS = ("html", "markdown", *(f"svg {name}" for name in CHARTS))
TAGS = {
    "html", "head", "meta", "title", "style", "body", "header", "main", "nav", "section", "div",
    "h1", "h2", "h3", "p", "a", "ul", "li", "dl", "dt", "dd", "table", "thead", "tbody", "tr",
    "th", "td", "span", "details", "summary", "noscript", "script", "button", "label", "input",
}  # fmt: skip
MARKUP = st.sampled_from(["<img src=x onerror=a>", "</script><b>", "--><i>", "{{vega}}", "]]>"])


class TagCollector(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.seen: set[str] = set()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.seen.add(tag)


@pytest.fixture(autouse=True)
def no_vega(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(vega, "vega_script", lambda: "vega()")
    monkeypatch.setattr(vega, "compile_to_vega", lambda spec: {"data": []})
    monkeypatch.setattr(vega, "svg", lambda spec: json.dumps(spec, allow_nan=False).encode())


@given(lines=mutated(ROWS, JSON | MARKUP), form=st.sampled_from(FORMS))
@example_settings(150)
def test_no_file_ends_in_a_traceback(
    lines: list[dict[str, Any]], form: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    good, bad = (
        write_lines(tmp_path / "good.jsonl", ROWS),
        write_lines(tmp_path / "bad.jsonl", lines),
    )
    out = tmp_path / "out"
    name, *chart = form.split()
    words = ["--format", name, *(["--chart", *chart] if chart else [])]
    words += ["-o", str(out), "--overwrite", "--against", str(good)]
    status = main(["report", str(bad), *words])
    text = capsys.readouterr().err
    assert status in (0, 2)
    assert (status == 2) == text.startswith("deepbench: error: ")
    assert all(letter.isprintable() or letter == "\n" for letter in text)
    if status == 0 and name == "html":
        page = TagCollector()
        page.feed(out.read_text(encoding="utf-8"))
        assert page.seen <= TAGS
