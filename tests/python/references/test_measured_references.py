"""The measured references that the package contains, the tool that creates them, and comparisons
with them."""

from __future__ import annotations

import importlib.util
import json
import math
from collections import Counter
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from command_line import run_command
from deepbench import references
from deepbench.references.admission import is_sound
from deepbench.results import Row, read
from example_rows import make_context, make_gemm
from source_tree import ROOT

TOOL = ROOT / "tools/measured_references.py"
RESULTS = ROOT / "results"
H200 = "NVIDIA H200"
MOST_BYTES = 3_000_000  # of all references


def h200() -> references.Reference:
    found = references.find("h200")
    assert found is not None
    return found


@cache
def gemm_rows() -> tuple[Row, ...]:
    return references.load(h200(), {"gemm"}).rows


@pytest.fixture(scope="module")
def tool() -> ModuleType:
    if not TOOL.exists():
        pytest.skip("the tools are not part of this installation")
    spec = importlib.util.spec_from_file_location("measured_references", TOOL)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


# ---- available references ----------------------------------------------------------------------


def test_the_index_matches_the_files() -> None:
    measured = [one for one in references.available() if one.kind == references.MEASURED]
    assert {one.name for one in measured} >= {H200, "NVIDIA H100 80GB HBM3"}
    for reference in measured:
        rows = references.load(reference).rows
        assert len(rows) == reference.rows
        assert Counter(row.op for row in rows) == reference.ops
        assert {row.device.name for row in rows} == {reference.name}
        assert {row.status for row in rows} == {"ok"}
        assert {row.verification.status for row in rows} == {"passed"}
        assert not any(row.samples_ns for row in rows)
        assert reference.backend
        assert reference.driver or reference.backend != "cuda"
        assert reference.libraries
        assert reference.devices


def test_all_references_are_small() -> None:
    folder = Path(references.__file__).parent
    assert sum(path.stat().st_size for path in folder.iterdir() if path.is_file()) < MOST_BYTES


def test_a_reference_has_the_times_of_its_result_files() -> None:
    if not RESULTS.exists():
        pytest.skip("the result files are not part of this installation")

    def facts(row: Row) -> tuple[object, ...]:
        time = f"{row.time_ns:.7g}"
        return row.problem, row.application, row.library, row.regime.power, row.work.flops, time

    kept = {facts(row) for row in gemm_rows()}
    assert {facts(row) for row in read(RESULTS / "h200/gemm_inference_half.jsonl").rows} <= kept


def test_references_are_as_new_as_the_result_files(tool: ModuleType) -> None:
    if not RESULTS.exists():
        pytest.skip("the result files are not part of this installation")
    files: dict[str, list[Path]] = {}
    for path in RESULTS.rglob("*.jsonl"):
        with path.open(encoding="utf-8") as file:
            files.setdefault(json.loads(file.readline())["device"]["name"], []).append(path)
    known = {one.name: one.sources for one in references.available() if one.sources}
    made = {name: tool.digest_of(paths) for name, paths in files.items()}
    assert known == made, "python tools/measured_references.py makes them anew"


@pytest.mark.parametrize("name", ["h100", "h200"])
def test_all_rows_of_the_package_are_sound(name: str) -> None:
    found = references.find(name)
    assert found is not None
    assert all(map(is_sound, references.load(found).rows))


def test_a_spread_states_its_devices() -> None:
    spread = h200().spread
    assert spread is not None
    assert spread["gemm half"].devices >= references.FEWEST_DEVICES
    assert 0 < spread["gemm half"].log_sd < 0.05
    assert h200().judging_spread.keys() < spread.keys()
    assert all(one.devices >= 5 for one in h200().judging_spread.values())


def test_a_published_reference_has_no_spread() -> None:
    found = references.find("v100")
    assert found is not None
    assert (found.kind, found.spread, found.judging_spread) == (references.PUBLISHED, None, {})


def test_a_part_of_a_reference_is_loaded() -> None:
    rows = references.load(h200(), {"memory", "sparse_gemm"}).rows
    assert Counter(row.op for row in rows) == {
        op: h200().ops[op] for op in ("memory", "sparse_gemm")
    }
    assert len(references.load(h200(), {"nothing"}).rows) == h200().rows


def test_list_names_spread_and_libraries(capsys: pytest.CaptureFixture[str]) -> None:
    status, out, _ = run_command(capsys, "list", "references", "h200")
    assert status == 0
    assert "gemm half: the times of 6 devices differ by" in out
    assert "no reference spread: every other operation and precision" in out
    assert "cublaslt 13.1.0" in out
    assert "2026-11-2" in out


