"""What commands print on a terminal: no line is wider than it, and a comparison has colors."""

from __future__ import annotations

import io
import json
import sys
from pathlib import Path
from typing import Any

import pytest
from rich.cells import cell_len

from deepbench import references
from deepbench.cli import main
from deepbench.problems.problem_arguments import operations
from deepbench.runner import installation_facts, progress
from example_rows import HELLO, make_context, make_gemm, make_memory, make_row
from workload_files import model_rows, model_text

WIDTHS = [80, 120, 200]


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def printed_on_a_terminal(
    monkeypatch: pytest.MonkeyPatch, width: int, *words: str, status: int = 0
) -> str:
    terminal = Terminal()
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.setattr(sys, "stdout", terminal)
    monkeypatch.setattr(progress, "_terminal_columns", lambda stream: width)
    assert main(words) == status
    return terminal.getvalue()


def widest_line(text: str) -> int:
    """The width of the widest line of several words. A single word stays whole."""
    return max(cell_len(line) for line in text.splitlines() if len(line.split()) > 1)


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("words", [(), ("all",), ("references",), ("references", "NAME")])
def test_lists(monkeypatch: pytest.MonkeyPatch, width: int, words: tuple[str, ...]) -> None:
    name = references.available()[0].name
    given = [name if word == "NAME" else word for word in words]
    text = printed_on_a_terminal(monkeypatch, width, "list", *given)
    assert widest_line(text) <= width
    assert set(text.split()) >= set(printed_in_a_pipe("list", *given).split())


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("words", [(), ("resnet50", "batch=1,2", "--list")])
def test_workloads(monkeypatch: pytest.MonkeyPatch, width: int, words: tuple[str, ...]) -> None:
    text = printed_on_a_terminal(monkeypatch, width, "workload", *words)
    assert widest_line(text) <= width
    assert set(text.split()) >= set(printed_in_a_pipe("workload", *words).split())


@pytest.mark.parametrize("width", WIDTHS)
def test_totals_of_a_workload(monkeypatch: pytest.MonkeyPatch, width: int, tmp_path: Path) -> None:
    rows = [make_gemm(0), make_gemm(1, m=64)]
    item = {"kind": "product", "op": "linear", "precision": "float", "flops": 1e9, "bytes": 1e6}
    items = [
        {**item, "layer": f"a layer of a long name, {place}", "count": 10**place,
         "problem": rows[place % 3]["problem"] if place % 3 < 2 else None}
        for place in range(15)
    ]  # fmt: skip
    workload = {
        "name": "mine", "title": "Mine", "phase": "fwd", "unit": "images", "price": 2.0,
        "passes": [{"parameters": {"batch": batch}, "items": items} for batch in (1, 2)],
    }  # fmt: skip
    lines = [make_context(rows=2, workload=workload), *rows]
    path = tmp_path / "rows.jsonl"
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    text = printed_on_a_terminal(monkeypatch, width, "show", str(path))
    assert "time of the measured kernels" in " ".join(text.split())
    assert widest_line(text) <= width


@pytest.mark.parametrize("width", WIDTHS)
def test_two_machines_of_a_workload(
    monkeypatch: pytest.MonkeyPatch, width: int, tmp_path: Path
) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    paths = [tmp_path / name for name in ("a.jsonl", "b.jsonl")]
    for path, time_ns in zip(paths, (2000.0, 1000.0), strict=True):
        passes = {batch: model_rows(batch, time_ns, time_ns / 3) for batch in (1, 16, 256)}
        path.write_text(model_text(passes, title="A model of a long name " * 3), encoding="utf-8")
    text = printed_on_a_terminal(monkeypatch, width, "compare", *map(str, paths))
    assert "0.500" in text
    assert widest_line(text) <= width
    text = printed_on_a_terminal(monkeypatch, width, "show", str(paths[0]))
    assert widest_line(text) <= width
    assert ("time of a pass" in text) == (width >= 80)


def printed_in_a_pipe(*words: str) -> str:
    pipe = io.StringIO()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "stdout", pipe)
        assert main(words) == 0
    return pipe.getvalue()


