"""schema.json describes rows and contexts, and our reader of it agrees with a full validator."""

from __future__ import annotations

import copy
import json
from typing import Any

import jsonschema
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from deepbench import references, results
from deepbench.results import schema
from example_rows import (
    KEYS_OF_REFERENCES,
    make_ceiling,
    make_context,
    make_gemm,
    make_memory,
    make_workload,
    members,
    with_named_ceilings,
    without_times,
)
from source_tree import ROOT


def soaked(row: dict[str, Any]) -> dict[str, Any]:
    part = {"calls": 100, "elapsed_ns": 1e6, "clock_mhz": 1755, "batches": 1}
    return {**row, "soak": [{**part, "throttled": 0, "power_capped": 1}]}


LINES = [
    make_context(ranks={"count": 2, "machines": ["node1", "node2"]}, workload=make_workload()),
    soaked(make_gemm()),
    {
        **soaked(make_memory()),
        "devices": [{"identity": "GPU-1", "median_ns": 2.0, "energy_j": 0.5}],
    },
    {**without_times(make_gemm(), "unsupported", "no half here"), "soak": None},
    soaked(with_named_ceilings(make_gemm())),
    make_ceiling("arithmetic", 1.25),
    make_ceiling("bandwidth", 25.0),
    {"type": "visit", "visit": 2, "row": make_gemm()},
]


def reader_accepts(line: object) -> bool:
    """What our reader says of a line."""
    checks = {
        "context": schema.check_context,
        "ceiling": schema.check_ceiling,
        "visit": schema.check_visit,
    }
    kind = line.get("type") if isinstance(line, dict) else None
    check = checks.get(kind, schema.check_row) if isinstance(kind, str) else schema.check_row
    try:
        check(line)
    except schema.SchemaError:
        return False
    return True


def full_validator() -> jsonschema.Draft202012Validator:
    return jsonschema.Draft202012Validator(dict(schema.schema_document()))


def test_schema_is_a_schema() -> None:
    jsonschema.Draft202012Validator.check_schema(dict(schema.schema_document()))


@pytest.mark.parametrize("line", LINES)
def test_examples_are_valid(line: dict[str, Any]) -> None:
    full_validator().validate(line)
    assert reader_accepts(line)


@pytest.mark.parametrize("line", LINES)
def test_examples_name_every_key(line: dict[str, Any]) -> None:
    kind = schema.schema_document()["$defs"][line["type"]]
    assert set(kind["properties"]) - KEYS_OF_REFERENCES == set(line) - KEYS_OF_REFERENCES


@pytest.mark.parametrize("line", LINES)
def test_unknown_keys_are_allowed(line: dict[str, Any]) -> None:
    line = {**line, "of_the_future": {"a": [1]}}
    full_validator().validate(line)
    assert reader_accepts(line)


IDS = [("mode",), ("candidate",), ("first",), ("tried", 0, "candidate"), ("default_candidate",)]


@pytest.mark.parametrize("place", IDS)
@pytest.mark.parametrize(
    "text",
    ["\n", "a\n", "\na", "a\nb", "a\rb", "a\tb", "\x1b[2J", "a\x7f", "\x85", "a" * 300 + "\x9b"],
)
def test_an_id_has_no_control_characters(place: tuple[str | int, ...], text: str) -> None:
    """Workers receive ids in lines, so that a newline would begin another line."""
    for value, is_valid in ((text, False), ("cudnn:eng47_k2=2 \u00fc\u2028", True), ("", True)):
        line: Any = make_gemm()
        algorithm = {**line["algorithm"], "tried": [{"candidate": None}]}
        line["algorithm"] = algorithm
        *parents, last = place
        for key in parents:
            algorithm = algorithm[key]
        algorithm[last] = value
        assert reader_accepts(line) == is_valid
        assert full_validator().is_valid(line) == is_valid


def paths_of_values(value: object, path: tuple[str | int, ...] = ()) -> list[tuple[str | int, ...]]:
    """Where every value of a line is."""
    items: list[tuple[str | int, object]] = []
    if isinstance(value, dict):
        items = list(value.items())
    elif isinstance(value, list):
        items = list(enumerate(value))
    below = [place for key, item in items for place in paths_of_values(item, (*path, key))]
    return [path, *below] if path else below


PLAIN = (
    st.none()
    | st.booleans()
    | st.integers(-5, 5)
    | st.floats(allow_nan=False)
    | st.text(max_size=5)
)
JSON = PLAIN | st.lists(PLAIN, max_size=2) | st.dictionaries(st.text(max_size=3), PLAIN, max_size=2)


@settings(deadline=None)
@given(st.sampled_from(LINES), st.data())
def test_agrees_with_a_full_validator(line: dict[str, Any], data: st.DataObject) -> None:
    changed: Any = copy.deepcopy(line)
    *parents, last = data.draw(st.sampled_from(paths_of_values(line)))
    place = changed
    for key in parents:
        place = place[key]
    place[last] = data.draw(JSON)
    ours = reader_accepts(changed)
    theirs = full_validator().is_valid(changed)
    if ours != theirs:  # 1.0 is an integer to JSON Schema, infinity is a number
        assert theirs
        assert not ours
        assert isinstance(place[last], (float, list, dict))


@pytest.mark.parametrize("value", [10**400, -(10**400), float("nan"), float("inf"), True, "1"])
@pytest.mark.parametrize("index", [0, 1])
def test_one_bad_sample_among_good_ones_is_found(value: object, index: int) -> None:
    row = make_gemm()
    row["samples_ns"][index] = value
    with pytest.raises(schema.SchemaError, match="samples_ns"):
        schema.check_row(row)


def test_measured_tables_are_valid() -> None:
    """Files of version 1 are read, and their rows are valid rows of the current version."""
    tables = sorted((ROOT / "results").rglob("*.jsonl"))
    if not tables:
        pytest.skip("the measured tables are not part of this installation")
    validator = full_validator()
    for table in tables:
        lines = table.read_text(encoding="utf-8").splitlines()
        file = results.read(table)
        assert len(file.lines) == len(lines) - 1
        for line in (file.context, *members(file.rows[:2]), file.rows[-1].members):
            validator.validate(line)


def test_references_are_valid() -> None:
    validator = full_validator()
    for reference in references.available():
        loaded = references.load(reference)
        validator.validate(dict(loaded.context))
        for row in loaded.rows[::50]:
            validator.validate(dict(row.members))


def test_says_where_and_what() -> None:
    row = make_gemm()
    row["statistics"]["median_ns"] = "fast"
    with pytest.raises(schema.SchemaError, match=r'statistics\.median_ns is "fast", not number'):
        schema.check_row(row)
    del row["status"]
    with pytest.raises(schema.SchemaError, match="has no 'status'"):
        schema.check_row(row)
    with pytest.raises(schema.SchemaError, match="not object"):
        schema.check_row([])


def test_documented_row_is_the_schema() -> None:
    """docs/reference/rows.md and schema.json name the same keys."""
    document = ROOT / "docs/reference/rows.md"
    if not document.exists():
        pytest.skip("the documentation is not part of this installation")
    text = document.read_text(encoding="utf-8")
    for kind in ("row", "ceiling"):
        for name in schema.schema_document()["$defs"][kind]["properties"]:
            assert json.dumps(name) in text
