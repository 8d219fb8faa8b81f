"""deepbench import of traces and logs: what it writes, what it says, and what it refuses without
writing anything."""

from __future__ import annotations

import gzip
import json
import os
import re
from pathlib import Path

import pytest

from command_line import run_command
from deepbench import suites
from deepbench.results import read
from deepbench.traces import reading
from trace_samples import SAMPLES, TORCH, kernel, operator, product_operator, write_trace

Capture = pytest.CaptureFixture[str]


@pytest.fixture(autouse=True)
def in_a_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def import_trace(capsys: Capture, path: object, *options: str) -> list[str]:
    """The lines that a successful import says."""
    status, out, err = run_command(capsys, "import", str(path), "-o", "mine.txt", *options)
    assert (status, out) == (0, ""), err
    return err.splitlines()


def refusal(capsys: Capture, *words: str) -> str:
    """The line that refuses an import, which writes nothing."""
    before = {path.name: path.stat().st_mtime_ns for path in Path().iterdir()}
    status, out, err = run_command(capsys, "import", *words)
    assert (status, out, err.count("\n")) == (2, "", 1), err
    assert err.strip().isprintable()
    assert {path.name: path.stat().st_mtime_ns for path in Path().iterdir()} == before
    return err.strip().removeprefix("deepbench: error: ")


# ---- what is written -----------------------------------------------------------------------------


def test_a_trace_becomes_a_suite_with_counts(capsys: Capture) -> None:
    said = import_trace(capsys, SAMPLES / TORCH)
    header, blank, *lines = Path("mine.txt").read_text().splitlines()
    assert header == f"# Calls of {TORCH}, a trace of PyTorch's profiler."
    assert (blank, len(lines)) == ("", 26)
    assert lines[2] == (
        'gemm m=64 n=4 k=2048 trans_a=t trans_b=n precision=float count=2 application="aten::addmm"'
    )
    # One problem of two operators has a line for each.
    same = [
        line.partition(" count")[2] for line in lines if " n=5 k=7" in line and "=float " in line
    ]
    assert same == ['=1 application="aten::mm"', '=1 application="aten::bmm"']
    assert said[-1].startswith(
        f"deepbench: {TORCH}: a trace of PyTorch's profiler: 25 problems, 28 calls, "
    )
    assert len(said) == 22  # twenty remarks, and how many more there are
    assert "more remarks; --all prints them" in said[-2]
    everything = "\n".join(import_trace(capsys, SAMPLES / TORCH, "--overwrite", "--all"))
    shares = [float(share) for share in re.findall(r"([\d.]+) % of the time", everything)]
    assert sum(shares) == pytest.approx(100, abs=0.05 * len(shares))


def test_the_suite_of_a_trace_is_read(capsys: Capture) -> None:
    import_trace(capsys, SAMPLES / TORCH)
    status, out, err = run_command(capsys, "list", "mine.txt")
    assert (status, err) == (0, "")
    assert out.splitlines()[-1].startswith("25 problems, 30 calls: ")
    both = next(line for line in out.splitlines() if "aten::bmm" in line)
    assert both.endswith("aten::mm (1), aten::bmm (1)")


def test_the_times_of_a_trace_become_a_result_file(capsys: Capture) -> None:
    import_trace(capsys, SAMPLES / TORCH, "--times", "mine.jsonl")
    result = read(Path("mine.jsonl"))
    assert len(result.rows) == 25
    assert result.context["trace"] == {"file": TORCH, "source": "a trace of PyTorch's profiler"}
    first = result.rows[0]
    assert first.problem.startswith("conv w=16 h=16 c=3 n=4 k=16 s=3 r=3 pad_w=1 pad_h=1")
    assert first.calls_by_application == [("features", 2)]
    assert (first.application, first.statistics.n) == ("features", 2)
    assert first.statistics.min_ns <= first.time_ns <= first.statistics.max_ns
    assert first.rates.tflops == pytest.approx(first.work.flops / first.time_ns / 1e3)
    shared = [row.problem for row in result.rows if row.notes]
    assert [re.search(r"phase=\w+", one)[0] for one in shared] == [
        "phase=bwd_data", "phase=bwd_filter", "phase=fwd", "phase=bwd_filter",
    ]  # fmt: skip


