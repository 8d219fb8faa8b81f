"""Whatever happens to a worker, the session says so, gets another, and leaves none behind."""

from __future__ import annotations

import json
import os
import re
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest

from deepbench.results import Row
from deepbench.runner import session, worker_process
from deepbench.runner.ranks import worker_command
from deepbench.runner.session import InProcessRows, Session
from deepbench.runner.worker_exit import WorkerFailure
from deepbench.runner.worker_process import SessionError, WorkerProcess
from example_rows import make_gemm
from polling import wait_until
from source_tree import ROOT

FAKE_WORKER = str(ROOT / "tests/support/fake_worker.py")


@contextmanager
def fake_worker_session(
    *arguments: str,
    said: list[str] | None = None,
    start_timeout_s: float = 20,
    starts_ahead: bool = True,
) -> Iterator[Session]:
    heard = [] if said is None else said
    one = Session(
        [sys.executable, FAKE_WORKER, *arguments],
        say=heard.append,
        start_timeout_s=start_timeout_s,
        starts_ahead=starts_ahead,
    )
    try:
        yield one
    finally:
        one.kill()


def run_word(
    one: Session, word: str, position: int = 0, limit_s: float = 20
) -> Row | WorkerFailure:
    return one.run(f"{word} ; position={position}", position, limit_s)


def pid_of(answer: Row | WorkerFailure) -> int:
    assert isinstance(answer, Row)
    return int(answer.members["pid"])


def is_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


def is_running(pid: int) -> bool:
    """Whether the process exists and is no zombie; its new parent may not have reaped it."""
    try:
        return ") Z " not in Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return False


def processes_with_argument(argument: str) -> list[str]:
    found = []
    for entry in Path("/proc").glob("[0-9]*/cmdline"):
        with suppress(OSError):  # it has ended since
            words = entry.read_bytes().split(b"\0")
            found += [entry.parent.name] if argument.encode() in words else []
    return found


def test_rows_come_from_one_worker() -> None:
    with fake_worker_session() as one:
        pid = one.start()["pid"]
        assert [pid_of(run_word(one, "ok", position)) for position in range(3)] == [pid] * 3


def test_ctrl_c_does_not_reach_a_worker_that_is_starting() -> None:
    hello = (
        "{'type': 'hello', 'held': signal.SIGINT in signal.pthread_sigmask(signal.SIG_BLOCK, ())}"
    )
    one = Session([sys.executable, "-c", f"import json, signal; print(json.dumps({hello}))"])
    try:
        assert one.start()["held"] is True
    finally:
        one.kill()
    assert signal.SIGINT not in signal.pthread_sigmask(signal.SIG_BLOCK, ())


@pytest.mark.parametrize(
    ("word", "status", "reason"),
    [
        ("crash", "failed", "the worker crashed: SIGSEGV (about to fall over)"),
        ("torn", "failed", "the worker crashed: SIGSEGV"),
        ("abort", "failed", "the worker aborted: SIGABRT"),
        ("exit", "failed", "the worker ended with exit status 7"),
    ],
)
def test_lost_row_names_its_cause_and_the_next_one_runs(
    word: str, status: str, reason: str
) -> None:
    check_lost_row(word, WorkerFailure(status, reason))


IMPOSSIBLE = "the backend gave an impossible answer"
ENDLESS = f"{IMPOSSIBLE}: it exceeds 16,777,216 bytes, so the worker was stopped"


@pytest.mark.parametrize(
    ("word", "reason"),
    [
        ("garbage", "the worker's answer is not a row: oneDNN says hello"),
        ("endless", ENDLESS),
        ("measuring", f"{IMPOSSIBLE}: no row in 1,000 messages, so the worker was stopped"),
        ("silence", "the worker closed its output: it was stopped"),
    ],
)
def test_a_worker_whose_answer_is_no_row_has_not_crashed(
    monkeypatch: pytest.MonkeyPatch, word: str, reason: str
) -> None:
    monkeypatch.setattr(worker_process, "_EXIT_TIMEOUT_S", 0.1)
    check_lost_row(word, WorkerFailure("failed", reason, cause="stopped"))


