"""Every command that reads result files answers for damaged ones with a status and printable lines:
the lines of ceilings and of chains, and the rows and the context beside them."""

from __future__ import annotations

import contextlib
import io
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import strategies as st

from campaign import Campaign, corpus, require_printable_line
from deepbench.accept.reference import read_reference
from deepbench.cli import main
from deepbench.errors import UserError
from deepbench.report.overview import vega
from example_rows import (
    KEYS,
    make_ceiling,
    make_chain,
    make_context,
    make_gemm,
    make_memory,
    make_row,
    make_workload,
    with_named_ceilings,
)
from mutated_lines import JSON, mutated

# JSON that json.dumps() does not write, by the texts that stand for it.
RAW = {
    "<nested>": "[" * 10_000 + "]" * 10_000,
    "<nested objects>": '{"a":' * 10_000 + "1" + "}" * 10_000,
    "<megabyte>": f'"{"x" * 1_000_000}"',
    "<digits>": "1" * 5000,
    "<beyond>": "1e999",
}
NUMBERS = st.sampled_from(
    [-1, -1e308, 0, 0.0, -0.0, 5e-324, 1e-300, 1e15, 1.7e308, 2**63 - 1, -(2**63), 2**64,
     float("nan"), float("inf")]
)  # fmt: skip
VALUES = JSON | NUMBERS | st.sampled_from([*RAW, *KEYS.values()])


def all_reduce_row(position: int) -> dict[str, Any]:
    elements = 10**position
    row = make_row("all_reduce", {"elements": elements, "precision": "float"}, position, 0.0)
    row["statistics"]["median_ns"] = 1e4 + elements
    row["work"]["bytes"] = 4.0 * elements
    row["library"], row["regime"]["ranks"] = "ring 0.1.0", 2
    return row


ROWS = [make_gemm(0), make_memory(1), *map(all_reduce_row, range(2, 8))]
CEILINGS = [
    *(make_ceiling(kind, 10.0) for kind in ("arithmetic", "bandwidth", "latency")),
    make_ceiling(
        "serial",
        10.0,
        KEYS["latency"].replace("latency", "serial"),
        work={**make_gemm()["work"], "steps": 4},
    ),
    make_ceiling("arithmetic", 11.0, raised_by=0),
]
LINES = [make_context(rows=len(ROWS)), *(with_named_ceilings(row) for row in ROWS), *CEILINGS]
FIRST_CEILING = len(LINES) - len(CEILINGS)
OF_WORKLOAD = [make_context(rows=1, workload=make_workload()), with_named_ceilings(make_gemm())]
CHAINS = [
    make_chain(),
    make_chain(8, status="failed", reason="it broke", statistics=None),
    make_chain(power="sustained"),
]

COMMANDS = (
    *(f"show {{bad}} --format {form}" for form in ("table", "json", "csv", "markdown")),
    "show {good} --against {bad}",
    "show {bad} --thin 2 -o {out}.jsonl --overwrite",
    *(f"compare {{good}} {{bad}} --format {form}" for form in
      ("table", "json", "markdown", "html")),
    "compare {bad} {good}",
    "check-result {bad}",
    "model {bad} --ranks 2,8",
    "model {good} {bad}",
    *(f"report {{bad}} --format {form} -o {{out}} --overwrite" for form in
      ("html", "markdown", "xlsx", "svg")),
    "report {good} --against {bad} --format markdown",
    "history",
    "history show 1",
    "history plot gemm m=1760 n=16 k=1760 trans_b=t",
)  # fmt: skip


def as_bytes(lines: list[Any]) -> bytes:
    text = "".join(json.dumps(line) + "\n" for line in lines)
    for name, raw in RAW.items():
        text = text.replace(json.dumps(name), raw)
    return text.encode()


@st.composite
def damaged_ceilings(draw: st.DrawFn) -> list[Any]:
    """The lines, with ceilings that lack members, have others, stand elsewhere or twice."""
    lines = [*LINES[:FIRST_CEILING], *draw(mutated(CEILINGS, VALUES))]
    for _ in range(draw(st.integers(0, 2))):
        at = draw(st.integers(FIRST_CEILING, len(lines) - 1))
        kind = draw(st.sampled_from(("lack", "move", "repeat", "drop")))
        if kind == "lack" and isinstance(lines[at], dict) and lines[at]:
            lines[at] = {**lines[at]}
            del lines[at][draw(st.sampled_from(sorted(lines[at])))]
        elif kind == "move":
            lines.insert(draw(st.integers(1, len(lines) - 1)), lines.pop(at))
        elif kind == "repeat":
            lines[at:at] = [lines[at]] * draw(st.sampled_from((1, 2, 50)))
        elif len(lines) > FIRST_CEILING + 1:
            del lines[at]
    return lines


