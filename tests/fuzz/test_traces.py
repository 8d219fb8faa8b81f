"""Damaged traces and logs are read or refused in one line, and what is read makes a valid suite and
result file."""

from __future__ import annotations

import gzip
import json
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from hypothesis import strategies as st

from byte_mutations import mutated_bytes, shuffled_lines
from campaign import Campaign, corpus, require_printable_line
from deepbench import _core, suites
from deepbench.cli.import_trace import remarks_of, summary_of
from deepbench.results import ResultWriter, read
from deepbench.traces import Recording, TraceError, read_trace, suite_text, time_file
from mutated_lines import EVIL, JSON, mutated
from trace_samples import GPU, GPU_LOG, SAMPLES, STACK, TORCH

SAMPLE_NAMES = (TORCH, STACK, GPU)

JSON_PIECES = tuple(
    text.encode()
    for text in (
        '"ph":"X"', '"cat":"cpu_op"', '"cat":"kernel"', '"name":"aten::mm"', "null", "NaN", "-1",
        "1e999", "true", '"Input Dims":[[2,3],[3,4]]', "9" * 30, "[" * 50, "{", "}", "]", ",",
        '"args":{', "\\u0000", "\\ud800", "\x00", "\xff",
    )
)  # fmt: skip
LOG_PIECES = tuple(
    text.encode()
    for text in (
        "onednn_verbose,", "dnnl_verbose,", "v1,", "exec,", "cpu,", "matmul,", "convolution,",
        "src_f32::blocked:ab::f0 ", "wei:s8:a:blocked:ba::f0 ", "dst_", "attr-fpmath:bf16", "32x48",
        ":48x64", "mb2_ic8oc12", "ih14oh12kh3sh1dh0ph0", "iw1ow1kw1sw1dw0pw0", "nan", "1e999",
        "[cublasLt][", "[Trace][cublasLtMatmul] ", "Adesc=[type=R_16F rows=4 cols=4]",
        "batchCount=2", "order=ORDER_ROW", "transa=OP_T", "rows=-1", "cols=" + "9" * 25, "]", "[",
        "\n", "\r", "\x00", "\x1b[2J", "\u2028", "x" * 20_000, "a" * 8000, "a_" * 4000,
        f"{'9' * 19}x" * 300,
    )
)  # fmt: skip


OPERATORS, KERNELS = ("cpu_op", "user_annotation", "python_function"), ("kernel", "cuda_runtime")
VALUES = JSON | st.sampled_from(
    [[[2, 3], [3, 4]], [[0, 3], [3, 0]], [[1, 1, 2], [2, 2]], [[2, 4, 5, 6], [8, 2, 3, 3]], EVIL,
     ["float"] * 3, ["c10::Half"] * 3, ["[1, 2]"] * 12, ["-5"] * 12, "aten::mm", "aten::linear",
     "aten::convolution", "aten::convolution_backward", "cpu_op", "kernel", 2**62]
)  # fmt: skip


@cache
def traces() -> tuple[dict[str, Any], ...]:
    """The recorded traces as JSON, of which each has its first events."""
    found = [json.loads(gzip.decompress((SAMPLES / name).read_bytes())) for name in SAMPLE_NAMES]
    for trace in found:
        events = trace["traceEvents"]
        trace["traceEvents"] = [
            *[one for one in events if one.get("cat") in OPERATORS][:80],
            *[one for one in events if one.get("cat") in KERNELS][:40],
        ]
    return tuple(found)


def texts_of_traces() -> list[bytes]:
    return [json.dumps(trace).encode() for trace in traces()]


def logs() -> list[bytes]:
    names = ("onednn-3.2.0.log", "onednn-3.12.0.log", GPU_LOG)
    return [(SAMPLES / name).read_bytes()[:6000] for name in names]


@st.composite
def traces_with_other_values(draw: st.DrawFn) -> bytes:
    """A trace in which a few values of its events are others."""
    trace = draw(st.sampled_from(traces()))
    events = draw(mutated(trace["traceEvents"], VALUES))
    return json.dumps({**trace, "traceEvents": events}).encode()


def check_trace(data: bytes, folder: Path) -> None:
    path = folder / "a.json"
    path.write_bytes(data)
    try:
        recording = read_trace(path)
    except TraceError as error:
        require_printable_line(error)
        return
    for line in (*remarks_of(recording), summary_of(recording, path)):
        require_printable_line(line)
    check_suite(recording)
    if recording.timer is not None:
        check_times(recording, folder)


def check_suite(recording: Recording) -> None:
    """Every problem is in the suite with its calls."""
    suite = suites.from_bytes(suite_text(recording, "a.json").encode(), "mine.txt", "mine")
    counts: dict[str, int] = {}
    for entry, problem in suites.problems(suite, _core.Problem.parse):
        counts[str(problem)] = counts.get(str(problem), 0) + (entry.count or 0)
    assert counts == {str(one.problem): one.count for one in recording.problems}


def check_times(recording: Recording, folder: Path) -> None:
    context, rows = time_file(recording, "a.json")
    writer = ResultWriter.create(folder / "rows.jsonl", overwrite=True)
    try:
        writer.replace(context, (row.line for row in rows))
    finally:
        writer.close()
    assert [row.members for row in read(folder / "rows.jsonl").rows] == [
        row.members for row in rows
    ]


def test_damaged_traces(campaign: Campaign, tmp_path: Path) -> None:
    inputs = mutated_bytes(texts_of_traces(), JSON_PIECES)
    campaign.run(lambda data: check_trace(data, tmp_path), inputs, count=100)


def test_damaged_values(campaign: Campaign, tmp_path: Path) -> None:
    campaign.run(lambda data: check_trace(data, tmp_path), traces_with_other_values(), count=200)


def test_damaged_logs(campaign: Campaign, tmp_path: Path) -> None:
    inputs = mutated_bytes(logs(), LOG_PIECES) | shuffled_lines(logs(), LOG_PIECES)
    campaign.run(lambda data: check_trace(data, tmp_path), inputs, count=200)


def test_damaged_compression(campaign: Campaign, tmp_path: Path) -> None:
    inputs = mutated_bytes([gzip.compress(text) for text in texts_of_traces()], (b"\x1f\x8b",))
    campaign.run(lambda data: check_trace(data, tmp_path), inputs, count=50)


@pytest.mark.parametrize("path", corpus("traces"))
def test_corpus(path: Path, tmp_path: Path) -> None:
    check_trace(path.read_bytes(), tmp_path)
