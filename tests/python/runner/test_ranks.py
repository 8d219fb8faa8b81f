"""Several ranks through the command line: what they sum, what rank 0 says of them, and that nothing
hangs when one of them is late, gone or asked for something else.

Where a test waits for a limit, the limit is short on purpose; no other is near what a busy machine
needs.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import resource
import signal
import socket
import struct
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from command_line import DEEPBENCH, WAITING
from deepbench.results import read
from deepbench.runner import ranks as runner_ranks
from deepbench.runner.oom_kills import OomKills
from deepbench.runner.ranks import worker_command
from polling import wait_until
from rank_processes import (
    LIMIT_S,
    QUICK,
    RankProcesses,
    deepbench,
    rank_environment,
    rows_of,
    run_two_ranks,
)


@pytest.fixture(autouse=True)
def on_the_cpu(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "")


# ---- sums ----------------------------------------------------------------------------------------


def test_ranks_that_it_starts_itself(tmp_path: Path) -> None:
    file = tmp_path / "rows.jsonl"
    done = deepbench("all_reduce", "elements=1000,50001", "precision=float,half",
                     "in_place=no,yes", "--ranks", "2", "-o", str(file), *QUICK)  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert "2 ranks" in done.stderr
    rows = rows_of(file)
    assert len(rows) == 8
    for row in rows:
        assert row["status"] == "ok", row["reason"]
        assert row["verification"]["status"] == "passed"
        assert row["verification"]["checked"] == row["attributes"]["elements"]
        assert row["regime"]["ranks"] == 2
        metrics = {metric["name"]: metric["value"] for metric in row["metrics"]}
        assert metrics["busbw"] == pytest.approx(metrics["algbw"])  # of two ranks
        assert metrics["call_p50"] <= metrics["call_p99"]
        assert metrics["slowest_rank"] in (0, 1)
        assert 0 <= metrics["rank_spread"] <= 100
        [bitwise] = [one for one in row["metrics"] if one["name"] == "bitwise"]
        assert 2 <= bitwise["value"] <= 100
        assert bitwise["unit"] == f"/{bitwise['value']:.0f}"  # the ring's sums have one order
    context = read(file).context
    assert context["ranks"]["count"] == 2
    assert len(set(context["ranks"]["machines"])) == 1
    assert context["options"]["ranks"] == "2"


@pytest.mark.skipif(not hasattr(os, "sched_setaffinity"), reason="processes have no masks here")
def test_more_ranks_than_cores_are_warned_of(tmp_path: Path) -> None:
    file, mask = tmp_path / "rows.jsonl", os.sched_getaffinity(0)
    words = ("gemm", "m=8", "n=8", "k=8", "float", "--ranks", "2", "-o", str(file), *QUICK)
    os.sched_setaffinity(0, {min(mask)})
    try:
        done = deepbench(*words)
    finally:
        os.sched_setaffinity(0, mask)
    assert done.returncode == 0, done.stderr
    assert "warning: 2 ranks take turns on a core" in done.stderr
    assert any("2 ranks take turns" in text for text in read(file).context["warnings"])


def test_ranks_that_others_started_and_other_operations_beside(tmp_path: Path) -> None:
    suite, file = tmp_path / "mine.txt", tmp_path / "rows.jsonl"
    suite.write_text("all_reduce elements=3000\ngemm m=8 n=8 k=8 precision=float\n")
    first, second = run_two_ranks("run", str(suite), "-o", str(file), "--no-verify", *QUICK)
    assert first[0] == 0, first[2]
    assert second[:2] == (0, "")
    assert [row["status"] for row in rows_of(file)] == ["ok", "ok"]


def test_alone_it_says_how_to_be_several() -> None:
    done = deepbench("all_reduce", "elements=3000", "--backend", "cpu")
    assert done.returncode == 1
    assert "--ranks 2" in done.stdout


# ---- what is refused at the start ----------------------------------------------------------------


@pytest.mark.parametrize("number", ["1", "0", "-2", "two", "5000", "²"])
def test_a_number_of_ranks_that_makes_no_sense(number: str) -> None:
    done = deepbench("all_reduce", "elements=30", f"--ranks={number}")
    assert done.returncode == 2
    assert f"--ranks {number!r}: must be a whole number from 2 to 1024" in done.stderr


def test_ranks_are_processes() -> None:
    assert deepbench("all_reduce", "elements=3", "--ranks", "2", "--in-process").returncode == 2
    place = {"RANK": "0", "WORLD_SIZE": "2", "MASTER_ADDR": "127.0.0.1"}
    done = deepbench("all_reduce", "elements=3", "--ranks", "2", **place)
    assert (done.returncode, done.stdout) == (2, "")
    assert "this process is already rank 0 of 2, started by torchrun" in done.stderr


def test_variables_that_make_no_sense() -> None:
    done = deepbench("all_reduce", "elements=3", RANK="5", WORLD_SIZE="2", MASTER_ADDR="a")
    assert done.returncode == 2
    assert "RANK=5 must be a number from 0 to 1" in done.stderr


def test_arguments_that_differ() -> None:
    ranks = RankProcesses(2)
    ranks.start(0, "all_reduce", "elements=3000", "half")
    ranks.start(1, "all_reduce", "elements=3000", "float")
    first, second = ranks.wait_for_all()
    for status, out, err in (first, second):
        assert (status, out) == (2, "")
        assert "rank 1 runs 'all_reduce elements=3000 float', rank 0 runs" in err


def test_another_version() -> None:
    from deepbench import _core

    ranks = RankProcesses(2)
    ranks.start(0, "all_reduce", "elements=3000")
    environment = _core.LaunchEnvironment(1, 2, "127.0.0.1", ranks.port, timeout_s=LIMIT_S)
    reason = "a rank runs deepbench 0.0.1, rank 0 runs"
    with pytest.raises(_core.BackendError, match=reason):
        _core.Rendezvous(environment, "all_reduce elements=3000", version="0.0.1").wait()
    [(status, _, err)] = ranks.wait_for_all()
    assert status == 2
    assert reason in err


def test_strangers_end_nothing() -> None:
    """A process that does not know the secret gets no answer, whatever its version."""
    from deepbench import _core

    ranks, secret = RankProcesses(2), {"DEEPBENCH_RANKS_SECRET": "the ranks' own"}
    words = ("all_reduce", "elements=3000", *QUICK)
    ranks.start(0, *words, **secret)
    with _connect_to(ranks.port):  # who says nothing
        for protocol, version, guess in (
            ("deepbench rank 2", "0.0.1", ""),
            ("deepbench rank 2", _core.version, "a guess"),
            ("deepbench rank 3", "0.0.1", "a guess"),
        ):
            with _connect_to(ranks.port) as stranger:
                stranger.sendall(_greeting(protocol, version, guess))
                assert stranger.recv(1000) == b""
        ranks.start(1, *words, **secret)
        (status, out, err), (other_status, _, other_err) = ranks.wait_for_all()
    assert (status, other_status) == (0, 0), err + other_err
    assert "yes" in out  # verified


def test_a_rank_with_another_secret_is_told_the_cure() -> None:
    ranks, words = RankProcesses(2), ("all_reduce", "elements=3", *QUICK)
    for rank, secret in enumerate(("one", "another")):
        given = {"DEEPBENCH_RANKS_SECRET": secret, "DEEPBENCH_RENDEZVOUS_TIMEOUT": "6"}
        ranks.start(rank, *words, **given)
    (_, _, first), (_, _, other) = ranks.wait_for_all()
    assert "did not connect" in first
    assert "DEEPBENCH_RANKS_SECRET must be the same on all ranks" in other


@pytest.mark.skipif(not Path("/proc/net/tcp").exists(), reason="there is no /proc here")
@pytest.mark.parametrize("address", ["127.0.0.1", "localhost"])
def test_nobody_else_can_come_where_all_ranks_are_on_this_machine(address: str) -> None:
    from deepbench import _core

    rendezvous = _core.Rendezvous(
        _core.LaunchEnvironment(0, 2, address, 0, "a secret", 1), "a command"
    )
    files = [path for path in (Path("/proc/net/tcp"), Path("/proc/net/tcp6")) if path.exists()]
    lines = [line.split() for path in files for line in path.read_text().splitlines()[1:]]
    places = [line[1] for line in lines if line[3] == "0A"]  # who listens, as ADDRESS:PORT
    ours = [place for place in places if place.endswith(f":{rendezvous.port:04X}")]
    loopback = {"0100007F", "00000000000000000000000001000000"}
    assert ours
    assert {place.partition(":")[0] for place in ours} <= loopback


def _connect_to(port: int) -> socket.socket:
    """A connection to rank 0, once it listens."""
    while True:
        try:
            return socket.create_connection(("127.0.0.1", port), timeout=LIMIT_S)
        except ConnectionRefusedError:
            _wait_for_group()


def _greeting(protocol: str, version: str, secret: str) -> bytes:
    """The first message of a rank, preceded by its length and followed by the code that proves the
    secret."""

    def blake2s(key: bytes, text: bytes, size: int) -> bytes:
        return hashlib.blake2s(text, key=key, digest_size=size).digest()

    texts = (protocol, version, "n" * 16)
    fields = b"".join(struct.pack("=Q", len(text)) + text.encode() for text in texts)
    hashed = blake2s(b"", secret.encode(), 32) if secret else b""
    message = fields + blake2s(blake2s(hashed, b"greeting", 32), fields, 16)
    return struct.pack("=Q", len(message)) + message


def test_the_greeting_of_the_test_is_one() -> None:
    """With the secret it is answered, so that silence elsewhere tells of the secret. It ends
    nothing: a stranger may have recorded it."""
    ranks, secret = RankProcesses(2), {"DEEPBENCH_RANKS_SECRET": "the ranks' own"}
    words = ("all_reduce", "elements=3000", *QUICK)
    ranks.start(0, *words, **secret)
    with _connect_to(ranks.port) as old, _connect_to(ranks.port) as silent:
        old.sendall(_greeting("deepbench rank 2", "0.0.1", "the ranks' own"))
        assert b"a rank runs deepbench 0.0.1, rank 0 runs" in old.recv(1000)
        silent.sendall(_greeting("deepbench rank 3", "0.0.1", "the ranks' own"))
        answer = silent.recv(1000)
        assert answer
        assert b"all_reduce" not in answer
        ranks.start(1, *words, **secret)
        (status, _, err), (other_status, _, other_err) = ranks.wait_for_all()
    assert (status, other_status) == (0, 0), err + other_err


def test_a_recorded_greeting_takes_no_place() -> None:
    """A stranger listens where rank 0 will listen, and repeats to rank 0 what rank 1 said to it."""
    ranks, secret = RankProcesses(3), {"DEEPBENCH_RANKS_SECRET": "the ranks' own"}
    words = ("all_reduce", "elements=3000", *QUICK)
    with socket.create_server(("127.0.0.1", ranks.port)) as listener:
        listener.settimeout(LIMIT_S)
        ranks.start(1, *words, **secret)
        with listener.accept()[0] as rank:
            recorded = _first_message(rank)
    assert b"all_reduce" not in recorded
    ranks.start(0, *words, **secret)
    with _connect_to(ranks.port) as stranger:
        stranger.sendall(recorded)
        assert b"all_reduce" not in stranger.recv(1000)
        ranks.start(2, *words, **secret)  # without which the run does not begin
        ended = ranks.wait_for_all()
    assert [status for status, _, _ in ended] == [0, 0, 0], ended


def _first_message(connection: socket.socket) -> bytes:
    connection.settimeout(LIMIT_S)
    message = b""
    while len(message) < 8 or len(message) < 8 + struct.unpack("=Q", message[:8])[0]:
        message += connection.recv(1)
    return message


def test_ranks_that_it_starts_listen_nowhere(plugin: Path) -> None:
    """No process of the run has a socket that accepts connections."""
    listening = _listening_sockets()
    process = subprocess.Popen(
        [*DEEPBENCH, "all_reduce", "elements=1000", "--ranks", "2", "--backend", "fake", *QUICK],
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, text=True, stdin=subprocess.DEVNULL,
        env=rank_environment(
            DEEPBENCH_BACKEND_PATH=str(plugin), DEEPBENCH_FAKE_SCRIPT="hang time_batch"
        ),
    )  # fmt: skip
    try:
        wait_until(lambda: len(_descendants(process.pid)) == 2)
        inodes = {
            link
            for pid in (process.pid, *_descendants(process.pid))
            for link in _descriptors_of(pid)
        }
        assert not inodes & (_listening_sockets() - listening)
    finally:
        process.kill()
        process.wait()


# ---- ranks of one machine that a launcher starts -------------------------------------------------


@pytest.fixture
def one_machine() -> Iterator[dict[str, str]]:
    """The variables of torchrun on one machine, and a runtime folder, whose path must be short."""
    with tempfile.TemporaryDirectory() as folder:
        yield {"LOCAL_WORLD_SIZE": "2", "XDG_RUNTIME_DIR": folder}


def _sockets_of(variables: Mapping[str, str]) -> list[Path]:
    folder = Path(variables["XDG_RUNTIME_DIR"]) / "deepbench"
    return list(folder.iterdir()) if folder.exists() else []


def test_ranks_of_one_machine_meet_in_a_folder_of_their_user(one_machine: dict[str, str]) -> None:
    words = ("all_reduce", "elements=3000", *QUICK)
    (status, out, err), (other_status, _, other_err) = run_two_ranks(*words, **one_machine)
    assert (status, other_status) == (0, 0), err + other_err
    assert "yes" in out  # verified
    assert "secret" not in err
    folder = Path(one_machine["XDG_RUNTIME_DIR"]) / "deepbench"
    assert folder.stat().st_mode & 0o777 == 0o700
    assert _sockets_of(one_machine) == []


def test_a_rank_0_that_is_killed_while_it_waits_is_replaced(one_machine: dict[str, str]) -> None:
    """Meanwhile it listens at no port."""
    listening, words = _listening_sockets(), ("all_reduce", "elements=3000", *QUICK)
    waiting = RankProcesses(2)
    process = waiting.start(0, *words, **one_machine)
    wait_until(lambda: bool(_sockets_of(one_machine)), LIMIT_S)
    tree = (process.pid, *_descendants(process.pid))
    inodes = {link for pid in tree for link in _descriptors_of(pid)}
    assert not inodes & (_listening_sockets() - listening)
    process.kill()  # the kernel then kills its worker
    waiting.wait_for_all()
    assert len(_sockets_of(one_machine)) == 1
    (status, _, err), (other_status, _, _) = run_two_ranks(*words, **one_machine)
    assert (status, other_status) == (0, 0), err
    assert _sockets_of(one_machine) == []


@pytest.mark.parametrize(
    ("variable", "least", "most"),
    [("DEEPBENCH_RENDEZVOUS_TIMEOUT", 1, 86400), ("DEEPBENCH_CONNECTION_TIMEOUT", 4, 3600)],
)
@pytest.mark.parametrize("value", ["0.5", "100000", "x"])
def test_a_limit_that_is_none_is_refused_before_ranks_start(
    variable: str, least: int, most: int, value: str
) -> None:
    words = ("all_reduce", "elements=3", "--ranks", "2", "--backend", "cpu")
    done = deepbench(*words, **{variable: value})
    assert (done.returncode, done.stdout) == (2, "")
    what = f"the variable {variable}={value} must be a number of seconds from {least} to {most}"
    assert done.stderr.splitlines()[-1].endswith(what)
    assert "rank 1" not in done.stderr


def test_a_rank_of_one_machine_that_does_not_come(one_machine: dict[str, str]) -> None:
    for rank in (0, 1):
        ranks, limit = RankProcesses(2), {"DEEPBENCH_RENDEZVOUS_TIMEOUT": "1"}
        ranks.start(rank, "all_reduce", "elements=3000", **one_machine, **limit)
        [(status, out, err)] = ranks.wait_for_all()
        assert (status, out) == (2, "")
        assert f"{one_machine['XDG_RUNTIME_DIR']}/deepbench/ranks-" in err
    assert "does not answer: No such file or directory" in err


def test_a_folder_that_others_can_enter_is_refused(one_machine: dict[str, str]) -> None:
    folder = Path(one_machine["XDG_RUNTIME_DIR"]) / "deepbench"
    folder.mkdir()
    folder.chmod(0o755)
    for status, out, err in run_two_ranks("all_reduce", "elements=3000", **one_machine):
        assert (status, out) == (2, "")
        [line] = err.removeprefix(WAITING).splitlines()
        assert f"ranks cannot meet in the folder '{folder}': it is open to other users" in line


def _listening_sockets() -> set[str]:
    lines = [
        line.split()
        for name in ("tcp", "tcp6")
        if (path := Path("/proc/net") / name).exists()
        for line in path.read_text().splitlines()[1:]
    ]
    return {f"socket:[{line[9]}]" for line in lines if line[3] == "0A"}


def _descriptors_of(pid: int) -> set[str]:
    found = set()
    for link in Path(f"/proc/{pid}/fd").iterdir():
        with contextlib.suppress(OSError):
            found.add(os.readlink(link))  # noqa: PTH115
    return found


def _descendants(pid: int) -> list[int]:
    children = [
        int(word)
        for path in Path(f"/proc/{pid}/task").glob("*/children")
        for word in path.read_text().split()
    ]
    return children + [one for child in children for one in _descendants(child)]


def test_a_worker_whose_parent_is_gone_ends_at_once() -> None:
    command = worker_command("cpu", (), is_child=False)
    command[-1:] = ["--parent", "1", "cpu"]  # as if its parent had ended and init adopted it
    done = subprocess.run(
        command, input="", capture_output=True, text=True, timeout=LIMIT_S, env=rank_environment()
    )
    assert (done.returncode, done.stdout) == (1, "")


def test_a_limit_of_open_files_is_named() -> None:
    done = subprocess.run(
        [*DEEPBENCH, "all_reduce", "elements=3", "--ranks", "100", "--backend", "cpu"],
        capture_output=True, text=True, timeout=LIMIT_S, env=rank_environment(),
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (30, 30)),
    )  # fmt: skip
    assert done.returncode == 2
    assert "cannot start rank " in done.stderr
    assert "'ulimit -n'" in done.stderr
    assert "Traceback" not in done.stderr


def test_a_missing_file_is_named_where_no_rank_can_be_started(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(os, "devnull", str(tmp_path / "null"))
    with pytest.raises(RuntimeError, match=r"cannot start rank 1 of 2: No such file .*/null\)$"):
        runner_ranks.join_group(
            runner_ranks.RankRequest(spawn_count=2), [sys.executable], pytest.fail
        )


def test_messages_of_several_ranks_stay_lines() -> None:
    """Ranks share standard error, and each write to a socket of packets is one."""
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    code = "from deepbench.runner import ranks; ranks._print_message('why')"
    with ours, theirs:
        done = subprocess.run([sys.executable, "-c", code], stderr=theirs, check=False)
        assert done.returncode == 0
        assert ours.recv(100) == b"deepbench: why\n"


def test_a_rank_that_is_late_is_waited_for() -> None:
    ranks = RankProcesses(2)
    words = ("all_reduce", "elements=3000", *QUICK)
    ranks.start(0, *words)
    signal.sigtimedwait([], 3)
    ranks.start(1, *words)
    (status, out, err), (other_status, _, _) = ranks.wait_for_all()
    assert (status, other_status) == (0, 0), err
    assert "yes" in out  # verified


def test_a_rank_that_does_not_come() -> None:
    ranks = RankProcesses(3)
    ranks.start(2, "all_reduce", "elements=3000", DEEPBENCH_RENDEZVOUS_TIMEOUT="60")
    signal.sigtimedwait([], 3)  # so that it is there when the time of rank 0 begins
    ranks.start(0, "all_reduce", "elements=3000", DEEPBENCH_RENDEZVOUS_TIMEOUT="3")
    (other_status, _, other_err), (status, _, err) = ranks.wait_for_all()
    assert status == 2
    assert "rank 1 of 3 did not connect to 127.0.0.1:" in err
    assert other_status == 2
    assert "rank 2: " in other_err


def test_the_limit_of_a_start_leaves_ranks_the_time_to_arrive() -> None:
    ranks = RankProcesses(2)
    ranks.start(0, "all_reduce", "elements=3000", "--hang-limit", "1",
                DEEPBENCH_RENDEZVOUS_TIMEOUT="4")  # fmt: skip
    [(status, _, err)] = ranks.wait_for_all()
    assert status == 2
    assert "rank 1 of 2 did not connect to 127.0.0.1:" in err


def test_rank_0_that_does_not_come() -> None:
    ranks = RankProcesses(2)
    ranks.start(1, "all_reduce", "elements=3000", DEEPBENCH_RENDEZVOUS_TIMEOUT="1")
    [(status, out, err)] = ranks.wait_for_all()
    assert (status, out) == (2, "")
    assert "rank 1: rank 0 at 127.0.0.1:" in err
    assert "Traceback" not in err


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("--devices 1", "from 2 to 1024, or a list such as 0,2; --device N selects one device"),
        ("--devices=-2", "--devices -2: must be a number of devices from 2"),
        ("--devices two", "--devices two: must be a number of devices from 2"),
        ("--devices 0,0", "--devices 0,0: must name each device once, as in 0,2"),
        ("--devices 0,a", "--devices 0,a: must name each device once"),
        ("--devices 0,", "--devices 0,: must name each device once"),
        ("--devices 2 --device 1", "--devices and --device exclude each other"),
        ("--devices 2 --ranks 2", "--devices and --ranks exclude each other"),
        ("--devices 2 --in-process", "--devices and --in-process exclude each other"),
        ("--devices 2 --backend cpu", "rank 1: backend cpu has no device 1; it has 1 device"),
    ],
)
def test_devices_that_make_no_sense(words: str, message: str) -> None:
    done = deepbench("all_reduce", "elements=30", *words.split())
    assert (done.returncode, done.stdout) == (2, "")
    assert message in done.stderr


# ---- ranks that fail, each at another stage ------------------------------------------------------


FAULTS = {  # by elements: on rank 1, at which stage; the row's status, and its reason
    1001: ("crash prepare", "device_lost", "rank 1 of 2 ("),
    1002: ("fail plan unsupported not on this one", "unsupported", "rank 1: not on this one"),
    1003: ("killed time_batch", "device_lost", "rank 1 of 2 ("),
    1004: ("fail prepare out_of_memory 5 GiB asked", "out_of_memory", "rank 1: prepare: 5 GiB"),
    1005: ("from 4 exit time_batch 5", "device_lost", "closed the connection"),
    1006: ("from 3 fail time_batch failed it broke", "failed", "rank 1: time_batch: it broke"),
    1007: ("crash read_output", "device_lost", "closed the connection"),
    1008: ("mutant one_off", "incorrect", "rank 1: before timing: output 336 is "),
    1009: ("fail poison_outputs device_lost it fell off", "device_lost", "rank 1: poison_outputs"),
}


def test_every_fault_of_a_rank_costs_its_row_alone(plugin: Path, tmp_path: Path) -> None:
    script = "\n".join(f"when rank=1 elements={n} {fault}" for n, (fault, _, _) in FAULTS.items())
    # A good row after each: three crashes in a row would end the run.
    sizes = ",".join(["1000", *(f"{size},1000" for size in FAULTS)])
    file = tmp_path / "rows.jsonl"
    done = deepbench("all_reduce", f"elements={sizes}", "--ranks", "2", "--backend", "fake",
                     "-o", str(file), "--samples", "3", DEEPBENCH_BACKEND_PATH=str(plugin),
                     DEEPBENCH_FAKE_SCRIPT=script)  # fmt: skip
    assert done.returncode == 1
    rows = rows_of(file)
    assert [row["status"] for row in rows[::2]] == ["ok"] * (len(FAULTS) + 1), done.stderr
    for row, (fault, status, reason) in zip(rows[1::2], FAULTS.values(), strict=True):
        assert row["status"] == status, (fault, row["reason"])
        assert reason in row["reason"], fault


def test_a_far_off_clock_of_a_rank_makes_the_row_mistrusted(plugin: Path, tmp_path: Path) -> None:
    """Batches take 20 ms of rank 1's time in place of 2 ms, or none in place of 100 ms.

    Other work on the machine delays batches, and then a clock is trusted: one run of five suffices.
    """
    scripts = {
        "time 10e3\nwhen rank=1 works 100e3": "rank 1: 100 calls take ",
        "time 1\nwhen rank=1 time 100e6": "rank 1: 1 call takes 1e+05 us by the backend's clock",
    }
    for script, reason in scripts.items():
        for attempt in range(5):
            file = tmp_path / f"rows_{len(script)}_{attempt}.jsonl"
            done = deepbench("all_reduce", "elements=1000", "--ranks", "2", "--backend", "fake",
                             "-o", str(file), *QUICK, DEEPBENCH_BACKEND_PATH=str(plugin),
                             DEEPBENCH_FAKE_SCRIPT=f"{script}\nreal_time")  # fmt: skip
            if done.returncode == 1:
                break
        assert done.returncode == 1, done.stderr
        [row] = rows_of(file)
        assert row["status"] == "mistrusted"
        assert row["reason"].startswith(reason), row["reason"]


def test_samples_of_ranks_that_wait_for_each_other_do_not_make_a_clock_far_off(
    plugin: Path, tmp_path: Path
) -> None:
    """The calls of a sample take 2 ms of the 100 ms that the host sees.

    Ranks that share processors wait so long for each other. In the batches that are made afterwards
    the calls take as long as the host sees, since ranks lose their processor within long ones too.
    """
    file = tmp_path / "rows.jsonl"
    script = "real_time\nworks 500e3\ntime 10e3*45 500e3 hold"
    done = deepbench("all_reduce", "elements=1000", "--ranks", "2", "--backend", "fake",
                     "-o", str(file), "--samples", "30", "--time-limit", "5",
                     DEEPBENCH_BACKEND_PATH=str(plugin),
                     DEEPBENCH_FAKE_SCRIPT=script)  # fmt: skip
    [row] = rows_of(file)
    assert row["status"] == "ok", row["reason"] or done.stderr


def test_a_rank_that_hangs_is_ended_with_its_row(plugin: Path, tmp_path: Path) -> None:
    file = tmp_path / "rows.jsonl"
    done = deepbench("all_reduce", "elements=1000,1001", "--ranks", "2", "--backend", "fake",
                     "-o", str(file), "--samples", "3", "--hang-limit", "12",
                     DEEPBENCH_BACKEND_PATH=str(plugin),
                     DEEPBENCH_FAKE_SCRIPT="when rank=1 elements=1000 hang time_batch")  # fmt: skip
    assert done.returncode == 1
    rows = rows_of(file)
    assert "no answer within 12" in rows[0]["reason"]
    assert rows[1]["status"] == "ok", done.stderr


def test_a_device_for_each_rank(plugin: Path, tmp_path: Path) -> None:
    """Devices of a list are used in order; a launcher may name them too."""
    variables = {"DEEPBENCH_BACKEND_PATH": str(plugin), "DEEPBENCH_FAKE_SCRIPT": "devices 4"}
    words = ("all_reduce", "elements=1000", "--backend", "fake", "--devices", "3,1", *QUICK)
    alone, started = tmp_path / "alone.jsonl", tmp_path / "started.jsonl"
    done = deepbench(*words, "-o", str(alone), **variables)
    assert done.returncode == 0, done.stderr
    ended = run_two_ranks(*words, "-o", str(started), **variables)
    assert [status for status, _, _ in ended] == [0, 0], ended[0][2]
    for file in (alone, started):
        [row] = rows_of(file)
        assert (row["status"], row["device"]["index"]) == ("ok", 3)
        assert row["regime"]["ranks"] == 2
        assert read(file).context["options"]["devices"] == "3,1"


def test_a_rank_that_cannot_begin(plugin: Path) -> None:
    ranks = RankProcesses(2)
    words = ("all_reduce", "elements=1000", "--backend", "fake")
    ranks.start(0, *words, DEEPBENCH_BACKEND_PATH=str(plugin), DEEPBENCH_FAKE_SCRIPT="")
    ranks.start(1, *words, DEEPBENCH_BACKEND_PATH=str(plugin), DEEPBENCH_FAKE_SCRIPT="devices 0")
    (status, _, err), (other_status, _, _) = ranks.wait_for_all()
    assert (status, other_status) == (2, 2)
    assert "rank 1: backend fake has no device here" in err
    assert "rank 1: rank 1: " not in err


@pytest.mark.parametrize("victim", [0, 1])
def test_a_command_that_is_killed_ends_the_others(
    plugin: Path, tmp_path: Path, victim: int
) -> None:
    """The ranks are in a library that waits forever, so only the connections reveal the loss."""
    ranks = RankProcesses(2)
    file = tmp_path / "rows.jsonl"
    words = ("all_reduce", "elements=1000", "--backend", "fake", "--hang-limit", "1000",
             "-o", str(file))  # fmt: skip
    started, processes = tmp_path / "log", []
    for rank in (0, 1):
        processes.append(
            ranks.start(rank, *words, DEEPBENCH_BACKEND_PATH=str(plugin),
                        DEEPBENCH_FAKE_SCRIPT=f"log {started}{rank}\nhang time_batch")
        )  # fmt: skip
    for rank in (0, 1):
        while "time_batch" not in read_if_there(Path(f"{started}{rank}")):
            assert all(process.poll() is None for process in processes)
            _wait_for_group()
    processes[victim].send_signal(signal.SIGKILL)
    ended = ranks.wait_for_all()
    assert ended[victim][0] == -signal.SIGKILL
    assert ended[1 - victim][0] in (1, 3), ended[1 - victim]
    assert f"rank {victim} of 2" in ended[1 - victim][2]
    if victim == 1:
        [row] = rows_of(file)
        assert row["status"] == "device_lost"
        assert row["reason"].startswith("rank 1 of 2 (")
        assert row["reason"].endswith(") closed the connection")


def test_a_row_that_loses_a_rank_is_shown_before_the_run_ends(plugin: Path) -> None:
    """The ranks of a launcher cannot be started again, and the next row ends the run."""
    ranks, words = RankProcesses(2), ("all_reduce", "elements=1000,2000", "--backend", "fake")
    for rank, script in enumerate(("", "killed time_batch")):
        ranks.start(rank, *words, DEEPBENCH_BACKEND_PATH=str(plugin), DEEPBENCH_FAKE_SCRIPT=script)
    (status, out, err), (other_status, _, _) = ranks.wait_for_all()
    assert (status, other_status) == (1, -signal.SIGKILL)
    assert "device_lost: rank 1 of 2 (" in out
    assert "1 of 2 rows: 1 device lost" in err
    assert err.endswith("the ranks ended; start them again with the same launcher\n")


@pytest.mark.parametrize(
    ("fault", "how"),
    [
        ("killed time_batch", "was killed (SIGKILL)"),
        ("exit time_batch 7", "ended with exit status 7"),
        ("abort time_batch", "aborted: SIGABRT"),
    ],
)
def test_how_a_rank_ended_is_told(plugin: Path, fault: str, how: str) -> None:
    done = deepbench(
        "all_reduce", "elements=1000", "--backend", "fake", "--ranks", "2",
        DEEPBENCH_BACKEND_PATH=str(plugin), DEEPBENCH_FAKE_SCRIPT=f"when rank=1 {fault}",
    )  # fmt: skip
    assert done.returncode == 1
    assert f"deepbench: rank 1 {how}" in done.stderr


@pytest.mark.parametrize("slot", ["time_batch", "destroy"])
def test_a_crash_of_a_rank_is_seen_although_a_child_holds_its_connection(
    plugin: Path, tmp_path: Path, slot: str
) -> None:
    file = tmp_path / "rows.jsonl"
    done = deepbench(
        "all_reduce", "elements=1000,1001", "--backend", "fake", "--ranks", "2", "-o", str(file),
        "--samples", "3", "--hang-limit", "1000", DEEPBENCH_BACKEND_PATH=str(plugin),
        DEEPBENCH_FAKE_SCRIPT=f"when rank=1 elements=1000 orphan {slot}",
    )  # fmt: skip
    assert "deepbench: rank 1 crashed: SIGSEGV" in done.stderr
    row, after = rows_of(file)
    assert after["status"] == "ok", done.stderr
    if slot == "destroy":  # the row is measured by then
        assert row["status"] == "ok", row["reason"]
    else:
        assert row["status"] == "device_lost"
        assert row["reason"].endswith(") closed the connection")


def test_a_rank_that_ran_out_of_memory_is_told_from_a_killed_one(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    counts = iter((OomKills(0, 0), OomKills(1, 1)))
    monkeypatch.setattr(runner_ranks, "read_oom_kills", lambda: next(counts))
    joined, kill = runner_ranks.JoinedGroup(), "import os; os.kill(os.getpid(), 9)"
    closed: list[int] = []
    group: Any = SimpleNamespace(close_connection=closed.append)
    joined.set(group)
    with subprocess.Popen([sys.executable, "-c", kill]) as process:
        watcher = runner_ranks.RankWatcher(1, process, joined)
        watcher.start()
        watcher.join()
    reason = "was killed (SIGKILL) by the kernel, because memory ran out"
    assert capfd.readouterr().err == f"deepbench: rank 1 {reason}\n"
    assert closed == [1]


@pytest.mark.parametrize("words", [("elements=none",), ("elements=1000", "--ranks", "2")])
def test_a_mistake_that_rank_0_finds_ends_all(words: tuple[str, ...]) -> None:
    """Although no launcher ends the others."""
    ranks = RankProcesses(2)
    for rank in (0, 1):
        ranks.start(rank, "all_reduce", *words, DEEPBENCH_RENDEZVOUS_TIMEOUT="600")
    (status, _, err), (other_status, _, other_err) = ranks.wait_for_all()
    assert (status, other_status) == (2, 2)
    assert "deepbench: error: " in err
    assert "rank 1: " in other_err
    assert "within 600 s" not in other_err


def test_ctrl_c_ends_a_rank_that_waits_for_rank_0() -> None:
    ranks = RankProcesses(2)
    with socket.create_server(("127.0.0.1", ranks.port)) as silent:
        silent.settimeout(LIMIT_S)
        process = ranks.start(1, "all_reduce", "elements=3", DEEPBENCH_RENDEZVOUS_TIMEOUT="600")
        with silent.accept()[0]:
            process.send_signal(signal.SIGINT)
            [(status, _, err)] = ranks.wait_for_all()
    assert (status, err) == (-signal.SIGINT, "")


def test_a_rank_that_hangs_between_rows_ends_with_rank_0(plugin: Path) -> None:
    """It frees what the row had taken, for ever."""
    ranks, words = RankProcesses(2), ("all_reduce", "elements=1000", "--backend", "fake", *QUICK)
    for rank, script in enumerate(("", "hang destroy")):
        ranks.start(rank, *words, DEEPBENCH_BACKEND_PATH=str(plugin), DEEPBENCH_FAKE_SCRIPT=script)
    (status, _, _), (other_status, _, other_err) = ranks.wait_for_all()
    assert (status, other_status) == (0, 3)
    assert "rank 0 of 2 (" in other_err


def test_a_stopped_rank_zero_ends_the_others(plugin: Path, tmp_path: Path) -> None:
    """Its command cannot end its worker, and the connections stay open."""
    ranks, log = RankProcesses(2), tmp_path / "log"
    words = ("all_reduce", "elements=1000", "--backend", "fake", "--hang-limit", "6")
    script = f"log {log}\nhang time_batch"
    zero = ranks.start(0, *words, DEEPBENCH_BACKEND_PATH=str(plugin), DEEPBENCH_FAKE_SCRIPT=script)
    other = ranks.start(1, *words, DEEPBENCH_BACKEND_PATH=str(plugin), DEEPBENCH_FAKE_SCRIPT="")
    wait_until(lambda: "time_batch" in read_if_there(log), LIMIT_S)
    stopped = (zero.pid, *_descendants(zero.pid))
    for pid in stopped:
        os.kill(pid, signal.SIGSTOP)
    try:
        _, err = other.communicate(timeout=LIMIT_S)
    finally:
        for pid in stopped:
            os.kill(pid, signal.SIGKILL)
        ranks.wait_for_all()
    assert other.returncode != 0
    assert ") sent nothing for 11 s" in err
    assert "rank 0 of 2 (" in err


def read_if_there(path: Path) -> str:
    return path.read_text(encoding="utf-8") if path.exists() else ""


def _wait_for_group() -> None:
    signal.sigtimedwait([], 0.1)
