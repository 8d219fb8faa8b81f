"""deepbench compare as a command: formats, exit status, and malicious files."""

from __future__ import annotations

import json
import re
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

from deepbench.cli import main
from example_rows import make_context, make_gemm, make_memory

MICRO = "\N{MICRO SIGN}s"
EVIL = '<script>alert(1)</script>|](javascript:x) "&\x1b[31m'


def write_result_file(path: Path, *rows: dict[str, Any], **context: Any) -> str:
    lines = [make_context(rows=len(rows), **context), *rows]
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    return str(path)


def slowed_row(row: dict[str, Any], factor: float) -> dict[str, Any]:
    """The row with all its times multiplied by the factor."""
    statistics = {
        name: value * factor if name.endswith("_ns") else value
        for name, value in row["statistics"].items()
    }
    return {**row, "statistics": statistics}


@pytest.fixture
def compared_files(tmp_path: Path) -> tuple[str, str]:
    """Two files. Of four rows in the first, one is 20 % slower in the second, one 20 % faster, and
    one missing."""
    rows = [make_gemm(i, m=100 + i, application="DeepSpeech") for i in range(4)]
    rows.append(make_memory(4))
    changed = [
        slowed_row(rows[0], 1.2),
        slowed_row(rows[1], 0.8),
        rows[2],
        slowed_row(rows[4], 1.01),
    ]
    return write_result_file(tmp_path / "a.jsonl", *rows), write_result_file(
        tmp_path / "b.jsonl", *changed
    )


