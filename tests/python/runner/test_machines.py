"""Tests ranks on two machines, which are network namespaces with a cable between them. The tests
check which rank is where, and how all ranks end when the cable is pulled. They are skipped if the
system allows no namespaces.
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from deepbench.results import read
from rank_processes import RankProcesses, rows_of

FIRST, SECOND = "10.213.77.1", "10.213.77.2"
SILENCE_S = "4"  # after which a machine is gone


class Machines:
    """Two network namespaces, `node1` and `node2`, that stand for machines with a cable between
    them."""

    def __init__(self) -> None:
        self._names = [f"deepbench{os.getpid()}{letter}" for letter in "ab"]

    def connect(self) -> None:
        """Raises CalledProcessError."""
        for name in self._names:
            self._run_ip("netns", "add", name)
        ends = [f"db{os.getpid()}{letter}" for letter in "ab"]
        self._run_ip("link", "add", ends[0], "netns", self._names[0],
                 "type", "veth", "peer", "name", ends[1], "netns", self._names[1])  # fmt: skip
        for name, end, address in zip(self._names, ends, (FIRST, SECOND), strict=True):
            self._run_ip("-n", name, "addr", "add", f"{address}/30", "dev", end)
            self._run_ip("-n", name, "link", "set", end, "up")
            self._run_ip("-n", name, "link", "set", "lo", "up")
        self._cable = ends[1]

    def command_on_machine(self, machine: int) -> list[str]:
        """Runs what follows on one of them, in the same process."""
        return ["ip", "netns", "exec", self._names[machine], "unshare", "--uts", "sh", "-c",
                f'hostname node{machine + 1} && exec "$@"', "sh"]  # fmt: skip

    def disconnect_cable(self) -> None:
        self._run_ip("-n", self._names[1], "link", "set", self._cable, "down")

    def reconnect_cable(self) -> None:
        self._run_ip("-n", self._names[1], "link", "set", self._cable, "up")

    def remove_namespaces(self) -> None:
        for name in self._names:
            subprocess.run(["ip", "netns", "del", name], capture_output=True, check=False)

    @staticmethod
    def _run_ip(*words: str) -> None:
        subprocess.run(["ip", *words], check=True, capture_output=True, text=True)


@pytest.fixture
def machines() -> Iterator[Machines]:
    made = Machines()
    try:
        if not all(map(shutil.which, ("ip", "unshare", "hostname"))):
            pytest.skip("ip, unshare or hostname is missing")
        try:
            made.connect()
            subprocess.run(
                [*made.command_on_machine(0), "true"], check=True, capture_output=True, text=True
            )
        except subprocess.CalledProcessError as error:
            pytest.skip(f"no network namespaces here: {error.stderr.strip()}")
        yield made
    finally:
        made.remove_namespaces()


def start_fleet(machines: Machines, size: int) -> RankProcesses:
    """The first half of the ranks on the first machine."""
    return RankProcesses(size, FIRST, lambda rank: machines.command_on_machine(2 * rank // size))


def test_each_rank_knows_its_machine_and_takes_its_device(
    machines: Machines, plugin: Path, tmp_path: Path
) -> None:
    suite, file = tmp_path / "mine.txt", tmp_path / "rows.jsonl"
    suite.write_text("gemm m=9 n=8 k=40 precision=float\nall_reduce elements=1000\n")
    words = ("run", str(suite), "--backend", "fake", "-o", str(file), "--samples", "3")
    script = {"DEEPBENCH_BACKEND_PATH": str(plugin),
              "DEEPBENCH_FAKE_SCRIPT": "devices 2\ntime 2e6\nwhen rank=3 time 3e6"}  # fmt: skip
    ranks = start_fleet(machines, 4)
    for rank in range(4):
        ranks.start(rank, *words, **script)
    ended = ranks.wait_for_all()
    assert [status for status, _, _ in ended] == [0] * 4, ended
    known = read(file).context["ranks"]
    assert known["machines"] == ["node1", "node1", "node2", "node2"]
    assert [device["index"] for device in known["devices"]] == [0, 1, 0, 1]
    ours, together = rows_of(file)
    assert [ours["status"], together["status"]] == ["ok", "ok"]
    [outlier] = ours["ranks"]["outliers"]
    assert (outlier["rank"], outlier["host"], outlier["device"]) == (3, "node2", 1)
    assert together["regime"]["ranks"] == 4
    said = "deepbench: rank 3 (node2, device 1) is 50.0 % slow on 1 of 1 row"
    assert said in ended[0][2].splitlines()


def test_the_ring_goes_over_the_network(machines: Machines, tmp_path: Path) -> None:
    file = tmp_path / "rows.jsonl"
    ranks = start_fleet(machines, 2)
    for rank in (0, 1):
        ranks.start(rank, "all_reduce", "elements=5000", "--backend", "cpu", "--library", "ring",
                    "--samples", "3", "-o", str(file))  # fmt: skip
    (status, _, err), _ = ranks.wait_for_all()
    assert status == 0, err
    [row] = rows_of(file)
    assert row["verification"]["status"] == "passed"
    assert "sockets" in row["algorithm"]["name"]


def test_a_pulled_cable_ends_all_ranks_within_the_limit(
    machines: Machines, plugin: Path, tmp_path: Path
) -> None:
    """In a batch: of a fleet, and of a sum whose library waits for ever."""
    slowly = "time 1e6\nhost 1\nnoise 1 0.5\nfrom 2 sleep time_batch 100"
    runs = {"gemm m=9 n=8 k=40": slowly, "all_reduce elements=1000": "from 2 hang time_batch"}
    started = []
    for index, (problem, script) in enumerate(runs.items()):
        ranks = start_fleet(machines, 2)
        log = tmp_path / f"log{index}"
        for rank in (0, 1):
            ranks.start(
                rank, *problem.split(), "--backend", "fake", "--hang-limit", "1000", "--no-verify",
                DEEPBENCH_BACKEND_PATH=str(plugin), DEEPBENCH_CONNECTION_TIMEOUT=SILENCE_S,
                DEEPBENCH_FAKE_SCRIPT=f"log {log}{rank}\n{script}",
            )  # fmt: skip
            started.append((ranks, Path(f"{log}{rank}")))
    for _, log in started:
        _wait_for(log, 3)
    machines.disconnect_cable()
    for ranks in dict.fromkeys(ranks for ranks, _ in started):
        (status, out, err), (other_status, _, other_err) = ranks.wait_for_all()
        assert (status, other_status) == (1, 3), (out, err, other_err)
        assert "rank 1 of 2 (node2)" in out + err
        assert "rank 0 of 2 (node1)" in other_err
        assert "Traceback" not in err + other_err


def test_a_short_outage_costs_nothing(machines: Machines, plugin: Path, tmp_path: Path) -> None:
    file, log = tmp_path / "rows.jsonl", tmp_path / "log"
    ranks = start_fleet(machines, 2)
    for rank in (0, 1):
        ranks.start(
            rank, "all_reduce", "elements=1000", "--backend", "fake", "-o", str(file),
            "--samples", "3", DEEPBENCH_BACKEND_PATH=str(plugin),
            DEEPBENCH_FAKE_SCRIPT=f"log {log}{rank}\ntime 1e6\nsleep time_batch 10",
        )  # fmt: skip
    _wait_for(Path(f"{log}1"), 3)
    machines.disconnect_cable()
    signal.sigtimedwait([], 0.5)
    machines.reconnect_cable()
    (status, _, err), (other_status, _, _) = ranks.wait_for_all()
    assert (status, other_status) == (0, 0), err
    assert [row["status"] for row in rows_of(file)] == ["ok"]


def test_a_machine_that_cannot_be_reached(machines: Machines) -> None:
    ranks = RankProcesses(2, "10.213.78.1", lambda rank: machines.command_on_machine(rank))
    ranks.start(
        1, "all_reduce", "elements=3000", "--backend", "cpu", DEEPBENCH_RENDEZVOUS_TIMEOUT="1"
    )
    [(status, out, err)] = ranks.wait_for_all()
    assert (status, out) == (2, "")
    assert "rank 1: rank 0 at 10.213.78.1:" in err
    assert "Traceback" not in err


def _wait_for(log: Path, batches: int) -> None:
    while not (log.exists() and log.read_text().count("time_batch") >= batches):
        signal.sigtimedwait([], 0.05)
