"""The typed row: every key of the schema is a field, unknown keys are kept, and on its way from the
worker a row is parsed once and asked for once."""

from __future__ import annotations

import dataclasses
import json
import typing
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deepbench import _core
from deepbench.cli import main
from deepbench.results import Row, parse_row, read, row, schema
from deepbench.runner.worker_process import WorkerProcess
from example_rows import make_gemm, row_of_members
from fake_plugin import build_fake_backend

# ---- fields -----------------------------------------------------------------------------------


def resolve_reference(part: Mapping[str, Any]) -> Mapping[str, Any]:
    """The part of the schema that a reference names."""
    if "$ref" not in part:
        return part
    found: Mapping[str, Any] = schema.schema_document()["$defs"][part["$ref"].rpartition("/")[2]]
    return found


def dataclass_in(kind: Any) -> Any:
    """The dataclass in a type such as `Ranks | None` or `Sequence[Metric]`; None if there is
    none."""
    if dataclasses.is_dataclass(kind):
        return kind
    inner = (dataclass_in(one) for one in typing.get_args(kind))
    return next((one for one in inner if one is not None), None)


def keys_without_field(kind: Any, properties: Mapping[str, Any], where: str = "row") -> list[str]:
    """The keys of the schema that have no field in `kind`, in the objects within it, too."""
    kinds = typing.get_type_hints(kind)
    found = []
    for name, part in properties.items():
        if name not in kinds:
            found.append(f"{where}.{name}")
            continue
        inner = resolve_reference(part)
        inner = resolve_reference(inner.get("items", inner))
        if "properties" in inner:
            other = dataclass_in(kinds[name])
            found += keys_without_field(other, inner["properties"], f"{where}.{name}")
    return found


def test_every_key_of_the_schema_is_a_field() -> None:
    properties = dict(schema.schema_document()["$defs"]["row"]["properties"])
    del properties["type"]
    assert keys_without_field(Row, properties) == []
    properties["of_the_future"] = {"type": "string"}
    properties["work"] = {"type": "object", "properties": {"joules": {"type": "number"}}}
    assert keys_without_field(Row, properties) == ["row.work.joules", "row.of_the_future"]


def test_values_have_the_names_of_the_schema() -> None:
    members = make_gemm(3, ranks={"outliers": [{"rank": 1, "deviation": 0.25}]})
    found = row_of_members(members)
    assert (found.position, found.op, found.status) == (3, "gemm", "ok")
    assert found.statistics.median_ns == members["statistics"]["median_ns"]
    assert found.attributes == members["attributes"]
    assert found.device.name == "Example CPU"
    assert found.ranks is not None
    assert found.ranks.outliers == (row.Outlier(rank=1, deviation=0.25),)
    assert found.time_ns == found.statistics.median_ns


def test_what_a_row_lacks_is_none_or_empty() -> None:
    names = ("type", "position", "problem", "op", "attributes", "status", "reason")
    members = dict.fromkeys(names) | {"type": "row", "position": 0, "status": "failed"}
    found = row_of_members(members)
    assert found.statistics == row.Statistics()
    assert (found.attributes, found.notes, found.metrics, found.ranks) == ({}, (), (), None)
    assert found.time_ns is None


def test_unknown_keys_are_kept() -> None:
    members = make_gemm(of_the_future={"kept": [1, 2.5, "x"]})
    members["statistics"]["p42_ns"] = 7.0
    line = json.dumps(members)
    found = parse_row(line.encode())
    assert found.line == line
    assert found.members == members


def test_a_row_of_an_old_file_has_the_current_keys_in_its_line() -> None:
    members = make_gemm(of_the_future=1)
    members["algorithm"]["gain"] = 1.5
    found = row.row_of_json_value(members, json.dumps(members).encode(), 1)
    written = json.loads(found.line)
    assert (found.algorithm.speedup, written["algorithm"]["speedup"]) == (1.5, 1.5)
    assert "gain" not in written["algorithm"]
    assert written["of_the_future"] == 1
    assert parse_row(found.line.encode()) == found


