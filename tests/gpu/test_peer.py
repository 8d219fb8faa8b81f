"""Sums by peer access between the devices of this machine, in processes of their own."""

from __future__ import annotations

import json
import signal
import time
from typing import Any

import pytest

from cuda_devices import device_count
from rank_processes import QUICK, RankProcesses, deepbench

pytestmark = [pytest.mark.gpu, pytest.mark.slow, pytest.mark.usefixtures("two_devices")]

WAYS = ("one_shot_ll", "one_shot", "two_shot", "two_shot_push", "ring")
PEER = ("--backend", "cuda", "--library", "peer")
LOST_S = 15.0


def rows_of_peer_sums(*words: str, ranks: int = 2) -> list[dict[str, Any]]:
    done = deepbench("all_reduce", *words, "--devices", str(ranks), "--format", "json", *QUICK)
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr
    found: list[dict[str, Any]] = json.loads(done.stdout)["rows"]
    for row in found:
        assert (row["status"], row["verification"]["status"]) == ("ok", "passed"), row["reason"]
        assert row["verification"]["checked"] == row["attributes"]["elements"]
        assert row["regime"]["launch"] == "graph", row["notes"]
    return found


@pytest.mark.parametrize("way", WAYS)
def test_every_way_sums_every_element_exactly(way: str) -> None:
    shapes = ("elements=3,300001", "precision=float,bfloat16", "in_place=no,yes")
    found = rows_of_peer_sums(*shapes, *PEER, "--algorithm", way)
    assert len(found) == 8
    for row in found:
        assert row["library"].startswith("peer ")
        assert row["algorithm"]["name"] == way


@pytest.mark.parametrize("way", ["one_shot", "two_shot", "ring"])
def test_copies_of_operands_that_are_cold(way: str) -> None:
    (row,) = rows_of_peer_sums(
        "elements=100000", "precision=half", *PEER, "--algorithm", way, "--cache", "cold"
    )
    assert row["regime"]["copies"] > 1


# No candidate list for large sums contains one_shot_ll, and the lists contain two_shot and
# two_shot_push with 32 and with 64 blocks too. "exhaustive" is "best" without a time limit.
@pytest.mark.parametrize(
    ("elements", "ways"), [(100_000, len(WAYS)), (2_000_000, len(WAYS) - 1 + 4)]
)
def test_every_way_that_applies_is_tried_of_every_library(elements: int, ways: int) -> None:
    (row,) = rows_of_peer_sums(
        f"elements={elements}", "--backend", "cuda", "--algorithm", "exhaustive"
    )
    assert row["algorithm"]["candidates"] == 1 + ways, row["notes"]  # NCCL has one
    assert not any("left out" in note for note in row["notes"]), row["notes"]


def test_all_devices() -> None:
    rows_of_peer_sums("elements=1000,4099", *PEER, ranks=device_count())


def test_two_ranks_on_one_device_are_refused() -> None:
    done = deepbench("all_reduce", "elements=1000", *PEER, "--ranks", "2", "--device", "0")
    assert done.returncode != 0
    assert "share device" in done.stdout + done.stderr


def test_a_rank_that_dies_in_a_sum_does_not_hang_the_others() -> None:
    long = ("elements=64000000", "--time-limit", "100", "--samples", "100000", "--no-verify")
    ranks = RankProcesses(2)
    first, second = (ranks.start(rank, "all_reduce", *long, *PEER) for rank in (0, 1))
    time.sleep(8)
    assert (first.poll(), second.poll()) == (None, None)
    second.send_signal(signal.SIGKILL)
    begin = time.monotonic()
    (status, out, err), _ = ranks.wait_for_all()
    assert time.monotonic() - begin < LOST_S
    assert status == 1, out + err
    assert "device_lost" in out + err
