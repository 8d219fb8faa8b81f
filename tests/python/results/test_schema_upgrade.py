"""Rows of older versions are read with the keys of the current one, and nothing of them is lost."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from deepbench import results
from deepbench.results.schema_upgrade import upgrade_row
from example_rows import make_context, make_gemm, members
from source_tree import ROOT

SAMPLES = sorted((ROOT / "tests/samples").glob("v*/*.jsonl"))


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


@pytest.mark.parametrize("path", SAMPLES, ids=lambda path: f"{path.parent.name}-{path.stem}")
def test_no_value_is_lost(path: Path) -> None:
    old = [json.loads(line) for line in path.read_text().splitlines()[1:]]
    old = sorted((row for row in old if row["type"] == "row"), key=lambda row: row["position"])
    new = members(results.read(path).rows)
    for regime in filter(None, (row["regime"] for row in old)):
        assert regime["power"] == "burst"
        regime["power"] = "unrecorded"
    is_version_1 = path.parent.name == "v1"
    if is_version_1:
        assert [nested_values(row) for row in new] == [nested_values(row) for row in old]
    else:  # `bound` is computed when a file is read
        for row in (*old, *new):
            del row["bound"]
        assert list(new) == old
    renamed = {"gain", "resident", "error", "worst", "what", "apart", "off"}
    assert bool(nested_keys(old) & renamed) == is_version_1
    assert not nested_keys(list(new)) & renamed


@pytest.mark.parametrize(
    ("version", "stored", "observed", "read"),
    [
        (2, "burst", {"rest_ns": 5e5}, "rested"),
        (2, "burst", {}, "unrecorded"),
        (1, "burst", {"rest_ns": 5e5}, "rested"),
        (2, "steady", {"rest_ns": 5e5}, "steady"),
        (2, None, {}, None),
        (3, "rested", {}, "rested"),
    ],
)
def test_the_power_regime_of_an_old_file_depends_on_its_rests(
    tmp_path: Path, version: int, stored: str | None, observed: dict[str, float], read: str | None
) -> None:
    first, second = make_gemm(position=0), make_gemm(position=1, observed=observed)
    for row in (first, second):
        row["regime"] = {**row["regime"], "power": stored}
    lines = [make_context(schema=version, rows=2), first, second]
    path = tmp_path / "rows.jsonl"
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    assert [row.regime.power for row in results.read(path).rows] == [read, read]


def test_a_row_of_the_current_version_stays_as_it_is() -> None:
    row = {"statistics": {"error": 1.0}, "regime": {"power": "burst"}}
    assert upgrade_row(row, 3, file_has_rests=True) is row


def test_the_row_that_was_given_is_not_changed() -> None:
    row = {"regime": {"published": {"meant": {"m": 3}}, "resident": True}, "ranks": None}
    before = json.dumps(row)
    assert upgrade_row(row, 1, file_has_rests=False) == {
        "regime": {"published": {"intended_attributes": {"m": 3}}, "fits_cache": True},
        "ranks": None,
    }
    assert json.dumps(row) == before


@pytest.mark.parametrize("value", [None, 1, "text", [], [1, {"off": 2}], {"outliers": 3}])
def test_a_malformed_row_is_left_to_the_schema(value: object) -> None:
    assert upgrade_row({"ranks": value}, 1, file_has_rests=False).keys() == {"ranks"}


def test_an_old_file_is_not_resumed() -> None:
    from deepbench.results.resume_check import first_difference

    old = results.ResultFile(Path("old.jsonl"), make_context(schema=1), (), 0, False, True)
    assert first_difference(old, make_context(), []) == "the schema was 1, now it is 3"