def test_a_row_cannot_be_changed() -> None:
    with pytest.raises(dataclasses.FrozenInstanceError):
        row_of_members(make_gemm()).status = "ok"  # type: ignore[misc]


# ---- lines ------------------------------------------------------------------------------------

JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**70), 2**70)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(st.characters(exclude_categories=["Cs"])),
    lambda inner: (
        st.lists(inner, max_size=4) | st.dictionaries(st.text('abc\xe9"\\', max_size=3), inner)
    ),
    max_leaves=12,
)


@given(members=st.dictionaries(st.text("abc", max_size=3), JSON))
def test_the_line_of_an_imported_row_has_its_values(members: dict[str, Any]) -> None:
    assert json.loads(_core.line_of_members(members)) == members


def test_what_is_no_json_is_refused() -> None:
    with pytest.raises(TypeError, match="a row holds values of JSON"):
        _core.line_of_members({"path": Path()})


@given(note=st.text(st.characters(exclude_categories=["Cs"])), notes=st.lists(st.text('ab,]"')))
def test_a_note_is_added_and_nothing_else_changed(note: str, notes: list[str]) -> None:
    members = make_gemm(notes=notes)
    noted = json.loads(_core.with_note(json.dumps(members), note))
    assert noted == {**members, "notes": [*notes, note]}


# ---- the way of a row -------------------------------------------------------------------------


def counted_rows_and_ceilings(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """A list to which every row or ceiling is added whenever this process parses its JSON."""
    found: list[str] = []
    decode: Callable[..., Any] = json.JSONDecoder.decode

    def counting(decoder: json.JSONDecoder, text: str, *more: Any) -> Any:
        if text.startswith(('{"type": "row"', '{"type": "ceiling"')):
            found.append(text)
        return decode(decoder, text, *more)

    monkeypatch.setattr(json.JSONDecoder, "decode", counting)
    return found


def counted_lines(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """A list to which every line is added that a worker is sent."""
    found: list[str] = []
    write_line = WorkerProcess.write_line

    def counting(worker: WorkerProcess, line: str) -> None:
        found.append(line)
        write_line(worker, line)

    monkeypatch.setattr(WorkerProcess, "write_line", counting)
    return found


@pytest.mark.parametrize("ceilings", [(), ("--no-ceilings",)])
def test_a_row_is_asked_for_once_and_parsed_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, ceilings: tuple[str, ...]
) -> None:
    plugin = build_fake_backend(tmp_path / "libdeepbench_fake.so")
    # A device with ceilings: calls of one time whatever their size would let them grow for long.
    monkeypatch.setenv("DEEPBENCH_FAKE_SCRIPT", "model 0.001 1000 100 1000; cache 1000000")
    parsed, lines = counted_rows_and_ceilings(monkeypatch), counted_lines(monkeypatch)
    path = tmp_path / "rows.jsonl"
    words = ("gemm", "m=8,16,24", "n=8", "k=8", "precision=float", "--backend", str(plugin))
    assert main([*words, *ceilings, "-o", str(path)]) == 0
    assert sum(text.startswith('{"type": "row"') for text in parsed) == 3
    assert len(parsed) == len(set(parsed))
    assert len(lines) == len(set(lines)) == 3
    assert path.read_text(encoding="utf-8").splitlines()[1:] == parsed
    assert len(read(path).rows) == 3


def test_a_refused_row_is_asked_for_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    plugin = build_fake_backend(tmp_path / "libdeepbench_fake.so")
    script = "time 1000\nwhen m=8 fail plan unsupported none"
    monkeypatch.setenv("DEEPBENCH_FAKE_SCRIPT", script)
    lines, path = counted_lines(monkeypatch), tmp_path / "rows.jsonl"
    words = ("gemm", "m=8,16", "n=8", "k=8", "precision=float", "--backend", str(plugin))
    assert main([*words, "--no-ceilings", "-o", str(path)]) == 0
    assert len(lines) == 2
    assert [one.status for one in read(path).rows] == ["unsupported", "ok"]