def check_lost_row(word: str, failure: WorkerFailure) -> None:
    """Its failure, and that a new worker runs the next row."""
    with fake_worker_session() as one:
        first = one.start()["pid"]
        assert run_word(one, word) == failure
        second = pid_of(run_word(one, "ok", 1))
        assert second != first
        assert not is_alive(first)


def test_a_worker_that_was_killed_is_told_from_one_that_crashed() -> None:
    with fake_worker_session() as one:
        one.start()
        killed = run_word(one, "kill")
        assert isinstance(killed, WorkerFailure)
        assert killed.reason.startswith("the worker was killed (SIGKILL) by another process")
        assert (killed.status, killed.cause) == ("failed", "killed")
        assert run_word(one, "terminate", 1) == WorkerFailure(
            "failed", "the worker was ended by another process: SIGTERM", cause="killed"
        )


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="only Linux tells the limit")
def test_a_hard_limit_of_cpu_time_is_named() -> None:
    with fake_worker_session() as one:
        one.start()
        failure = run_word(one, "cpu_limit", limit_s=3600)
        assert failure == WorkerFailure(
            "failed", "the worker reached its limit of CPU time (ulimit -t)", cause="killed"
        )


def test_a_crash_is_seen_although_a_child_holds_the_pipes_and_the_child_ends() -> None:
    said: list[str] = []
    with fake_worker_session(said=said) as one:
        one.start()
        answer = run_word(one, "orphan", limit_s=3600)  # not reached, or the test would hang
        assert answer == WorkerFailure("failed", f"the worker crashed: SIGSEGV ({said[0]})")
        wait_until(lambda: not is_running(int(said[0])))


@pytest.mark.skipif(not hasattr(os, "pidfd_open"), reason="this system has no pidfd_open")
@pytest.mark.parametrize("word", ["daemon", "stray"])
def test_a_process_that_leaves_the_group_ends_with_its_worker(word: str) -> None:
    said: list[str] = []
    with fake_worker_session(said=said) as one:
        one.start()
        answer = run_word(one, word)
        assert isinstance(answer, Row) == (word == "daemon")
        one.close()
    wait_until(lambda: not is_running(int(said[0])))


@contextmanager
def printing_session(text: str) -> Iterator[Session]:
    """A worker that prints this at its start, and ends with its input."""
    one = Session(["/bin/sh", "-c", 'printf "%b" "$1"; cat > /dev/null', "worker", text])
    try:
        yield one
    finally:
        one.kill()


@pytest.mark.parametrize(
    ("members", "why"),
    [
        ('"warnings": true', "warnings is true, not array or null"),
        ('"backend": 7', "backend is 7, not object or null"),
        ('"backend": {"joint_phases": {"rnn": 1}}', "rnn is 1, not string"),
        ('"planning": {"estimates": {"calls": "eight"}}', 'calls is "eight", not number'),
        ('"device": {"name": "a"}, "device": {}', "is not a hello message"),
    ],
)
def test_a_hello_of_wrong_types_is_refused(members: str, why: str) -> None:
    hello = '{"type": "hello", ' + members + "}"
    with printing_session(hello + "\\n") as one, pytest.raises(SessionError) as caught:
        one.start()
    assert why in str(caught.value)


@pytest.mark.parametrize("measured", ["7", '"7"', '"{}"', '"\\x5cu0000"'])
def test_a_measured_row_that_is_none_fails_its_row(measured: str) -> None:
    begin, hello = '{"type": "begin"}\\n', '{"type": "hello"}\\n'
    measuring = f'{{"type": "measuring", "problem": "gemm m=1", "row": {measured}}}\\n'
    with printing_session(hello + begin + measuring + "x") as one:
        one.start()
        answer = one.run("ok ; position=0", 0, 0.5)
    assert isinstance(answer, WorkerFailure)
    assert answer.status == "failed"