def test_a_run_is_compared_with_the_times_of_its_trace(capsys: Capture, tmp_path: Path) -> None:
    slow = [product_operator(0, 30), product_operator(100, 10)]
    import_trace(capsys, write_trace(tmp_path / "a.json", slow), "--times", "trace.jsonl")
    row = json.loads(Path("trace.jsonl").read_text().splitlines()[1])
    row |= {"regime": {"cache": "hot"}, "statistics": {"median_ns": 10_000, "n": 9}}
    context = Path("trace.jsonl").read_text().splitlines()[0]
    Path("run.jsonl").write_text(f"{context}\n{json.dumps(row)}\n")
    status, out, _ = run_command(capsys, "compare", "run.jsonl", "trace.jsonl")
    assert status == 0
    assert "10.00 µs" in out
    assert "20.00 µs" in out
    assert "published, without a verdict" in out
    assert "times of a trace were measured in the program that it records" in out


def test_a_workbook_keeps_the_times_of_a_trace(capsys: Capture) -> None:
    import_trace(capsys, SAMPLES / TORCH, "--times", "mine.jsonl")
    assert run_command(capsys, "report", "mine.jsonl", "-o", "mine.xlsx")[0] == 0
    assert run_command(capsys, "import", "mine.xlsx", "-o", "again.jsonl")[0] == 0
    rows, again = (read(Path(name)).rows for name in ("mine.jsonl", "again.jsonl"))
    assert [row.regime.published.trace for row in again] == [TORCH] * 25
    assert [row.time_ns for row in again] == pytest.approx([row.time_ns for row in rows])


def test_a_log_without_times_states_shares_of_calls(capsys: Capture, tmp_path: Path) -> None:
    product = (
        "[cublasLt][7][Trace][cublasLtMatmul] Adesc=[type=R_16F rows=48 cols=64] "
        "Bdesc=[type={type} rows=48 cols=32] Ddesc=[type=R_16F rows=64 cols=32] "
        "computeDesc=[computeType=COMPUTE_32F transa=OP_T]"
    )
    log = tmp_path / "lt.log"
    log.write_text("\n".join(product.format(type=one) for one in ("R_16F", "R_16F", "R_8I")))
    assert import_trace(capsys, log) == [
        "deepbench: warning: not read: cublasLtMatmul: 1 call, 33.3 % of the calls: deepbench has "
        "no product of R_16F and R_8I in COMPUTE_32F",
        "deepbench: lt.log: the log of cuBLASLt: 1 problem, 2 calls, 66.7 % of the calls",
    ]
    assert refusal(capsys, "lt.log", "-o", "b.txt", "--times", "b.jsonl") == (
        "--times: the log of cuBLASLt has no times of its problems"
    )


def test_calls_without_kernels_have_no_times(capsys: Capture, tmp_path: Path) -> None:
    captured = [product_operator(0, 5, External_id=1), kernel("of_another", 9, 2, External_id=2)]
    path = write_trace(tmp_path / "a.json", captured)
    assert "1 problem, 1 call, 0.0 % of the time (0 ms)" in import_trace(capsys, path)[-1]
    assert refusal(capsys, "a.json", "-o", "b.txt", "--times", "b.jsonl") == (
        "--times: a trace of PyTorch's profiler has no times of its problems"
    )


