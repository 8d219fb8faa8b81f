"""A worker that writes anything at all costs rows, and neither the run nor the file; and a real
worker that is sent anything at all answers each line or says why it ends."""

from __future__ import annotations

import io
import json
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import strategies as st

from backend_facts import planning_facts
from byte_mutations import mutated_bytes, shuffled_lines
from campaign import Campaign, corpus, require_line_without_controls, require_printable_line
from deepbench.errors import UserError
from deepbench.results import read
from deepbench.results.row import parse_row
from deepbench.runner.ranks import worker_command
from deepbench.runner.session import Session
from example_rows import HELLO, make_ceiling, make_row
from mutated_lines import mutated
from scripted_run import ScriptedRun

PROBLEMS = ("gemm", "m=64", "n=16,32", "k=64")
HANG_LIMIT_S = 1
# $1 is its hello, $2 and $3 are the answers to the two rows, $4 its errors, $5 how it ends.
WORKER = """
cat "$1" "$4" 2>/dev/null >&1; cat "$4" >&2
while read -r line; do
  case "$line" in
    *position=0*) cat "$2" ;;
    *position=1*) cat "$3" ;;
  esac
  case "$5" in
    stay) ;;
    -*) kill "$5" $$ ;;
    *) exit "$5" ;;
  esac
done
"""
ENDS = ("0", "1", "3", "-9", "-11", "-6", "-15")
PIECES = (
    b'{"type": "begin"}\n', b'{"type": "admitted"}\n', b'{"type": "hello"}\n',
    b'{"type": "error", "message": "\\u001b[2J"}\n', b'{"type": "measuring"', b'{"type": "ceiling"',
    b'{"type": "measuring", "problem": "gemm m=1 n=1 k=1", "row": null}\n',
    b'{"type": "measuring", "problem": 7, "row": 7}\n', b'"status": "device_lost"',
    b'"position": 1', b'"status": "ok"', b"NaN", b"1e999", b"[" * 5000, b"\n", b"\0", b"\xff",
    b"\x1b[2J", b'"\\ud800"', b"null", b"7", b'"exit": 99', b"x" * 3000,
)  # fmt: skip
Script = tuple[bytes, bytes, bytes, bytes, str]


def as_lines(*values: object) -> bytes:
    return "".join(json.dumps(value) + "\n" for value in values).encode()


def answer(position: int) -> list[dict[str, Any]]:
    """What a worker writes for a row that measures ceilings."""
    n = (16, 32)[position]
    attributes = {"m": 64, "n": n, "k": 64, "trans_a": "n", "trans_b": "n", "precision": "float"}
    row = make_row("gemm", attributes, position, 2.0 * 64 * n * 64)
    return [
        {"type": "begin"},
        {"type": "admitted"},
        {"type": "measuring", "problem": row["problem"], "row": json.dumps(row)},
        make_ceiling("arithmetic", 10.0),
        {"type": "measuring", "problem": None, "row": None},
        row,
    ]


HELLO_LINES = [{**HELLO, "planning": planning_facts("cpu")}]
ANSWERS = (answer(0), answer(1))


@st.composite
def scripts(draw: st.DrawFn) -> Script:
    """What a worker writes; most of it as it should be."""
    hello = as_lines(*HELLO_LINES)
    if draw(st.integers(0, 4)) == 0:
        hello = draw(mutated(HELLO_LINES).map(lambda lines: as_lines(*lines))
                     | mutated_bytes([hello], PIECES))  # fmt: skip
    answers = []
    for good in ANSWERS:
        sound = as_lines(*good)
        changed = mutated(good).map(lambda lines: as_lines(*lines))
        changed |= shuffled_lines([as_lines(*one) for one in ANSWERS], PIECES)
        changed |= mutated_bytes([sound], PIECES)
        answers.append(draw(st.just(sound) | changed))
    errors = draw(st.just(b"") | st.binary(max_size=60) | st.just(b"deepbench: \x1b[2J it broke\n"))
    stays = draw(st.integers(0, 9)) == 0
    return (hello, *answers, errors, "stay" if stays else draw(st.sampled_from(ENDS)))  # type: ignore[return-value]


def check_run(script: Script, folder: Path) -> None:
    *written, end = script
    paths = [folder / name for name in ("hello", "first", "second", "errors")]
    for path, data in zip(paths, written, strict=True):
        path.write_bytes(data)
    file, err = folder / "rows.jsonl", io.StringIO()
    file.unlink(missing_ok=True)
    source = Session(
        ["/bin/sh", "-c", WORKER, "worker", *map(str, paths), end],
        say=lambda text: one.run._screen.say(text),
        on_ceiling=lambda text: one.run._write_ceiling(text),
        start_timeout_s=HANG_LIMIT_S,
    )
    one = ScriptedRun(
        source, *PROBLEMS, "--hang-limit", str(HANG_LIMIT_S), "-o", str(file), err=err
    )  # type: ignore[arg-type]
    try:
        status = one.end()
    except UserError as error:
        require_printable_line(error)
        status = None
    assert status in (None, 0, 1)
    for text in (err.getvalue(), one.out.getvalue()):
        assert all(letter.isprintable() or letter == "\n" for letter in text), repr(text)
    if status is not None or file.exists():
        positions = [row.position for row in read(file).rows]
        assert positions == sorted(set(positions))
        assert status is None or positions == [0, 1]


