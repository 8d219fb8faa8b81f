"""Damaged result files are read or refused in one line, and what is read can be written and read
again."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from hypothesis import strategies as st

from byte_mutations import mutated_bytes, shuffled_lines
from campaign import Campaign, corpus, require_printable_line
from deepbench.results import ResultError, ResultFile, ResultWriter, read, schema
from deepbench.results.reader import parsed
from deepbench.results.resume_check import first_difference
from example_rows import make_ceiling, make_context, make_gemm
from mutated_lines import VALID_LINES, mutated
from source_tree import ROOT

LINES_OF_A_SEED = 4  # the first ones; a whole file of thousands of bytes adds nothing
SAMPLES = (
    *sorted((ROOT / "tests/samples").glob("v*/*.jsonl")),
    ROOT / "tests/data/row_times_cpu.jsonl",
)
CEILINGS = [make_ceiling(kind, 10.0) for kind in ("arithmetic", "bandwidth", "latency")]
LINES = [*VALID_LINES, *CEILINGS]
VISITS = [{"type": "visit", "visit": number, "row": make_gemm(9)} for number in (1, 2)]
KEY = re.compile(rb'"(\w+)":')
PIECES = (
    b'"type": "context"', b'"type": "row"', b'"type": "ceiling"', b'"schema": 1', b'"schema": 2',
    b'"schema": true', b'"schema": 1.0', b'"version": "\\u001b[2J"', b'"position": 0',
    b'"status": "ok"',
    b"NaN", b"-Infinity", b"1e999", b"-0", b"1" * 400, b"null", b"{}", b"[]", b'""', b'"\\u0000"',
    b'"\\ud800"', b"\\u2028", b"\x1b", b"\xff", b"\xe2\x80\xa8", b"\r", b"\n", b"\0", b"[" * 70,
    b'{"a":' * 40, b'"\\n\\u001b": 0,', b",", b"\x1f\x8b",
)  # fmt: skip


def seeds() -> list[bytes]:
    files = [
        b"".join(path.read_bytes().splitlines(keepends=True)[:LINES_OF_A_SEED]) for path in SAMPLES
    ]
    return [*files, as_bytes(LINES)]


def as_bytes(lines: list[dict[str, object]]) -> bytes:
    return "".join(json.dumps(line) + "\n" for line in lines).encode()


def check_file(data: bytes, folder: Path) -> None:
    try:
        result = parsed(folder / "rows.jsonl", data)
    except ResultError as error:
        require_printable_line(error)
        return
    if result.warning:
        require_printable_line(result.warning)
    difference = first_difference(result, make_context(), ["gemm"])
    if difference is not None:
        require_printable_line(ResultError(f"{result.path}: {difference}"))
    check_written(result, folder)


def check_written(result: ResultFile, folder: Path) -> None:
    """What was read is the same after it was written, as `show --thin` and --resume write it."""
    path = folder / "again.jsonl"
    context = {**result.context, "schema": schema.VERSION}
    writer = ResultWriter.create(path, overwrite=True)
    try:
        writer.replace(context, result.lines)
    finally:
        writer.close()
    assert path.read_bytes().count(b"\n") == 1 + len(result.lines)
    again = read(path)
    assert again.context == context
    assert again.rows == result.rows
    assert again.ceilings == result.ceilings
    assert again.lines == result.lines
    assert not again.torn


def test_damaged_bytes(campaign: Campaign, tmp_path: Path) -> None:
    known = seeds()
    inputs = mutated_bytes(known, PIECES) | shuffled_lines(known, PIECES)
    campaign.run(lambda data: check_file(data, tmp_path), inputs, count=700)


def test_damaged_values(campaign: Campaign, tmp_path: Path) -> None:
    inputs = st.builds(as_bytes, mutated(LINES))
    campaign.run(lambda data: check_file(data, tmp_path), inputs, count=500)


@st.composite
def lines_with_escaped_keys(draw: st.DrawFn) -> tuple[bytes, bytes]:
    """A file, and the same with a few keys of its lines written with an escape."""
    plain = as_bytes([*LINES, *VISITS])
    names = draw(st.lists(st.sampled_from(sorted(set(KEY.findall(plain)))), min_size=1, max_size=5))
    escaped = plain
    for name in names:
        spelled = b"".join(b"\\u%04x" % letter for letter in name[:1]) + name[1:]
        escaped = escaped.replace(b'"%s":' % name, b'"%s":' % spelled)
    return plain, escaped


def check_escaped_keys(files: tuple[bytes, bytes], folder: Path) -> None:
    """What is read does not depend on how keys are written."""
    plain, escaped = (parsed(folder / "rows.jsonl", data) for data in files)
    assert escaped.rows == plain.rows
    assert escaped.ceilings == plain.ceilings
    check_file(files[1], folder)


def test_escaped_keys(campaign: Campaign, tmp_path: Path) -> None:
    inputs = lines_with_escaped_keys()
    campaign.run(lambda files: check_escaped_keys(files, tmp_path), inputs, count=60)


@pytest.mark.parametrize("path", corpus("result_files"))
def test_corpus(path: Path, tmp_path: Path) -> None:
    check_file(path.read_bytes(), tmp_path)
