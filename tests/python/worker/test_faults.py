"""A run on a backend that breaks on demand: the fake one, compiled here, through the command line
and the real worker. Each fault costs its row and nothing else."""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

import command_line
from deepbench.results import ResultFile, parse_row, read
from deepbench.runner.ranks import worker_command
from deepbench.runner.session import Session
from deepbench.runner.worker_process import SessionError
from example_rows import members

FAULTS = {
    10: ("crash time_batch", "failed", "SIGSEGV"),
    11: ("abort prepare", "failed", "SIGABRT"),
    12: ("hang time_batch", "failed", "no answer within"),
    13: ("killed time_batch", "failed", "killed (SIGKILL)"),
    14: ("fail prepare out_of_memory 5 GiB asked", "out_of_memory", "5 GiB asked"),
    15: ("fail time_batch device_lost it fell off", "device_lost", "it fell off"),
    16: ("mutant last_k", "incorrect", "before timing: output "),
    17: ("answer elapsed_ns nan", "failed", "gave an impossible answer"),
}


def deepbench(
    plugin: Path, script: str, *arguments: str, timeout_s: float = 120
) -> subprocess.CompletedProcess[str]:
    return command_line.deepbench(
        *arguments,
        timeout_s=timeout_s,
        DEEPBENCH_BACKEND_PATH=str(plugin),
        DEEPBENCH_FAKE_SCRIPT=script,
    )


def run_scripted_gemm(
    plugin: Path, file: Path, script: str, sizes: str, *options: str
) -> subprocess.CompletedProcess[str]:
    """gemms of these m on the fake backend, kept in a file."""
    return deepbench(
        plugin, script, "gemm", f"m={sizes}", "n=8", "k=40",
        "--backend", "fake", "-o", str(file), *options,
    )  # fmt: skip


def row_statuses(file: Path) -> list[str]:
    return [row["status"] for row in members(read(file).rows)]


def test_every_fault_costs_its_row_alone(plugin: Path, tmp_path: Path) -> None:
    script = "\n".join(f"when m={m} {fault}" for m, (fault, _, _) in FAULTS.items())
    sizes = [9, *FAULTS, 99]
    sizes.insert(6, 50)  # between the second crash and the third: see runner/test_restart_limit.py
    file = tmp_path / "rows.jsonl"
    done = run_scripted_gemm(plugin, file, script, ",".join(map(str, sizes)), "--hang-limit", "10")
    assert done.returncode == 1
    assert "Traceback" not in done.stderr
    result: ResultFile = read(file)
    assert [row["attributes"]["m"] for row in members(result.rows)] == sizes
    assert members(result.rows)[0]["status"] == members(result.rows)[-1]["status"] == "ok"
    by_size = {row["attributes"]["m"]: row for row in members(result.rows)}
    for size, (_, status, reason) in FAULTS.items():
        row = by_size[size]
        assert (row["status"], reason in row["reason"]) == (status, True), row["reason"]


@pytest.mark.parametrize(
    "fault",
    ["crash time_batch", "hang prepare", "killed time_batch", "fail time_batch device_lost gone"],
)
def test_a_ceiling_that_breaks_costs_no_row(plugin: Path, tmp_path: Path, fault: str) -> None:
    """m=1024 is that of a ceiling."""
    file = tmp_path / "rows.jsonl"
    done = run_scripted_gemm(plugin, file, f"when m=1024 {fault}", "9,10,11", "--hang-limit", "12")
    assert done.returncode == 0, done.stderr
    first, second, third = members(read(file).rows)
    assert [row["status"] for row in (first, second, third)] == ["ok"] * 3
    [note] = first["notes"]
    assert note.startswith("no ceilings, since one of them ended the worker: ")
    assert "at gemm m=1024 n=1024 k=1024" in note
    assert done.stderr.count("later rows have no ceilings") == 1
    for row in (first, second, third):
        assert row["statistics"]["median_ns"] > 0
        assert row["rates"]["tflops"] > 0
        assert row["bound"]["share_roofline"] is None


