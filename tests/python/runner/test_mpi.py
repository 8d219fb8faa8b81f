"""MPI_Allreduce of real MPIs and our ring by their messages: two ranks on this machine, started by
their mpirun and by ourselves. tests/support/mpi_launch.py tells which MPIs."""

from __future__ import annotations

import os
import shlex
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from collective_suite import check_rows, write_suite
from command_line import DEEPBENCH
from deepbench.results import read
from guide_commands import GUIDE, run_shell, shell_text
from kill_campaign import is_running
from mpi_launch import LIMIT_S, mpi_environment, run_mpi
from polling import wait_until

SEGMENTS_OF_MPI = ("sm_segment.", "mpich_", "psm", "vader_")  # of tests that run beside
QUICK = ("--samples", "3", "--time-limit", "1")


def mpirun_command(mpi: Path, *words: str) -> list[str]:
    return [str(mpi / "bin/mpirun"), "-n", "2", sys.executable, "-m", "deepbench", *words]


def start_ranks(mpi: Path, *words: str, output: int) -> subprocess.Popen[bytes]:
    """Two ranks of the command. `output` is where stdout and stderr go."""
    environment = mpi_environment(mpi)
    command = mpirun_command(mpi, *words)
    return subprocess.Popen(command, stdout=output, stderr=output, env=environment)


@pytest.mark.parametrize(
    "page", [page for page in GUIDE if shell_text(page, "mpi")], ids=lambda page: page.stem
)
def test_commands_of_the_guide_run(mpi: Path, page: Path, tmp_path: Path) -> None:
    done = run_shell(shell_text(page, "mpi"), tmp_path, LIMIT_S, **mpi_environment(mpi))
    assert done.returncode == 0, done.stdout + done.stderr


def rows_of(file: Path) -> list[dict[str, Any]]:
    return [dict(row.members) for row in read(file).rows]


def verified_rows_of_two_ranks(
    mpi: Path, file: Path, library: str, *words: str
) -> list[dict[str, Any]]:
    """The rows of two ranks in every precision, in place and not in place. Each row must be
    verified."""
    done = run_mpi(
        mpi,
        mpirun_command(
            mpi,
            "all_reduce",
            "precision=float,half,bfloat16",
            "in_place=no,yes",
            "--library",
            library,
            "-o",
            str(file),
            *QUICK,
            *words,
        ),
    )
    assert done.returncode == 0, done.stderr
    rows = rows_of(file)
    for row in rows:
        assert row["status"] == "ok", row["reason"]
        assert row["verification"]["status"] == "passed"
        assert row["library"].startswith(f"{library} ")
        assert row["regime"]["ranks"] == 2
    return rows


def test_sums_are_exact(mpi: Path, tmp_path: Path) -> None:
    rows = verified_rows_of_two_ranks(mpi, tmp_path / "rows.jsonl", "mpi", "elements=30001")
    assert len(rows) == 6
    for row in rows:
        own = any("so deepbench registers its own operation" in note for note in row["notes"])
        assert own == (row["attributes"]["precision"] != "float")


@pytest.mark.parametrize(
    ("library", "precision", "words"),
    [("mpi", "half", ()), ("ring", "float", ("--algorithm", "mpi"))],
    ids=["mpi", "ring"],
)
def test_every_collective_is_exact(
    mpi: Path, tmp_path: Path, library: str, precision: str, words: tuple[str, ...]
) -> None:
    file = tmp_path / "rows.jsonl"
    suite = str(write_suite(tmp_path, precision))
    command = mpirun_command(mpi, "run", suite, "--library", library, *words, "-o", str(file),
                             *QUICK)  # fmt: skip
    done = run_mpi(mpi, command)
    assert done.returncode == 0, done.stderr
    rows = rows_of(file)
    check_rows(rows, library)
    names = {row["op"]: row["algorithm"]["name"] for row in rows}
    if library == "mpi":
        assert names == {
            "all_reduce": "MPI_Allreduce",
            "all_gather": "MPI_Allgather",
            "reduce_scatter": "MPI_Reduce_scatter_block",
            "all_to_all": "MPI_Alltoall",
            "broadcast": "MPI_Bcast",
            "send_recv": "MPI_Sendrecv",
        }


