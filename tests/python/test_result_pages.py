"""The generated pages of both power regimes and of several devices, of made-up result files."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from example_rows import make_ceiling, make_context, make_gemm, make_memory, make_row
from source_tree import ROOT

WriteFile = Callable[..., None]
SIZES = [4**power for power in range(1, 7)]


@pytest.fixture
def write_file(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[WriteFile]:
    """Writes a result file to a folder of results that the pages read."""
    monkeypatch.syspath_prepend(str(ROOT / "benchmarks"))
    import page_parts  # type: ignore[import-not-found]

    def write(folder: str, name: str, *rows: dict[str, Any], **context: Any) -> None:
        path = tmp_path / "results" / folder / f"{name}.jsonl"
        path.parent.mkdir(parents=True, exist_ok=True)
        lines = [make_context(rows=len(rows), **context), *rows]
        path.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")

    monkeypatch.setattr(page_parts, "ROOT", tmp_path)
    page_parts.files_of.cache_clear()
    yield write
    page_parts.files_of.cache_clear()


def product(position: int, median_ns: float, joules: float | None, **changes: Any) -> Any:
    row = make_gemm(position, **changes)
    row["statistics"]["median_ns"] = median_ns
    if joules is not None:
        energy = {"name": "energy", "value": joules, "unit": "J", "better": "lower"}
        row["metrics"] = [energy]
    return row


def test_a_processor_has_a_page(write_file: WriteFile, monkeypatch: pytest.MonkeyPatch) -> None:
    import page_parts
    import processor_page  # type: ignore[import-not-found]

    monkeypatch.setattr(processor_page, "ROOT", page_parts.ROOT)
    device = {"name": "Example CPU", "cores": 16, "isa": "avx2", "shares_host_memory": 1}
    facts = {"device": device, "threads": 16, "host": {"machine": "os-0123456789abcdef"}}
    write_file("gpu", "memory", make_memory(), device={"name": "Example GPU"})
    write_file("example", "memory", make_memory(), **facts)
    for power, factor in (("rested", 1), ("sustained", 1.25)):
        rows = [product(place, 4e4 * factor, None, n=n) for place, n in enumerate((16, 32))]
        write_file("example", f"gemm_sizes_float_{power}", *rows, **facts)
    assert page_parts.processor_folders() == ["example"]
    text = processor_page.processor_page("example")
    assert text.startswith("# Example CPU with 16 cores\n")
    assert "from 1 machine with the instruction sets `avx2`, each measured with 16 threads" in (
        " ".join(text.split())
    )
    assert "| `gemm_sizes_float` | 2 | 1.250 | 1.250 |" in text
    assert "| 01234567 |" in text
    assert "## Memory" in text


def power_page(write_file: WriteFile, rested_j: float | None, sustained_j: float | None) -> str:
    """A page of a large product of 24.64 GFLOP and a small one without energy."""
    from power_page import power_page  # type: ignore[import-not-found]

    for power, joules, factor in (("rested", rested_j, 1), ("sustained", sustained_j, 1.25)):
        rows = [product(0, 4e4 * factor, joules, n=4000, m=1750), product(1, 5e3, None)]
        write_file("power", f"gemm_training_half_{power}", *rows)
    return str(power_page("NVIDIA H100: products", "power", "Measured one after the other."))


def test_a_power_page_shows_energy_where_it_was_measured(write_file: WriteFile) -> None:
    text = power_page(write_file, 0.02464, 0.0308)
    assert "| GFLOP/J of the large, rested | GFLOP/J of the large, sustained |" in text
    assert "| 1.250 | 1 | 1.250 | 1,000 | 800 |" in text
    assert "| rested, µs | ±% | TFLOP/s | J/call | GFLOP/J | sustained, µs |" in text
    large, small = (line for line in text.splitlines() if line.startswith(("| 1750 |", "| 1760 |")))
    assert " | 0.0246 | 1,000 | 50.00 | " in large
    assert " | 0.0308 | 800 | 1.250 |" in large
    assert " |  |  | 5.000 | " in small
    plot = text.partition("```text\n")[2].partition("```")[0]
    assert plot.startswith("1,000 GFLOP/J |")
    area = plot.partition("+---")[0]
    assert (area.count("o"), area.count("*")) == (1, 1)


def test_a_power_page_without_energy_has_no_columns_of_it(write_file: WriteFile) -> None:
    text = power_page(write_file, None, None)
    assert "/J" not in text
    assert "```" not in text
    assert "| rested, µs | ±% | TFLOP/s | sustained, µs | ±% | TFLOP/s | ratio |" in text


def collective(op: str, position: int, elements: int, time_us: float, **words: Any) -> Any:
    library, algorithm = words.pop("library", "nccl 2.28.9"), words.pop("algorithm", "ncclCall")
    ranks = words.pop("ranks", 4)
    row = make_row(op, {"elements": elements, "precision": "float", **words}, position, 0.0)
    row["statistics"]["median_ns"] = 1e3 * time_us
    row["library"], row["algorithm"]["name"] = library, algorithm
    row["regime"]["ranks"], row["work"]["bytes"] = ranks, 4.0 * elements
    row["metrics"] = [{"name": "busbw", "value": 7.5, "unit": "GB/s", "better": "higher"}]
    return row


def sweep(op: str, time_us: Callable[[int], float], **words: Any) -> list[Any]:
    return [collective(op, at, size, time_us(size), **words) for at, size in enumerate(SIZES)]


def collectives_page(*arguments: str) -> str:
    from collectives_page import collectives_page  # type: ignore[import-not-found]

    return str(collectives_page(*arguments))


def test_a_sweep_has_columns_for_each_library(write_file: WriteFile) -> None:
    peer = {"library": "peer 0.1.0", "algorithm": "one_shot"}
    gpu = {"backend": {"name": "cuda"}}
    write_file("four", "send_recv_sweep_float_nccl", *sweep("send_recv", lambda _: 9.0), **gpu)
    write_file("four", "send_recv_sweep_float_peer", *sweep("send_recv", lambda _: 6.0, **peer),
               **gpu)  # fmt: skip
    ring = {"library": "ring 0.1.0", "algorithm": "shared_memory"}
    write_file("four", "send_recv_sweep_float_ring", *sweep("send_recv", lambda _: 40.0, **ring))
    text = collectives_page("four", "Four", "H100")
    assert "The 3 files come from 1 machine. Each device has its own process." in text
    assert "`nccl_single`" not in text
    assert "`best`" not in text
    assert "Libraries: nccl 2.28.9, peer 0.1.0, ring 0.1.0." in text
    assert "| 16 | 9.00 | 7.50 | 6.00 | 7.50 | 40.0 | 7.50 | `one_shot` | 1.50 |" in text
    assert "Predictions" not in text


def test_a_sweep_says_why_cells_are_blank(write_file: WriteFile) -> None:
    rows = sweep("send_recv", lambda _: 6.0, library="peer 0.1.0", algorithm="one_shot")
    rows[-1] |= {"status": "unsupported", "reason": "peer supports send_recv of at most 1 MiB"}
    write_file("four", "send_recv_sweep_float_nccl", *sweep("send_recv", lambda _: 9.0))
    write_file("four", "send_recv_sweep_float_peer", *rows)
    text = " ".join(collectives_page("four", "Four").split())
    assert "peer 0.1.0. Blank cells: peer supports send_recv of at most 1 MiB. |" in text


def test_all_reduce_in_place_and_in_one_process_stands_beside(write_file: WriteFile) -> None:
    rows = {
        "nccl": collective("all_reduce", 0, 100, 10.0),
        "peer": collective("all_reduce", 0, 100, 5.0, algorithm="two_shot"),
        "in_place_nccl": collective("all_reduce", 0, 100, 12.0, in_place="yes"),
        "in_place_peer": collective("all_reduce", 0, 100, 4.0, in_place="yes", algorithm="ring"),
        "nccl_single": collective("all_reduce", 0, 100, 30.0),
    }
    for name, row in rows.items():
        write_file("four", f"all_reduce_training_float_{name}", row)
    text = collectives_page("four", "Four")
    assert "With `nccl_single` one process has all devices" in text
    assert "| elements | NCCL, µs | NCCL, GB/s | peer, µs | algorithm of peer |\n" in text
    assert "| 100 | 10.0 | 7.50 | 5.00 | `two_shot` |\n" in text
    assert "## all_reduce in float, in place and in one process\n" in text
    assert "| 100 | 10.0 | 12.0 | 7.50 | 30.0 | 5.00 | 4.00 | 7.50 | `ring` | 3.00 |" in text


@pytest.mark.parametrize("op", ["send_recv", "broadcast"])
def test_predictions_from_fewer_devices(write_file: WriteFile, op: str) -> None:
    """On two devices a call takes 2 µs and a nanosecond a byte. A broadcast takes twice the steps
    on four."""
    steps = {"send_recv": 1, "broadcast": 2}[op]
    fewer = sweep(op, lambda size: 2 + 4e-3 * size, ranks=2, library="nccl 2.27.3")
    fewer[0]["verification"]["status"] = "skipped"
    write_file("two", f"{op}_sweep_float_nccl", *fewer)
    measured = sweep(op, lambda size: 0.5 * (2 * steps + 4e-3 * size))
    write_file("four", f"{op}_sweep_float_nccl", *measured)
    text = collectives_page("four", "Four", "H100", "two")
    assert f"| {op} | float | NCCL | 6 | 5 | 6 | 0.50 | 0.50 | 0.50 |" in text
    table = text.partition(f"## Predictions of {op} in float\n")[2]
    predicted = 2 * steps + 4e-3 * 1024
    assert f"| 1,024 | {predicted / 2:.2f} | {predicted:.2f} | 0.50 |" in table


def test_sizes_with_another_algorithm_on_fewer_devices_have_no_prediction(
    write_file: WriteFile,
) -> None:
    peer = {"library": "peer 0.1.0", "algorithm": "one_shot"}
    name = "all_reduce_sweep_float_peer"
    write_file("two", name, *sweep("all_reduce", lambda _: 2.0, ranks=2, **peer))
    rows = sweep("all_reduce", lambda _: 3.0, **peer)
    rows[-1]["algorithm"]["name"] = "ring"
    write_file("four", name, *rows)
    text = collectives_page("four", "Four", "H100", "two")
    assert "| all_reduce | float | peer | 6 | 6 | 5 | 1.50 | 1.50 | 1.50 |" in text
    assert "| 4,096 |" not in text.partition("## Predictions of")[2]


def data_row(position: int, op: str, share: float, **attributes: Any) -> Any:
    """A row that moves 100 MB, at a share of a ceiling of 4,000 GB/s."""
    row = make_row(op, {**attributes, "precision": "half"}, position, 0.0, library="own 1.0")
    row["work"]["bytes"], row["rates"]["gbps"] = 1e8, 4000.0 * share
    row["bound"] |= {"memory_gbps": 4000.0, "share_roofline": share}
    return row


def models_page(write_file: WriteFile, monkeypatch: pytest.MonkeyPatch, *rows: Any) -> str:
    """A page of two sets with the same rows and a memory ceiling, beside a copy of 3,000 GB/s."""
    import models_page  # type: ignore[import-not-found]
    import page_parts

    monkeypatch.setattr(models_page, "ROOT", page_parts.ROOT)
    copies = [make_memory(), make_memory(1), make_memory(2)]
    for copy, (kind, size, rate) in zip(
        copies, [("copy", 1, 9e3), ("copy", 2, 3e3), ("read", 3, 6e3)], strict=True
    ):
        copy["attributes"], copy["rates"]["gbps"] = {"kind": kind, "bytes": size}, rate
    write_file("other", "memory", *copies)
    for name in ("mlperf_half", "mlperf_v0_5_half"):
        write_file("models", name, *rows, make_ceiling("bandwidth", 4000.0))
    return str(models_page.models_page("H200", "models", "other"))


def cells_of(page: str, *beginning: str) -> list[str]:
    """The other cells of the line of a table that begins with these cells."""
    begin = "".join(f"| {cell} " for cell in beginning)
    [line] = [line for line in page.splitlines() if line.startswith(begin)]
    return [cell.strip() for cell in line.removeprefix(begin).strip("|").split("|")]


def test_transfers_below_the_ceiling_stand_beside_their_library(
    write_file: WriteFile, monkeypatch: pytest.MonkeyPatch
) -> None:
    adds = [
        data_row(at, "elementwise", share, kind="add", rows=8, columns=at)
        for at, share in enumerate((0.95, 0.89, 0.5))
    ]
    small = data_row(3, "elementwise", 0.1, kind="add", rows=8, columns=3)
    small["work"]["bytes"] = 63e6
    cached = data_row(4, "embedding", 2.0, rows=5, dim=2, batch=9, mode="gather")
    cached["bound"]["level"] = None
    broken = data_row(5, "elementwise", 0.2, kind="add", rows=8, columns=5)
    broken |= {"status": "incorrect", "reason": "a value is wrong"}
    page = models_page(write_file, monkeypatch, *adds, small, cached, broken)
    # Each problem counts once, though two sets have it.
    about = cells_of(page, "`elementwise` add", "half", "own 1.0", "`matmul`")
    assert about == ["3", "1", "2", "8 x 2: 2,000 (0.500), 8 x 1: 3,560 (0.890)"]
    text = " ".join(page.split())
    assert "with 4,000 to 4,000 GB/s. A copy had 3,000 GB/s on" in text
    assert "Of 3 problems 1 reach 0.9 of the ceiling and 2 0.9 of that copy" in text
    assert "There is no ceiling for 1 problem of `embedding`, since" in text
    assert cells_of(page, "`embedding`", "half")[:2] == ["2", "1"]


def test_shares_of_the_bounds_of_models(
    write_file: WriteFile, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = [data_row(at, "norm", 0.4, kind="rms", rows=at, columns=1) for at in range(4)]
    rows[0]["bound"] |= {"by": "latency", "share_roofline": 0.05}
    page = models_page(write_file, monkeypatch, *rows)
    assert cells_of(page, "`norm`", "half") == ["8", "4", "75", "0", "0", "25", "24", "40"]
    commands = "`deepbench all mlperf half`, `deepbench all mlperf-v0.5 half`"
    assert f"Measured on 2026-01-31 with revision 1cfb0545: {commands}." in " ".join(page.split())


def test_attention_and_grouped_products_of_models(
    write_file: WriteFile, monkeypatch: pytest.MonkeyPatch
) -> None:
    def rated(position: int, op: str, tflops: float, share: float, **attributes: Any) -> Any:
        row = data_row(position, op, share, **attributes)
        row["rates"]["tflops"] = tflops
        return row

    page = models_page(
        write_file,
        monkeypatch,
        data_row(0, "norm", 0.9, kind="rms", rows=8, columns=1),
        rated(1, "attention", 100.0, 0.2, seq_q=64, phase="fwd"),
        rated(2, "attention", 300.0, 0.4, seq_q=128, phase="fwd"),
        rated(3, "attention", 5.0, 0.9, seq_q=1, sink="yes", phase="fwd"),
        rated(4, "attention", 200.0, 0.3, seq_q=1, phase="bwd"),
        rated(5, "grouped_gemm", 2.0, 0.6, groups=8, rows=7),
        rated(6, "grouped_gemm", 60.0, 0.7, groups=8, rows=8),
        rated(7, "grouped_gemm", 600.0, 0.8, groups=8, rows=1024),
    )
    assert cells_of(page, "half", "prefill", "no")[1:] == [
        "4", "2", "200", "300", "30", "20 to 40"
    ]  # fmt: skip
    assert cells_of(page, "half", "decode", "yes")[3] == "5.00"
    assert cells_of(page, "half", "gradients", "no")[3] == "200"
    sizes = ("less than 1", "1 to 15", "128 and more")
    assert [cells_of(page, "half", size)[3] for size in sizes] == ["2.00", "60.0", "600"]
    assert "16 to 127" not in page
