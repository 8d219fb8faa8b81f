"""A fleet of NVIDIA devices: each rank on its own, all at once."""

from __future__ import annotations

from pathlib import Path

import pytest

from cuda_devices import device_count
from deepbench.results import read
from rank_processes import deepbench, rows_of

pytestmark = [pytest.mark.gpu, pytest.mark.slow]

WORDS = ("gemm", "m=4096", "n=4096", "k=4096", "precision=half")
# So long that --power sustained loads the devices for as long as their sensors average.
LONG = ("gemm", "m=10240", "n=10240", "k=10240", "precision=half")


def test_every_device_is_a_rank_and_tells_its_figures(tmp_path: Path) -> None:
    count = device_count()
    if count < 2:
        pytest.skip(f"needs two devices, here is {count}")
    file = tmp_path / "rows.jsonl"
    done = deepbench(*LONG, "--devices", str(count), "--power", "sustained", "-o", str(file))
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr
    known = read(file).context["ranks"]["devices"]
    assert [one["index"] for one in known] == list(range(count))
    assert len({one["uuid"] for one in known}) == count
    assert all(one["uuid"].startswith("GPU-") for one in known), known
    [row] = rows_of(file)
    ranks = row["ranks"]
    print(ranks)
    assert ranks["count"] == count
    for figure in ("median_ns", "clock_mhz", "temperature_c", "power_w"):
        assert all(value > 0 for value in ranks[figure]), figure
    assert min(ranks["power_w"]) > 200, "sensors were read when the devices were idle"
    assert ranks["spread"] < 0.2
    assert row["verification"]["status"] == "passed"


def test_ranks_that_share_a_device_are_warned_of(tmp_path: Path) -> None:
    file = tmp_path / "rows.jsonl"
    ranks = str(device_count() + 1)
    done = deepbench(*WORDS, "--ranks", ranks, "--samples", "3", "-o", str(file))
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr
    assert "share device 0 of " in done.stderr
    assert rows_of(file)[0]["ranks"]["count"] == int(ranks)