@pytest.mark.parametrize("nonsense", ["x\\n", '{"type": "ceiling"}\\n' * 1000])
def test_a_row_is_kept_if_its_worker_answers_nonsense_while_a_ceiling_is_measured(
    nonsense: str,
) -> None:
    row = json.dumps(json.dumps(make_gemm())).replace("\\", "\\0134")
    begin, hello = '{"type": "begin"}\\n', '{"type": "hello"}\\n'
    measuring = f'{{"type": "measuring", "problem": "memory kind=copy", "row": {row}}}\\n'
    with printing_session(hello + begin + measuring + nonsense) as one:
        one.start()
        answer = one.run(f"{make_gemm()['problem']} ; position=0", 0, 5)
    assert not isinstance(answer, WorkerFailure)
    assert answer.status == "ok"
    assert any("memory kind=copy" in note for note in answer.notes)


def test_what_a_worker_prints_becomes_a_printable_reason() -> None:
    """A row with a NUL could not be read again."""
    with printing_session('{"type": "hello"}\\n\\0000\\0033[2J oneDNN\\n') as one:
        one.start()
        answer = run_word(one, "ok")
    assert isinstance(answer, WorkerFailure)
    assert answer.reason.endswith(
        "not a row: \N{REPLACEMENT CHARACTER}\N{REPLACEMENT CHARACTER}[2J oneDNN"
    )
    assert answer.reason.isprintable()


def test_signals_of_the_terminal_do_not_reach_the_worker() -> None:
    with fake_worker_session() as one:
        pid = one.start()["pid"]
        assert os.getpgid(pid) == pid
        assert os.getsid(pid) != os.getsid(0)


@pytest.mark.parametrize("word", ["invalid", 'ok application="a ; b"', "ok"])
def test_the_row_of_a_problem_or_of_a_line_that_is_none(word: str) -> None:
    with fake_worker_session() as one:
        one.start()
        answer = run_word(one, word)
        assert isinstance(answer, Row)
        assert answer.status == ("invalid" if word == "invalid" else "ok")


def test_a_worker_refuses_the_options_of_a_line_in_a_row() -> None:
    """The row of such a line holds its application within the problem."""
    one = Session([sys.executable, "-m", "deepbench.worker", "cpu"])
    problem = 'gemm m=1 n=1 k=1 trans_a=n trans_b=n precision=float application="a ; b"'
    try:
        one.start()
        answer = one.run(f"{problem} ; position=0 nonsense=1", 0, 20)
    finally:
        one.kill()
    assert isinstance(answer, Row)
    assert answer.status == "invalid"
    assert "no option is called 'nonsense'" in str(answer.reason)


@pytest.mark.parametrize("word", ["misplaced", "other", "none"])
def test_row_of_another_place_or_problem_is_none(word: str) -> None:
    with fake_worker_session() as one:
        one.start()
        answer = run_word(one, word, 4)
        assert isinstance(answer, WorkerFailure)
        assert "is not a row" in answer.reason


@pytest.mark.parametrize("character", "\n\r\x00\x1b\x85")
def test_a_line_for_a_worker_has_no_control_characters(character: str) -> None:
    """A text of a file with a newline would give the worker a second line to run."""
    with fake_worker_session() as one:
        one.start()
        with pytest.raises(SessionError, match="has a control character") as caught:
            one.run(f"ok ; position=0 algorithm=a{character}ok ; position=1", 0, 20)
        assert str(caught.value).isprintable()
        assert isinstance(run_word(one, "ok\tok"), Row)


@pytest.mark.parametrize("word", ["hang", "stop"])
def test_hang_ends_at_the_limit(word: str) -> None:
    with fake_worker_session() as one:
        pid = one.start()["pid"]
        assert run_word(one, word, limit_s=3) == WorkerFailure(
            "failed",
            "no answer within 3.0 s (--hang-limit), so the worker was stopped",
            cause="hung",
        )
        assert not is_alive(pid)
        assert isinstance(run_word(one, "ok", 1), Row)


def test_lost_device_costs_the_worker_only() -> None:
    with fake_worker_session() as one:
        first = one.start()["pid"]
        answer = run_word(one, "device_lost")
        assert isinstance(answer, Row)
        assert answer.status == "device_lost"
        assert pid_of(run_word(one, "ok", 1)) != first


def test_what_the_worker_says_is_passed_on() -> None:
    said: list[str] = []
    with fake_worker_session(said=said) as one:
        one.start()
        run_word(one, "talk")
        run_word(one, "crash", 1)
    assert said == ["first", "second", "about to fall over"]