def test_a_second_measurement_that_breaks_keeps_the_first(plugin: Path, tmp_path: Path) -> None:
    """Above its ceiling a row is measured again; that is no ceiling's fault."""
    file = tmp_path / "rows.jsonl"
    script = "when m=10 time 0.01;when m=10 attempt=1 crash time_batch"
    done = run_scripted_gemm(plugin, file, script, "10,11")
    assert done.returncode == 0, done.stderr
    first, second = members(read(file).rows)
    assert (
        "the first measurement is kept, since a second one ended the worker: the worker crashed"
        in first["notes"][0]
    )
    assert first["bound"]["share_roofline"] is None
    assert second["bound"]["share_roofline"] > 0


def test_a_crash_in_destroy_does_not_take_the_measured_row_along(
    plugin: Path, tmp_path: Path
) -> None:
    file = tmp_path / "rows.jsonl"
    run_scripted_gemm(plugin, file, "when m=9 crash destroy", "9")
    assert row_statuses(file) == ["ok"]


def test_a_crash_in_destroy_does_not_cost_the_next_row(plugin: Path, tmp_path: Path) -> None:
    file = tmp_path / "rows.jsonl"
    done = run_scripted_gemm(plugin, file, "when m=9 crash destroy", "9,10,11")
    assert done.returncode == 0
    assert row_statuses(file) == ["ok"] * 3
    assert "between two rows: the worker crashed: SIGSEGV" in done.stderr


# "exhaustive" is "best" without a limit of time, which a busy machine would reach.
def test_a_candidate_that_crashes_costs_its_row_alone(plugin: Path, tmp_path: Path) -> None:
    file = tmp_path / "rows.jsonl"
    script = "candidates own quick\nwhen m=9 candidate=quick crash destroy"
    done = run_scripted_gemm(plugin, file, script, "9,10", "--algorithm", "exhaustive")
    assert done.returncode == 1
    crashed, ok = members(read(file).rows)
    assert (crashed["status"], ok["status"]) == ("failed", "ok")
    assert "SIGSEGV" in crashed["reason"]


CLOSED = "the backend closed a descriptor of the worker"


@pytest.mark.parametrize(
    ("slot", "reason"), [("time_batch", f"ended with exit status 1 ({CLOSED})"), ("destroy", "")]
)
def test_a_worker_without_descriptors_ends_with_one_line(
    plugin: Path, tmp_path: Path, slot: str, reason: str
) -> None:
    file = tmp_path / "rows.jsonl"
    done = run_scripted_gemm(plugin, file, f"when m=9 close {slot}", "9,10", "--samples", "2")
    assert "Traceback" not in done.stderr
    assert f"deepbench: {CLOSED}\n" in done.stderr
    closed, ok = members(read(file).rows)
    assert (closed["status"], ok["status"]) == ("failed" if reason else "ok", "ok")
    assert reason in (closed["reason"] or "")


# A kernel is destroyed after its row is answered.
SLOTS = ["describe", "prepare", "time_batch", "destroy"]


@pytest.mark.parametrize("slot", SLOTS)
@pytest.mark.parametrize("ranks", [(), ("--ranks", "2")], ids=["alone", "ranks"])
def test_what_a_backend_prints_on_standard_output_is_no_answer(
    plugin: Path, tmp_path: Path, slot: str, ranks: tuple[str, ...]
) -> None:
    file = tmp_path / "rows.jsonl"
    options = ("--samples", "2", *ranks)
    done = run_scripted_gemm(plugin, file, f"print {slot}", "9,10,11", *options)
    assert done.returncode == 0, done.stderr
    assert row_statuses(file) == ["ok"] * 3
    printed = '{"type": "row", "position": 1}'
    assert printed in done.stderr
    assert printed not in done.stdout


@pytest.mark.parametrize("slot", SLOTS)
@pytest.mark.parametrize("ranks", [(), ("--ranks", "2")], ids=["alone", "ranks"])
def test_a_backend_that_reads_standard_input_takes_no_line_away(
    plugin: Path, tmp_path: Path, slot: str, ranks: tuple[str, ...]
) -> None:
    file = tmp_path / "rows.jsonl"
    options = ("--samples", "2", "--hang-limit", "12", *ranks)
    done = run_scripted_gemm(plugin, file, f"read {slot}", "9,10,11", *options)
    assert done.returncode == 0, done.stderr
    assert row_statuses(file) == ["ok"] * 3


