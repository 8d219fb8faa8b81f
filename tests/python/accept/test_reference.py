"""Which rows of result files make a reference together."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from deepbench.accept.reference import read_reference
from example_rows import make_context, make_gemm
from report_files import result_file_text


def write_device(folder: Path, number: int, row: dict[str, Any]) -> None:
    context = make_context()
    context["device"] = {**context["device"], "uuid": f"GPU-{number}"}
    (folder / f"{number}.jsonl").write_text(result_file_text([row], context))


def other_regime(**changes: object) -> dict[str, Any]:
    return {"regime": {**make_gemm()["regime"], **changes}}


@pytest.mark.parametrize(
    "other",
    [{"library": "onednn 3.3.0"}, other_regime(threads=7), other_regime(launch="graph")],
    ids=["library", "threads", "launch"],
)
def test_rows_of_another_library_or_regime_have_no_common_mean(
    tmp_path: Path, other: dict[str, Any]
) -> None:
    row = make_gemm()
    slow = {**row["statistics"], "median_ns": 2 * row["statistics"]["median_ns"]}
    write_device(tmp_path, 0, make_gemm(statistics=slow, **other))
    for number in (1, 2):
        write_device(tmp_path, number, row)
    [found] = read_reference([str(tmp_path)]).rows
    assert found.time_ns == pytest.approx(row["statistics"]["median_ns"])
    assert set(found.times_ns) == {"GPU-1", "GPU-2"}
    assert found.entry.library == row["library"]
    assert found.entry.threads == row["regime"]["threads"]
