"""`deepbench report`: formats, errors, and output files."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest

from comparison_rows import timed_gemm
from deepbench.cli import main
from deepbench.installation import install_command
from example_rows import without_times
from report_files import (
    HOSTILE,
    hostile_context,
    hostile_rows,
    make_rows,
    with_samples,
    write_result_file,
)
from required_tools import require_module

require_module("vl_convert")

pytestmark = pytest.mark.usefixtures("isolated_cache")


@pytest.fixture
def my_result_file(tmp_path: Path) -> Path:
    return write_result_file(tmp_path / "mine.jsonl", make_rows())


def error_line(capsys: pytest.CaptureFixture[str]) -> str:
    lines = capsys.readouterr().err.splitlines()
    assert len(lines) == 1, lines
    return lines[0]


def markup_of(page: str) -> str:
    """A page without its scripts and styles."""
    return re.sub(r"<(script|style)\b.*?</\1>", "", page, flags=re.DOTALL)


def test_a_page_contains_all_sections(my_result_file: Path, tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    assert main(["report", str(my_result_file), "-o", str(page), "--against", "v100"]) == 0
    text = page.read_text(encoding="utf-8")
    for part in ("By family", "Roofline", "Samples of a row", "Default against best",
                 "Hot against cold", "Against NVIDIA Tesla V100", "Rows that are not ok",
                 "Warnings", "onednn"):  # fmt: skip
        assert part in text
    assert len(text) < 2_000_000


@pytest.mark.parametrize("name", ["a.html", "a.svg", "a.xlsx"])
def test_the_message_names_the_output_and_its_size(
    my_result_file: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], name: str
) -> None:
    path = tmp_path / name
    assert main(["report", str(my_result_file), "-o", str(path)]) == 0
    said = re.fullmatch(rf"deepbench: {re.escape(str(path))}: ([\d.]+) (MB|kB)", error_line(capsys))
    assert said is not None
    size = float(said[1]) * (1e6 if said[2] == "MB" else 1e3)
    assert size == pytest.approx(path.stat().st_size, rel=0.1)


def test_a_page_fetches_nothing(my_result_file: Path, tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    assert main(["report", str(my_result_file), "-o", str(page)]) == 0
    text = page.read_text(encoding="utf-8")
    assert not re.search(r"\b(src|srcset|href)\s*=\s*[\"'](?!#)", markup_of(text))
    assert "@import" not in text
    assert "url(" not in re.search(r"<style>(.*?)</style>", text, re.DOTALL)[1]  # type: ignore[index]
    policy = re.search(r'Content-Security-Policy" content="([^"]*)"', text)
    assert policy is not None
    assert "default-src 'none'" in policy[1]
    assert "unsafe-eval" not in policy[1]


@pytest.mark.parametrize("ending", ["png", "svg", "pdf"])
@pytest.mark.parametrize("chart", ["roofline", "bandwidth", "distribution", "algorithms", "caches"])
def test_images_of_every_chart(
    my_result_file: Path, tmp_path: Path, ending: str, chart: str
) -> None:
    image = tmp_path / f"image.{ending}"
    assert main(["report", str(my_result_file), "-o", str(image), "--chart", chart]) == 0
    data = image.read_bytes()
    assert data.startswith({"png": b"\x89PNG", "svg": b"<svg", "pdf": b"%PDF-"}[ending])
    if ending == "svg" and chart == "roofline":
        assert b"arithmetic intensity" in data
        assert data.count(b'stroke-width="0.5"') >= 14  # one for each good row with FLOPs


def test_a_distribution_of_one_row(
    my_result_file: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    image = tmp_path / "row.svg"
    words = ["report", str(my_result_file), "-o", str(image), "--chart", "distribution", "--row"]
    assert main([*words, "3"]) == 0
    assert "m=1763" in image.read_text(encoding="utf-8")
    capsys.readouterr()
    assert main([*words, "16", "--overwrite"]) == 2
    assert "has no row 16 with samples (the first is 0)" in error_line(capsys)


def test_markdown_is_printed_or_written(
    my_result_file: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["report", str(my_result_file), "--format", "markdown"]) == 0
    text = capsys.readouterr().out
    assert text.startswith("# Example CPU\n")
    assert "| gemm float | cold by rotation, default |" in text
    path = tmp_path / "report.md"
    assert main(["report", str(my_result_file), "-o", str(path)]) == 0
    assert path.read_text(encoding="utf-8") == text


@pytest.mark.parametrize("words", [
    ["report", "FILE", "-o", "FILE", "--format", "html"],
    ["report", "OTHER", "--against", "OTHER,FILE", "-o", "FILE", "--format", "html"],
    ["gemm", "m=1", "n=1", "k=1", "--against", "FILE", "-o", "FILE"],
    ["run", "FILE", "-o", "FILE"],
    ["import", "FILE", "-o", "FILE"],
])  # fmt: skip
def test_an_input_file_is_never_replaced(
    my_result_file: Path, words: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    before = my_result_file.read_bytes()
    other = my_result_file.with_name("other.jsonl")
    other.write_bytes(before)
    link = my_result_file.with_name("link.jsonl")
    link.symlink_to(my_result_file)
    names = {"OTHER": str(other), "OTHER,FILE": f"{other},{my_result_file}"}
    line = [names.get(word, str(my_result_file) if word == "FILE" else word) for word in words]
    line[line.index("-o") + 1] = str(link)
    assert main([*line, "--overwrite"]) == 2
    assert "is also an input; choose another output" in error_line(capsys)
    assert my_result_file.read_bytes() == before


def test_markdown_needs_no_extra(
    my_result_file: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(sys.modules, "vl_convert", None)
    assert main(["report", str(my_result_file), "--format", "markdown"]) == 0
    page = my_result_file.with_name("page.html")
    capsys.readouterr()
    assert main(["report", str(my_result_file), "-o", str(page)]) == 2
    assert install_command("report") in error_line(capsys)
    assert not page.exists()


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ([], "report needs a result file"),
        (["FILE"], "report needs -o FILE"),
        (
            ["FILE", "-o", "page.pdf"],
            "error: a PDF has one chart: deepbench report FILE --chart roofline -o page.pdf; the "
            "whole page is printed to PDF by a browser: deepbench report FILE -o page.html",
        ),
        (
            ["FILE", "-o", "page.docx"],
            "one of html markdown png svg pdf xlsx, or a name such as page.html",
        ),
        (["FILE", "-o", "x.csv"], "write deepbench show FILE --format csv > x.csv"),
        (["FILE", "-o", "page.html", "--chart", "roofline"], "--chart is for"),
        (["FILE", "-o", "x.svg", "--row", "1"], "--row is for"),
        (
            ["FILE", "-o", "x.svg", "--chart", "distribution", "--row", "x"],
            "must be a whole number from 0",
        ),
        (["FILE", "--format", "markdown", "--overwrite"], "--overwrite needs -o"),
        (["FILE", "-o", "x.html", "--format", "xml"], "must be one of html markdown png svg"),
        (["FILE", "FILE", "-o", "x.html"], "are the same"),
        (["none.jsonl", "-o", "x.html"], "there is no such file"),
        (["FILE", "-o", "x.html", "--against", "v1000"], "no such reference"),
        (["FILE", "-o", "missing/x.html"], "there is no folder"),
        (["FILE", "-o", "FILE"], "give --format"),
    ],
)
def test_usage_errors_are_one_line(
    my_result_file: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    words: list[str],
    message: str,
) -> None:
    monkeypatch.chdir(my_result_file.parent)
    before = my_result_file.read_bytes()
    assert (
        main(["report", *(str(my_result_file) if word == "FILE" else word for word in words)]) == 2
    )
    assert message in error_line(capsys).replace(str(my_result_file), "FILE")
    assert [path.name for path in my_result_file.parent.iterdir()] == [my_result_file.name]
    assert my_result_file.read_bytes() == before


def test_an_existing_file_is_replaced_only_with_overwrite(
    my_result_file: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    page = tmp_path / "report.md"
    page.write_text("old")
    assert main(["report", str(my_result_file), "-o", str(page)]) == 2
    assert "exists; --overwrite replaces it" in error_line(capsys)
    assert page.read_text() == "old"
    assert main(["report", str(my_result_file), "-o", str(page), "--overwrite"]) == 0
    assert page.read_text(encoding="utf-8").startswith("# ")


@pytest.mark.parametrize("rows", [[], [without_times(timed_gemm(0), "failed", "lost")]])
def test_a_report_without_a_good_row(
    tmp_path: Path, rows: list[dict[str, object]], capsys: pytest.CaptureFixture[str]
) -> None:
    file = write_result_file(tmp_path / "bad.jsonl", rows)
    assert main(["report", str(file), "-o", str(tmp_path / "page.html")]) == 0
    capsys.readouterr()
    assert main(["report", str(file), "-o", str(tmp_path / "x.svg")]) == 2
    assert "no row is ok" in error_line(capsys)


# ---- malicious texts ---------------------------------------------------------------------------


def test_texts_of_a_file_are_text_in_the_page(tmp_path: Path) -> None:
    file = write_result_file(tmp_path / "theirs.jsonl", hostile_rows(), hostile_context())
    page = tmp_path / "page.html"
    assert main(["report", str(file), "-o", str(page), "--against", str(file) + "x"]) == 2
    assert main(["report", str(file), "-o", str(page)]) == 0
    text = page.read_text(encoding="utf-8")
    assert "stolen" in text  # the name occurs,
    assert HOSTILE not in text  # but only as text
    assert "<img" not in markup_of(text)
    assert text.count("<script") == text.count("</script>") == 3
    assert "\u2028" not in text


@pytest.mark.parametrize("format", ["markdown", "svg"])
def test_texts_of_a_file_are_text_in_markdown_and_images(tmp_path: Path, format: str) -> None:
    file = write_result_file(tmp_path / "theirs.jsonl", hostile_rows(), hostile_context())
    for chart in ("roofline", "distribution") if format == "svg" else ("",):
        path = tmp_path / f"out-{chart}"
        words = ["--chart", chart] if chart else []
        assert main(["report", str(file), "-o", str(path), "--format", format, *words]) == 0
        text = path.read_text(encoding="utf-8")
        assert "<script" not in text
        assert "<img" not in text


def test_names_in_a_file_cannot_choose_the_output_path(tmp_path: Path) -> None:
    """No file but the page is written, whatever names the result file contains."""
    context = {**hostile_context(), "command": ["-o", "../../escaped.html"], "set": "../escaped"}
    rows = [
        with_samples({**timed_gemm(0), "problem": "/tmp/escaped.html", "library": "../escaped"})
    ]
    inside = tmp_path / "a" / "b"
    inside.mkdir(parents=True)
    file = write_result_file(inside / "theirs.jsonl", rows, {**context, "rows": 1})
    assert main(["report", str(file), "-o", str(inside / "page.html")]) == 0
    found = sorted(path.name for path in tmp_path.rglob("*") if path.is_file())
    assert found == ["page.html", "theirs.jsonl"]
    assert not Path("/tmp/escaped.html").exists()


def test_the_name_of_a_folder_is_refused(
    my_result_file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = f"{my_result_file.with_name('none')}/"
    for words in (
        ["report", str(my_result_file), "--format", "html"],
        ["import", str(my_result_file)],
        ["gemm", "m=8"],
    ):
        assert main([*words, "-o", folder]) == 2
        assert "names a folder; name a file" in error_line(capsys)
    assert not Path(folder).exists()
