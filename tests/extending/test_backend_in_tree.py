"""A backend in the tree is one folder: toy, added to a copy of the source tree as src/toy."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from source_copy import BACKEND, LINES, OPERATION, SourceCopy, changed_files

pytestmark = pytest.mark.slow

SMALL = ("gemm", "m=16", "n=16", "k=16", "--no-ceilings", "--samples", "5", "--format", "json")


def test_no_file_outside_the_folder_is_edited(
    copy_with_toy: SourceCopy, capsys: pytest.CaptureFixture[str]
) -> None:
    new, edited = changed_files(copy_with_toy.tree)
    outside = sorted(map(str, edited - {Path(name) for name in LINES}))
    new = {name for name in new if not (OPERATION / name).exists()}
    with capsys.disabled():
        print(f"\nfiles that the backend edits: {', '.join(outside) or 'none'}\nnew files:")
        for name in sorted(new):
            lines = len((copy_with_toy.tree / name).read_text(encoding="utf-8").splitlines())
            print(f"  {name}: {lines} lines")
    assert not outside
    assert new == {Path("src/toy") / file.name for file in BACKEND.iterdir()}


@pytest.mark.parametrize("option", [("--backend", "toy"), ()], ids=["named", "auto"])
def test_a_row_is_measured_and_verified(copy_with_toy: SourceCopy, option: tuple[str, ...]) -> None:
    done = copy_with_toy.deepbench(*SMALL, *option)
    assert done.returncode == 0, done.stderr
    (row,) = json.loads(done.stdout)["rows"]
    assert row["backend"] == "toy"
    assert row["verification"]["status"] == "passed"
    assert row["attributes"]["precision"] == "tf32"
