"""Kills processes of a run on two ranks at random moments, and looks at what is left after each
kill: processes, shared memory, and the rows in the file."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
import uuid
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from deepbench.results import read
from rank_processes import rank_environment

VICTIMS = ("parent", "rank 0", "rank 1")
ROWS = 12
START_S = 0.6  # of a kill while the victim starts, counted from its first moment
LIMIT_S = 600
_TAG = "DEEPBENCH_TEST_TAG"
_SHARED_MEMORY = Path("/dev/shm")
# What a row has in common with that of an undisturbed run.
_EQUAL = ("position", "problem", "op", "attributes", "status", "reason", "backend", "device",
          "library", "padding", "conversion")  # fmt: skip


@dataclass
class Findings:
    """What a campaign found."""

    kills: Counter[str] = field(default_factory=Counter)
    problems: list[str] = field(default_factory=list)
    runs: int = 0  # that were resumed to their end

    @property
    def text(self) -> str:
        counts = ", ".join(f"{count} of {victim}" for victim, count in sorted(self.kills.items()))
        return f"{self.kills.total()} kills ({counts}), {self.runs} runs completed"


class KillCampaign:
    """Runs whose processes are killed, one file after the other. A run is resumed after each
    kill of its parent, until it has all rows."""

    def __init__(self, folder: Path, words: Sequence[str], seed: int, orphan_s: float) -> None:
        self.findings = Findings()
        self._folder, self._words = folder, words
        self._orphan_s = orphan_s  # in which every process of a killed run must have ended
        self._random = random.Random(seed)
        self._tag = uuid.uuid4().hex
        self._suite = folder / "suite.txt"
        problems = (f"all_reduce elements={1000 + 64 * place}\n" for place in range(ROWS))
        self._suite.write_text("".join(problems))
        self._file = folder / "whole.jsonl"
        self._shared = shared_memory()
        began = time.monotonic()
        self._end_run()
        self._run_s = time.monotonic() - began
        self._whole = facts_of(self._file)
        self._lines: tuple[str, ...] = ()  # of the file, before the last kill
        assert [row["status"] for row in self._whole] == ["ok"] * ROWS, self._whole

    def run(self, kills: int) -> Findings:
        while self.findings.kills.total() < kills:
            self._file = self._folder / f"run-{self.findings.runs}.jsonl"
            self._lines = ()
            self._disturb_run(kills)
            self._check_end()
            self.findings.runs += 1
        return self.findings

    def _disturb_run(self, kills: int) -> None:
        """Starts the run until it ends by itself, or until there were enough kills."""
        while self.findings.kills.total() < kills:
            process = self._start()
            try:
                if not self._disturb_process(process, kills):
                    return
            finally:
                process.kill()
                process.communicate()

    def _disturb_process(self, process: subprocess.Popen[bytes], kills: int) -> bool:
        """Kills processes of a run. False if the run came to its end."""
        while self.findings.kills.total() < kills:
            victim = self._random.choice(VICTIMS)
            delay_s = self._random.uniform(0, self._random.choice((START_S, self._run_s)))
            pid = self._wait_for_victim(process, victim)
            if pid is None or ended_within(process, pid, delay_s):
                if process.poll() is not None:
                    break
                continue
            before = self._own_processes()
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                continue
            self.findings.kills[victim] += 1
            what = f"kill {self.findings.kills.total()} ({victim}, {delay_s:.3f} s after its start)"
            if victim == "parent":
                process.wait()
                self._check_left(what, before)
                return True
            self._check_left(what, before - {process.pid})
        if process.poll() is None:
            process.wait(LIMIT_S)
        self._check_left("the end of a run", self._own_processes())
        return False

    def _wait_for_victim(self, process: subprocess.Popen[bytes], victim: str) -> int | None:
        """The victim's pid, as soon as there is one; None if the run ends first."""
        while process.poll() is None:
            pids = [process.pid]
            for _ in range(VICTIMS.index(victim)):
                pids = children_of(pids[0]) if pids else []
            if pids:
                return pids[0]
            time.sleep(0.001)
        return None

    def _check_left(self, what: str, pids: set[int]) -> None:
        """Notes which of the processes still run, named shared memory, and what became of the
        file."""
        end = time.monotonic() + self._orphan_s
        while (alive := {pid for pid in pids if is_running(pid)}) and time.monotonic() < end:
            time.sleep(0.01)
        for pid in alive:
            self._note(
                what, f"process {pid} still runs after {self._orphan_s:.0f} s: {command_of(pid)}"
            )
            os.kill(pid, signal.SIGKILL)
        if left := shared_memory() - self._shared:
            self._note(what, f"/dev/shm has {sorted(left)}")
            self._shared |= left
        self._check_file(what)

    def _check_file(self, what: str) -> None:
        """Every row that was in the file is there as it was, and once."""
        if not self._file.exists() or b"\n" not in self._file.read_bytes():
            if self._lines:
                self._note(what, "the file has lost its rows")
            return
        try:
            result = read(self._file)
        except Exception as error:
            self._note(what, f"the file cannot be read: {error}")
            return
        lines, known = tuple(row.line for row in result.rows), self._lines
        if lines[: len(known)] != known:
            self._note(what, f"rows changed: {len(known)} were there, {len(lines)} are there")
        positions = [row.position for row in result.rows]
        if positions != list(range(len(positions))):
            self._note(what, f"rows at the positions {positions}")
        self._lines = lines

    def _check_end(self) -> None:
        """The run can be resumed, and its rows are those of the undisturbed one."""
        self._end_run("--retry")
        found = facts_of(self._file)
        for row, whole in zip(found, self._whole, strict=False):
            if row != whole:
                self._note("the end", f"row {row} instead of {whole}")
        if len(found) != ROWS:
            self._note("the end", f"{len(found)} of {ROWS} rows")

    def _end_run(self, *more: str) -> None:
        process = self._start(*more, errors=subprocess.PIPE)
        said = process.communicate(timeout=LIMIT_S)[1].decode(errors="replace")
        if process.returncode not in (0, 1):  # 1: a busy machine may make a row mistrusted
            self._note("the end", f"a run that goes on ends with {process.returncode}: {said}")

    def _start(self, *more: str, errors: int = subprocess.DEVNULL) -> subprocess.Popen[bytes]:
        command = [
            sys.executable, "-m", "deepbench", "run", str(self._suite), "--ranks", "2",
            "--samples", "2", "--time-limit", "1", "--format", "csv", "-o", str(self._file),
            "--resume", *self._words, *more,
        ]  # fmt: skip
        return subprocess.Popen(
            command, stdout=subprocess.DEVNULL, stderr=errors,
            env=rank_environment(**{_TAG: self._tag, "CUDA_VISIBLE_DEVICES": ""}),
        )  # fmt: skip

    def _own_processes(self) -> set[int]:
        """The processes of this campaign, which inherit its tag."""
        tag = f"{_TAG}={self._tag}".encode()
        return {pid for pid in all_pids() if tag in environment_of(pid).split(b"\0")}

    def _note(self, what: str, problem: str) -> None:
        self.findings.problems.append(f"{self._file.name}, {what}: {problem}")