def test_runs_at_the_same_time_do_not_meet_one_another(mpi: Path) -> None:
    """Nor do runs that follow one another at once."""
    words = ["all_reduce", "elements=1000", "--library", "ring", "--format", "csv", *QUICK]
    command = shlex.join(mpirun_command(mpi, *words))
    loops = [
        subprocess.Popen(
            ["/bin/sh", "-ec", f"{command}; {command}"],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env=mpi_environment(mpi) | {"DEEPBENCH_RENDEZVOUS_TIMEOUT": str(LIMIT_S)},
        )
        for _ in range(3)
    ]
    try:
        for loop in loops:
            _, errors = loop.communicate(timeout=2 * LIMIT_S)
            assert loop.returncode == 0, errors
    finally:
        for loop in loops:
            loop.kill()


def test_ranks_that_we_start_by_mpiexec(mpi: Path, tmp_path: Path) -> None:
    file = tmp_path / "rows.jsonl"
    words = ["all_reduce", "elements=1000", "--ranks", "2", "--library", "mpi", "-o", str(file)]
    done = run_mpi(mpi, [sys.executable, "-m", "deepbench", *words, *QUICK])
    assert done.returncode == 0, done.stderr
    assert [row["status"] for row in rows_of(file)] == ["ok"]


def test_our_ring_by_mpi_is_exact(mpi: Path, tmp_path: Path) -> None:
    sizes = "elements=1,1000,1000003"
    rows = verified_rows_of_two_ranks(
        mpi, tmp_path / "rows.jsonl", "ring", sizes, "--algorithm", "mpi"
    )
    assert len(rows) == 18
    assert {row["algorithm"]["name"] for row in rows} == {"mpi"}


@pytest.mark.parametrize("way", [("--library", "ring", "--algorithm", "mpi"),
                                 ("--algorithm", "ring:mpi")])  # fmt: skip
def test_our_ring_by_mpi_needs_mpirun(tmp_path: Path, way: tuple[str, ...]) -> None:
    file = tmp_path / "rows.jsonl"
    words = ("all_reduce", "elements=8", "--backend", "cpu", "--ranks", "2", *way)
    done = subprocess.run(
        [sys.executable, "-m", "deepbench", *words, "-o", str(file), *QUICK],
        capture_output=True,
        text=True,
        timeout=LIMIT_S,
    )
    assert done.returncode == 1, done.stderr
    [row] = rows_of(file)
    assert row["status"] == "unsupported"
    assert row["reason"].startswith("ring: MPI needs ranks that mpirun starts: mpirun")


# "exhaustive" is "best" without a limit of time, which a busy machine would reach.
def test_mpi_and_the_ring_by_it_are_tried_beside_our_own(mpi: Path, tmp_path: Path) -> None:
    file = tmp_path / "rows.jsonl"
    words = ("all_reduce", "elements=1000", "--algorithm", "exhaustive", "-o", str(file), *QUICK)
    done = run_mpi(mpi, mpirun_command(mpi, *words))
    assert done.returncode == 0, done.stderr
    [row] = rows_of(file)
    assert row["algorithm"]["candidates"] == 4, row["notes"]
    assert not any("left out" in note for note in row["notes"]), row["notes"]


def test_rank_0_alone_answers_a_name_that_is_none(mpi: Path) -> None:
    """MPI, were it started for the answer, would wait for the others."""
    done = run_mpi(mpi, mpirun_command(mpi, "all_reduce", "elements=8", "--algorithm", "mpy"))
    assert done.returncode != 0
    assert "the ranks ended" not in done.stderr


