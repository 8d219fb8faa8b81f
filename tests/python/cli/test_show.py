"""`deepbench show`: a file anew with fewer samples, and remarks that only some rows have."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from deepbench import _core, references
from deepbench.cli import main
from deepbench.report.remarks import Remarks
from deepbench.results import read
from deepbench.runner.summary import Summary
from example_rows import make_context, make_gemm, members, row_of_members


def write_result_file(path: Path, *rows: dict[str, Any]) -> Path:
    lines = [make_context(rows=len(rows)), *rows]
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    return path


@pytest.mark.parametrize(("most", "kept"), [(3, [0, 3, 6]), (9, [0, 1, 2, 3, 4, 5, 6, 7, 8])])
def test_an_even_selection_is_kept_and_said(most: int, kept: list[int]) -> None:
    row = make_gemm(samples_ns=list(range(10)), samples_kept="all")
    thinned = _core.thinned(json.dumps(row), most)
    assert thinned == json.dumps({**row, "samples_ns": kept, "samples_kept": "thinned"})


@pytest.mark.parametrize("samples", [None, [], [1.0, 2.0]])
def test_few_samples_stay_as_they_are(samples: list[float] | None) -> None:
    row = make_gemm(samples_ns=samples, samples_kept="all")
    assert _core.thinned(json.dumps(row), 2) == json.dumps(row)


@pytest.mark.parametrize("count", ["0", "-1", "1.5", "x", "1000000001", "9" * 20])
def test_a_row_keeps_a_possible_number_of_samples(
    count: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    old = write_result_file(tmp_path / "old.jsonl", make_gemm())
    assert main(["show", str(old), "--thin", count, "-o", str(tmp_path / "new.jsonl")]) == 2
    assert capsys.readouterr().err.startswith("deepbench: error: ")
    assert not (tmp_path / "new.jsonl").exists()


def test_a_file_is_written_anew(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    long = make_gemm(0, samples_ns=[float(i) for i in range(1000)], samples_kept="all")
    old = write_result_file(
        tmp_path / "old.jsonl", long, make_gemm(1), {**make_gemm(2), "of_later": 1}
    )
    new = tmp_path / "new.jsonl"
    assert main(["show", str(old), "--thin", "100", "-o", str(new)]) == 0
    before, after = read(old), read(new)
    assert after.context == before.context
    assert after.rows[1:] == before.rows[1:]
    assert len(after.rows[0].samples_ns) == 100
    assert {**after.rows[0].members, "samples_ns": 0, "samples_kept": 0} == {
        **long, "samples_ns": 0, "samples_kept": 0
    }  # fmt: skip
    assert main(["show", str(old), "--thin", "100", "-o", str(new)]) == 2
    error = f"deepbench: error: {new}: exists; --overwrite replaces it\n"
    assert capsys.readouterr().err == error
    assert main(["show", str(old), "--thin", "5", "-o", str(new), "--overwrite"]) == 0
    assert len(read(new).rows[0].samples_ns) == 5
    assert main(["show", str(new), "--thin", "2", "-o", str(new), "--overwrite"]) == 0
    assert len(read(new).rows[0].samples_ns) == 2
    assert main(["show", str(new), "--thin", "2", "-o", "/dev/null"]) == 0
    assert not Path("/dev/null").is_file()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["new.jsonl", "old.jsonl"]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--thin", "3"], "go together"),
        (["-o", "x"], "go together"),
        (["--overwrite"], "go together"),
        (["--thin", "0", "-o", "x"], "must be a whole number from 1"),
        (["--thin", "two", "-o", "x"], "must be a whole number from 1"),
        (["--thin", "9" * 5000, "-o", "x"], "must be a whole number from 1"),
        (["--thin", "3", "-o", "x", "--format", "csv"], "give one of them"),
    ],
)
def test_mistakes(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], words: list[str], message: str
) -> None:
    old = write_result_file(tmp_path / "old.jsonl", make_gemm())
    assert main(["show", str(old), *words]) == 2
    assert message in capsys.readouterr().err


def test_best_is_held_against_the_default() -> None:
    row = make_gemm()
    row["algorithm"] = {
        **row["algorithm"],
        "mode": "best",
        "name": "quick",
        "default_ns": 150_000.0,
        "default_name": "own",
        "speedup": 1.25,
    }
    assert Remarks().of(row_of_members(row)) == "best: quick (1.25 x default)"
    row["algorithm"]["name"] = "own"  # of two layouts
    assert Remarks().of(row_of_members(row)) == "best: own (1.25 x default)"
    row["algorithm"]["candidate"] = "nhwc:own"
    assert Remarks().of(row_of_members(row)) == "best: nhwc:own (1.25 x default)"
    row["algorithm"] |= {"speedup": None, "candidate": None}
    assert Remarks().of(row_of_members(row)) == "best: own (the default)"


def test_a_shown_file_names_the_libraries_of_its_rows(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = [make_gemm(i, library=name) for i, name in enumerate(("mkl 2024", "eigen 3.4.1"))]
    assert main(["show", str(write_result_file(tmp_path / "a.jsonl", *rows))]) == 0
    assert "(cpu, eigen 3.4.1, mkl 2024, " in capsys.readouterr().err


def test_rows_above_their_ceiling_are_in_no_mean() -> None:
    summary = Summary()
    for share in (0.5, 2.0, None):
        row = make_gemm()
        row["bound"] = {**row["bound"], "share_roofline": share}
        summary.add(row_of_members(row))
    line = summary.line(None, 3)
    assert line == (
        "3 rows: 3 ok; geometric mean 50.0 % of the roofline; 1 above its ceiling, excluded "
        "from the mean"
    )


def test_a_small_mean_keeps_its_digits() -> None:
    summary = Summary()
    row = make_gemm()
    row["bound"] = {**row["bound"], "share_roofline": 0.00012}
    summary.add(row_of_members(row))
    assert summary.line(None, 1) == "1 row: 1 ok; geometric mean 0.012 % of the roofline"


def test_small_published_rates_keep_their_digits(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["list", "references", "iPhone 6"]) == 0
    assert "  6.29e-04  " in capsys.readouterr().out


def test_a_conversion_is_said_with_the_sum() -> None:
    """The time column is the call alone."""
    row = make_gemm()
    row["conversion"] = {"operand": "a", "ns": 23_456.0, "constant": True}
    row["metrics"] = [
        {"name": "call", "value": 100_000.0, "unit": "ns", "better": "lower"},
        {"name": "conversion", "value": 23_456.0, "unit": "ns", "better": "lower"},
        {"name": "call_and_conversion", "value": 123_456.0, "unit": "ns", "better": "lower"},
    ]
    both = "23.46 \N{MICRO SIGN}s, not in the time: 123.5 \N{MICRO SIGN}s with it"
    assert Remarks().of(row_of_members(row)) == f"constant a converted in {both}"
    row["conversion"]["constant"] = False
    assert Remarks().of(row_of_members(row)) == f"a converted in {both}"


def test_nothing_of_a_strangers_file_steers_the_terminal(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    hostile = make_gemm(0, library="mkl\x1b[2J", notes=["\x1b]0;title\x07", "a\rb"])
    file = write_result_file(tmp_path / "hostile.jsonl", hostile)
    for form in ("table", "markdown", "csv", "json"):
        assert main(["show", str(file), "--format", form]) == 0
        shown = capsys.readouterr().out
        assert "title" in shown
        assert "\x1b" not in shown
        assert "\x07" not in shown
        assert "\r" not in shown.replace("\r\n", "")


def test_what_published_figures_are_is_said(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    reference = references.find("iphone 7")
    assert reference is not None
    found = references.load(reference)
    path = tmp_path / "a.jsonl"
    path.write_text(
        "".join(json.dumps(line) + "\n" for line in [found.context, *members(found.rows)])
    )
    assert main(["show", str(path)]) == 0
    assert "the mean over queued calls by the host's clock" in capsys.readouterr().err


def test_columns_without_a_partner_say_so(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    ours = write_result_file(tmp_path / "a.jsonl", make_gemm())
    half = make_gemm()
    half["attributes"] = {**half["attributes"], "precision": "half"}
    other = write_result_file(tmp_path / "gemm_training_half_best.jsonl", half)
    assert main(["show", str(ours), "--against", str(other)]) == 0
    out = capsys.readouterr().out
    assert "..ning_half_best time" in out
    assert "..ning_half_best has none of these problems in the same precision and regime" in out
    assert (
        main(
            [
                "show",
                str(ours),
                "--against",
                str(write_result_file(tmp_path / "b.jsonl", make_gemm())),
            ]
        )
        == 0
    )
    assert "has none" not in capsys.readouterr().out
