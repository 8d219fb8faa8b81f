"""A run that continues a file keeps every whole line that counts, as it is and once, removes a line
that was cut short, and measures the rest."""

from __future__ import annotations

import json
import tempfile
from functools import cache
from pathlib import Path
from typing import Any

from hypothesis import strategies as st

from campaign import Campaign
from deepbench.results import read
from example_rows import make_ceiling, without_times
from scripted_run import (
    THREE,
    ScriptedRows,
    crashed_worker,
    run_scripted,
    unchanged_row,
    unsupported_row,
)

ROWS = len(THREE[2].split(","))
File = tuple[bytes, tuple[str, ...]]  # its content, and the options of the run that continues it


def disturbed_row(row: dict[str, Any]) -> dict[str, Any]:
    return {**row, "statistics": {**row["statistics"], "waited_share": 0.6}}


ANSWERS = {
    "ok": unchanged_row,
    "failed": crashed_worker,
    "disturbed": disturbed_row,
    "unsupported": unsupported_row,
}
_CEILINGS = [make_ceiling(kind, 10.0) for kind in ("arithmetic", "latency")]
CEILINGS = [*_CEILINGS, *(without_times(one, "failed", "it broke") for one in _CEILINGS)]


@cache
def sound_lines(kind: str, options: tuple[str, ...]) -> tuple[bytes, ...]:
    """The lines of a run all of whose rows are of this kind."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "rows.jsonl")
        rows = ScriptedRows(dict.fromkeys(range(ROWS), ANSWERS[kind]))
        run_scripted(rows, *THREE, *options, "-o", str(path))
        return tuple(path.read_bytes().splitlines(keepends=True))


def row_in(line: dict[str, Any]) -> dict[str, Any]:
    """The row, also of a visit."""
    row: dict[str, Any] = line["row"] if line["type"] == "visit" else line
    return row


@st.composite
def unfinished_files(draw: st.DrawFn) -> File:
    """The lines of ceilings and of rows of every kind, some of which are missing, in any order. The
    last bytes are missing, most often within the last line."""
    options = draw(st.sampled_from([(), ("--visits", "2")]))
    lines = [as_line(one) for one in draw(st.lists(st.sampled_from(CEILINGS), max_size=3))]
    for position in range(ROWS):
        kind = draw(st.sampled_from([*ANSWERS, "missing"]))
        if kind != "missing":
            lines += [
                line
                for line in sound_lines(kind, options)[1:]
                if row_in(json.loads(line))["position"] == position
            ]
    lines = [sound_lines("ok", options)[0], *draw(st.permutations(lines))]
    data = b"".join(lines)
    of_last = st.integers(0, len(lines[-1]))
    missing = draw(of_last | of_last | st.integers(0, len(data)))
    return data[: len(data) - missing], draw(st.sampled_from([(), ("--retry",)])) + options


def as_line(value: object) -> bytes:
    return json.dumps(value).encode() + b"\n"


def whole_lines(data: bytes) -> list[bytes]:
    *lines, last = data.split(b"\n")
    try:
        json.loads(last)
    except ValueError:
        return lines
    return [*lines, last]


def is_measured_again(line: dict[str, Any]) -> bool:
    row = row_in(line)
    waited_share = (row["statistics"] or {}).get("waited_share", 0.0)
    return row["status"] == "failed" or waited_share > 0.5


def kept_lines(data: bytes, retries: bool) -> list[bytes]:
    """The lines that stay. Whatever failed goes as soon as a row is measured again, but the visits
    of other rows."""
    lines = whole_lines(data)
    values = [json.loads(line) for line in lines]
    rows = [one for one in values if one["type"] == "row"]
    complete = {row["position"] for row in rows if not is_measured_again(row)}
    if not retries or len(complete) == len(rows):
        return lines
    return [
        line
        for line, value in zip(lines, values, strict=True)
        if value["type"] == "context"
        or (value["type"] == "visit" and value["row"]["position"] in complete)
        or not is_measured_again(value)
    ]


def check_resumed(file: File, folder: Path) -> None:
    data, options = file
    path = folder / "rows.jsonl"
    path.write_bytes(data)
    run_scripted(ScriptedRows(), *THREE, *options, "-o", str(path), "--resume")
    lines, kept = whole_lines(path.read_bytes()), kept_lines(data, "--retry" in options)
    assert lines[: len(kept)] == kept
    assert not set(whole_lines(data)).difference(kept).intersection(lines)
    types = [json.loads(line)["type"] for line in lines]
    assert (types[0], types.count("context"), types.count("row")) == ("context", 1, ROWS)
    result = read(path)
    assert [row.position for row in result.rows] == list(range(ROWS))
    assert not result.torn
    assert [one.name for one in folder.iterdir()] == [path.name]


def test_unfinished_files(campaign: Campaign, tmp_path: Path) -> None:
    campaign.run(lambda file: check_resumed(file, tmp_path), unfinished_files(), count=100)
