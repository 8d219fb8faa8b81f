"""Which rows of result files make a reference together."""

from __future__ import annotations

import time
from dataclasses import replace
from itertools import combinations, islice
from pathlib import Path
from typing import Any

import pytest

from deepbench.accept.families import COMPUTE, chosen_rows
from deepbench.accept.reference import Reference, read_reference
from deepbench.errors import UserError
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


def test_the_first_figures_of_each_device_of_a_row_count(tmp_path: Path) -> None:
    devices = [
        {"identity": "GPU-1", "median_ns": 100.0, "energy_j": 2.0},
        {"identity": "GPU-1", "median_ns": 900.0, "energy_j": 9.0},
        {"identity": "", "median_ns": 900.0},
        {"identity": "GPU-2", "median_ns": 200.0},
        {"identity": "GPU-3", "median_ns": None},
        {"identity": "GPU-4", "median_ns": 0.0},
    ]
    write_device(tmp_path, 0, make_gemm(devices=devices))
    [found] = read_reference([str(tmp_path)]).rows
    assert found.times_ns == {"GPU-1": 100.0, "GPU-2": 200.0}
    assert found.energies_j == {"GPU-1": 2.0}


def test_a_collective_has_no_time_of_one_device(tmp_path: Path) -> None:
    devices = [{"identity": f"GPU-{number}", "median_ns": 1.0} for number in range(1, 6)]
    write_device(tmp_path, 0, make_gemm(devices=devices, **other_regime(ranks=2)))
    [found] = read_reference([str(tmp_path)]).rows
    assert set(found.times_ns) == {"GPU-0"}


@pytest.mark.parametrize(
    "devices",
    [[{"median_ns": 1.0}], [{"identity": "GPU-1", "median_ns": -1.0}], {"GPU-1": 1.0}, [7]],
)
def test_malformed_devices_are_refused(tmp_path: Path, devices: object) -> None:
    write_device(tmp_path, 0, make_gemm(devices=devices))
    with pytest.raises(UserError, match="devices"):
        read_reference([str(tmp_path)])


def test_choosing_among_many_different_sets_of_devices_is_linear(tmp_path: Path) -> None:
    """Comparing the devices of each row with those of each other row takes minutes here."""
    write_device(tmp_path, 0, make_gemm())
    one = read_reference([str(tmp_path)])
    [row] = one.rows
    sets = islice(combinations(range(22), 5), 20_000)
    rows = tuple(replace(row, times_ns=dict.fromkeys(devices, 1e5)) for devices in sets)
    begin = time.process_time()
    choice = chosen_rows(Reference("many", rows, one.contexts), 600, 1)
    assert time.process_time() - begin < 30
    assert choice[COMPUTE] == rows[:1]


def test_of_many_sets_of_devices_the_commonest_are_considered(tmp_path: Path) -> None:
    write_device(tmp_path, 0, make_gemm())
    one = read_reference([str(tmp_path)])
    [row] = one.rows
    sets = [*islice(combinations(range(22), 5), 200), *[range(100, 106)] * 2]
    rows = tuple(replace(row, times_ns=dict.fromkeys(devices, 1e5)) for devices in sets)
    choice = chosen_rows(Reference("many", rows, one.contexts), 600, 1)
    assert choice[COMPUTE] == rows[-2:]
