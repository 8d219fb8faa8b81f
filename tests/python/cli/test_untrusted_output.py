"""Files from strangers, shown: whatever they hold reaches the terminal as letters and a spreadsheet
as text, and showing them ends in a status."""

from __future__ import annotations

import errno
import json
import os
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deepbench import _core
from deepbench.cli import main
from deepbench.report import FORMATS
from deepbench.results import ResultError, read
from deepbench.results.resume_check import first_difference
from example_rows import make_context, make_gemm, make_memory
from mutated_lines import EVIL, example_settings, mutated, write_lines


def with_texts_changed(value: Any, change: Callable[[str], str]) -> Any:
    """The value with its texts changed, but for those of which there is a list."""
    if isinstance(value, dict):
        return {
            key: item if key in KEPT else with_texts_changed(item, change)
            for key, item in value.items()
        }
    if isinstance(value, list):
        return [with_texts_changed(item, change) for item in value]
    return change(value) if isinstance(value, str) else value


KEPT = (
    "type",
    "status",
    "cache",
    "cold",
    "launch",
    "power",
    "stop",
    "samples_kept",
    "by",
    "better",
)


@pytest.mark.parametrize("form", FORMATS)
def test_nothing_steers_the_terminal(
    form: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = [make_gemm(0, notes=["note"]), make_memory(1), make_gemm(2, status="failed")]
    rows[0]["metrics"] = [{"name": "a", "value": 1.0, "unit": "b", "better": "lower"}]
    rows[0]["attributes"][EVIL] = EVIL
    evil = [with_texts_changed(line, lambda text: text + EVIL) for line in (make_context(), *rows)]
    for row in evil[1:]:
        row["op"] = "gemm"  # of which there is a text by the original's program
    path = tmp_path / f"{EVIL.replace(chr(10), '')}.jsonl"
    path.write_text("".join(json.dumps(line) + "\n" for line in evil) + '{"torn')
    for command in (["show"], ["show", "--against", str(path)], ["compare", str(path)]):
        if form not in ("legacy", "csv") or command == ["show"]:
            assert main([*command, str(path), "--format", form]) in (0, 1, 2)
    main(["gemm", "m=8", "n=8", "k=8", "-o", str(path), "--resume"])
    out, err = capsys.readouterr()
    assert err
    assert not [letter for letter in out + err if not (letter.isprintable() or letter in "\r\n")]
    assert "\r" not in (out + err).replace("\r\n", "")


def test_what_is_said_of_a_file_has_an_end(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    name = "\N{LATIN SMALL LETTER E WITH ACUTE}" * 50_000
    device = {"index": 0, "name": name}
    context = make_context(device=device, command=[name])
    path = write_lines(tmp_path / "a.jsonl", [context, make_gemm(device=device)])
    assert main(["show", str(path), "--format", "csv"]) == 0
    err = capsys.readouterr().err
    assert err.startswith(f"deepbench: {name[:1000]}")
    assert max(map(len, err.splitlines())) < 2100


@pytest.mark.parametrize("control", ["\x1b[2J", "\x9b31m", "\u202e", "\u2028"])
def test_the_program_without_python_steers_no_terminal(control: str) -> None:
    program = Path(_core.package_directory()) / "bin/deepbench_run"
    lines = f"gem{control}m m=8\ngemm m{control}=8\ngemm m=8 application={control}\n"
    for backend in ("cpu", f"cpu{control}"):
        done = subprocess.run(
            [program, backend], input=lines, capture_output=True, encoding="utf-8", timeout=600
        )
        assert done.returncode in (1, 2)
        assert control not in done.stdout + done.stderr
        assert all(line.isprintable() for line in (done.stdout + done.stderr).split("\n"))


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="the system has no /dev/full")
def test_the_program_without_python_says_that_it_cannot_write() -> None:
    program = Path(_core.package_directory()) / "bin/deepbench_run"
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(
            [program, "cpu", "ceilings=no", "verify=no"],
            input="gemm m=8 n=8 k=8\n",
            stdout=full,
            stderr=subprocess.PIPE,
            encoding="utf-8",
            timeout=600,
        )
    assert done.returncode == 1
    no_space = os.strerror(errno.ENOSPC)
    assert done.stderr.endswith(
        f"deepbench_run: error: cannot write to standard output: {no_space}\n"
    )


def test_a_spreadsheet_computes_nothing(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    row = make_gemm(application="=HYPERLINK(A1)", notes=["+1"], status="failed", reason="@SUM(A1)")
    row["attributes"] |= {"-1": "=2", "plain": "-x"}
    row["metrics"] = [{"name": "=a", "value": -1.0, "unit": None, "better": None}]
    row["statistics"]["relative_standard_error"] = 0.5
    path = tmp_path / "a.jsonl"
    path.write_text(f"{json.dumps(make_context())}\n{json.dumps(row)}\n")
    main(["show", str(path), "--format", "csv"])
    out = capsys.readouterr().out
    cells = out.replace("\r\n", ",").replace('"', "").split(",")
    assert "'=HYPERLINK(A1)" in cells
    assert not [cell for cell in cells if cell.startswith(("=", "+", "-", "@"))]


# ---- anything at all -----------------------------------------------------------------------------

LINES: list[dict[str, Any]] = [make_context(), make_gemm(0, notes=["n"]), make_memory(1)]


@given(lines=mutated(LINES), form=st.sampled_from(FORMATS))
@example_settings(200)
def test_showing_any_file_ends_in_a_status(
    lines: list[dict[str, Any]], form: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = write_lines(tmp_path / "a.jsonl", lines)
    for more in (["--format", form], ["--thin", "1", "-o", f"{path}.thin", "--overwrite"]):
        status = main(["show", str(path), *more])
        out, err = capsys.readouterr()
        assert (status == 2) == ("deepbench: error: " in err)
        assert status in (0, 2)
        assert all(letter.isprintable() or letter in "\r\n" for letter in out + err)
    try:
        old = read(path)
    except ResultError:
        return
    difference = first_difference(old, make_context(), ["gemm"])
    assert difference is None or isinstance(difference, str)