def test_a_flood_of_words_is_cut_off_for_its_row_alone() -> None:
    """A library that reports every call must not fill the terminal or the log of a sweep."""
    said: list[str] = []
    with fake_worker_session(said=said) as one:
        one.start()
        assert run_word(one, "flood").status == "ok"
        run_word(one, "talk", 1)
    words = [line for line in said if not line.startswith("x")]
    whole = len(said) - len(words)
    assert whole == (1 << 20) // 1023
    assert words == [
        f"deepbench: warning: {4096 - whole:,} lines of the worker's standard error are left out "
        "after 1,048,576 bytes",
        "first",
        "second",
    ]


def test_waiting_is_not_silent() -> None:
    ticks: list[None] = []
    one = Session([sys.executable, FAKE_WORKER], tick=lambda: ticks.append(None))
    one.start()
    run_word(one, "hang", limit_s=1)
    assert len(ticks) >= 3


@pytest.mark.parametrize(
    ("arguments", "message", "status"),
    [
        (("refuse",), "no such library; install it", 2),
        (("crash",), "the worker cannot start: .*SIGSEGV .cannot map memory.", 2),
        (("hang",), "the worker cannot start: no answer within 0.5 s", 2),
        (("garbage",), "first line is not a hello message: hello there", 1),
    ],
)
def test_worker_that_does_not_start(arguments: tuple[str], message: str, status: int) -> None:
    limit_s = 0.5 if arguments == ("hang",) else 20
    with (
        fake_worker_session(*arguments, start_timeout_s=limit_s) as one,
        pytest.raises(SessionError, match=message) as caught,
    ):
        one.start()
    assert caught.value.exit_status == status


def test_a_hello_without_an_end_is_refused() -> None:
    one = Session(["cat", "/dev/zero"])
    with pytest.raises(SessionError, match=f"the worker cannot start: {ENDLESS}") as caught:
        one.start()
    assert caught.value.exit_status == 2


def test_the_hang_limit_and_the_name_of_the_backend_count_at_the_start() -> None:
    said = "backend ./b.so: the worker cannot start: no answer within 0.5 s (--hang-limit), so"
    one = Session([sys.executable, FAKE_WORKER, "hang"], hang_limit_s=0.5, backend="./b.so")
    with pytest.raises(SessionError, match=re.escape(said)):
        one.start()


def test_program_that_does_not_exist() -> None:
    with pytest.raises(
        SessionError, match=r"cannot start a worker: No such file .*/nonexistent/python"
    ):
        Session(["/nonexistent/python"]).start()


def test_second_attempt_to_start_again_may_succeed(tmp_path: Path) -> None:
    starts = tmp_path / "starts"
    starts.write_text("")
    with fake_worker_session("eager", str(starts)) as one:
        one.start()
        run_word(one, "crash")
        assert isinstance(run_word(one, "ok", 1), Row)
    assert starts.read_text() == "xxx"


def test_gives_up_after_three_attempts(tmp_path: Path) -> None:
    with fake_worker_session("once", str(tmp_path / "started")) as one:
        one.start()
        run_word(one, "crash")
        with pytest.raises(SessionError, match="gave up after 3 attempts") as caught:
            run_word(one, "ok", 1)
        assert caught.value.exit_status == 1


def test_worker_that_died_between_rows_costs_none() -> None:
    said: list[str] = []
    with fake_worker_session(said=said) as one:
        pid = one.start()["pid"]
        os.kill(pid, 9)
        assert pid_of(run_word(one, "ok")) != pid
    assert len(said) == 1
    assert said[0].startswith(
        "deepbench: warning: the worker ended between two rows: the worker was killed (SIGKILL) by"
    )
    assert said[0].endswith("; a new worker continues")


def test_crash_after_a_row_costs_neither_it_nor_the_next() -> None:
    said: list[str] = []
    with fake_worker_session(said=said) as one:
        one.start()
        pids = [
            pid_of(run_word(one, word, i)) for i, word in enumerate(("late", "late", "ok", "ok"))
        ]
    assert len(set(pids)) == 3
    assert pids[2] == pids[3]
    assert len(said) == 2
    assert "between two rows: the worker crashed: SIGSEGV" in said[0]


