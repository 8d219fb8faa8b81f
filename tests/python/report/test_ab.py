"""The result of two environments in every format, from scripted pairs."""

from __future__ import annotations

import json

import pytest

from deepbench.ab.result import AbResult
from deepbench.ab.side import Setup
from deepbench.report.ab import FORMATS, render
from scripted_pairs import run_pairs
from scripted_run import ScriptedRows, times_as_long

EVIL = "<script>alert(1)</script>|"


def result_of(of_b: ScriptedRows, pairs: int = 2, variable: str = "1") -> AbResult:
    words = ("gemm", "m=64,65", "n=16", "k=64", "precision=float,half")
    setups = (Setup("A", {}, None), Setup("B", {"X": variable}, None))
    return run_pairs([ScriptedRows(), of_b], *words, pairs=pairs, setups=setups)[0]


def text_of(result: AbResult, name: str = "table") -> str:
    return "".join(render(result, name))


def test_every_format_says_what_differs() -> None:
    result = result_of(ScriptedRows({0: times_as_long(1.5), 3: times_as_long(0.75)}))
    headline = "A and B differ: of 4 rows 1 slower in B, 1 faster in B (2 pairs)"
    for name in FORMATS:
        assert headline in text_of(result, name)
    table = text_of(result)
    assert "geometric mean of 4 rows: B/A 1.0299, 99 % interval 1.0299 to 1.0299" in table
    assert [line.split()[:4] for line in table.splitlines() if line.startswith("gemm ")] == [
        ["gemm", "float", "2", "1.2247"],
        ["gemm", "half", "2", "0.8660"],
    ]
    assert "<h1>deepbench ab</h1>" in text_of(result, "html")
    assert f"**{headline}**" in text_of(result, "markdown")


def test_json_has_all_figures() -> None:
    result = result_of(ScriptedRows({0: times_as_long(1.5)}))
    found = json.loads(text_of(result, "json"))
    assert (found["type"], found["different"], found["pairs"]) == ("ab", True, 2)
    row = found["rows"][0]
    assert row["pairs_ns"] == [[1e5, 1.5e5]] * 2
    assert row["ratio"] == pytest.approx(1.5)
    assert (row["verdict"], row["decisive"]) == ("slower", True)
    assert [side["variables"] for side in found["sides"]] == [{}, {"X": "1"}]


def test_pairs_that_do_not_repeat_cannot_resolve_one_per_cent() -> None:
    noise = {
        (row, number): times_as_long(1.02 if number % 2 else 0.98)
        for row in range(4)
        for number in range(1, 7)
    }
    table = text_of(result_of(ScriptedRows(noise), pairs=6))
    assert table.startswith(
        "cannot resolve 1 %: no difference found, and none of 1 % would be (6 pairs)\n"
    )
    assert "cannot resolve 1 % in 4 rows: pairs repeat within 2.19 % at worst" in table
    assert table.count("cannot resolve 1 %\n") == 4 + 2  # rows and families


def test_a_machine_with_other_work_has_no_figures_without_meaning() -> None:
    wild = {(row, 2): times_as_long(8) for row in range(4)}
    table = text_of(result_of(ScriptedRows(wild), pairs=3))
    assert "pairs repeat within over 100 % at worst" in table
    assert table.count("over 100 %  over 100 %") == 4


def test_rows_without_pairs_are_not_resolved_and_state_their_reason() -> None:
    mistrusted = {row: times_as_long(1, status="mistrusted", reason="clocks") for row in (1, 2)}
    table = text_of(result_of(ScriptedRows(mistrusted)))
    assert table.startswith("no difference between A and B (2 rows, 2 pairs)\n")
    assert "cannot resolve 1 % in 2 rows: fewer than two pairs have both times" in table
    assert table.count(": mistrusted: clocks\n") == 2
    assert table.count("cannot resolve 1 %\n") == 2


def test_texts_are_escaped() -> None:
    page = text_of(result_of(ScriptedRows(), variable=EVIL), "html")
    assert "<script>" not in page
    assert "&lt;script&gt;" in page


def test_a_narrow_terminal_keeps_ratio_and_verdict() -> None:
    lines = "".join(render(result_of(ScriptedRows()), "table", 60)).splitlines()
    assert max(map(len, lines)) <= 60
    assert any("B/A" in line and "verdict" in line for line in lines)