def run_compare(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    status = main(["compare", *arguments])
    said = capsys.readouterr()
    return status, said.out, said.err


def refusal_message(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    status, out, err = run_compare(capsys, *arguments)
    assert (status, out) == (2, "")
    assert err.startswith("deepbench: error: ")
    assert err.count("\n") == 1
    return err


def test_table(compared_files: tuple[str, str], capsys: pytest.CaptureFixture[str]) -> None:
    status, out, err = run_compare(capsys, *compared_files)
    assert (status, err) == (1, "")
    lines = [line.split() for line in out.splitlines()]
    assert lines[0][:5] == ["b.jsonl", "and", "a.jsonl", "do", "not"]
    times, rates = ["m", "A", "time", "B", "time"], ["A", "TFLOP/s", "B", "TFLOP/s"]
    place = lines.index([*times, "B/A", "95", "%", "verdict", *rates])
    assert lines[place + 1][:6] == ["100", "100.0", MICRO, "120.0", MICRO, "1.200"]
    assert lines[place + 1][-3:] == ["slower", "0.0563", "0.0469"]
    assert lines[place - 1] == [
        "all:",
        "n=16",
        "k=1760",
        "trans_a=n",
        "trans_b=t",
        "precision=float",
    ]
    text = " ".join(out.split())
    assert "B against A: 4 rows compared: 1 faster, 1 slower, 2 same" in text
    assert "1 only in A" in text
    assert "regressions: gemm m=100 n=16" in text


def test_exit_status_follows_the_allowed_slowdown(
    compared_files: tuple[str, str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert run_compare(capsys, *compared_files, "--fail-over", "25%")[0] == 0
    assert run_compare(capsys, *compared_files, "--fail-over=15")[0] == 1
    assert run_compare(capsys, *compared_files, "--noise", "30 %")[0] == 0
    assert (
        run_compare(capsys, *reversed(compared_files))[0] == 1
    )  # reversed files turn speedups into slowdowns
    assert run_compare(capsys, compared_files[0], str(copied_file(compared_files[0])))[0] == 0


@pytest.mark.parametrize("disturbed_rows", [(0, 1), (0,), ()])
def test_the_last_line_says_that_no_pair_was_judged(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], disturbed_rows: tuple[int, ...]
) -> None:
    rows = [make_gemm(place, m=100 + place) for place in range(2)]
    slow = [slowed_row(row, 2.0 if place in disturbed_rows else 1.0)
            for place, row in enumerate(rows)]  # fmt: skip
    for place in disturbed_rows:
        slow[place]["statistics"]["waited_share"] = 0.5
    a = write_result_file(tmp_path / "a.jsonl", *rows)
    status, out, _ = run_compare(capsys, a, write_result_file(tmp_path / "b.jsonl", *slow))
    assert status == 0
    unjudged = (
        "no regressions: no pair of rows was judged, since other work disturbed them; the exit "
        "status is 0"
    )
    assert (out.splitlines()[-1] == unjudged) == (len(disturbed_rows) == 2)
    assert ("was judged" in out) == (len(disturbed_rows) == 2)
    assert "no regressions" in out


def copied_file(file: str) -> Path:
    path = Path(file).with_name("copy.jsonl")
    path.write_bytes(Path(file).read_bytes())
    return path


def test_several_files(compared_files: tuple[str, str], capsys: pytest.CaptureFixture[str]) -> None:
    _, out, _ = run_compare(capsys, *compared_files, str(copied_file(compared_files[0])))
    assert "B against A: 4 rows compared" in out
    assert "C against A: 5 rows compared: 5 same" in out
    header = next(line for line in out.splitlines() if "C time" in line)
    assert "C/A" in header
    assert "missing" in out


def test_json(compared_files: tuple[str, str], capsys: pytest.CaptureFixture[str]) -> None:
    status, out, _ = run_compare(capsys, *compared_files, "--format", "json")
    found = json.loads(out)
    against = found["against"][0]
    assert status == 1
    assert [row["verdict"] for row in against["rows"]] == ["slower", "faster", "same", "same"]
    assert against["rows"][0]["ratio"] == pytest.approx(1.2)
    assert against["rows"][0]["low"] < 1.2 < against["rows"][0]["high"]
    assert [group["name"] for group in against["families"]] == ["gemm float", "memory"]
    assert [row["reason"] for row in against["only_in_base"]] == ["no row of this problem"]
    headline = against["headline"]
    assert headline["text"].startswith("b.jsonl and a.jsonl do not differ beyond noise (B/A 0.9")
    assert (headline["faster"], headline["factor"], headline["rows"]) == (None, None, 4)
    assert len(found["regressions"]) == 1


class Page(HTMLParser):
    """Collects the tags of a page, and attributes that could load or run something."""

    def __init__(self) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.links: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.links += [name for name, _ in attrs if name in ("src", "href") or name[:2] == "on"]


@pytest.fixture
def hostile_files(tmp_path: Path) -> tuple[str, str]:
    """Two files in which every text is an attack."""
    rows = []
    for i in range(3):
        row = make_gemm(i, m=100 + i, application=EVIL, library=EVIL, notes=[EVIL])
        row["problem"] = f"gemm {EVIL} {i}"
        row["device"] = {"index": 0, "name": EVIL}
        row["attributes"] = {**row["attributes"], EVIL: EVIL}
        rows.append(row)
    broken = {**rows[1], "status": "failed", "reason": EVIL}
    device = {"index": 0, "name": EVIL}
    one = write_result_file(tmp_path / "a.jsonl", *rows, device=device, started=EVIL)
    two = write_result_file(
        tmp_path / "b.jsonl", slowed_row(rows[0], 1.5), broken, device=device, version=EVIL
    )
    return one, two


def test_a_page_contains_texts_but_no_code(
    hostile_files: tuple[str, str], capsys: pytest.CaptureFixture[str]
) -> None:
    status, out, _ = run_compare(capsys, *hostile_files, "--format", "html")
    page = Page()
    page.feed(out)
    assert status == 1
    assert "table" in page.tags
    assert set(page.tags) <= {
        "html", "head", "meta", "title", "style", "body", "h1", "h2", "p", "table", "thead",
        "tbody", "tr", "th", "td", "div",
    }  # fmt: skip
    assert page.links == []
    assert "default-src &#x27;none&#x27;" in out or "default-src 'none'" in out


@pytest.mark.parametrize("name", ["table", "markdown", "html"])
def test_texts_cannot_control_a_terminal(
    hostile_files: tuple[str, str], name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    _, out, _ = run_compare(capsys, *hostile_files, "--format", name)
    assert all(letter.isprintable() or letter == "\n" for letter in out)


def test_markdown_contains_no_html_and_no_links(
    hostile_files: tuple[str, str], capsys: pytest.CaptureFixture[str]
) -> None:
    _, out, _ = run_compare(capsys, *hostile_files, "--format", "markdown")
    assert "<" not in out
    assert "](" not in out
    columns = {
        len(re.findall(r"(?<!\\)\|", line)) for line in out.splitlines() if line[:3] == "| 1"
    }
    assert len(columns) == 1


@pytest.mark.parametrize(
    ("where", "value", "says"),
    [
        ("median_ns", 1e300, "more than 1e[+]15"),
        ("median_ns", 5e-324, "is 5e-324, which is out of range"),
        ("median_ns", -1.0, "less than 0"),
        ("low_ns", 10**400, "statistics.low_ns"),
        ("n", 2**70, "statistics.n"),
        ("relative_standard_error", float("inf"), "not a finite number"),
        ("stdev_ns", float("nan"), "not a finite number"),
    ],
)
def test_numbers_out_of_range_are_refused_with_their_line(
    where: str,
    value: float,
    says: str,
    compared_files: tuple[str, str],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    row = make_gemm(0)
    row["statistics"][where] = value
    bad = write_result_file(tmp_path / "bad.jsonl", make_gemm(1), row)
    assert re.search(rf"bad\.jsonl:3: .*{says}", refusal_message(capsys, compared_files[0], bad))


@pytest.mark.parametrize(
    ("statistics", "says"),
    [
        (None, "status is ok, and statistics.median_ns is missing or not positive"),
        ({}, "status is ok, and statistics.median_ns is missing or not positive"),
        ({"median_ns": 0}, "status is ok, and statistics.median_ns is missing or not positive"),
        ({"median_ns": 2.0, "low_ns": 3.0, "high_ns": 1.0}, "low_ns is above high_ns"),
    ],
)
def test_rows_that_contradict_themselves_are_refused(
    statistics: dict[str, float] | None,
    says: str,
    compared_files: tuple[str, str],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    bad = write_result_file(tmp_path / "bad.jsonl", make_gemm(0, statistics=statistics))
    assert re.search(rf"bad\.jsonl:2: .*{says}", refusal_message(capsys, compared_files[0], bad))


def test_negative_dimensions_are_refused(
    compared_files: tuple[str, str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    row = make_gemm(0)
    row["attributes"]["m"] = -1
    bad = write_result_file(tmp_path / "bad.jsonl", row)
    assert "bad.jsonl:2: attributes.m is -1, less than 0" in refusal_message(
        capsys, compared_files[0], bad
    )


@pytest.mark.parametrize("value", [1e-100, 1e-99])
def test_times_too_small_to_divide_by_are_ignored(
    value: float,
    compared_files: tuple[str, str],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    row = slowed_row(make_gemm(0, m=100), value)
    status, out, _ = run_compare(
        capsys, compared_files[0], write_result_file(tmp_path / "c.jsonl", row, make_gemm(1, m=101))
    )
    assert status in (0, 1)
    assert "Traceback" not in out


@pytest.mark.parametrize("command", ["compare", "show"])
def test_a_warning_cannot_control_a_terminal(
    command: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    good = write_result_file(tmp_path / "good.jsonl", make_gemm(0))
    torn = tmp_path / "torn\x1b[2J\n\x07.jsonl"
    torn.write_bytes(Path(good).read_bytes() + b'{"type": "ro')
    words = [good, str(torn)] if command == "compare" else [str(torn)]
    assert main([command, *words]) == 0
    warning = capsys.readouterr().err.splitlines()[0]
    assert warning.startswith("deepbench: warning: ")
    assert warning.endswith("its last line is cut short and was left out")
    assert warning.isprintable()


def test_messages_about_a_file_cannot_control_a_terminal(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = write_result_file(tmp_path / "a.jsonl", make_gemm(0), command=[EVIL], started=EVIL)
    assert main(["show", file]) == 0
    err = capsys.readouterr().err
    assert "alert" in err
    assert all(line.isprintable() for line in err.splitlines())


def test_samples_are_checked_too(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    good = write_result_file(tmp_path / "a.jsonl", make_gemm(0))
    for value in (float("nan"), -1.0, 1e200, 1e-320, "x"):
        samples = [1.0, value, 2.0]
        bad = write_result_file(tmp_path / "b.jsonl", make_gemm(0, samples_ns=samples))
        assert "b.jsonl:2: samples_ns[1]" in refusal_message(capsys, good, bad)


def test_invalid_inputs_are_refused(
    compared_files: tuple[str, str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    a, b = compared_files
    assert "needs two result files" in refusal_message(capsys, a)
    assert "are the same" in refusal_message(capsys, a, b, str(tmp_path / "." / "a.jsonl"))
    (tmp_path / "link.jsonl").symlink_to(a)
    assert "are the same" in refusal_message(capsys, a, str(tmp_path / "link.jsonl"))
    assert "there is no such file" in refusal_message(capsys, a, str(tmp_path / "none.jsonl"))
    (tmp_path / "empty").write_text("")
    assert "is empty" in refusal_message(capsys, a, str(tmp_path / "empty"))
    (tmp_path / "text").write_text("hello\n")
    assert "is not a result file" in refusal_message(capsys, a, str(tmp_path / "text"))
    newer = write_result_file(tmp_path / "newer.jsonl", make_gemm(0), schema=99)
    assert "has schema 99" in refusal_message(capsys, a, newer)
    other = write_result_file(
        tmp_path / "other.jsonl", {**make_memory(0), "attributes": {"kind": "h2d"}}
    )
    assert "no problem in common" in refusal_message(capsys, a, other)
    assert "must be a percentage" in refusal_message(capsys, a, b, "--fail-over", "much")
    assert "must be a percentage" in refusal_message(capsys, a, b, "--noise=-1")
    assert "did you mean 'cache'" in refusal_message(capsys, a, b, "--across", "cahce")


def test_many_rows_of_one_problem_are_paired_quickly(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Pairing stays fast for a malicious file: all rows are one problem, in a regime that the other
    file lacks."""
    hot = [make_gemm(i, samples_ns=[]) for i in range(3000)]
    cold = [{**row, "regime": {**row["regime"], "cache": "cold"}} for row in hot]
    a, b = (
        write_result_file(tmp_path / "a.jsonl", *hot),
        write_result_file(tmp_path / "b.jsonl", *cold),
    )
    assert "--across cache" in refusal_message(capsys, a, b)
    assert run_compare(capsys, a, b, "--across", "cache")[0] == 0