def test_worker_that_begins_no_row_is_given_up() -> None:
    with fake_worker_session("useless") as one:
        one.start()
        answer = run_word(one, "ok")
        assert isinstance(answer, WorkerFailure)
        assert answer.reason == "the worker crashed: SIGSEGV"


def test_closing_lets_the_worker_end_by_itself() -> None:
    with fake_worker_session() as one:
        pid = one.start()["pid"]
        one.close()
        assert not is_alive(pid)
        one.close()
        one.kill()


def test_the_next_worker_starts_while_the_one_before_it_ends(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    events: list[str] = []

    class WatchedProcess(WorkerProcess):
        def __init__(self, *arguments: Any) -> None:
            events.append("start")
            super().__init__(*arguments)

        def close(self) -> None:
            events.append("close")
            super().close()

    monkeypatch.setattr(session, "WorkerProcess", WatchedProcess)
    with fake_worker_session() as one:
        pid = one.start()["pid"]
        assert one.renew()
        assert events == ["start", "start", "close"]
        assert not is_alive(pid)
        assert pid_of(run_word(one, "ok")) != pid
        assert events == ["start", "start", "close"]


def test_an_interrupted_change_of_workers_leaves_neither_behind(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def interrupted(process: WorkerProcess) -> None:
        raise KeyboardInterrupt

    with fake_worker_session("mark", "of-an-interrupted-change") as one:
        one.start()
        monkeypatch.setattr(WorkerProcess, "close", interrupted)
        with pytest.raises(KeyboardInterrupt):
            one.renew()
        # A process that has just begun shows its arguments a moment later.
        wait_until(lambda: len(processes_with_argument("of-an-interrupted-change")) == 2)
    assert not processes_with_argument("of-an-interrupted-change")


def test_where_two_processes_are_too_many_the_next_worker_starts_after_the_last(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    alive: list[WorkerProcess] = []

    class OnlyProcess(WorkerProcess):
        def __init__(self, *arguments: Any) -> None:
            if alive:
                raise SessionError("cannot start a worker: the limit of processes is reached")
            super().__init__(*arguments)
            alive.append(self)

        def close(self) -> None:
            super().close()
            alive.remove(self)

    monkeypatch.setattr(session, "WorkerProcess", OnlyProcess)
    with fake_worker_session() as one:
        pid = one.start()["pid"]
        assert one.renew()
        assert pid_of(run_word(one, "ok")) != pid


def test_workers_of_ranks_do_not_overlap(monkeypatch: pytest.MonkeyPatch) -> None:
    started: list[str] = []

    class WatchedProcess(WorkerProcess):
        def __init__(self, *arguments: Any) -> None:
            started.append("start")
            super().__init__(*arguments)

    monkeypatch.setattr(session, "WorkerProcess", WatchedProcess)
    with fake_worker_session(starts_ahead=False) as one:
        one.start()
        assert one.renew()
        assert started == ["start"]
        assert isinstance(run_word(one, "ok"), Row)


def test_a_worker_that_was_started_ahead_ends_with_the_session(tmp_path: Path) -> None:
    starts = tmp_path / "starts"
    starts.write_text("")
    with fake_worker_session("eager", str(starts)) as one:
        one.start()
        one.renew()  # to a worker that does not start
        assert isinstance(run_word(one, "ok"), Row)
        one.renew()
        one.renew()
    assert starts.read_text()[:3] == "xxx"
    assert not processes_with_argument(str(starts))


# ---- the real worker ---------------------------------------------------------------------------


def real_session(backend: str, *options: str) -> Session:
    return Session(worker_command(backend, options))


def test_real_worker_names_backends_that_exist() -> None:
    with pytest.raises(SessionError, match="no backend is called 'cpuu'") as caught:
        real_session("cpuu").start()
    assert caught.value.exit_status == 2


def test_real_worker_refuses_bad_options() -> None:
    with pytest.raises(SessionError, match="'sampels'"):
        real_session("auto", "sampels=3").start()


def test_in_process_says_the_same() -> None:
    with pytest.raises(SessionError, match="no backend is called 'cpuu'"):
        InProcessRows("cpuu", []).start()
