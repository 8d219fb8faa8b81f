"""Slightly malformed files: comparing them ends with a status and one line, never a traceback."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deepbench import references
from deepbench.cli import main
from example_rows import make_context, make_gemm, make_memory
from mutated_lines import examples, mutated, write

PUBLISHED = references.load(references.available()[0]).rows[0]
LINES: list[dict[str, Any]] = [
    make_context(rows=3),
    make_gemm(0, application="X", observed={"sm_clock_mhz": 1500.0}),
    make_memory(1),
    {**PUBLISHED, "position": 2},
]


@given(lines=mutated(LINES), form=st.sampled_from(["table", "json", "markdown", "html"]))
@examples(150)
def test_no_file_ends_in_a_traceback(
    lines: list[dict[str, Any]], form: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    good, bad = write(tmp_path / "good.jsonl", LINES), write(tmp_path / "bad.jsonl", lines)
    for files in ((good, bad), (bad, good)):
        status = main(["compare", *map(str, files), "--format", form])
        out, err = capsys.readouterr()
        assert status in (0, 1, 2)
        assert (status == 2) == err.startswith("deepbench: error: ")
        assert all(letter.isprintable() or letter == "\n" for letter in out + err)