def test_a_rank_without_standard_input_keeps_standard_output(plugin: Path) -> None:
    """The first descriptor that a worker opens would be 0."""
    command = shlex.join(worker_command(str(plugin), [], is_child=False))
    done = subprocess.run(
        ["sh", "-c", f"{command} <&-"],
        env=os.environ | {"DEEPBENCH_FAKE_SCRIPT": "read describe;print describe"},
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    [hello] = done.stdout.splitlines()
    assert hello.startswith('{"type": "hello"')


@pytest.mark.parametrize("slot", SLOTS)
def test_a_second_process_of_a_backend_answers_nothing(
    plugin: Path, tmp_path: Path, slot: str
) -> None:
    file = tmp_path / "rows.jsonl"
    done = run_scripted_gemm(plugin, file, f"fork {slot}", "9,10,11", "--samples", "2")
    assert done.returncode == 0, done.stderr
    assert row_statuses(file) == ["ok"] * 3


def test_the_end_of_a_second_process_is_told(plugin: Path) -> None:
    """The worker waits for the next line, so that the second process has ended before it."""
    with subprocess.Popen(
        worker_command(str(plugin), []), stdin=subprocess.PIPE, stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE, env=os.environ | {"DEEPBENCH_FAKE_SCRIPT": "fork describe"},
    ) as worker:  # fmt: skip
        assert worker.stderr is not None
        told = worker.stderr.readline()
        assert worker.stdin is not None
        worker.stdin.close()
    assert told == b"deepbench: warning: the backend forked; the second process was ended\n"
    assert worker.returncode == 0


@pytest.mark.parametrize(
    ("script", "status", "message"),
    [
        ("memory_bytes -5", 1, "describe_plan: the backend gave an impossible answer"),
        ("emit describe_device cache.l2_bytes -1", 2, "impossible answer: cache.l2_bytes=-1"),
        ("emit describe_device memory_bytes -1", 2, "impossible answer: memory_bytes=-1"),
        ("emit describe_device row_limit_ns nan", 2, "impossible answer: row_limit_ns=nan"),
        ("emit describe_kernel workspace_bytes -5", 1, "impossible answer: workspace_bytes=-5"),
        ("emit describe_kernel copies -3", 1, "impossible answer: copies=-3"),
        ("emit describe_kernel planning_ns 1e30", 1, "impossible answer: planning_ns=1e+30"),
    ],
)
def test_impossible_numbers_are_called_so(
    plugin: Path, script: str, status: int, message: str
) -> None:
    done = deepbench(plugin, script, "gemm", "m=9", "n=8", "k=40", "--backend", "fake")
    assert done.returncode == status
    assert message in done.stdout + done.stderr


@pytest.mark.parametrize(
    ("fault", "reason"),
    [
        ("emit describe_kernel cold thrice", "copies=1, cold=thrice, where the caches are hot"),
        ("emit describe_kernel metric.x 1e305 GB", "metrics[0].value is 1e+305, which is out"),
        ("time 1e16", "statistics.median_ns is 1e+16, more than 1e+15"),
    ],
)
def test_a_row_that_no_reader_takes_does_not_cost_the_file(
    plugin: Path, tmp_path: Path, fault: str, reason: str
) -> None:
    file = tmp_path / "rows.jsonl"
    done = run_scripted_gemm(plugin, file, f"when m=10 {fault}", "9,10,11", "--samples", "2")
    assert done.returncode == 1
    assert row_statuses(file) == ["ok", "failed", "ok"]
    said = members(read(file).rows)[1]["reason"]
    assert f"the backend gave an impossible answer: {reason}" in said


def test_a_context_that_no_reader_takes_is_not_written(plugin: Path, tmp_path: Path) -> None:
    file = tmp_path / "rows.jsonl"
    done = run_scripted_gemm(plugin, file, "emit describe_device heat 1e305", "9")
    assert done.returncode == 2
    said = done.stderr.removeprefix(command_line.WAITING)
    assert said.startswith("deepbench: error: the backend gave an impossible answer: device.heat")
    assert not file.exists()


@pytest.mark.parametrize(
    ("fault", "reason"),
    [
        (
            "emit describe_plan algorithm a\x1b[31m",
            "backend fake: describe_plan: the algorithm's name has a control character",
        ),
        (
            "emit describe_kernel algorithm x*100000000",
            "backend fake: describe_kernel: the algorithm's name has more than 256 characters",
        ),
        (
            "flood describe_kernel 1000000 x",
            "backend fake: describe_kernel: it emits more than 1000 values",
        ),
        ("flood describe_plan endless x", "no answer within 12 s"),
    ],
)
def test_a_backend_that_says_too_much_costs_its_row_alone(
    plugin: Path, tmp_path: Path, fault: str, reason: str
) -> None:
    file = tmp_path / "rows.jsonl"
    script = f"when m=10 {fault}"
    done = run_scripted_gemm(
        plugin, file, script, "9,10,11", "--samples", "2", "--hang-limit", "12"
    )
    assert done.returncode == 1
    assert row_statuses(file) == ["ok", "failed", "ok"]
    assert members(read(file).rows)[1]["reason"].startswith(reason)


@pytest.mark.parametrize("letter", ["x", "\n"])
def test_standard_error_without_end_takes_no_memory(letter: str) -> None:
    """A line that does not end is passed on in parts, up to a limit."""
    said: list[str] = []
    noise = f"import os\nfor _ in range(64): os.write(2, {letter!r}.encode() * (1 << 16))"
    session = Session([sys.executable, "-c", noise], say=said.append)
    with pytest.raises(SessionError):
        session.start()
    if letter == "\n":
        assert not said
        return
    *parts, warning = said
    longest = 1 << 18
    assert all(len(part) <= longest for part in parts)
    assert (1 << 20) - longest < sum(map(len, parts)) <= 1 << 20
    assert "lines of the worker's standard error are left out" in warning


def test_a_candidate_of_some_rows(plugin: Path, tmp_path: Path) -> None:
    file = tmp_path / "rows.jsonl"
    script = "candidates own\nwhen m=10 candidates own quick"
    done = run_scripted_gemm(plugin, file, script, "9,10", "--algorithm", "quick")
    assert done.returncode == 1
    assert row_statuses(file) == ["invalid", "ok"]
    file.unlink()
    done = run_scripted_gemm(plugin, file, script, "8,9", "--algorithm", "quick")
    assert (done.returncode, done.stdout, file.exists()) == (2, "", False)
    assert done.stderr.removeprefix(command_line.WAITING) == (
        "deepbench: error: --algorithm 'quick': backend fake has no candidate 'quick' "
        "for this problem; it has own, beside default, best and exhaustive\n"
    )


def test_env_outlives_a_backend_that_crashes(plugin: Path) -> None:
    done = deepbench(plugin, "crash describe", "env")
    assert done.returncode == 0
    assert "backend fake" in done.stdout
    assert "cannot be used: the worker cannot start: the worker crashed: SIGSEGV" in done.stdout


def test_a_device_that_cannot_be_described_is_one_line(plugin: Path) -> None:
    for extra in ((), ("--in-process",)):
        done = deepbench(
            plugin, "fail describe_device failed boom",
            "gemm", "m=8", "n=8", "k=8", "--backend", "fake", *extra,
        )  # fmt: skip
        assert done.returncode == 2
        said = done.stderr.removeprefix(command_line.WAITING)
        assert said == "deepbench: error: backend fake: describe_device: boom\n"


def test_a_line_with_a_nul_gets_a_row_that_can_be_read(plugin: Path) -> None:
    done = subprocess.run(
        worker_command(str(plugin), []),
        input=b"g\0emm m=8 n=8 k=8\n\xff\n",
        capture_output=True,
        check=True,
    )
    rows = [line for line in done.stdout.splitlines() if line.startswith(b'{"type": "row"')]
    assert [parse_row(line).status for line in rows] == ["invalid"] * 2
