"""Ranks that mpirun has started on several machines without MASTER_ADDR: they learn by MPI where
rank 0 listens. The machines are made up: each rank is told that it is alone on its own.
"""

from __future__ import annotations

import ctypes
import shutil
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from deepbench.results import read
from mpi_launch import LIMIT_S, mpi_environment, run_mpi

ALONE = "MPI_LOCALNRANKS=1 OMPI_COMM_WORLD_LOCAL_SIZE=1"
WORDS = ("all_reduce", "elements=1000", "--backend", "cpu", "--samples", "3", "--time-limit", "1")
# A launcher's variables, by the names of the libraries that are searched for under it.
LAUNCHERS = {
    "mpich": ("PMI_RANK", "PMI_SIZE"),
    "openmpi": ("OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"),
}
NAMES = ("libmpi.so", "libmpi.so.12", "libmpich.so.12", "libmpi.so.40", "libmpi.so.80")


def run_on_two_machines(
    mpi: Path, *words: str, second: str = 'exec "$@"', **variables: str
) -> subprocess.CompletedProcess[str]:
    """The command as two ranks. `second` is what the shell of rank 1 does in place of it."""
    script = f"""export {ALONE}
        if [ "$OMPI_COMM_WORLD_RANK$PMI_RANK" = 1 ]; then {second}; else exec "$@"; fi"""
    command = [str(mpi / "bin/mpirun"), "-n", "2", "sh", "-c", script, "sh"]
    return run_mpi(mpi, [*command, sys.executable, "-m", "deepbench", *WORDS, *words], **variables)


def run_rank_without_mpirun(launcher: str, rank: int, **variables: str) -> str:
    """What a rank says that has the variables of an mpirun, of which it is no process."""
    names = dict(zip(LAUNCHERS[launcher], (str(rank), "2"), strict=True))
    kept = mpi_environment(Path(sys.prefix)) | {"DEEPBENCH_CPU_LIBRARY_PATH": ""}
    done = subprocess.run(
        [sys.executable, "-m", "deepbench", *WORDS],
        capture_output=True,
        text=True,
        timeout=LIMIT_S,
        env=kept | names | variables,
    )
    assert done.returncode == 2, done.stdout + done.stderr
    return done.stderr


def is_open_mpi(mpi: Path) -> bool:
    return (mpi / "bin/ompi_info").exists()


def free_port() -> str:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return str(one.getsockname()[1])


@pytest.mark.parametrize(
    "way",
    [("--library", "mpi"), ("--algorithm", "ring:mpi"), ("--algorithm", "ring:sockets")],
    ids=lambda way: way[1],
)
def test_ranks_meet(mpi: Path, tmp_path: Path, way: tuple[str, ...]) -> None:
    """Also if MPI, which runs already, is what the row measures."""
    file = tmp_path / "rows.jsonl"
    done = run_on_two_machines(mpi, *way, "-o", str(file))
    assert done.returncode == 0, done.stderr
    assert "can join or end this run" not in done.stderr
    [row] = [dict(row.members) for row in read(file).rows]
    assert row["status"] == "ok", row["reason"]
    assert row["verification"]["status"] == "passed"
    assert row["regime"]["ranks"] == 2


def test_a_secret_of_the_user_stays_in_force(mpi: Path) -> None:
    second = 'DEEPBENCH_RANKS_SECRET=another exec "$@"'
    done = run_on_two_machines(mpi, second=second, DEEPBENCH_RANKS_SECRET="one",
                               DEEPBENCH_RENDEZVOUS_TIMEOUT="4")  # fmt: skip
    assert done.returncode != 0
    assert "DEEPBENCH_RANKS_SECRET must be the same on all ranks" in done.stderr
    assert "rank 1 of 2 did not connect to " in done.stderr


