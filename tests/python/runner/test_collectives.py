"""Collectives on two ranks of this machine over the built-in ring."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from collective_suite import check_rows, write_suite
from rank_processes import QUICK, deepbench, rows_of


@pytest.mark.parametrize(
    ("transport", "precision"), [("shared_memory", "float"), ("sockets", "half")]
)
def test_every_collective_is_exact_on_every_rank(
    tmp_path: Path, transport: str, precision: str
) -> None:
    file = tmp_path / "rows.jsonl"
    suite = str(write_suite(tmp_path, precision))
    done = deepbench("run", suite, "--backend", "cpu", "--ranks", "2", "--library", "ring",
                     "--algorithm", transport, "-o", str(file),
                     *QUICK)  # fmt: skip
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr
    rows = rows_of(file)
    check_rows(rows, "ring")
    assert {row["algorithm"]["name"] for row in rows} == {transport}


def test_ranks_check_the_same_batches_though_one_has_no_outputs() -> None:
    """Rows of more than 2^20 outputs check fewer batches, and the rank that broadcasts has none."""
    done = deepbench("broadcast", "elements=1100000", "--backend", "cpu", "--ranks", "2",
                     "--library", "ring", "--format", "json", *QUICK)  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    [row] = json.loads(done.stdout)["rows"]
    assert row["verification"]["status"] == "passed"


def test_a_number_of_elements_that_ranks_do_not_divide_is_refused() -> None:
    done = deepbench("all_gather", "elements=30001", "--backend", "cpu", "--ranks", "2", "--format",
                     "json", *QUICK)  # fmt: skip
    assert done.returncode == 1, done.stdout + done.stderr
    [row] = json.loads(done.stdout)["rows"]
    assert row["status"] == "unsupported"
    assert "such as elements=30002 instead of 30001" in row["reason"]
