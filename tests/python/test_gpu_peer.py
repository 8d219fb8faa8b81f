"""Sums by peer access between the devices of this machine, in processes of their own."""

from __future__ import annotations

import functools
import json
import os
import signal
import socket
import subprocess
import sys
import time
from typing import Any

import pytest

pytestmark = pytest.mark.gpu

WAYS = ("one_shot_ll", "one_shot", "two_shot", "two_shot_push", "ring")
QUICK = ("--samples", "3", "--time-limit", "1")
LIMIT_S = 240
PEER = ("--backend", "cuda", "--library", "peer")


def deepbench(*words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "deepbench", *words], capture_output=True, text=True, timeout=LIMIT_S
    )


@functools.cache
def devices() -> int:
    for backend in json.loads(deepbench("env", "--format", "json").stdout)["backends"]:
        if backend["name"] == "cuda":
            return len(backend["devices"])
    return 0


@pytest.fixture(autouse=True)
def two_devices() -> None:
    if devices() < 2:
        pytest.skip(f"needs two devices; there are {devices()}")


def rows(*words: str, ranks: int = 2) -> list[dict[str, Any]]:
    done = deepbench("all_reduce", *words, "--ranks", str(ranks), "--format", "json")
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr
    found: list[dict[str, Any]] = json.loads(done.stdout)["rows"]
    for row in found:
        assert (row["status"], row["verification"]["status"]) == ("ok", "passed"), row["reason"]
        assert row["verification"]["checked"] == row["attributes"]["elements"]
    return found


@pytest.mark.parametrize("way", WAYS)
def test_every_way_sums_every_element_exactly(way: str) -> None:
    shapes = ("elements=3,300001", "precision=float,bfloat16", "in_place=no,yes")
    found = rows(*shapes, *PEER, "--algorithm", way, *QUICK)
    assert len(found) == 8
    for row in found:
        assert row["library"].startswith("peer ")
        assert row["algorithm"]["name"] == way
        assert row["regime"]["launch"] == "graph"


def test_copies_of_operands_that_are_cold() -> None:
    for way in WAYS:
        found = rows("elements=100000", "precision=half", *PEER, "--algorithm", way,
                     "--cache", "cold", *QUICK)  # fmt: skip
        assert len(found) == 1


def test_best_tries_every_way_of_every_library() -> None:
    (row,) = rows("elements=100000", "--backend", "cuda", "--algorithm", "best", *QUICK)
    assert row["algorithm"]["candidates"] >= len(WAYS)


def test_all_devices() -> None:
    rows("elements=1000,4099", *PEER, "--algorithm", "best", *QUICK, ranks=devices())


def test_two_ranks_on_one_device_are_refused() -> None:
    done = deepbench("all_reduce", "elements=1000", *PEER, "--device", "0", "--ranks", "2")
    assert done.returncode == 1
    assert "share device" in done.stdout


def start(rank: int, port: int, *words: str) -> subprocess.Popen[str]:
    """As torchrun would, one of two."""
    place = {"RANK": str(rank), "WORLD_SIZE": "2", "MASTER_ADDR": "127.0.0.1",
             "MASTER_PORT": str(port)}  # fmt: skip
    return subprocess.Popen(
        [sys.executable, "-m", "deepbench", "all_reduce", *words],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env={**os.environ, **place},
    )  # fmt: skip


def test_a_rank_that_dies_in_a_sum_does_not_hang_the_others() -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    long = ("elements=64000000", "--time-limit", "100", "--samples", "100000", "--no-verify")
    started = [start(rank, port, *long, *PEER) for rank in (0, 1)]
    try:
        time.sleep(8)
        assert [process.poll() for process in started] == [None, None]
        started[1].send_signal(signal.SIGKILL)
        begin = time.monotonic()
        out, err = started[0].communicate(timeout=60)
        assert time.monotonic() - begin < 15
        assert started[0].returncode == 1, out + err
        assert "device_lost" in out + err
    finally:
        for process in started:
            process.kill()