def test_a_port_that_is_taken_is_said_on_each_rank(mpi: Path) -> None:
    with socket.socket() as taken:
        taken.bind(("", 0))
        taken.listen()
        port = str(taken.getsockname()[1])
        done = run_on_two_machines(mpi, MASTER_PORT=port)
    assert done.returncode != 0
    said = f"rank 0 of 2 cannot listen on port {port} of "
    assert f"deepbench: error: {said}" in done.stderr
    assert f"deepbench: rank 1: {said}" in done.stderr


def test_a_rank_that_never_starts_mpi(mpi: Path) -> None:
    done = run_on_two_machines(mpi, second="exec sleep 120", DEEPBENCH_RENDEZVOUS_TIMEOUT="3")
    assert done.returncode != 0
    said = "MPI has not brought the ranks together within 3 s; set MASTER_ADDR on every rank"
    assert f"deepbench: error: {said}" in done.stderr


def test_a_mistake_that_rank_0_finds_ends_the_others(mpi: Path, tmp_path: Path) -> None:
    file = tmp_path / "rows.jsonl"
    file.touch()
    done = run_on_two_machines(mpi, "-o", str(file))
    assert done.returncode != 0
    assert f"deepbench: error: {file}: exists" in done.stderr
    assert "deepbench: rank 1: rank 0 of 2" in done.stderr


def test_a_mistake_is_said_though_no_other_rank_starts_mpi(mpi: Path, tmp_path: Path) -> None:
    file = tmp_path / "rows.jsonl"
    file.touch()
    done = run_on_two_machines(mpi, "-o", str(file), second="exec sleep 120",
                               DEEPBENCH_RENDEZVOUS_TIMEOUT="2")  # fmt: skip
    assert done.returncode != 0
    assert f"deepbench: error: {file}: exists" in done.stderr


def test_master_addr_counts_before_mpi(mpi: Path) -> None:
    """MPI would wait for the rank that is missing, and not name it."""
    place = {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": free_port()}
    assert run_on_two_machines(mpi, **place).returncode == 0
    done = run_on_two_machines(mpi, second="exit 0", DEEPBENCH_RENDEZVOUS_TIMEOUT="3", **place)
    assert done.returncode != 0
    said = f"rank 1 of 2 did not connect to 127.0.0.1:{place['MASTER_PORT']} within 3 s"
    assert said in done.stderr


@pytest.mark.parametrize("rank", [0, 1])
def test_an_mpi_that_does_not_know_the_ranks(mpi: Path, rank: int) -> None:
    launcher = "openmpi" if is_open_mpi(mpi) else "mpich"
    said = run_rank_without_mpirun(launcher, rank, DEEPBENCH_CPU_LIBRARY_PATH=str(mpi / "lib"))
    assert "MASTER_ADDR is not set" in said
    place = f"MPI calls this process rank 0 of 1, but deepbench calls it rank {rank} of 2"
    assert place in said
    assert "start the command with the mpirun of this MPI" in said


@pytest.mark.parametrize("launcher", LAUNCHERS)
@pytest.mark.parametrize("rank", [0, 1])
def test_without_an_mpi_master_addr_is_asked_for(launcher: str, rank: int) -> None:
    if any(map(is_loadable, NAMES)):
        pytest.skip("the loader finds an MPI of this machine")
    said = run_rank_without_mpirun(launcher, rank)
    assert "as one of 2 ranks, but MASTER_ADDR is not set: set it on every rank" in said
    assert " was not found; " in said
    assert "name its folder in DEEPBENCH_CPU_LIBRARY_PATH" in said


def is_loadable(name: str) -> bool:
    try:
        ctypes.CDLL(name)
    except OSError:
        return False
    return True


def test_a_library_that_is_no_known_mpi(tmp_path: Path, plugin: Path) -> None:
    shutil.copy(plugin, tmp_path / "libmpi.so.12")
    said = run_rank_without_mpirun("mpich", 1, DEEPBENCH_CPU_LIBRARY_PATH=str(tmp_path))
    assert f"{tmp_path}/libmpi.so.12 is neither Open MPI nor an MPI with the MPICH ABI" in said