def test_a_worker_that_writes_anything(campaign: Campaign, tmp_path: Path) -> None:
    campaign.run(lambda script: check_run(script, tmp_path), scripts(), count=40)


def test_a_ceiling_of_a_row_that_was_not_admitted_follows_the_context(tmp_path: Path) -> None:
    first = [line for line in answer(0) if line["type"] != "admitted"]
    check_run((as_lines(*HELLO_LINES), as_lines(*first), as_lines(*answer(1)), b"", "0"), tmp_path)


# ---- lines to a real worker ----------------------------------------------------------------------

LAST = 7_654_321  # the position of the line behind those of an example
MAX_WORKER_KIB = 1 << 20
# Nothing is measured: a damaged number may ask for more memory than there is.
REFUSING = "fail plan unsupported not here"
LINES = (
    b"gemm m=8 n=8 k=8 trans_a=n precision=half ; cache=cold position=3 samples=2\n"
    b'memory kind=copy bytes=4096 application="a b" ; position=4 threads=0 verify=no\n'
    b"# a comment\n\nall_reduce elements=10 ; check=yes ceilings=no inputs=ones\n",
    b"conv w=7 h=7 c=1 n=1 k=3 s=3 r=3 pad_w=1 pad_h=1 stride_w=1 stride_h=1 ; algorithm=best\n"
    b"rnn cell=lstm hidden=8 n=2 t=3 phase=fwd ; power=sustained seed=7 workspace=1024\n",
    b"ceiling latency precision=float device=0 threads=0 cores=2 cache=hot ; figure=1e12\n"
    b"gemm m=8 n=8 k=8\nceiling bandwidth level=memory device=0 ; figure=5e9 raised=6e9\n",
)
LINE_PIECES = (
    b" ; ", b"position=", b"position=-1", b"99999999999999999999", b"figure=nan", b"=", b'"',
    b"\\", b"\0", b"\xff", b"\x1b[2J", b"\n", b"\r", b"x" * 5000, b"device=1", b"once=yes",
    b"ceiling ", b"#", b"\xc2\x9b31m", b"\xe2\x80\xae", b"algorithm=\xc3\xa9",
    b"constant=a,b", b"devices=0,0",
)  # fmt: skip


class RealWorker:
    """A worker of the fake backend; a new one whenever one has ended."""

    def __init__(self, plugin: Path) -> None:
        self._command = worker_command(str(plugin), [])
        self._process = self._started()

    def _started(self) -> subprocess.Popen[bytes]:
        process = subprocess.Popen(
            self._command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env=os.environ | {"DEEPBENCH_FAKE_SCRIPT": REFUSING},
        )
        assert process.stdout is not None
        assert json.loads(process.stdout.readline())["type"] == "hello"
        return process

    def answers(self, data: bytes) -> list[dict[str, Any]]:
        """The messages until the line behind the data is answered, or until the worker ends."""
        process = self._process
        assert process.stdin is not None
        assert process.stdout is not None
        try:
            process.stdin.write(data + f"\ngemm m=8 n=8 k=8 ; position={LAST}\n".encode())
            process.stdin.flush()
        except BrokenPipeError:
            pass
        found = []
        while line := process.stdout.readline():
            found.append(json.loads(line))
            if found[-1].get("position") == LAST:
                assert worker_peak_kib(process.pid) <= MAX_WORKER_KIB
                return found
        assert process.wait() == 2, f"the worker ended with {process.returncode}"
        assert found, "the worker ended without a message"
        assert found[-1]["type"] == "error"
        self._process = self._started()
        return found

    def close(self) -> None:
        self._process.kill()
        self._process.communicate()


def worker_peak_kib(pid: int) -> int:
    text = Path(f"/proc/{pid}/status").read_text()
    return int(text.partition("VmHWM:")[2].split(maxsplit=1)[0])


@pytest.fixture(scope="module")
def worker(plugin: Path) -> Iterator[RealWorker]:
    one = RealWorker(plugin)
    yield one
    one.close()


def check_answers(data: bytes, worker: RealWorker) -> None:
    """Each line that is a problem has the message that it begins, and a row."""
    answers = worker.answers(data)
    rows = [one for one in answers if one["type"] == "row"]
    for row in rows:
        parse_row(json.dumps(row).encode())
        assert row["status"] != "ok"
        require_line_without_controls(row["reason"])
    for error in (one for one in answers if one["type"] == "error"):
        require_line_without_controls(error["message"])
    assert [one["type"] for one in answers if one["type"] not in ("error", "admitted")] == [
        "begin", "row"] * len(rows)  # fmt: skip


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="there is no /proc here")
def test_a_worker_that_is_sent_anything(campaign: Campaign, worker: RealWorker) -> None:
    inputs = mutated_bytes(LINES, LINE_PIECES) | shuffled_lines(LINES, LINE_PIECES)
    campaign.run(lambda data: check_answers(data, worker), inputs, count=200)


@pytest.mark.parametrize("path", corpus("worker_protocol"))
def test_corpus(path: Path, worker: RealWorker) -> None:
    check_answers(path.read_bytes(), worker)
