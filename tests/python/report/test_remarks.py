"""Remarks and notes: docs/reference/remarks.md explains each one that the code can print, and
similar notes are merged."""

from __future__ import annotations

import re
from typing import Any

import pytest

from deepbench.report.notes import Notes
from deepbench.report.remarks import REMARKS, STATUSES, Remarks, plain_remarks
from deepbench.results import read, schema
from example_rows import make_gemm, row_of_members, without_times
from golden_report import render_rows
from source_tree import ROOT

PAGE = " ".join((ROOT / "docs" / "reference" / "remarks.md").read_text(encoding="utf-8").split())


def row_with_part_changed(part: str, **values: Any) -> dict[str, Any]:
    row = make_gemm()
    row[part] = {**(row[part] or {}), **values}
    return row


FLEET = {"count": 4, "spread": 0.12, "outliers": [{"rank": 3, "deviation": 0.08}]}
EXAMPLES = {
    **{
        f"{word}: REASON": without_times(make_gemm(), word, "because")
        for word in ("unsupported", "invalid", "out_of_memory", "device_lost", "failed")
    },
    **{
        f"{word}: REASON": make_gemm(status=word, reason="because", rates=None)
        for word in ("incorrect", "mistrusted")
    },
    "cold by MEANS": row_with_part_changed("regime", cache="cold", cold="rotation"),
    "operands exceed the cache": row_with_part_changed("regime", fits_cache=False),
    "REGIME power": row_with_part_changed("regime", power="sustained"),
    "N ranks within X %": {**make_gemm(), "ranks": {**FLEET, "outliers": []}},
    "rank N is X % slow": {**make_gemm(), "ranks": FLEET},
    "inconsistent: REASON": row_with_part_changed(
        "regime", published={"doubt": "its rate is another one"}
    ),
    "soak of N calls in TIME: the last tenth is X % slower than the first": {
        **make_gemm(),
        "soak": [{"calls": 10, "elapsed_ns": 1e6 + number, "batches": 1} for number in range(20)],
    },
    "samples are means of N batches": row_with_part_changed("statistics", batches_per_sample=12),
    "one call": row_with_part_changed("verification", reason="one call only"),
    "noisy": row_with_part_changed("statistics", high_ns=150_000.0),
    "time limit": row_with_part_changed("statistics", stop="time_limit"),
    "throttled": row_with_part_changed("statistics", stop="throttled"),
    "too few samples": row_with_part_changed("statistics", stop="too_few"),
    "disturbed": row_with_part_changed("statistics", waited_share=0.4),
    "MODE: ALGORITHM": row_with_part_changed(
        "algorithm", mode="best", name="tile 3", default_ns=2e5, gain=2.0
    ),
    "padded to DIMENSIONS": row_with_part_changed("padding", dimensions={"m": 1768}),
    "OPERAND converted in TIME, not in the time: TIME with it": row_with_part_changed(
        "conversion", operand="a", ns=5e3, constant=True
    ),
    "NAME=VALUE": {**make_gemm(), "metrics": [{"name": "busbw", "value": 9.5, "unit": "GB/s"}]},
}


def has_form(form: str, text: str) -> bool:
    """Whether a text has a form. Words in capitals stand for any text; 'beforehand' may follow
    'converted'."""
    words = re.escape(form).replace("converted", "converted( beforehand)?")
    return re.fullmatch(re.sub(r"\b[A-Z]+\b", ".+", words), text) is not None


def remarks_in_tables(headings: str) -> list[str]:
    """The first cells of the tables of remarks."""
    text = (ROOT / "docs" / "reference" / "remarks.md").read_text(encoding="utf-8")
    return re.findall(r"^\| `([^`]+)` \|", text.partition(headings)[0], re.M)


def test_the_page_lists_every_remark_in_the_order_in_which_they_are_printed() -> None:
    assert remarks_in_tables("## Notes") == [remark.form for remark in REMARKS]


def test_every_schema_value_that_needs_a_remark_has_one() -> None:
    parts = schema.schema_document()["$defs"]
    statuses = set(parts["status"]["enum"]) - {"ok"}
    assert {remark.form.partition(":")[0] for remark in STATUSES} == statuses
    stops = set(parts["statistics"]["properties"]["stop"]["enum"]) - {"converged", None}
    forms = [remark.form.replace(" ", "_") for remark in REMARKS]
    assert all(any(form.startswith(stop) for form in forms) for stop in stops)


@pytest.mark.parametrize("remark", REMARKS, ids=lambda remark: remark.form)
def test_each_remark_has_the_form_in_the_list(remark: Any) -> None:
    said = plain_remarks(row_of_members(EXAMPLES[remark.form])).split("; ")
    assert any(has_form(remark.form, text) for text in said), said
    assert plain_remarks(row_of_members(make_gemm())) == ""


def test_remarks_of_real_runs_have_their_forms() -> None:
    seen = set()
    for file in sorted((ROOT / "results").rglob("*.jsonl"))[::3]:
        for row in read(file).rows:
            for remark in REMARKS:
                text = remark.of(row)
                if text:
                    seen.add(remark.form)
                    assert has_form(remark.form, text), f"{file.name}: {text}"
    assert {"noisy", "operands exceed the cache", "MODE: ALGORITHM", "NAME=VALUE"} <= seen