def ended_within(process: subprocess.Popen[bytes], pid: int, seconds: float) -> bool:
    """Waits. Whether the process or the run has ended meanwhile."""
    end = time.monotonic() + seconds
    while (left := end - time.monotonic()) > 0:
        if process.poll() is not None or not is_running(pid):
            return True
        time.sleep(min(left, 0.02))
    return False


def facts_of(file: Path) -> list[dict[str, Any]]:
    """Of each row what does not vary from run to run. A mistrusted time is one of a busy
    machine."""
    found = []
    for row in read(file).rows:
        facts = {name: row.members.get(name) for name in _EQUAL}
        facts["verification"] = (row.members.get("verification") or {}).get("status")
        if facts["status"] == "mistrusted":
            facts |= {"status": "ok", "reason": None}
        found.append(facts)
    return found


def shared_memory() -> set[str]:
    """The names of deepbench's segments. Other programs have theirs there too."""
    names = (path.name for path in _SHARED_MEMORY.iterdir()) if _SHARED_MEMORY.is_dir() else ()
    return {name for name in names if "deepbench" in name}


def all_pids() -> list[int]:
    return [int(path.name) for path in Path("/proc").iterdir() if path.name.isdigit()]


def children_of(pid: int) -> list[int]:
    return [int(word) for word in _proc(pid, f"task/{pid}/children").split()]


def environment_of(pid: int) -> bytes:
    return _proc(pid, "environ")


def command_of(pid: int) -> str:
    return _proc(pid, "cmdline").replace(b"\0", b" ").decode(errors="replace")


def is_running(pid: int) -> bool:
    """Whether the process exists and is no zombie."""
    stat = _proc(pid, "stat")
    return bool(stat) and b") Z " not in stat


def _proc(pid: int, name: str) -> bytes:
    try:
        return Path(f"/proc/{pid}/{name}").read_bytes()
    except OSError:
        return b""
