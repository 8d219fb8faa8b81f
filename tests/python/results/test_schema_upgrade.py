"""Rows of version 1 are read with the keys of version 2, and nothing of them is lost."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from deepbench import results
from deepbench.results.schema_upgrade import upgrade_row
from example_rows import make_context, members
from source_tree import ROOT

SAMPLES = sorted((ROOT / "tests/samples/v1").glob("*.jsonl"))


def nested_values(value: Any) -> list[Any]:
    """Every value that a JSON value holds, without the keys."""
    if isinstance(value, dict):
        return [leaf for item in value.values() for leaf in nested_values(item)]
    if isinstance(value, list):
        return [leaf for item in value for leaf in nested_values(item)]
    return [value]


def nested_keys(value: Any) -> set[str]:
    if isinstance(value, dict):
        return {*value, *(key for item in value.values() for key in nested_keys(item))}
    return (
        {key for item in value for key in nested_keys(item)} if isinstance(value, list) else set()
    )


@pytest.mark.parametrize("path", SAMPLES, ids=lambda path: path.stem)
def test_no_value_is_lost(path: Path) -> None:
    old = [json.loads(line) for line in path.read_text().splitlines()[1:]]
    old.sort(key=lambda row: row["position"])
    new = members(results.read(path).rows)
    assert [nested_values(row) for row in new] == [nested_values(row) for row in old]
    renamed = {"gain", "resident", "error", "worst", "what", "apart", "off"}
    assert nested_keys(old) & renamed
    assert not nested_keys(list(new)) & renamed


def test_a_row_of_the_current_version_stays_as_it_is() -> None:
    row = {"statistics": {"error": 1.0}}
    assert upgrade_row(row, 2) is row


def test_the_row_that_was_given_is_not_changed() -> None:
    row = {"regime": {"published": {"meant": {"m": 3}}, "resident": True}, "ranks": None}
    before = json.dumps(row)
    assert upgrade_row(row, 1) == {
        "regime": {"published": {"intended_attributes": {"m": 3}}, "fits_cache": True},
        "ranks": None,
    }
    assert json.dumps(row) == before


@pytest.mark.parametrize("value", [None, 1, "text", [], [1, {"off": 2}], {"outliers": 3}])
def test_a_malformed_row_is_left_to_the_schema(value: object) -> None:
    assert upgrade_row({"ranks": value}, 1).keys() == {"ranks"}


def test_an_old_file_is_not_resumed() -> None:
    from deepbench.results.resume_check import first_difference

    old = results.ResultFile(Path("old.jsonl"), make_context(schema=1), (), 0, False, True)
    assert first_difference(old, make_context(), []) == "the schema was 1, now it is 2"
