"""`deepbench list FILE`: the problems of suites, their work, and the total weighed by counts."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path

import pytest

from command_line import run_command

COUNTED = """\
gemm m=1000 n=1000 k=1000 count=30 application="qkv"
gemm m=1000 n=1000 k=2000 application="head"
gemm m=1000 n=1000 k=1000 count=10 application="out"
"""
PLAIN = 'gemm m=1000 n=1000 k=1000 application="qkv"\n' * 2


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    Path("counted.txt").write_text(COUNTED)
    Path("plain.txt").write_text(PLAIN)
    Path("layers").write_text(PLAIN)
    return tmp_path


@pytest.mark.usefixtures("folder")
def test_totals_weigh_by_counts(capsys: pytest.CaptureFixture[str]) -> None:
    status, out, _ = run_command(capsys, "list", "counted.txt")
    assert status == 0
    titles, first, second, total = out.splitlines()
    assert titles.split() == ["suite", "problem", "count", "GFLOP", "MB", "application"]
    assert first.split()[-7:] == ["40", "2.0000", "16.000", "qkv", "(30),", "out", "(10)"]
    assert second.split()[-4:] == ["1", "4.0000", "24.000", "head"]
    # 40 calls of 2 GFLOP and 16 MB, one of 4 GFLOP and 24 MB.
    assert total == "2 problems, 41 calls: 0.084 TFLOP, 0.664 GB"


@pytest.mark.usefixtures("folder")
def test_a_suite_without_counts_lists_its_duplicates(capsys: pytest.CaptureFixture[str]) -> None:
    for word in ("plain.txt", "layers", "./layers"):
        _, out, _ = run_command(capsys, "list", word)
        titles, *rows, total = out.splitlines()
        assert titles.split() == ["suite", "problem", "GFLOP", "MB", "application"]
        assert len(rows) == 2
        assert total == "2 problems: 0.004 TFLOP, 0.032 GB"


@pytest.mark.usefixtures("folder")
def test_files_and_a_precision(capsys: pytest.CaptureFixture[str]) -> None:
    _, out, _ = run_command(capsys, "list", "plain.txt", "fp16", "counted.txt", "--format", "json")
    rows = json.loads(out)
    assert [(row["suite"], row["count"], row["MB"]) for row in rows] == [
        ("plain", 1, 8.0), ("plain", 1, 8.0), ("counted", 40, 8.0), ("counted", 1, 12.0),
    ]  # fmt: skip
    _, out, _ = run_command(capsys, "list", "counted.txt", "--format", "csv")
    assert [row["count"] for row in csv.DictReader(io.StringIO(out))] == ["40", "1"]


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["absent.txt"], "absent.txt: there is no such file; "),
        (["gemm", "counted.txt"], "'gemm': list takes files and a precision, or an operation and"),
        (["counted.txt", "training"], "'training': list takes files and a precision, or "),
        (["counted.txt", "--corrected"], "--corrected is for the original's sets; leave it out"),
        (["broken.txt"], "broken.txt:2: the count '0' is not an integer from 1 to "),
    ],
)
def test_mistakes_are_named(
    capsys: pytest.CaptureFixture[str], words: list[str], message: str
) -> None:
    Path("broken.txt").write_text("# counts\ngemm m=1 n=1 k=1 count=0\n")
    status, out, err = run_command(capsys, "list", *words)
    assert (status, out) == (2, "")
    assert err.startswith(f"deepbench: error: {message}")
    assert len(err.splitlines()) == 1