def test_a_suite_beyond_the_limit_is_not_written(
    capsys: Capture, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("deepbench.cli.import_trace.MAX_BYTES", 50)
    write_trace(tmp_path / "a.json", [product_operator(0, 5)])
    said = refusal(capsys, "a.json", "-o", "b.txt")
    assert said == "a.json: its problems make more than 0 MiB, the limit for suites"


def test_a_compressed_log_is_read(capsys: Capture, tmp_path: Path) -> None:
    data = (SAMPLES / "onednn-3.2.0.log").read_bytes()
    (tmp_path / "a.log.gz").write_bytes(gzip.compress(data))
    said = import_trace(capsys, tmp_path / "a.log.gz")
    assert "the log of oneDNN v3.2.0: 12 problems, 24 calls" in said[-1]


# ---- names of untrusted traces -------------------------------------------------------------------

HOSTILE = ("\x1b[2J\x9b31m\u202e", 'a" count=9 b="', "\\", '\\"', "'", "#", "\r\n\tgemm m=1",
           "<script>alert(1)</script>", "=1+1", "\ud800", "x" * 1_000_000, "\u2028", " ", "", "\0",
           "# default: precision=half", "../../etc/passwd")  # fmt: skip


@pytest.mark.parametrize("name", HOSTILE, ids=range(len(HOSTILE)))
def test_names_are_quoted_and_shortened(capsys: Capture, tmp_path: Path, name: str) -> None:
    scope = {**operator(name, 0, 90), "cat": "user_annotation"}
    events = [scope, product_operator(1, 5), operator(name, 20, 5), product_operator(30, 5, name)]
    properties = [{"name": name}]
    path = write_trace(tmp_path / "a.json", events, deviceProperties=properties)
    said = import_trace(capsys, path, "--times", "mine.jsonl")
    assert all(line.isprintable() and len(line) < 1000 for line in said)
    line = Path("mine.txt").read_text().splitlines()[2]
    assert len(Path("mine.txt").read_text().splitlines()) == 3
    assert line.isprintable()
    words, _, application = line.partition(" application=")
    assert words == "gemm m=6 n=5 k=7 trans_a=n trans_b=n precision=float count=1"
    assert 0 < len(application) < 410
    (row,) = read(Path("mine.jsonl")).rows
    (entry,) = suites.read("mine.txt").entries
    assert entry.count == row.count == 1
    assert entry.application == row.application


# ---- what is refused -----------------------------------------------------------------------------


def test_files_that_are_no_traces_are_refused(
    capsys: Capture, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    good = (SAMPLES / TORCH).read_bytes()
    text = gzip.decompress(good)
    for name, data in (
        ("empty.json", b""), ("blank.json", b" \n"), ("cut.json", text[:-1000]),
        ("cut.json.gz", good[:-1000]), ("damaged.json.gz", good[:50] + b"xxxx" + good[54:]),
        ("text.log", b"loss 0.5\n"), ("zeros.log", bytes(9)),
        ("large.json.gz", gzip.compress(text + bytes(1000))),
    ):  # fmt: skip
        (tmp_path / name).write_bytes(data)
    with (tmp_path / "large.json").open("wb") as file:
        file.truncate(reading.MAX_BYTES + 1)
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "folder").mkdir()
    monkeypatch.setattr(reading, "_KINDS", "is of no kind")
    for name, what in (
        ("empty.json", "is empty"), ("blank.json", "is empty"), ("cut.json", "is cut short"),
        ("cut.json.gz", "is cut short"), ("damaged.json.gz", "is not a valid gzip file"),
        ("text.log", "is of no kind"), ("zeros.log", "is of no kind"),
        ("large.json", "has more than 512 MiB of text"), ("pipe", "is not a regular file"),
        ("folder", "directory"), ("missing.json", "No such file"), ("a\0b", "null byte"),
        ("\x1b[2J.json", "No such file"), ("/dev/zero", "is not a regular file"),
    ):  # fmt: skip
        assert what in refusal(capsys, str(tmp_path / name), "-o", "mine.txt")
    monkeypatch.setattr(reading, "MAX_BYTES", len(text))
    assert "has more than" in refusal(capsys, "large.json.gz", "-o", "mine.txt")


def test_outputs_that_cannot_be_written_are_refused_first(capsys: Capture, tmp_path: Path) -> None:
    trace = str(write_trace(tmp_path / "a.json", [product_operator(0, 5)]))
    Path("there.txt").write_text("mine")
    Path("there.jsonl").write_text("mine")
    Path("folder").mkdir()
    for words, what in (
        (["-o", "there.txt"], "exists; --overwrite replaces it"),
        (["-o", "new.txt", "--times", "there.jsonl"], "exists; --overwrite replaces it"),
        (["-o", "folder"], "is a folder"), (["-o", "new.txt", "--times", "folder"], "is a folder"),
        (["-o", "no/new.txt"], "there is no folder"),
        (["-o", "new.txt", "--times", "no/new.jsonl"], "there is no folder"),
        (["-o", "a.json"], "is also an input"), (["-o", "b", "--times", "a.json"], "also an input"),
        (["-o", "b", "--times", "./b"], "-o and --times both name"),
        (["-o", "b", "--times", "b.csv"], "rows are kept as JSON lines; name b.jsonl"),
        (["-o", "b.jsonl"], "a trace becomes a suite; write deepbench import"),
        ([], "deepbench import FILE -o OUTPUT"), (["b.json", "-o", "b"], "deepbench import FILE"),
    ):  # fmt: skip
        assert what in refusal(capsys, trace, *words), words
    assert Path("there.txt").read_text() == Path("there.jsonl").read_text() == "mine"
    status, _, _ = run_command(
        capsys, "import", trace, "-o", "there.txt", "--times", "there.jsonl", "--overwrite"
    )
    assert status == 0
    assert "gemm" in Path("there.txt").read_text()
    assert len(read(Path("there.jsonl")).rows) == 1


def test_a_workbook_has_no_separate_times(capsys: Capture) -> None:
    said = refusal(capsys, "a.xlsx", "-o", "b.jsonl", "--times", "c.jsonl")
    assert said == "--times is for a trace; a workbook becomes a result file by -o alone"
