"""The tables of supported precisions: what benchmarks/support.py records, and how it is written."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from source_tree import ROOT

DECLINED = "lib has no softmax in half for this processor (old): unimplemented"
FORMS = ["phase=fwd", "phase=bwd"]


@pytest.fixture
def tables(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(str(ROOT / "benchmarks"))
    import support_tables  # type: ignore[import-not-found]

    module: ModuleType = support_tables
    return module


def cell(operation: str, library: str, precision: str, ok: list[str], **changes: Any) -> Any:
    return {"operation": operation, "library": library, "precision": precision, "ok": ok,
            "not_ok": {}, **changes}  # fmt: skip


@pytest.fixture
def made_up(tables: ModuleType, monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    cells = [
        cell(operation, *rest, **changes)
        for operation in ("softmax", "activation")
        for rest, changes in (
            (("lib", "float", FORMS), {}),
            (("lib", "half", []), {"not_ok": {DECLINED: FORMS}}),
            (("lib", "bfloat16", FORMS[:1]), {"not_ok": {"lib has no gradient": FORMS[1:]}}),
        )
    ] + [cell("memory", "threads", "", ["kind=read"], not_ok={"no transfer": ["kind=h2d"]})]
    file = {
        "backend": "cpu",
        "device": {"name": "Old CPU", "isa": "old"},
        "ranks": 2,
        "measured": "2020-01-01",
        "libraries": {"lib": "3.0", "threads": "1.0", "unused": "2.0"},
        "cells": cells,
    }
    monkeypatch.setattr(tables, "TITLES", {"cpu": "CPU"})
    monkeypatch.setattr(tables, "support", lambda _: file)
    return tables


def test_operations_with_equal_cells_share_a_row(made_up: ModuleType) -> None:
    rows = made_up.compact_table().splitlines()
    assert "| `softmax`, `activation` | `float`, `half`¹, `bfloat16` |" in rows
    assert "| `memory` | yes |" in rows


def test_full_table_names_libraries_and_forms(made_up: ModuleType) -> None:
    text, _, table = made_up.full_table("cpu").partition("\n\n")
    machine = "Recorded on 2020-01-01 on one Old CPU, isa old, with lib 3.0, threads 1.0. "
    machine += "Collectives ran on 2 ranks."
    assert " ".join(text.split()) == machine
    assert table.splitlines()[2:] == [
        "| `softmax`, `activation` | `lib` | `float`; `bfloat16` (phase fwd) | `half` |",
        "| `memory` | `threads` | kind read |  |",
    ]


def test_forms_without_a_common_choice_are_told_apart(tables: ModuleType) -> None:
    every = [
        f"kind={kind} phase={phase}" for kind in ("batch", "layer") for phase in ("fwd", "bwd")
    ]
    assert tables.condition(every[:3], every) == "kind batch or kind layer with phase fwd"
    assert tables.condition(every, every) == ""


def test_committed_file_holds_on_this_processor(
    cpu: None, tables: ModuleType, tmp_path: Path
) -> None:
    """What runs here runs in the file, or was declined for its processor, and what runs there in
    float runs here. Only libraries of the same version are compared."""
    file = tmp_path / "cpu.json"
    command = [sys.executable, str(ROOT / "benchmarks" / "support.py"), "cpu", "softmax",
               "embedding", "-o", str(file)]  # fmt: skip
    subprocess.run(command, check=True, capture_output=True, text=True)
    here, there = json.loads(file.read_text()), tables.support("cpu")
    committed = {keys_of(one): one for one in there["cells"]}
    same = {name for name, version in here["libraries"].items()
            if there["libraries"].get(name) == version}  # fmt: skip
    compared = [one for one in here["cells"] if one["library"] in same]
    assert any(one["ok"] for one in compared)  # the built-in loops have the package's version
    for one in compared:
        other = committed[keys_of(one)]
        assert set(one["ok"]) <= {*other["ok"], *tables.declined_forms(other)}
        assert one["precision"] != "float" or set(other["ok"]) <= set(one["ok"])


def keys_of(one: Any) -> tuple[str, str, str]:
    return one["operation"], one["library"], one["precision"]


def test_a_backend_that_does_not_exist_is_an_error() -> None:
    command = [sys.executable, str(ROOT / "benchmarks" / "support.py"), "nothing"]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 1
    assert "nothing" in done.stderr
    assert "Traceback" not in done.stderr