SINKS = re.compile(r'sink\.text\("note\.\w+",(.*?)\);', re.S)
PUSHED = re.compile(r"notes_?\.push_back\((.*?)\);\n", re.S)


def string_literals(expression: str) -> list[str]:
    """The string literals of a C++ expression, with adjacent ones joined as by the compiler."""
    joined = re.sub(r'"\s*\n\s*"', "", expression)
    return [found.strip(" :;,()") for found in re.findall(r'"((?:[^"\\]|\\.)*)"', joined)]


def note_texts() -> dict[str, str]:
    """The longest literal of each place in the sources that writes a note."""
    found = {}
    for path in sorted((ROOT / "src").rglob("*.cpp")):
        text = path.read_text(encoding="utf-8")
        for expression in [*SINKS.findall(text), *PUSHED.findall(text)]:
            for part in string_literals(expression):
                if part.count(" ") >= 2:
                    found[part] = f"{path.relative_to(ROOT)}"
    return found


def test_the_page_lists_every_note_in_the_sources() -> None:
    found = note_texts()
    assert len(found) > 30  # guards against expressions that no longer match
    missing = {text: place for text, place in found.items() if text not in PAGE}
    assert not missing


def test_notes_that_differ_in_numbers_are_merged_with_a_range() -> None:
    notes = Notes()
    rows = ["64 blocks of 512 threads; sent", "96 blocks of 512 threads; sent", "8 blocks", "x: y"]
    assert [notes.numbers_of_notes([note]) for note in rows] == [[1], [1], [2], [3]]
    assert notes.texts() == [
        "64 to 96 blocks of 512 threads; sent (2 alike)", "8 blocks", "x: y",
    ]  # fmt: skip


def test_the_numbers_of_a_row_ascend() -> None:
    notes = Notes()
    assert notes.numbers_of_notes(["first", "second"]) == [1, 2]
    assert notes.numbers_of_notes(["third", "second", "third"]) == [2, 3]


def test_times_in_several_units_form_one_range() -> None:
    notes = Notes()
    for took in ("1.2 ms", "394.5 \N{MICRO SIGN}s", "98.23 ms", "7 ms"):
        notes.numbers_of_notes([f"warmed up for {took}, then 3 s: kept"])
    notes.numbers_of_notes(["8 samples"])
    notes.numbers_of_notes(["9 samples"])
    assert notes.texts() == [
        "warmed up for 394.5 \N{MICRO SIGN}s to 98.23 ms, then 3 s: kept (4 alike)",
        "8 to 9 samples (2 alike)",
    ]
    one_unit = Notes()
    for took in ("28.6 ms", "3.5 ms"):
        one_unit.numbers_of_notes([f"took {took} each"])
    assert one_unit.texts() == ["took 3.5 to 28.6 ms each (2 alike)"]


def test_the_two_times_of_a_row_are_not_merged_with_those_of_another() -> None:
    notes = Notes()
    notes.numbers_of_notes(["measured twice, 0.6369 ms, then 1.323 s: the second is kept"])
    assert notes.texts() == ["measured twice, 0.6369 ms, then 1.323 s: the second is kept"]
    notes.numbers_of_notes(["measured twice, 1.218 s, then 15.93 ms: the second is kept"])
    assert notes.texts() == ["measured twice: the second is kept (2 alike)"]


def test_notes_of_a_row_that_the_table_holds_back_are_explained() -> None:
    """A single unsupported row is printed at the end of its group."""
    row = {**without_times(make_gemm(), "unsupported", "because"), "notes": ["sums are in float"]}
    lines = render_rows("table", [row]).splitlines()
    assert lines[-2].endswith("unsupported: because; [1]")
    assert lines[-1] == "[1] sums are in float"


def test_notes_that_differ_in_names_are_merged_with_the_names() -> None:
    notes = Notes()
    for name in ("nhwc:eng63_k25=1", "nhwc:eng58_k25=0", "own", "cudnn:static", "a_b", "c=d"):
        notes.numbers_of_notes([f"candidate {name} left out: it broke"])
    assert notes.texts() == [
        "candidate nhwc:eng63_k25=1, nhwc:eng58_k25=0 or 3 others left out: it broke (5 alike)",
        "candidate own left out: it broke",
    ]


def test_similar_notes_of_one_row_share_a_number() -> None:
    row = make_gemm(notes=[f"rank {i} was late" for i in range(6)])
    text = render_rows("table", [row])
    assert text.splitlines()[2].endswith("  [1]")
    assert text.splitlines()[3:] == ["[1] rank 0 to 5 was late (6 alike)"]


def test_notes_are_counted_by_rows() -> None:
    notes = Notes()
    for found in (["a"], ["b 1", "b 2"], ["b 3"]):
        notes.numbers_of_notes(found)
    assert notes.texts_with_row_counts() == [("b 1 to 3 (3 alike)", 2), ("a", 1)]


def test_a_single_note_is_unchanged() -> None:
    note = " two  spaces, (1.5 GiB) a:b; C = 0: end. "
    remarks = Remarks()
    assert remarks.of(row_of_members(make_gemm(notes=[note, note]))) == "[1]"
    assert remarks.lines() == [f"[1] {note}"]
