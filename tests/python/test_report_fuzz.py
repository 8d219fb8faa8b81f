"""Files that are nearly right: a report of them ends with a status and a line, never a traceback,
and its page holds no markup of theirs. Vega, which sees numbers and texts alone, stands aside."""

from __future__ import annotations

import copy
import json
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from compared_rows import regime, timed
from deepbench.cli import main
from deepbench.report.overview import vega
from reported_files import chosen, sampled
from test_compare_fuzz import JSON, LINES, places

ROWS: list[dict[str, Any]] = [
    *LINES,
    chosen(sampled(timed(3)), 2.0),
    regime(timed(4, m=1763), cache="cold", cold="rotation"),
]
FORMS = ("html", "markdown", *(f"svg {name}" for name in ("roofline", "caches", "distribution")))
TAGS = {
    "html", "head", "meta", "title", "style", "body", "header", "main", "nav", "section", "div",
    "h1", "h2", "h3", "p", "a", "ul", "li", "dl", "dt", "dd", "table", "thead", "tbody", "tr",
    "th", "td", "span", "details", "summary", "noscript", "script", "button",
}  # fmt: skip
MARKUP = st.sampled_from(["<img src=x onerror=a>", "</script><b>", "--><i>", "{{vega}}", "]]>"])


class Tags(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.seen: set[str] = set()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.seen.add(tag)


@pytest.fixture(autouse=True)
def no_vega(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(vega, "runtime", lambda: "vega()")
    monkeypatch.setattr(vega, "compiled", lambda spec: {"data": []})
    monkeypatch.setattr(vega, "svg", lambda spec: json.dumps(spec, allow_nan=False).encode())


@given(data=st.data(), form=st.sampled_from(FORMS))
@settings(
    max_examples=150,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
def test_no_file_ends_in_a_traceback(
    data: st.DataObject, form: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    lines: Any = copy.deepcopy(ROWS)
    for _ in range(data.draw(st.integers(1, 3))):
        line = data.draw(st.sampled_from(range(len(lines))))
        *parents, last = data.draw(st.sampled_from(places(ROWS[line])))
        place = lines[line]
        try:
            for key in parents:
                place = place[key]
            place[last] = data.draw(JSON | MARKUP)
        except (TypeError, IndexError, KeyError):  # an earlier change took the place away
            continue
    good, bad, out = tmp_path / "good.jsonl", tmp_path / "bad.jsonl", tmp_path / "out"
    good.write_text("".join(json.dumps(line) + "\n" for line in ROWS))
    bad.write_text("".join(json.dumps(line) + "\n" for line in lines))
    name, *chart = form.split()
    words = ["--format", name, *(["--chart", *chart] if chart else [])]
    words += ["-o", str(out), "--overwrite", "--against", str(good)]
    status = main(["report", str(bad), *words])
    text = capsys.readouterr().err
    assert status in (0, 2)
    assert (status == 2) == text.startswith("deepbench: error: ")
    assert all(letter.isprintable() or letter == "\n" for letter in text)
    if status == 0 and name == "html":
        page = Tags()
        page.feed(out.read_text(encoding="utf-8"))
        assert page.seen <= TAGS
