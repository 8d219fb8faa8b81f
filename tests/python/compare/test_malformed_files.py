"""Slightly malformed files: comparing them ends with a status and one line, never a traceback."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deepbench.cli import main
from mutated_lines import VALID_LINES, example_settings, mutated, write_lines


@given(lines=mutated(VALID_LINES), form=st.sampled_from(["table", "json", "markdown", "html"]))
@example_settings(150)
def test_no_file_ends_in_a_traceback(
    lines: list[dict[str, Any]], form: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    good, bad = (
        write_lines(tmp_path / "good.jsonl", VALID_LINES),
        write_lines(tmp_path / "bad.jsonl", lines),
    )
    for files in ((good, bad), (bad, good)):
        status = main(["compare", *map(str, files), "--format", form])
        out, err = capsys.readouterr()
        assert status in (0, 1, 2)
        assert (status == 2) == err.startswith("deepbench: error: ")
        assert all(letter.isprintable() or letter == "\n" for letter in out + err)
