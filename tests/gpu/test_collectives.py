"""Collectives over two NVIDIA devices: through NCCL, with one process for each device and with one
for both, and through `peer`; and what one device alone is told."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from collective_suite import COLLECTIVES, check_rows, write_suite
from rank_processes import QUICK, deepbench, rows_of

pytestmark = [pytest.mark.gpu, pytest.mark.slow]


@pytest.mark.parametrize(("library", "local_ranks"), [("nccl", 1), ("nccl_single", 2), ("peer", 1)])
def test_every_collective_is_exact_on_every_device(
    tmp_path: Path, two_devices: None, library: str, local_ranks: int
) -> None:
    file = tmp_path / "rows.jsonl"
    suite = str(write_suite(tmp_path, "float", "half", "bfloat16"))
    done = deepbench("run", suite, "--devices", "2", "--library", library,
                     "-o", str(file), *QUICK)  # fmt: skip
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr
    rows = rows_of(file)
    check_rows(rows, library, local_ranks)
    launch = "stream" if library == "nccl_single" else "graph"
    assert {row["regime"]["launch"] for row in rows} == {launch}


def test_a_cold_broadcast_takes_copies(tmp_path: Path, two_devices: None) -> None:
    file = tmp_path / "rows.jsonl"
    done = deepbench("broadcast", "elements=70000", "--devices", "2", "--cache", "cold", "-o",
                     str(file), *QUICK)  # fmt: skip
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr
    [row] = rows_of(file)
    assert row["regime"]["copies"] > 1
    assert row["verification"]["status"] == "passed"


# Blocks of an odd number of elements begin between vectors.
@pytest.mark.parametrize("operation", [one for one in COLLECTIVES if one != "all_reduce"])
def test_peer_has_every_size_up_to_its_limit(
    tmp_path: Path, two_devices: None, operation: str
) -> None:
    def rows(elements: str, *words: str) -> list[dict[str, Any]]:
        file = tmp_path / f"{elements}.jsonl"
        deepbench(operation, f"elements={elements}", "precision=half", "--devices", "2",
                  "--library", "peer", "-o", str(file), *words, *QUICK)  # fmt: skip
        return rows_of(file)

    for row in [*rows("2,18,20006,1000002,33554432"), *rows("70002", "--cache", "cold")]:
        assert (row["status"], row["verification"]["status"]) == ("ok", "passed"), row["reason"]
        assert row["library"].startswith("peer ")
        assert row["algorithm"]["name"] == "one_shot"
    [row] = rows("33554434")
    assert row["status"] == "unsupported"
    assert row["reason"].startswith(f"peer supports {operation} of at most 64 MiB")


@pytest.mark.parametrize("operation", [one for one in COLLECTIVES if one != "all_reduce"])
def test_nccl_and_peer_are_candidates(tmp_path: Path, two_devices: None, operation: str) -> None:
    file = tmp_path / "rows.jsonl"
    done = deepbench(operation, "elements=3000", "--devices", "2", "--algorithm",
                     "exhaustive", "-o", str(file), *QUICK)  # fmt: skip
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr
    [row] = rows_of(file)
    assert row["algorithm"]["candidates"] == 2, row["notes"]
    assert row["verification"]["status"] == "passed"


@pytest.mark.parametrize("operation", COLLECTIVES)
def test_one_device_alone_is_told_how_to_be_several(operation: str) -> None:
    done = deepbench(operation, "elements=3000", "--format", "json", *QUICK)
    assert done.returncode == 1, done.stdout + done.stderr
    [row] = json.loads(done.stdout)["rows"]
    assert row["status"] == "unsupported"
    assert row["reason"].startswith(f"{operation} needs at least two ranks: --devices 2")
