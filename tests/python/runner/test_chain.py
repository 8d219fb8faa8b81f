"""Chains of a workload: real workers on the scripted backend, their lines, and failures."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from deepbench.results import ResultError, parsed, read
from fake_plugin import build_fake_backend
from model_files import LAYER, model_text

SECOND = LAYER | {"name": '"two"', "count": 3}
OTHER = LAYER | {"name": '"other"', "out": 32}
SCRIPT = "time 1000; when n=1024 fail plan unsupported none"


class Commands:
    """The command on the scripted backend, with a model of three layers and five calls."""

    def __init__(self, folder: Path) -> None:
        self.model, self.file = folder / "mine.toml", folder / "rows.jsonl"
        self.model.write_text(model_text([LAYER, SECOND, OTHER]))
        self._plugin = build_fake_backend(folder / "libdeepbench_fake.so")

    def run(self, script: str, *words: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-m", "deepbench", "workload", str(self.model), "--chain",
             "--backend", str(self._plugin), "--no-ceilings", "--no-history", *words],
            capture_output=True, text=True, env=os.environ | {"DEEPBENCH_FAKE_SCRIPT": script},
        )  # fmt: skip

    def kept(self, *words: str) -> tuple[str, ...]:
        return ("-o", str(self.file), *words)

    def chains(self) -> list[dict[str, Any]]:
        return [dict(one.members) for one in read(self.file).chains]


@pytest.fixture(scope="module")
def commands(tmp_path_factory: pytest.TempPathFactory) -> Commands:
    return Commands(tmp_path_factory.mktemp("chain"))


def test_the_chain_stands_beside_the_sum_in_the_report_and_in_the_file(commands: Commands) -> None:
    ran = commands.run(SCRIPT, *commands.kept("--overwrite"))
    assert ran.returncode == 0, ran.stderr
    micro = "\N{MICRO SIGN}"
    said = f"chain: 5.000 {micro}s for 5 calls of 2 kernels, 100.0 % of the sum"
    assert said in ran.stdout
    assert "5 calls of 2 kernels as one call" in ran.stderr
    [chain] = commands.chains()
    assert (chain["status"], chain["calls"], chain["kernels"]) == ("ok", 5, 2)
    assert chain["parameters"] == {"batch": 4, "seq": 16, "tp": 1}
    assert chain["statistics"]["median_ns"] == pytest.approx(5000)
    assert chain["verification"]["status"] == "passed"
    shown = subprocess.run(
        [sys.executable, "-m", "deepbench", "show", str(commands.file)],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert said in shown.stdout


def test_json_has_the_chain_of_each_pass_and_power_regime(commands: Commands) -> None:
    ran = commands.run(SCRIPT, "batch=1,2", "--power", "both", "--format", "json")
    found = json.loads(ran.stdout)["workload"]
    assert [one["chain"]["calls"] for one in found] == [5] * 4
    assert [one["chain"]["share_of_sum"] for one in found] == pytest.approx([1.0] * 4)


def test_a_table_of_several_batches_has_the_chain_of_each(commands: Commands) -> None:
    ran = commands.run(SCRIPT, "batch=1,2")
    table = ran.stdout.partition("latency against throughput")[2]
    [titles] = [line for line in table.splitlines() if line.startswith("batch ")]
    assert titles.split()[titles.split().index("%") - 1] == "chain"


def test_a_kernel_that_cannot_be_measured_is_left_out(commands: Commands) -> None:
    ran = commands.run(f"{SCRIPT}; when m=32 fail plan unsupported never",
                       *commands.kept("--overwrite"))  # fmt: skip
    [chain] = commands.chains()
    assert (chain["status"], chain["calls"], chain["kernels"]) == ("ok", 4, 1)
    assert "100.0 % of the sum" in ran.stdout


def test_too_many_calls_are_found_before_anything_runs(tmp_path: Path) -> None:
    commands = Commands(tmp_path)
    commands.model.write_text(model_text([LAYER | {"count": 200000}]))
    ran = commands.run(SCRIPT, *commands.kept())
    assert ran.returncode == 2
    assert "a chain has at most 100,000" in ran.stderr
    assert not commands.file.exists()


def test_a_resumed_run_measures_only_the_missing_chains(commands: Commands) -> None:
    assert commands.run(SCRIPT, *commands.kept("--overwrite")).returncode == 0
    lines = commands.file.read_text().splitlines(keepends=True)
    assert json.loads(lines[-1])["type"] == "chain"
    before = commands.file.read_bytes()
    ran = commands.run(SCRIPT, *commands.kept("--resume"))
    assert ran.returncode == 0
    assert commands.file.read_bytes() == before
    assert "% of the sum" in ran.stdout
    commands.file.write_text("".join(lines[:-1]))
    assert commands.run(SCRIPT, *commands.kept("--resume")).returncode == 0
    assert [one["status"] for one in commands.chains()] == ["ok"]


@pytest.mark.parametrize(
    ("fault", "status", "reason"),
    [
        ("crash link", "failed", "the worker crashed: SIGSEGV"),
        ("exit link 7", "failed", "the worker ended"),
        ("fail link unsupported never", "unsupported", "never"),
        ("fail link out_of_memory full", "out_of_memory", "full"),
    ],
)
def test_a_chain_that_fails_costs_no_row(
    commands: Commands, fault: str, status: str, reason: str
) -> None:
    ran = commands.run(f"{SCRIPT}; {fault}", *commands.kept("--overwrite"))
    assert ran.returncode == (0 if status == "unsupported" else 1)
    [chain] = commands.chains()
    assert chain["status"] == status
    assert reason in chain["reason"]
    assert [row.status for row in read(commands.file).rows] == ["ok", "ok"]
    assert f"chain: {status.replace('_', ' ')}: " in ran.stdout
    assert reason in ran.stderr
    assert "time: 5.000" in ran.stdout


def test_a_failed_chain_is_measured_again_with_retry(commands: Commands) -> None:
    commands.run(f"{SCRIPT}; fail link failed torn", *commands.kept("--overwrite"))
    commands.run(SCRIPT, *commands.kept("--resume"))
    assert [one["status"] for one in commands.chains()] == ["failed"]
    ran = commands.run(SCRIPT, *commands.kept("--resume", "--retry"))
    assert ran.returncode == 0
    assert commands.chains()[-1]["status"] == "ok"
    assert "% of the sum" in ran.stdout


def test_a_chain_that_hangs_is_stopped(commands: Commands) -> None:
    ran = commands.run(f"{SCRIPT}; hang link", "--hang-limit", "2", *commands.kept("--overwrite"))
    assert ran.returncode == 1
    assert "no answer within 2.0 s (--hang-limit)" in commands.chains()[0]["reason"]


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"parameters": None}, "parameters"),
        ({"parameters": {"batch": "1"}}, "parameters.batch"),
        ({"calls": -1}, "calls"),
        ({"power": "high"}, "power"),
        ({"statistics": None}, "status is ok, and statistics.median_ns has no value"),
        ({"status": "fine"}, "status"),
    ],
)
def test_a_line_that_is_no_chain_is_refused_with_its_number(
    commands: Commands, changes: dict[str, Any], reason: str
) -> None:
    commands.run(SCRIPT, *commands.kept("--overwrite"))
    *lines, last = commands.file.read_text().splitlines()
    broken = json.dumps({**json.loads(last), **changes})
    with pytest.raises(ResultError, match=f"rows.jsonl:{len(lines) + 1}: .*{reason}"):
        parsed(Path("rows.jsonl"), "\n".join([*lines, broken, ""]).encode())
