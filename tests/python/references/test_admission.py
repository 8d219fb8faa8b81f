"""`deepbench check-result`: each fault of a file has its reason, and a good file has none."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from command_line import run_command
from deepbench.references.admission import reasons_against
from deepbench.results import read
from example_rows import make_context, make_gemm

Members = dict[str, Any]


def good_context(**changes: Any) -> Members:
    values = {"quick": "no", "in_process": "no", "library": None}
    return make_context(rows=3, options={"visits": "3"}, option_values=values, **changes)


def good_rows() -> list[Members]:
    rows = [make_gemm(position, n=16 << position) for position in range(3)]
    for row in rows:
        row["statistics"] = {**row["statistics"], "visits": {"count": 3}}
    return rows


def reasons(tmp_path: Path, context: Members, rows: list[Members]) -> list[str]:
    path = tmp_path / "mine.jsonl"
    path.write_text("".join(json.dumps(line) + "\n" for line in [context, *rows]))
    return reasons_against(read(path))


def test_a_good_file_may_join(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert reasons(tmp_path, good_context(), good_rows()) == []
    status, out, _ = run_command(capsys, "check-result", str(tmp_path / "mine.jsonl"))
    assert status == 0
    assert out.endswith("mine.jsonl may join, with 3 rows, the references\n")


def test_a_reference_is_no_file_to_check(tmp_path: Path) -> None:
    context = good_context(reference={"devices": 2})
    [reason] = reasons(tmp_path, context, good_rows())
    assert reason == "it is a reference itself, made of several files; check those files"


def test_rows_that_the_device_cannot_run_are_no_fault(tmp_path: Path) -> None:
    rows = good_rows()
    rows[0] |= {"status": "unsupported", "reason": "no such precision", "statistics": None}
    assert reasons(tmp_path, good_context(), rows) == []


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"status": "mistrusted", "reason": "noise"}, "1 row is not ok, the first: gemm m="),
        ({"verification": {"status": "skipped"}}, "1 row is not verified"),
        ({"regime": {"cache": "cold", "power": "rested"}}, "not hot in the caches and rested"),
        ({"regime": {"cache": "hot", "power": "sustained"}}, "not hot in the caches and rested"),
        ({"statistics": {"low_ns": 94_000.0}}, "less certain than 3%"),
        ({"statistics": {"visits": {"count": 2}}}, "of fewer than 3 visits"),
        ({"statistics": {"visits": None}}, "of fewer than 3 visits"),
        ({"statistics": {"waited_share": 0.5}}, "disturbed by other work"),
    ],
)  # fmt: skip
def test_a_fault_of_a_row_is_the_only_reason(changes: Members, said: str, tmp_path: Path) -> None:
    rows = good_rows()
    for name, value in changes.items():
        rows[1][name] = {**rows[1][name], **value} if isinstance(value, dict) else value
    (reason,) = reasons(tmp_path, good_context(), rows)
    assert said in reason


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"build": None}, "does not state the revision"),
        ({"build": {"revision": "1cfb0545", "modified": True}}, "changed sources"),
        ({"build": {"revision": "1cfb0545"}}, "changed sources"),
        ({"device": {"index": 0, "name": None}}, "does not state the device"),
        ({"host": None}, "does not state the processor"),
        ({"libraries": {}}, "the version of the library onednn"),
        ({"started": None}, "does not state the start"),
    ],
)
def test_a_gap_of_the_context_is_the_only_reason(
    changes: Members, said: str, tmp_path: Path
) -> None:
    (reason,) = reasons(tmp_path, good_context(**changes), good_rows())
    assert said in reason


@pytest.mark.parametrize("option", ["inputs=zeros", "samples=5", "time_limit=2", "pad=no"])
def test_an_option_that_is_not_the_default_is_a_reason(option: str, tmp_path: Path) -> None:
    name, value = option.split("=")
    context = {**good_context(), "options": {"visits": "3", name: value}}
    (reason,) = reasons(tmp_path, context, good_rows())
    assert reason == f"the option {option} is not the default"


def test_missing_rows_are_a_reason(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (reason,) = reasons(tmp_path, good_context(), good_rows()[:2])
    assert reason == "2 of 3 rows are there; --resume measures the others"
    status, out, _ = run_command(capsys, "check-result", str(tmp_path / "mine.jsonl"))
    assert status == 1
    assert out.endswith("mine.jsonl may not join the references\n")


def test_a_part_of_deepbench_needs_no_version(tmp_path: Path) -> None:
    """The loops of memory on a processor."""
    rows = [{**row, "library": "threads"} for row in good_rows()]
    assert not reasons(tmp_path, good_context(), rows)
    libraries = {"threads": {"path": "/lib/libthreads.so"}}
    (reason,) = reasons(tmp_path, good_context(libraries=libraries), rows)
    assert reason == "the context does not state the version of the library threads"


def test_a_library_that_the_context_does_not_list_is_a_reason(tmp_path: Path) -> None:
    rows = [{**row, "library": "other_library"} for row in good_rows()]
    (reason,) = reasons(tmp_path, good_context(), rows)
    assert reason == "the context does not state the version of the library other_library"


def test_a_library_without_a_name_is_a_reason(tmp_path: Path) -> None:
    (reason,) = reasons(tmp_path, good_context(), [{**row, "library": " "} for row in good_rows()])
    assert reason == "the context does not state the version of the library "


def test_several_faults_are_all_named(tmp_path: Path) -> None:
    rows = [{**row, "verification": {"status": "skipped"}} for row in good_rows()]
    found = reasons(tmp_path, good_context(build=None), rows)
    assert len(found) == 2
    assert found[1].startswith("3 rows are not verified")


@pytest.mark.parametrize("words", [(), ("a.jsonl", "b.jsonl"), ("missing.jsonl",)])
def test_bad_input_is_one_line(words: tuple[str, ...], capsys: pytest.CaptureFixture[str]) -> None:
    status, out, err = run_command(capsys, "check-result", *words)
    assert (status, out, err.count("\n")) == (2, "", 1)
