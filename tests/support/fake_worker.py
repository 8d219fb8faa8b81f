"""A worker for the tests of sessions that does on demand what a vendor's library may do to a real
one.

Its arguments say how it starts, each line it is sent how that row goes: `LINE ; position=N` with
the first word of LINE being ok, crash, abort, kill, exit, hang, stop (by SIGSTOP), torn, garbage,
misplaced, other (another problem), none (no problem), invalid (no problem, and says so), endless (a
line), measuring (messages without end), silence (a closed output), device_lost, orphan and stray
(crash, and leave a process of the same group or of none), daemon (a process of no group, then ok),
cpu_limit (used up), talk (words on standard error, then ok), flood (4 MiB of them, then ok), or
late (ok, then a crash before the next).
"""

from __future__ import annotations

import json
import os
import resource
import signal
import sys
import threading
from pathlib import Path


def write_json_line(value: object) -> None:
    print(value if isinstance(value, str) else json.dumps(value), flush=True)


def measured_row(line: str, position: int, status: str = "ok") -> dict[str, object]:
    problem = line.partition(" ;")[0].partition(" application=")[0]
    return {
        "type": "row", "position": position, "problem": problem, "op": None, "attributes": {},
        "status": status, "reason": None, "statistics": {"median_ns": 1.0}, "pid": os.getpid(),
    }  # fmt: skip


def hang() -> None:
    threading.Event().wait()


def start_child() -> int:
    """A process of this worker's group that keeps its pipes open."""
    child = os.fork()
    if child == 0:
        hang()
    return child


def start_daemon() -> None:
    """Starts a process that leaves the group and the session of this worker and whose parent ends.
    Prints its number."""
    parent = os.fork()
    if parent == 0:
        os.setsid()
        daemon = os.fork()
        if daemon == 0:
            hang()
        print(daemon, file=sys.stderr, flush=True)
        os._exit(0)
    os.waitpid(parent, 0)


def answer_line(line: str) -> None:
    write_json_line({"type": "begin"})
    word = line.split()[0]
    position = int(line.rpartition("position=")[2])
    if word == "crash":
        print("about to fall over", file=sys.stderr, flush=True)
        os.kill(os.getpid(), signal.SIGSEGV)
    elif word == "abort":
        os.abort()
    elif word == "kill":
        os.kill(os.getpid(), signal.SIGKILL)
    elif word == "terminate":
        os.kill(os.getpid(), signal.SIGTERM)
    elif word == "cpu_limit":
        resource.setrlimit(resource.RLIMIT_CPU, (1, 1))
        while True:
            pass
    elif word == "orphan":
        print(start_child(), file=sys.stderr, flush=True)
        os.kill(os.getpid(), signal.SIGSEGV)
    elif word == "stray":
        start_daemon()
        os.kill(os.getpid(), signal.SIGSEGV)
    elif word == "exit":
        sys.exit(7)
    elif word == "hang":
        hang()
    elif word == "stop":
        os.kill(os.getpid(), signal.SIGSTOP)
    elif word == "torn":
        sys.stdout.write('{"type": "row", "posi')
        sys.stdout.flush()
        os.kill(os.getpid(), signal.SIGSEGV)
    elif word == "garbage":
        write_json_line("oneDNN says hello")
    elif word == "endless":
        while True:
            sys.stdout.write(" " * (1 << 20))
    elif word == "measuring":
        while True:
            write_json_line({"type": "measuring", "problem": None, "row": None})
    elif word == "silence":
        os.close(1)
        hang()
    elif word == "misplaced":
        write_json_line(measured_row(line, position + 1))
    elif word == "other":
        write_json_line(measured_row("ok ;", position))
    elif word == "none":
        write_json_line({**measured_row(line, position), "problem": None})
    elif word == "invalid":
        write_json_line({**measured_row(line, position, "invalid"), "problem": None})
    elif word == "device_lost":
        write_json_line(measured_row(line, position, "device_lost"))
        sys.exit(3)
    else:
        if word == "daemon":
            start_daemon()
        if word == "talk":
            print("first\nsecond", file=sys.stderr, flush=True)
        elif word == "flood":
            for _ in range(4096):
                print("x" * 1023, file=sys.stderr)
        write_json_line(measured_row(line, position))
        if word == "late":
            os.kill(os.getpid(), signal.SIGSEGV)


def start_worker(how: str, argument: str) -> None:
    if how == "refuse":
        write_json_line({"type": "error", "message": "no such library; install it", "exit": 2})
        sys.exit(2)
    elif how == "crash":
        print("cannot map memory", file=sys.stderr, flush=True)
        os.kill(os.getpid(), signal.SIGSEGV)
    elif how == "hang":
        hang()
    elif how == "garbage":
        write_json_line("hello there")
    elif how == "once":  # starts the first time only
        if Path(argument).exists():
            sys.exit(1)
        Path(argument).touch()
    elif how == "useless":  # says hello and goes, whatever it is asked
        write_json_line({"type": "hello", "pid": os.getpid()})
        sys.stdin.readline()
        os.kill(os.getpid(), signal.SIGSEGV)
    elif how == "eager":
        with Path(argument).open("a", encoding="utf-8") as starts:
            starts.write("x")
        if len(Path(argument).read_text()) == 2:  # the second start fails, the third is good
            sys.exit(1)


if __name__ == "__main__":
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    start_worker(sys.argv[1] if len(sys.argv) > 1 else "", sys.argv[2] if len(sys.argv) > 2 else "")
    write_json_line({"type": "hello", "pid": os.getpid()})
    for text in sys.stdin:
        answer_line(text)