@pytest.fixture(autouse=True)
def surroundings(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A history of one file, and no Vega, which sees numbers and texts alone."""
    monkeypatch.setenv("DEEPBENCH_HISTORY_DIR", str(tmp_path))
    monkeypatch.setattr(vega, "vega_script", lambda: "vega()")
    monkeypatch.setattr(vega, "compile_to_vega", lambda spec: {"data": []})
    monkeypatch.setattr(vega, "svg", lambda spec: json.dumps(spec, allow_nan=False).encode())


def words_of(command: str, folder: Path, data: bytes) -> list[str]:
    """The words of a command, whose file `bad`, also the only one of the history, has the data."""
    bad, good = folder / "20260131T120000Z-1-1.jsonl", folder / "good.jsonl"
    bad.write_bytes(data)
    good.write_bytes(as_bytes(LINES))
    return command.format(bad=bad, good=good, out=folder / "out").split(" ")


def check_commands(data: bytes, commands: Sequence[str], folder: Path) -> None:
    for command in commands:
        words = words_of(command, folder, data)
        out, err = io.StringIO(), io.StringIO()
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            status = main(words)
        text = out.getvalue() + err.getvalue()
        assert status in (0, 1, 2), (command, status, text)
        assert (status == 2) == ("deepbench: error: " in text), (command, status, text)
        assert text.replace("\r\n", "").replace("\n", "").isprintable(), command
    try:
        read_reference(words_of("{bad}", folder, data))
    except UserError as error:
        require_printable_line(error)


@pytest.mark.parametrize("command", COMMANDS)
def test_whole_lines_are_accepted(command: str, tmp_path: Path) -> None:
    status = main(words_of(command, tmp_path, as_bytes(LINES)))
    assert status == (1 if command.startswith("check-result") else 0)


CHOSEN = st.lists(st.sampled_from(COMMANDS), min_size=4, max_size=4, unique=True)


def test_damaged_ceilings(campaign: Campaign, tmp_path: Path) -> None:
    inputs = st.builds(as_bytes, damaged_ceilings())
    campaign.run(lambda *example: check_commands(*example, tmp_path), inputs, CHOSEN, count=100)


@st.composite
def damaged_chains(draw: st.DrawFn) -> list[Any]:
    """The lines of a workload, with chains that have other values, stand elsewhere or repeat."""
    lines: list[Any] = [*OF_WORKLOAD, *draw(mutated(CHAINS, VALUES))]
    at = draw(st.integers(1, len(lines)))
    lines[at:at] = [lines[-1]] * draw(st.sampled_from((0, 1, 50)))
    return lines


def test_damaged_chains(campaign: Campaign, tmp_path: Path) -> None:
    inputs = st.builds(as_bytes, damaged_chains())
    campaign.run(lambda *example: check_commands(*example, tmp_path), inputs, CHOSEN, count=60)


@pytest.mark.parametrize(
    ("chain", "text"),
    [
        (CHAINS[0], "150.0 \N{MICRO SIGN}s for 2 calls of 1 kernel as one graph"),
        (make_chain(status="failed", reason="it broke", statistics=None), "failed: it broke"),
    ],
)
def test_a_chain_stands_beside_its_rows(
    chain: dict[str, Any], text: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(words_of("show {bad}", tmp_path, as_bytes([*OF_WORKLOAD, chain]))) == 0
    assert f"chain: {text}" in capsys.readouterr().out


def test_a_chain_without_time_has_its_status_in_the_table_of_passes(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(words_of("show {bad}", tmp_path, as_bytes([*OF_WORKLOAD, *CHAINS]))) == 0
    [row] = [line for line in capsys.readouterr().out.splitlines() if line.startswith("    8  ")]
    assert row.split()[5] == "failed"


def test_damaged_lines(campaign: Campaign, tmp_path: Path) -> None:
    inputs = st.builds(as_bytes, mutated(LINES, VALUES))
    campaign.run(lambda *example: check_commands(*example, tmp_path), inputs, CHOSEN, count=60)


@pytest.mark.parametrize("path", corpus("result_files"))
def test_corpus(path: Path, tmp_path: Path) -> None:
    check_commands(path.read_bytes(), COMMANDS, tmp_path)