def test_without_mpirun_it_says_how(mpi: Path) -> None:
    done = run_mpi(mpi, [sys.executable, "-m", "deepbench", "all_reduce", "elements=8", "--backend",
                     "cpu", "--library", "mpi"])  # fmt: skip
    assert done.returncode == 1
    assert "--ranks 2" in done.stdout


def test_ranks_of_our_ring_that_are_killed_leave_no_shared_memory(mpi: Path) -> None:
    """Theirs has no name. MPI's own segments keep theirs, but our ring does not start MPI."""
    before = segments()
    words = ("all_reduce", "elements=1000000", "--library", "ring", "--samples", "1000000",
             "--time-limit", "1000")  # fmt: skip
    process = start_ranks(mpi, *words, output=subprocess.DEVNULL)
    try:
        wait_until(lambda: any(maps_our_memory(pid) for pid in followers_of(process.pid)), LIMIT_S)
        for pid in followers_of(process.pid):
            os.kill(pid, signal.SIGKILL)
        process.wait(LIMIT_S)
    finally:
        process.kill()
        process.wait()
    # Other programs of the machine may have one for a moment.
    wait_until(lambda: not segments() - before)


def segments() -> set[str]:
    """The names of the machine's shared memory without MPI's own."""
    names = {path.name for path in Path("/dev/shm").iterdir()}
    return {name for name in names if not name.startswith(SEGMENTS_OF_MPI)}


def maps_our_memory(pid: int) -> bool:
    try:
        return "/memfd:deepbench" in Path(f"/proc/{pid}/maps").read_text()
    except OSError:
        return False


@pytest.mark.parametrize("way", ["mpi:MPI_Allreduce", "ring:mpi"])
def test_a_rank_that_is_killed_ends_all(mpi: Path, tmp_path: Path, way: str) -> None:
    file = tmp_path / "rows.jsonl"
    words = ("all_reduce", "elements=100,200", "--algorithm", way, "--samples", "1000000",
             "--time-limit", "1000", "-o", str(file))  # fmt: skip
    process = start_ranks(mpi, *words, output=subprocess.PIPE)
    try:
        wait_until(lambda: bool(followers_of(process.pid)), LIMIT_S)
        os.kill(followers_of(process.pid)[0], signal.SIGKILL)
        process.communicate(timeout=LIMIT_S)
    finally:
        process.kill()
    assert process.returncode != 0


def test_ranks_that_we_start_by_mpiexec_end_with_the_command(mpi: Path, tmp_path: Path) -> None:
    words = ("all_reduce", "elements=100", "--ranks", "2", "--library", "mpi",
             "--samples", "1000000", "--time-limit", "1000")  # fmt: skip
    process = subprocess.Popen(
        [*DEEPBENCH, *words],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        cwd=tmp_path,
        env=mpi_environment(mpi),
    )
    try:
        wait_until(lambda: bool(followers_of(process.pid)), LIMIT_S)
        [follower] = followers_of(process.pid)
    finally:
        process.kill()
        process.wait()
    wait_until(lambda: not is_running(follower), LIMIT_S)


def followers_of(starter: int) -> list[int]:
    """The ranks beside 0 that have begun to measure: each is a worker, started by mpirun itself."""
    found = []
    for entry in Path("/proc").iterdir():
        try:
            words = (entry / "cmdline").read_bytes().split(b"\0")
            variables = (entry / "environ").read_bytes().split(b"\0")
        except OSError:
            continue
        is_worker = any(word.endswith(b"/deepbench/worker/__main__.py") for word in words)
        if not is_worker or not _descends(int(entry.name), starter):
            continue
        if b"OMPI_COMM_WORLD_RANK=1" in variables or b"PMI_RANK=1" in variables:
            found.append(int(entry.name))
    return found


def _descends(process: int, ancestor: int) -> bool:
    while process > 1:
        if process == ancestor:
            return True
        try:
            stat = Path(f"/proc/{process}/stat").read_text(encoding="utf-8", errors="replace")
        except OSError:
            return False
        process = int(stat.rpartition(")")[2].split()[1])
    return False