# ---- comparing ---------------------------------------------------------------------------------


def own_rows(factor: float, **changes: Any) -> list[dict[str, Any]]:
    """Rows of the reference's problems that take `factor` times as long."""
    rows: list[dict[str, Any]] = []
    for row in gemm_rows():
        regime = row.regime
        if (regime.power, regime.cache, row.algorithm.mode) == ("rested", "hot", "default"):
            copy = json.loads(row.line)
            for name in ("median_ns", "low_ns", "high_ns", "q1_ns", "q3_ns", "stdev_ns"):
                copy["statistics"][name] *= factor
            rows.append({**copy, "position": len(rows), **changes})
        if len(rows) == 20:
            break
    return rows


def write_rows(path: Path, rows: list[dict[str, Any]], **changes: Any) -> str:
    context = make_context(rows=len(rows), device={"index": 0, "name": H200}, **changes)
    path.write_text("".join(json.dumps(line) + "\n" for line in [context, *rows]))
    return str(path)


def test_own_rows_against_a_reference(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    slow = write_rows(tmp_path / "slow.jsonl", own_rows(1.2))
    status, out, _ = run_command(capsys, "compare", "h200", slow)
    assert status == 1
    assert "regressions: " in out
    assert out.startswith(f"{H200} is 1.200 times faster than slow.jsonl")
    quick = write_rows(tmp_path / "quick.jsonl", own_rows(0.8))
    assert run_command(capsys, "compare", "h200", quick)[0] == 0
    assert run_command(capsys, "show", slow, "--against", "h200")[0] == 0


@pytest.mark.parametrize("factor", [0.8, 1.25])
def test_a_reference_is_never_a_regression(
    factor: float, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    mine = write_rows(tmp_path / "mine.jsonl", own_rows(factor))
    status, out, _ = run_command(capsys, "compare", mine, "h200")
    assert status == 0
    assert "20 rows compared" in out
    assert "regressions" not in out
    assert "more rows of these operations in the reference" in out
    assert "another" not in out
    assert "measured by deepbench on" in out


def test_another_device_and_another_library_are_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    device = {"index": 0, "name": "Example GPU"}
    rows = own_rows(1.0, library="cublaslt 99.1", device=device)
    mine = write_rows(tmp_path / "mine.jsonl", rows)
    said = ["another kind of device: Example GPU in A, NVIDIA H200 in B",
            "another version of cublaslt: 99.1 in A, 13.1.0 in B"]  # fmt: skip
    _, out, _ = run_command(capsys, "compare", mine, "h200")
    assert all(text in out for text in said)
    _, out, _ = run_command(capsys, "compare", mine, "h200", "--format", "json")
    against = json.loads(out)["against"][0]
    assert against["reference_differences"] == said
    assert against["side"]["is_reference"]


def test_rows_of_another_regime_are_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The rows that can be compared are."""
    rows = own_rows(1.0)
    rows[0]["regime"] = {**rows[0]["regime"], "cache": "cold", "cold": "flush"}
    _, out, _ = run_command(capsys, "compare", write_rows(tmp_path / "a.jsonl", rows), "h200")
    assert "19 rows compared" in out
    assert "(--across cache)" in out


def test_a_file_of_an_operation_without_reference(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    row = {**make_gemm(0), "op": "unheard_of"}
    status, _, err = run_command(capsys, "compare", write_rows(tmp_path / "a.jsonl", [row]), "h200")
    assert status == 2
    assert "no operation in common" in err


@pytest.mark.parametrize("mode", ["default", "best"])
def test_rows_are_shown_beside_those_of_their_choice_of_algorithm(
    mode: str, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    """The reference has both, and the ratio of a row to itself is 1."""
    rows = [
        {**json.loads(row.line), "position": position}
        for position, row in enumerate(
            [
                row
                for row in gemm_rows()
                if (row.algorithm.mode, row.regime.power, row.regime.cache)
                == (mode, "rested", "hot")
                and row.attributes["precision"] == "int8"
            ][:5]
        )
    ]
    mine = write_rows(tmp_path / "mine.jsonl", rows)
    _, out, _ = run_command(capsys, "show", mine, "--against", "h200")
    assert out.count(" 1.000 ") == len(rows)


# ---- the tool ----------------------------------------------------------------------------------


SIZES = range(16, 28)  # n of the products that all devices measure
EFFECTS = (0.99, 1.0, 1.01, 1.02, 1.03)  # the times of five devices over those of the second


def write_device(folder: Path, number: int, factor: float, sizes: range = SIZES) -> None:
    rows = [make_gemm(i, n=n, device={"index": 0, "name": "Example GPU"})
            for i, n in enumerate(sizes)]  # fmt: skip
    for row in rows:
        time_ns = 1000.0 * row["attributes"]["n"] * factor
        times = dict.fromkeys(("median_ns", "low_ns", "high_ns"), time_ns)
        row["statistics"] = {**row["statistics"], **times}
    device = {"index": 0, "name": "Example GPU", "uuid": f"GPU-{number}", "driver": "1.2"}
    context = make_context(rows=len(rows), device=device)
    text = "".join(json.dumps(line) + "\n" for line in [context, *rows])
    (folder / f"{number}.jsonl").write_text(text)


def made_index(tool: ModuleType, source: Path, folder: Path) -> Mapping[str, Any]:
    folder.mkdir(exist_ok=True)
    tool.write_references(folder, source)
    (entry,) = json.loads((folder / "measured.json").read_text())
    assert isinstance(entry, dict)
    return entry


def test_the_tool_states_the_spread_of_devices(tool: ModuleType, tmp_path: Path) -> None:
    source = tmp_path / "source"
    source.mkdir()
    for number, factor in enumerate(EFFECTS):
        write_device(source, number, factor)
    entry = made_index(tool, source, tmp_path / "one")
    logs = [math.log(factor) for factor in EFFECTS]
    mean = sum(logs) / 5
    deviation = math.sqrt(sum((one - mean) ** 2 for one in logs) / 4)
    assert entry["spread"]["gemm float"]["devices"] == 5
    assert entry["spread"]["gemm float"]["log_sd"] == pytest.approx(deviation, rel=0.01)
    assert (entry["devices"], entry["driver"], entry["rows"]) == (5, "1.2", len(SIZES))
    assert entry["libraries"] == {"onednn": "3.2.0"}
    made_index(tool, source, tmp_path / "two")
    for path in (tmp_path / "one").iterdir():
        assert path.read_bytes() == (tmp_path / "two" / path.name).read_bytes()


def test_processors_are_told_apart_by_their_machines(tool: ModuleType, tmp_path: Path) -> None:
    source = tmp_path / "source"
    source.mkdir()
    for number, factor in enumerate((1.0, 1.01)):
        write_device(source, number, factor)
        path = source / f"{number}.jsonl"
        context, rows = path.read_text().split("\n", 1)
        device = {"index": 0, "name": "Example CPU", "shares_host_memory": 1}
        changes = {"device": device, "host": {"machine": f"os-{number:016x}"}}
        path.write_text(json.dumps({**json.loads(context), **changes}) + "\n" + rows)
    entry = made_index(tool, source, tmp_path / "made")
    assert entry["devices"] == entry["spread"]["gemm float"]["devices"] == 2


def test_devices_without_enough_rows_in_common_have_no_spread(
    tool: ModuleType, tmp_path: Path
) -> None:
    """The mean of a few rows is not that of a family."""
    source = tmp_path / "source"
    source.mkdir()
    write_device(source, 0, 1.0)
    write_device(source, 1, 1.01)
    write_device(source, 2, 9.0, range(16, 20))
    entry = made_index(tool, source, tmp_path / "made")
    assert entry["spread"]["gemm float"]["devices"] == 2
    assert entry["spread"]["gemm float"]["log_sd"] < 0.01
    (source / "1.jsonl").unlink()
    assert made_index(tool, source, tmp_path / "made")["spread"] == {}


def test_only_sound_rows_join_a_reference(tool: ModuleType, tmp_path: Path) -> None:
    source = tmp_path / "source"
    source.mkdir()
    write_device(source, 0, 1.0)
    lines = [json.loads(line) for line in (source / "0.jsonl").read_text().splitlines()]
    lines[1]["verification"] = {"status": "skipped"}
    lines[2] |= {"status": "mistrusted", "reason": "noise"}
    lines[3]["statistics"]["high_ns"] *= 1.1  # a wide interval
    lines[4]["statistics"]["waited_share"] = 0.5  # for other work
    (source / "0.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    assert made_index(tool, source, tmp_path / "made")["rows"] == len(SIZES) - 4
