"""The cost model of all_reduce: exact on what follows it, honest on what does not."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import pytest

from deepbench.cli.commands import run
from deepbench.collective_model import Point, algorithm_of, fit, group_points, reach
from deepbench.errors import UserError
from example_rows import make_context, make_row, row_of_members


def points_of_ring(
    latency_ns: float, ns_per_byte: float, noise: float = 0, start_ns: float = 0
) -> list[Point]:
    """Measured points of a ring on 2 and 4 ranks."""
    found = []
    for index, size in enumerate((400, 4000, 40000, 400000, 4000000)):
        for ranks in (2, 4):
            time_ns = start_ns + 2 * (ranks - 1) * (latency_ns + size * ns_per_byte / ranks)
            found.append(Point(ranks, size, time_ns * (1 + noise * (-1) ** index)))
    return found


def test_what_follows_the_model_is_found_and_predicted() -> None:
    fitted = fit(algorithm_of("ring 0.1.0"), points_of_ring(5000, 0.25))
    assert fitted is not None
    assert fitted.model.large is None
    assert fitted.model.start_ns == pytest.approx(0, abs=1e-6)
    assert fitted.model.latency_ns == pytest.approx(5000)
    assert fitted.model.ns_per_byte == pytest.approx(0.25)
    assert fitted.size_error.largest == pytest.approx(0, abs=1e-9)
    assert fitted.rank_error is not None
    assert fitted.rank_error.largest == pytest.approx(0, abs=1e-9)
    assert fitted.model.time_ns(1024, 1e6) == pytest.approx(2 * 1023 * (5000 + 1e6 * 0.25 / 1024))


def test_what_every_call_takes_shows_where_ranks_differ() -> None:
    fitted = fit(algorithm_of("ring 0.1.0"), points_of_ring(1000, 0.25, start_ns=3000))
    assert fitted is not None
    assert fitted.model.start_ns == pytest.approx(3000)
    assert fitted.model.latency_ns == pytest.approx(1000)
    assert fitted.rank_error is not None
    assert fitted.rank_error.largest > 0.2, "of two ranks alone it is taken for steps"
    alone = fit(algorithm_of("ring 0.1.0"), [p for p in points_of_ring(1000, 0.25) if p.ranks == 2])
    assert alone is not None
    assert alone.rank_error is None
    assert alone.model.start_ns == 0


def test_large_sizes_that_go_their_own_way_have_a_line_of_their_own() -> None:
    sizes = [4.0**power for power in range(2, 15)]
    changed = [Point(2, b, 2000 + 0.1 * b if b < 1e5 else 20000 + 0.01 * b) for b in sizes]
    fitted = fit(algorithm_of("nccl 2.28.9"), changed)
    assert fitted is not None
    large = fitted.model.large
    assert large is not None
    assert (large.least, large.ns_per_byte) == (4.0**9, pytest.approx(0.01, rel=1e-6))
    assert large.extra_ns == pytest.approx(18000, rel=1e-6)
    assert fitted.size_error.median == pytest.approx(0, abs=1e-9)
    assert fitted.model.time_ns(2, 4.0**8) == pytest.approx(2000 + 0.1 * 4**8, rel=1e-6)
    assert fitted.model.time_ns(2, 4.0**13) == pytest.approx(20000 + 0.01 * 4**13, rel=1e-6)
    steps = algorithm_of("nccl 2.28.9").steps
    more_steps = (steps(1024) - steps(2)) * fitted.model.latency_ns
    assert fitted.model.time_ns(1024, 4.0**13) > fitted.model.time_ns(2, 4.0**13) + more_steps


def test_what_does_not_follow_it_says_how_far_it_is_off() -> None:
    fitted = fit(algorithm_of("ring 0.1.0"), points_of_ring(5000, 0.25, noise=0.2))
    assert fitted is not None
    assert 0.1 < fitted.size_error.median <= fitted.size_error.largest < 0.6


@pytest.mark.parametrize("count", [7, 13])
def test_noise_alone_does_not_part_sizes(count: int) -> None:
    parted = 0
    for seed in range(40):
        noise = random.Random(seed)
        sizes = [4.0**power for power in range(1, count + 1)]
        noisy = [Point(2, b, (2000 + 0.1 * b) * noise.gauss(1, 0.05)) for b in sizes]
        fitted = fit(algorithm_of("nccl 2.28.9"), noisy)
        assert fitted is not None
        assert fitted.size_error.median < 0.25
        parted += fitted.model.large is not None
    assert parted <= 4


def test_neither_latency_nor_bytes_cost_less_than_nothing() -> None:
    falling = [Point(2, size, 1000 - size / 100) for size in (100, 1000, 5000, 20000, 50000)]
    fitted = fit(algorithm_of("mpi MPICH"), falling)
    assert fitted is not None
    assert fitted.model.ns_per_byte == 0
    assert fitted.model.latency_ns > 0


def test_ways_of_peer_have_their_own_steps_and_bytes() -> None:
    for way, steps, share in (
        ("one_shot_ll", 1, 6),
        ("one_shot", 1, 3),
        ("two_shot/32", 2, 1.5),
        ("two_shot_push", 2, 1.5),
        ("ring", 6, 1.5),
    ):
        algorithm = algorithm_of("peer 0.1.0", way)
        assert (algorithm.steps(4), algorithm.share(4)) == (steps, share), way


@pytest.mark.parametrize(
    ("op", "ring", "peer", "nccl"),
    [
        ("all_gather", (3, 0.75), (1, 0.75), (2, 0.75)),
        ("reduce_scatter", (3, 0.75), (1, 0.75), (2, 0.75)),
        ("all_to_all", (3, 1.5), (1, 0.75), (3, 0.75)),
        ("broadcast", (3, 1), (1, 3), (2, 1)),
        ("send_recv", (1, 1), (1, 1), (1, 1)),
    ],
)
def test_every_collective_has_its_own_steps_and_bytes(
    op: str, ring: tuple[float, float], peer: tuple[float, float], nccl: tuple[float, float]
) -> None:
    libraries = {"ring 0.1.0": ring, "peer 0.1.0": peer, "nccl 2.28.9": nccl}
    for library, expected in libraries.items():
        algorithm = algorithm_of(library, "one_shot", op)
        assert (algorithm.steps(4), algorithm.share(4)) == expected, library


def test_operations_have_models_of_their_own() -> None:
    rows = [row_of_members(all_reduce_row(1, 10, 5.0)), row_of_members(all_reduce_row(2, 99, 5.0))]
    other = row_of_members({**all_reduce_row(3, 10, 5.0), "op": "all_gather"})
    gemm = row_of_members({**all_reduce_row(4, 10, 5.0), "op": "gemm"})
    found = group_points([*rows, other, gemm])
    assert {group.op: len(points) for group, points in found.items()} == {
        "all_reduce": 2,
        "all_gather": 1,
    }


def test_few_sizes_make_no_model() -> None:
    assert fit(algorithm_of("ring 0.1.0"), points_of_ring(1, 1)[:4]) is None


def all_reduce_row(index: int, elements: int, time_us: float, ranks: int = 2) -> dict[str, Any]:
    row = make_row("all_reduce", {"elements": elements, "precision": "float"}, index - 1, 0.0)
    row["statistics"]["median_ns"] = 1e3 * time_us
    row["work"]["bytes"] = 4.0 * elements
    row["library"], row["regime"]["ranks"] = "ring 0.1.0", ranks
    return row


def test_the_command_prints_a_model_and_its_error(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "rows.jsonl"
    rows = [all_reduce_row(i, 10**i, 2 * (5 + 4 * 10**i * 0.25e-3 / 2)) for i in range(1, 7)]
    lines = [make_context(rows=len(rows)), *rows]
    file.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    assert len(group_points(map(row_of_members, rows))) == 1
    assert run(["model", str(file), "--ranks", "8"]) == 0
    out = capsys.readouterr().out
    assert "5 us a step, 4 GB/s a rank" in out
    assert "off by 0% (median), 0% (largest)" in out
    assert "8 ranks" in out
    assert "ranks alone" not in out
    more = tmp_path / "four.jsonl"
    rows = [all_reduce_row(i, 10**i, 6 * (5 + 4 * 10**i * 0.25e-3 / 4), 4) for i in range(1, 7)]
    lines = [make_context(rows=len(rows)), *rows]
    more.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    assert run(["model", str(file), str(more)]) == 0
    assert "of 2 ranks alone, on 4: off by 0% (median), 0% (largest)" in capsys.readouterr().out
    for words in (["model"], ["model", str(file), "--ranks", "1"]):
        with pytest.raises(UserError):
            run(words)


def one_machine(ranks: int, **changes: Any) -> dict[str, Any]:
    return make_context(
        ranks={"count": ranks, "machines": ["a"] * ranks, "devices": [{"index": 0}] * ranks},
        host={"cpu": "Example CPU", "cpus_allowed": 6},
        **changes,
    )


def test_one_machine_tells_of_no_network() -> None:
    assert reach(one_machine(2)) == 6
    assert reach(one_machine(8)) == 8
    gpus = [{"index": 0, "uuid": "GPU-1"}, {"index": 1, "uuid": "GPU-2"}]
    ranks = {"count": 2, "machines": ["a", "a"], "devices": gpus}
    assert reach(make_context(ranks=ranks, device_count=4)) == 4
    assert reach(make_context(ranks={**ranks, "machines": ["a", "b"]}, device_count=4)) is None
    assert reach(make_context()) is None
    assert reach(make_context(options={"devices": "0,1,3"}, device_count=4)) == 4
    assert reach(make_context(options={"devices": "0,1"}, device_count=None)) == 2


def test_predictions_end_at_the_reach_of_the_rows(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "rows.jsonl"
    rows = [all_reduce_row(i, 10**i, 5.0 + 10**i / 1e3) for i in range(2, 8)]
    file.write_text("".join(json.dumps(line) + "\n" for line in [one_machine(2), *rows]))
    assert run(["model", str(file), "--ranks", "4,64"]) == 0
    out, err = capsys.readouterr()
    assert "4 ranks" in out
    assert "64 ranks" not in out
    assert "all_reduce: rows of one machine predict nothing beyond 6 ranks" in err


def test_a_limit_names_the_operations_that_have_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    sums = [all_reduce_row(i, 10**i, 5.0 + 10**i / 1e3) for i in range(2, 8)]
    gathers = [{**row, "op": "all_gather", "position": row["position"] + 6} for row in sums]
    through_mpi = [{**row, "library": "mpi 4.2"} for row in sums]
    contents = ((one_machine(2), [*sums, *gathers]), (one_machine(8), through_mpi))
    files = [tmp_path / name for name in ("one.jsonl", "eight.jsonl")]
    for file, (context, rows) in zip(files, contents, strict=True):
        file.write_text("".join(json.dumps(line) + "\n" for line in [context, *rows]))
    assert run(["model", str(files[0]), "--ranks", "64"]) == 0
    assert capsys.readouterr().err == (
        "deepbench: all_reduce, all_gather: rows of one machine predict nothing beyond 6 ranks: "
        "it has room for 6, and they measured no network\n"
    )
    assert run(["model", *map(str, files), "--ranks", "64"]) == 0
    six, eight = capsys.readouterr().err.splitlines()
    assert six.startswith("deepbench: all_reduce through ring 0.1.0, all_gather: rows of one")
    assert eight.startswith("deepbench: all_reduce through mpi 4.2: rows of one machine")


def test_rows_of_several_machines_do_not_extend_the_reach_of_others(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = [all_reduce_row(i, 10**i, 5.0 + 10**i / 1e3) for i in range(2, 8)]
    files = [tmp_path / name for name in ("one.jsonl", "two.jsonl")]
    for file, context in zip(files, (one_machine(2), make_context()), strict=True):
        file.write_text("".join(json.dumps(line) + "\n" for line in [context, *rows]))
        rows = [{**row, "library": "mpi 4.2"} for row in rows]
    assert run(["model", *map(str, files), "--ranks", "64"]) == 0
    ring, mpi = capsys.readouterr().out.split("all_reduce float: ")[1:]
    assert ring.startswith("ring")
    assert "64 ranks" not in ring
    assert "64 ranks" in mpi
