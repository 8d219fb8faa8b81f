"""A run of a fleet: all ranks make the rows at the same time, each on its own device, and rank 0
reports how far their times differ. A script sets the clocks, sensors and faults of the fake
backend's ranks."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from deepbench.results import read
from rank_processes import LIMIT_S, RankProcesses, deepbench, rank_environment, rows_of

ROWS = ("n=8", "k=40")


class FakeFleetRun:
    """Gemms of some m, by ranks of the fake backend under a script."""

    def __init__(self, plugin: Path, folder: Path, sizes: str, script: str, *words: str,
                 ranks: int = 3) -> None:  # fmt: skip
        self.file = folder / "rows.jsonl"
        self.done = deepbench(
            "gemm", f"m={sizes}", *ROWS, "--ranks", str(ranks), "--backend", "fake",
            "-o", str(self.file), *words,
            DEEPBENCH_BACKEND_PATH=str(plugin), DEEPBENCH_FAKE_SCRIPT=script,
        )  # fmt: skip

    @property
    def rows(self) -> list[dict[str, Any]]:
        return rows_of(self.file)


def test_the_slow_rank_is_found_and_named(plugin: Path, tmp_path: Path) -> None:
    script = "time 2e6\nwhen rank=2 time 2.2e6\nmhz 1500\nemit observe temperature_c 61\n"
    ran = FakeFleetRun(plugin, tmp_path, "9,10,11", script, ranks=4)
    assert ran.done.returncode == 0, ran.done.stderr
    for row in ran.rows:
        ranks = row["ranks"]
        assert row["status"] == "ok"
        assert row["statistics"]["median_ns"] == 2e6  # of the rank in the middle
        assert ranks["median_ns"] == [2e6, 2e6, 2.2e6, 2e6]
        assert (ranks["count"], ranks["representative"], ranks["slowest"]) == (4, 1, 2)
        assert ranks["spread"] == pytest.approx(0.1)
        assert ranks["outlier_threshold"] == 0.03
        assert ranks["clock_mhz"] == [1500] * 4
        assert ranks["temperature_c"] == [61] * 4
        assert ranks["power_w"] == [100] * 4
        [outlier] = ranks["outliers"]
        assert (outlier["rank"], outlier["device"]) == (2, 0)
        assert outlier["host"] == read(ran.file).context["ranks"]["machines"][2]
        assert outlier["deviation"] == pytest.approx(0.1)
    assert len(read(ran.file).context["ranks"]["devices"]) == 4
    host = read(ran.file).context["ranks"]["machines"][2]
    said = f"deepbench: rank 2 ({host}, device 0) is 10.0 % slow on 3 of 3 rows"
    assert said in ran.done.stderr.splitlines()
    assert "4 ranks within 10.0 %; rank 2 is 10.0 % slow" in ran.done.stdout
    assert all(row["ranks"]["mismatched"] is None for row in ran.rows)
    shown = deepbench("show", str(ran.file), "--format", "markdown")
    assert "## Fleet" in shown.stdout
    assert said in shown.stderr
    assert deepbench("report", str(ran.file), "--format", "markdown").stdout.count("## Fleet") == 1
    other = tmp_path / "other.jsonl"
    other.write_bytes(ran.file.read_bytes())
    assert deepbench("compare", str(ran.file), str(other)).returncode == 0


@pytest.mark.parametrize("rank", [0, 1])
def test_the_second_process_of_a_rank_that_forks_costs_no_row(
    plugin: Path, tmp_path: Path, rank: int
) -> None:
    script = f"time 2e6\nwhen rank={rank} m=9 fork prepare"
    ran = FakeFleetRun(plugin, tmp_path, "9,10", script, ranks=2)
    sums = tmp_path / "sums.jsonl"
    script = f"time 2e6\nwhen rank={rank} elements=9 fork prepare"
    summed = deepbench(
        "all_reduce", "elements=9,10", "--ranks", "2", "--backend", "fake", "-o", str(sums),
        DEEPBENCH_BACKEND_PATH=str(plugin), DEEPBENCH_FAKE_SCRIPT=script,
    )  # fmt: skip
    for done, rows in ((ran.done, ran.rows), (summed, rows_of(sums))):
        assert done.returncode == 0, done.stderr
        assert [row["status"] for row in rows] == ["ok", "ok"]
    assert "the backend forked; the second process was ended" in summed.stderr


FAULTS = {  # by m, on rank 1 of 3: the row's status, its reason, whether others' times are kept
    11: ("fail plan unsupported not on this one", "unsupported", "not on this one", True),
    12: ("fail prepare out_of_memory 5 GiB asked", "out_of_memory", "prepare: 5 GiB asked", True),
    13: ("from 4 fail time_batch failed it broke", "failed", "time_batch: it broke", True),
    14: ("mutant last_k", "incorrect", "before timing: output", True),
    15: ("fail poison_outputs device_lost it fell off", "device_lost", "poison_outputs", True),
    16: ("crash prepare", "device_lost", "closed the connection", False),
    17: ("from 9 killed time_batch", "device_lost", "closed the connection", False),
    18: ("from 9 crash read_output", "device_lost", "closed the connection", False),
}


def test_a_fault_of_one_rank_costs_its_row_alone_and_names_it(plugin: Path, tmp_path: Path) -> None:
    script = "\n".join(f"when rank=1 m={m} {fault[0]}" for m, fault in FAULTS.items())
    # A good row after each: three crashes in a row would end the run.
    sizes = ",".join(["9", *(f"{m},9" for m in FAULTS)])
    ran = FakeFleetRun(plugin, tmp_path, sizes, "time 2e6\n" + script, "--time-limit", "1")
    assert ran.done.returncode == 1
    assert "Traceback" not in ran.done.stderr
    rows = ran.rows
    assert [row["status"] for row in rows[::2]] == ["ok"] * (len(FAULTS) + 1), ran.done.stderr
    for row, (fault, status, reason, kept) in zip(rows[1::2], FAULTS.values(), strict=True):
        assert row["status"] == status, (fault, row["reason"])
        assert row["reason"].startswith("rank 1 "), fault
        assert reason in row["reason"], fault
        assert (row.get("ranks") is not None) == kept, fault
        if kept:
            assert row["ranks"]["status"] == ["ok", status, "ok"]
            assert [ns is not None for ns in row["ranks"]["median_ns"]][::2] == [True, True]
            assert row["ranks"]["failures"][0]["rank"] == 1
            assert row["statistics"]["median_ns"] == 2e6
            assert row["rates"] is None
    assert "device 0) failed 5 rows of others" in ran.done.stderr


def test_a_rank_that_dies_between_two_rows_costs_neither(plugin: Path, tmp_path: Path) -> None:
    script = "time 2e6\nwhen rank=1 m=9 crash destroy"
    ran = FakeFleetRun(plugin, tmp_path, "9,10,11", script, ranks=2)
    assert [row["status"] for row in ran.rows] == ["ok"] * 3, ran.done.stderr
    assert ran.done.returncode == 0
    assert "rank 1 crashed: SIGSEGV" in ran.done.stderr
    assert "the worker ended between two rows" in ran.done.stderr
    assert "a new worker continues" in ran.done.stderr


def test_ranks_measure_at_the_same_time_and_go_on_for_the_slowest(
    plugin: Path, tmp_path: Path
) -> None:
    """Rank 1 takes three times as many batches, and rank 0 keeps its device loaded until then."""
    log = tmp_path / "log"
    script = (
        f"when rank=0 log {log}0\nwhen rank=1 log {log}1\nhost 1\ntime 2e6\n"
        "sleep time_batch 2\nwhen rank=1 noise 7 0.02"
    )
    ran = FakeFleetRun(plugin, tmp_path, "9", script, "--no-verify", ranks=2)
    assert ran.done.returncode == 0, ran.done.stderr
    counts = [Path(f"{log}{rank}").read_text().count("time_batch") for rank in (0, 1)]
    assert counts[0] > 0.5 * counts[1] > 0


def test_a_choice_is_rank_0s_for_all(plugin: Path, tmp_path: Path) -> None:
    script = "candidates own quick\ntime 2e6\nwhen rank=0 candidate=quick time 1e6\n"
    ran = FakeFleetRun(plugin, tmp_path, "9", script, "--algorithm", "exhaustive", ranks=3)
    assert ran.done.returncode == 0, ran.done.stderr
    [row] = ran.rows
    assert row["algorithm"]["mode"] == "exhaustive"
    assert row["algorithm"]["default_ns"] == 2e6
    assert row["algorithm"]["speedup"] == pytest.approx(2)
    assert row["ranks"]["median_ns"] == [1e6, 2e6, 2e6]
    assert row["statistics"]["median_ns"] == 2e6


def test_once_and_ranks_that_torchrun_started(plugin: Path, tmp_path: Path) -> None:
    file = tmp_path / "rows.jsonl"
    ranks = RankProcesses(2)
    words = ("gemm", "m=9", *ROWS, "--backend", "fake", "--once", "-o", str(file))
    script = {"DEEPBENCH_BACKEND_PATH": str(plugin), "DEEPBENCH_FAKE_SCRIPT": "time 2e6"}
    for rank in (0, 1):
        ranks.start(rank, *words, **script)
    (status, _, err), other = ranks.wait_for_all()
    assert (status, other[:2]) == (0, (0, "")), err
    assert rows_of(file)[0]["ranks"]["median_ns"] == [2e6, 2e6]


def test_no_row_takes_another_device_or_other_cores_than_its_ranks(plugin: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "deepbench.worker", "--ranks", "2", "fake"],
        input="gemm m=9 n=8 k=40 ; device=1\ngemm m=9 n=8 k=40 ; cores=all\n",
        capture_output=True, text=True, timeout=LIMIT_S,
        env=rank_environment(DEEPBENCH_BACKEND_PATH=str(plugin)),
    )  # fmt: skip
    lines = [json.loads(line) for line in done.stdout.splitlines()]
    rows = [line for line in lines if line["type"] == "row"]
    assert [row["status"] for row in rows] == ["invalid"] * 2, done.stderr
    assert "each keeps the one with which it began" in rows[0]["reason"]
    assert "cores: ranks divide them before their first row" in rows[1]["reason"]


def test_all_that_a_row_says_of_a_device_is_the_middle_ranks(plugin: Path, tmp_path: Path) -> None:
    script = "\n".join(
        [
            "time 1e6", "when rank=1 time 2e6", "when rank=2 time 3e6",
            "when rank=0 emit describe_kernel note.who rank 0",
            "when rank=1 emit describe_kernel note.who rank 1",
            "when rank=1 fail observe failed no sensor today",
        ]
    )  # fmt: skip
    [row] = FakeFleetRun(plugin, tmp_path, "9", script, "--no-verify", "--no-ceilings").rows
    assert row["statistics"]["median_ns"] == 2e6
    assert row["notes"] == ["observe: no sensor today", "rank 1"]


def test_a_row_of_ranks_is_held_against_ceilings_as_one_of_a_device_is(
    plugin: Path, tmp_path: Path
) -> None:
    """The row is far faster than the product with which the ceiling is measured."""
    script = "model 1000 1000 100 1000\nwhen m=512 time 1e4"
    rows = []
    for ranks in ("1", "2"):
        file = tmp_path / f"{ranks}.jsonl"
        words = ("gemm", "m=512", "n=512", "k=512", "--backend", "fake", "--no-verify")
        deepbench(*words, "-o", str(file), *(("--ranks", ranks) if ranks != "1" else ()),
                  DEEPBENCH_BACKEND_PATH=str(plugin), DEEPBENCH_FAKE_SCRIPT=script)  # fmt: skip
        rows += rows_of(file)
    assert rows[0]["bound"] == rows[1]["bound"]
    assert "steadily above the measured ceiling" in rows[1]["notes"][0]


def test_a_killed_command_ends_the_fleet_with_its_name(plugin: Path, tmp_path: Path) -> None:
    """In a batch, which takes for ever on all of them."""
    ranks, log = RankProcesses(2), tmp_path / "log"
    words = ("gemm", "m=9", *ROWS, "--backend", "fake", "--hang-limit", "1000", "--no-verify")
    processes = [
        ranks.start(rank, *words, DEEPBENCH_BACKEND_PATH=str(plugin),
                    DEEPBENCH_FAKE_SCRIPT=f"log {log}{rank}\nfrom 2 sleep time_batch 100\n"
                    "time 1e6\nhost 1\nnoise 1 0.5")
        for rank in (0, 1)
    ]  # fmt: skip
    for rank in (0, 1):
        while not (Path(f"{log}{rank}").exists()
                   and Path(f"{log}{rank}").read_text().count("time_batch") > 4):  # fmt: skip
            assert all(process.poll() is None for process in processes)
            signal.sigtimedwait([], 0.1)
    processes[1].send_signal(signal.SIGKILL)
    (status, out, err), _ = ranks.wait_for_all()
    assert status == 1, err
    assert "device_lost: rank 1 of 2 (" in out
    assert "Traceback" not in err


def test_the_cpu_is_shared_by_its_ranks(tmp_path: Path) -> None:
    import os

    cores = len(os.sched_getaffinity(0))
    threads = {}
    for how in ("share", "all"):
        file = tmp_path / f"{how}.jsonl"
        done = deepbench("memory", "kind=read", "bytes=65536", "--ranks", "2", "--backend", "cpu",
                         "--samples", "3", "--cores", how, "-o", str(file))  # fmt: skip
        assert done.returncode == 0, done.stderr
        threads[how] = rows_of(file)[0]["regime"]["threads"]
        assert len(rows_of(file)[0]["ranks"]["median_ns"]) == 2
    assert threads["share"] == max(1, threads["all"] // 2) or threads["all"] < cores
    assert (
        "--cores 'some': must be one of share all"
        in deepbench("memory", "kind=read", "bytes=64", "--cores", "some").stderr
    )


def test_another_fleet_does_not_go_on_with_a_file(plugin: Path, tmp_path: Path) -> None:
    ran = FakeFleetRun(plugin, tmp_path, "9,10", "time 2e6", ranks=2)
    whole = ran.file.read_text().splitlines()
    ran.file.write_text("\n".join(whole[:2]) + "\n")
    context = json.loads(whole[0])
    assert context["options"]["ranks"] == "2"
    other = FakeFleetRun(plugin, tmp_path, "9,10", "time 2e6", "--resume", ranks=3)
    assert other.done.returncode == 2
    assert "option ranks was 2, now it is 3" in other.done.stderr
    again = FakeFleetRun(plugin, tmp_path, "9,10", "time 2e6", "--resume", ranks=2)
    assert again.done.returncode == 0
    assert [row["ranks"]["count"] for row in again.rows] == [2, 2]
