"""What the rows of a run with `best` leave to one another."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from deepbench.errors import Terminated
from scripted_run import Answer, ScriptedRows, crashed_worker, run_scripted

REST = ("n=16", "k=64", "--algorithm", "best")


def searched(
    budget_s: float, searched_s: float, winner: str | None = None, **changes: Any
) -> Answer:
    """A row whose search had a budget, took so long, and found a winner other than the default."""

    def answer(row: dict[str, Any]) -> dict[str, Any]:
        algorithm = {
            **row["algorithm"],
            "mode": "best",
            "candidate": winner,
            "speedup": 1.25 if winner else None,
            "listed": 2,
            "budget_ns": budget_s * 1e9,
            "searched_ns": searched_s * 1e9,
            "tried": [{"candidate": None}, {"candidate": "c1"}],
        }
        return {**row, "algorithm": algorithm, **changes}

    return answer


def received(source: ScriptedRows) -> list[dict[str, str]]:
    """What each row got of those before it."""
    return [dict(re.findall(r" (budget|first)=(\S+)", line)) for line in source.lines]


def test_time_that_a_search_did_not_need_is_given_to_the_next() -> None:
    source = ScriptedRows(
        {
            0: searched(1.0, 0.25),
            1: searched(1.75, 1.5),  # of 1 s of its own and 0.75 s
            2: searched(1.25, 1.5),  # longer than it might
            3: searched(100.0, 50.0),
            4: searched(110.0, 115.0),  # of 10 s, the most that one row gets
        }
    )
    run_scripted(source, "gemm", "m=1,2,3,4,5,6", *REST)
    given = [float(one.get("budget", 0)) for one in received(source)]
    assert given == [0.0, 0.75, 0.25, 0.0, 10.0, 10.0]


def test_the_winner_of_the_nearest_like_row_comes_first() -> None:
    source = ScriptedRows(
        {0: searched(1.0, 1.0, "c1"), 1: searched(1.0, 1.0), 2: searched(1.0, 1.0, 'a "b"')}
    )
    run_scripted(source, "gemm", "m=64,1024,8,100,900,9", *REST)
    assert received(source) == [
        {}, {"first": "c1"}, {"first": "c1"}, {"first": "c1"}, {}, {"first": '"a'},
    ]  # fmt: skip
    assert source.lines[5].endswith(r' first="a \"b\""')


def test_rows_of_other_kinds_are_not_like() -> None:
    source = ScriptedRows({0: searched(1.0, 1.0, "c1")})
    run_scripted(source, "gemm", "m=64", "trans_a=n,t", *REST)
    assert received(source) == [{}, {}]


def test_winners_of_a_resumed_file_count_and_its_time_does_not(tmp_path: Path) -> None:
    words = ("gemm", "m=64,80", *REST, "-o", str(tmp_path / "a.jsonl"))
    begun = ScriptedRows({0: searched(2.0, 1.0, "c1"), 1: Terminated(15)})
    with pytest.raises(Terminated):
        run_scripted(begun, *words)
    source = ScriptedRows()
    run_scripted(source, *words, "--resume")
    assert received(source) == [{"first": "c1"}]


def test_winners_of_first_visits_count_although_their_rows_are_incomplete(tmp_path: Path) -> None:
    words = ("gemm", "m=64,80", *REST, "--visits", "2", "-o", str(tmp_path / "a.jsonl"))
    begun = ScriptedRows({0: searched(2.0, 1.0, "c1"), 1: Terminated(15)})
    with pytest.raises(Terminated):
        run_scripted(begun, *words)
    source = ScriptedRows()
    run_scripted(source, *words, "--resume")
    assert received(source)[0] == {"first": "c1"}


def test_a_search_that_crashes_has_used_what_it_received() -> None:
    source = ScriptedRows({0: searched(2.0, 1.0), 1: crashed_worker})
    run_scripted(source, "gemm", "m=1,2,3", *REST)
    assert received(source) == [{}, {"budget": "1.000000"}, {}]


def test_a_search_gets_a_tenth_of_the_hang_limit_at_most() -> None:
    source = ScriptedRows({0: searched(20.0, 1.0)})
    run_scripted(source, "gemm", "m=1,2", *REST, "--hang-limit", "30")
    assert received(source) == [{}, {"budget": "3.000000"}]


def test_only_the_first_visit_searches() -> None:
    source = ScriptedRows({0: searched(2.0, 1.0, "c1")})
    run_scripted(source, "gemm", "m=64,80", *REST, "--visits", "2")
    assert received(source)[:2] == [{}, {"budget": "1.000000", "first": "c1"}]
    assert received(source)[2:] == [{}, {}]


def test_rows_that_search_nothing_leave_nothing() -> None:
    source = ScriptedRows()
    run_scripted(source, "gemm", "m=1,2,3", "n=16", "k=64")
    assert received(source) == [{}, {}, {}]