@pytest.mark.parametrize("width", WIDTHS)
def test_env(monkeypatch: pytest.MonkeyPatch, width: int) -> None:
    facts: dict[str, Any] = {
        "version": "1", "package": "/p", "include_dir": "/" + "long/" * 50, "deepbench_run": "/r",
        "build": {"revision": None},
        "host": {"cpu": "a processor of a long name " * 9}, "warnings": ["a long warning " * 20],
        "backends": [{"name": "cpu", "path": "/x", "reason": "an absent library " * 20,
                      "devices": [HELLO["device"]], "libraries": HELLO["libraries"],
                      "environment": HELLO["environment"], "warnings": []}],
    }  # fmt: skip
    monkeypatch.setattr(installation_facts, "installation_facts", lambda: facts)
    text = printed_on_a_terminal(monkeypatch, width, "env")
    assert widest_line(text) <= width
    assert f"/{'long/' * 50}\n" in text


def write_result_file(path: Path, *rows: dict[str, Any]) -> str:
    lines = [make_context(rows=len(rows)), *rows]
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    return str(path)


@pytest.mark.parametrize("width", WIDTHS)
def test_model(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, width: int) -> None:
    rows = []
    for at, elements in enumerate(4**power for power in range(3, 12)):
        row = make_row(
            "all_reduce", {"elements": elements, "ranks": 2, "precision": "float"}, at, 0
        )
        row["work"]["bytes"] = 4.0 * elements
        row["regime"]["ranks"] = 2
        rows.append(row)
    file = write_result_file(tmp_path / "a.jsonl", *rows)
    ranks = [str(2**power) for power in range(2, 18)]
    text = printed_on_a_terminal(monkeypatch, width, "model", file, "--ranks", ",".join(ranks))
    assert widest_line(text) <= width
    assert all(f" {number} ranks" in text for number in ranks)


def changed(row: dict[str, Any], factor: float) -> dict[str, Any]:
    statistics = {
        name: value * factor if name.endswith("_ns") else value
        for name, value in row["statistics"].items()
    }
    return {**row, "statistics": statistics}


def compared_files(folder: Path) -> tuple[str, str]:
    """Rows of every operation, one slower and one faster in the second file."""
    rows = [make_gemm(at, m=100 + at, application="\u97f3\u58f0\u8a8d\u8b58") for at in range(12)]
    attributes = {f"an_attribute_{number}": number for number in range(9)}
    rows += [
        make_row(op, {**attributes, "n": at}, at, 1e9)
        for at, op in enumerate([known.name for known in operations()], start=len(rows))
    ]
    rows.append(make_memory(len(rows)))
    second = [changed(rows[0], 1.2), changed(rows[1], 0.8), *rows[2:]]
    return write_result_file(folder / "a.jsonl", *rows), write_result_file(
        folder / "b.jsonl", *second
    )


@pytest.mark.parametrize("width", WIDTHS)
def test_comparisons(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, width: int) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    files = compared_files(tmp_path)
    text = printed_on_a_terminal(monkeypatch, width, "compare", *files, status=1)
    assert widest_line(text) <= width
    assert "\x1b" not in text


def test_changed_rows_of_a_comparison_have_colors(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.delenv("NO_COLOR", raising=False)
    rows = [make_gemm(at, m=100 + at) for at in range(3)]
    first = write_result_file(tmp_path / "a.jsonl", *rows)
    second = [changed(rows[0], 1.2), changed(rows[1], 0.8), rows[2]]
    other = write_result_file(tmp_path / "b.jsonl", *second)
    text = printed_on_a_terminal(monkeypatch, 120, "compare", first, other, status=1)
    marked = [line for line in text.splitlines() if line.startswith("\x1b[")]
    assert [line.split("m", 1)[0] for line in marked] == ["\x1b[31", "\x1b[32"]
    assert [" slower" in line for line in marked] == [True, False]
    assert [" faster" in line for line in marked] == [False, True]
