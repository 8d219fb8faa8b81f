"""Runs 600 rows on a backend that fails in every way, and kills its worker and parent.
Only the rows in progress may be lost, and the others must equal those of an undisturbed run. The
tests use real processes and the command line."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from deepbench.results import read
from example_rows import members
from fake_plugin import build_fake_backend
from polling import wait_until

ROWS = 600
FAULTS = (
    "crash prepare", "abort time_batch", "exit prepare 7", "crash time_batch", "crash plan",
    "abort read_output",
)  # fmt: skip
CRASHES = {  # by the row's place; with rows that are ok between them
    place: fault
    for first, fault in enumerate(FAULTS)
    for place in range(11 + 3 * first, ROWS, ROWS // 5)
}
HANGS = range(410, ROWS, 19)
FOR_NOTHING = {100: "crash destroy"}  # after the row is out
PARENT_KILLED, WORKERS_KILLED = (77, 290, 400), (201, 265)  # in the middle of these rows
# Ceilings, which every worker measures anew, take longer than all the rest.
WITHOUT_CEILINGS = (
    "when n=1024 fail plan unsupported none\nwhen kind=read fail plan unsupported none"
)
LONG_S, SHORT_S = 300, 2  # hang limits: never reached, and long for a row of some milliseconds

# Of clocks, what a row found measured by those before it, and what was compared.
VARYING = ("stages_ns", "host_ns", "first_call_ns", "bound", "notes", "started")
VARYING_OF_VERIFICATION = ("seed", "max_error_ratio", "max_error_check")


def problem_at(place: int) -> str:
    """Two operations in turn."""
    if place % 2:
        return f"gemm m={8 + place} n=8 k=16"
    return f"memory kind=copy bytes={4096 + 4 * place}"


def fault_script(faults: Mapping[int, str]) -> str:
    conditions = {place: problem_at(place).split()[-1 if place % 2 == 0 else 1] for place in faults}
    return "\n".join(f"when {conditions[place]} {fault}" for place, fault in faults.items())


class ResumedRun:
    """The command, which goes on with its file as often as it is started."""

    def __init__(self, folder: Path, plugin: Path) -> None:
        self.folder = folder
        folder.mkdir()
        self.file = folder / "rows.jsonl"
        suite = folder / "suite.txt"
        suite.write_text("".join(f"{problem_at(place)}\n" for place in range(ROWS)))
        self._command = [
            sys.executable, "-m", "deepbench", "run", str(suite), "--backend", str(plugin),
            "--samples", "2", "--format", "csv", "-o", str(self.file), "--resume",
        ]  # fmt: skip
        self._process: subprocess.Popen[str] | None = None

    def start(self, faults: Mapping[int, str], stops: tuple[int, ...], limit_s: int) -> None:
        """Starts the run and waits until it reaches one of the rows at which it stops."""
        holds = [(place, self._begin_mark(place)) for place in stops]
        lines = [WITHOUT_CEILINGS, fault_script(faults)]
        lines += [fault_script({place: f"log {began}"}) for place, began in holds]
        lines += [fault_script({place: "hang time_batch"}) for place in stops]
        (self.folder / "script").write_text("\n".join(lines))
        self._process = subprocess.Popen(
            [*self._command, "--hang-limit", str(limit_s)],
            stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
            env=os.environ | {"DEEPBENCH_FAKE_SCRIPT": f"@{self.folder / 'script'}"},
        )  # fmt: skip

    def wait_for(self, place: int) -> None:
        """Waits until the worker runs this row and the file contains all rows before it."""
        began = self._begin_mark(place)
        wait_until(lambda: began.exists() and "time_batch" in began.read_text())
        assert len(read(self.file).rows) == place

    def kill_worker(self) -> None:
        os.kill(self._worker_pid(), signal.SIGKILL)

    def kill_parent(self) -> None:
        """Kills the parent, which then writes no further line; its worker ends with it."""
        assert self._process is not None
        before, worker = self.file.read_bytes(), self._worker_pid()
        self._process.kill()
        self._process.communicate()
        wait_until(lambda: not is_alive(worker))
        assert self.file.read_bytes() == before

    def end(self) -> str:
        """Waits for the end; what was said."""
        assert self._process is not None
        said = self._process.communicate()[1]
        assert self._process.returncode in (0, 1), said
        return said

    def stop(self) -> None:
        if self._process is not None and self._process.poll() is None:
            self._process.kill()
            self._process.communicate()

    def _begin_mark(self, place: int) -> Path:
        return self.folder / f"began-{place}"

    def _worker_pid(self) -> int:
        assert self._process is not None
        pid = self._process.pid
        (child,) = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
        return int(child)


def is_alive(pid: int) -> bool:
    try:
        return ") Z " not in Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return False


def without_measured_values(row: Mapping[str, Any]) -> dict[str, Any]:
    kept = {key: value for key, value in row.items() if key not in VARYING}
    verification = {
        key: value
        for key, value in (row["verification"] or {}).items()
        if key not in VARYING_OF_VERIFICATION
    }
    return {**kept, "verification": verification}


@pytest.mark.skipif(
    not Path(f"/proc/self/task/{os.getpid()}/children").exists(),
    reason="a process cannot be asked for its children here",
)
def test_nothing_is_lost_but_the_rows_in_hand(tmp_path: Path) -> None:
    plugin = build_fake_backend(tmp_path / "libdeepbench_fake.so")
    whole, disturbed = (ResumedRun(tmp_path / name, plugin) for name in ("whole", "disturbed"))
    try:
        whole.start({}, (), LONG_S)
        said = run_disturbed(disturbed)
        whole.end()
    finally:
        whole.stop()
        disturbed.stop()
    check_rows(members(read(disturbed.file).rows), members(read(whole.file).rows))
    assert "reached the restart limit" not in said
    assert "600 rows: 558 ok, 42 failed" in said
    assert b"\n\n" not in disturbed.file.read_bytes()


def run_disturbed(disturbed: ResumedRun) -> str:
    """Runs the command with all faults and returns the last process's output."""
    faults = {**CRASHES, **FOR_NOTHING, **dict.fromkeys(HANGS, "hang time_batch")}
    first, second, third = PARENT_KILLED
    disturbed.start(faults, (first,), LONG_S)
    disturbed.wait_for(first)
    disturbed.kill_parent()
    disturbed.start(faults, (*WORKERS_KILLED, second), LONG_S)
    for place in WORKERS_KILLED:
        disturbed.wait_for(place)
        disturbed.kill_worker()
    disturbed.wait_for(second)
    disturbed.kill_parent()
    disturbed.start(faults, (third,), LONG_S)
    disturbed.wait_for(third)
    disturbed.kill_parent()
    disturbed.start(faults, (), SHORT_S)
    return disturbed.end()


def check_rows(
    rows: tuple[Mapping[str, Any], ...], undisturbed: tuple[Mapping[str, Any], ...]
) -> None:
    assert [row["position"] for row in rows] == list(range(ROWS))
    assert (len(CRASHES), len(HANGS), len(PARENT_KILLED) + len(WORKERS_KILLED)) == (30, 10, 5)
    lost = {
        **dict.fromkeys(CRASHES, ("failed", "crashed")),
        **dict.fromkeys(HANGS, ("failed", "hung")),
        **dict.fromkeys(WORKERS_KILLED, ("failed", "killed")),
    }
    for row, other in zip(rows, undisturbed, strict=True):
        expected = lost.get(row["position"], ("ok", None))
        assert (row["status"], (row["observed"] or {}).get("worker")) == expected, row["reason"]
        if expected[0] == "ok":
            assert without_measured_values(row) == without_measured_values(other)
        else:
            for key in ("problem", "op", "attributes", "application", "work", "backend", "device"):
                assert row[key] == other[key]
    assert Counter(row["status"] for row in rows)["ok"] == ROWS - 30 - 10 - 2
