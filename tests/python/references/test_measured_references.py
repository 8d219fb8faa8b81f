"""The measured references that the package contains, the tool that creates them, and comparisons
with them."""

from __future__ import annotations

import gzip
import importlib.util
import json
import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from command_line import run_command
from deepbench import references
from deepbench.accept.families import chosen_rows
from deepbench.accept.reference import read_reference
from deepbench.references.admission import is_sound
from deepbench.results import Row, parsed, read
from example_rows import make_context, make_gemm, make_row
from source_tree import ROOT

TOOL = ROOT / "tools/measured_references.py"
RESULTS = ROOT / "results"
H200 = "NVIDIA H200"
CPU = "Example CPU"
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
        device = references.load(reference).context["device"]
        assert references.kind_of_device(device) == reference.name
        assert {row.device.name for row in rows} == {device["name"]}
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


def test_a_reference_has_the_times_of_the_sound_rows_of_its_result_files() -> None:
    if not RESULTS.exists():
        pytest.skip("the result files are not part of this installation")

    def facts(row: Row) -> tuple[object, ...]:
        time = f"{row.time_ns:.7g}"
        return row.problem, row.application, row.library, row.regime.power, row.work.flops, time

    kept = {facts(row) for row in gemm_rows()}
    rows = read(RESULTS / "h200/gemm_inference_half.jsonl").rows
    sound = [row for row in rows if is_sound(row)]
    assert len(sound) > 0.9 * len(rows)
    assert {facts(row) for row in sound} <= kept


def test_references_are_as_new_as_the_result_files(tool: ModuleType) -> None:
    if not RESULTS.exists():
        pytest.skip("the result files are not part of this installation")
    known = {one.name: one.sources for one in references.available() if one.sources}
    made = {
        kind.name: tool.digest_of(file.path for file in kind.files)
        for kind in tool.kinds_of_devices(RESULTS)
    }
    assert known == made, "python tools/measured_references.py makes them anew"


def test_all_rows_of_the_package_are_sound() -> None:
    for reference in references.available():
        if reference.kind == references.MEASURED:
            assert all(map(is_sound, references.load(reference).rows)), reference.name


def test_all_references_are_valid() -> None:
    """Loading one does not validate its rows again."""
    for reference in references.available():
        data = gzip.decompress((Path(references.__file__).parent / reference.file).read_bytes())
        assert parsed(Path(reference.file), data).rows, reference.name


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
    assert "gemm half: the times of 8 devices differ by" in out
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


def write_device(
    folder: Path, number: int, factor: float, sizes: range = SIZES, name: str = "Example GPU"
) -> None:
    rows = [make_gemm(i, n=n, device={"index": 0, "name": name}) for i, n in enumerate(sizes)]
    for row in rows:
        time_ns = 1000.0 * row["attributes"]["n"] * factor
        times = dict.fromkeys(("median_ns", "low_ns", "high_ns"), time_ns)
        row["statistics"] = {**row["statistics"], **times}
    device = {"index": 0, "name": name, "uuid": f"GPU-{number}", "driver": "1.2"}
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


def test_a_reference_keeps_what_each_of_enough_devices_measured(
    tool: ModuleType, tmp_path: Path
) -> None:
    source = tmp_path / "source"
    source.mkdir()
    for number, factor in enumerate(EFFECTS):
        write_device(source, number, factor, SIZES if number else SIZES[:-1])
        energy = {"name": "energy", "value": factor, "unit": "J", "better": "lower"}
        state_metrics(source / f"{number}.jsonl", [[energy], [energy]])
    file = made_index(tool, source, tmp_path / "made")["file"]
    packaged = tmp_path / "packaged.jsonl"
    packaged.write_bytes(gzip.decompress((tmp_path / "made" / file).read_bytes()))
    found, expected = (read_reference([str(path)]).rows for path in (packaged, source))
    by_problem = {row.entry.problem: row for row in found}
    assert len(by_problem) == len(expected) == len(SIZES)
    for row in expected:
        same = by_problem[row.entry.problem]
        if len(row.times_ns) < len(EFFECTS):  # too few, of which the first one stands for all
            assert len(same.times_ns) == 1
        else:
            assert same.times_ns == pytest.approx(row.times_ns)
            assert same.energies_j == pytest.approx(row.energies_j)
    assert sum(len(row.energies_j) for row in found) == 2 * len(EFFECTS)
    # Energies of fewer devices judge none.
    state_metrics(source / "0.jsonl", [[]])
    data = gzip.decompress((made_file(tool, source, tmp_path / "fewer")).read_bytes())
    packaged.write_bytes(data)
    assert sum(len(row.energies_j) for row in read_reference([str(packaged)]).rows) == len(EFFECTS)


def state_metrics(file: Path, metrics: Sequence[list[dict[str, Any]]]) -> None:
    """Gives the first rows of a file these metrics."""
    context, *rows = map(json.loads, file.read_text().splitlines())
    for row, stated in zip(rows, metrics, strict=False):
        row["metrics"] = stated
    file.write_text("".join(json.dumps(line) + "\n" for line in (context, *rows)))


def made_file(tool: ModuleType, source: Path, folder: Path) -> Path:
    return folder / str(made_index(tool, source, folder)["file"])


def test_devices_without_an_identity_and_ranks_that_do_not_count_are_left_out(
    tool: ModuleType, tmp_path: Path
) -> None:
    source = tmp_path / "source"
    source.mkdir()
    for number, factor in enumerate(EFFECTS):
        write_device(source, number, factor)
    unnamed = source / "0.jsonl"
    unnamed.write_text(unnamed.read_text().replace('"uuid": "GPU-0", ', ""))
    found = json.loads(
        gzip.decompress(made_file(tool, source, tmp_path / "made").read_bytes()).splitlines()[1]
    )
    assert "devices" not in found
    row = read(ROOT / "results/h200x4/fleet_all_half_quick.jsonl").rows[0]
    assert row.ranks is not None
    assert [place for place, _ in tool.times_by_place(row)] == [0, 1, 2, 3]
    ranks = replace(row.ranks, median_ns=[1.0, None, 3.0, 4.0], status=["ok", "failed", "ok", "ok"])
    assert tool.times_by_place(replace(row, ranks=ranks)) == [(0, 1.0), (2, 3.0), (3, 4.0)]


def make_copy(position: int, size: int, regime: dict[str, Any]) -> dict[str, Any]:
    attributes = {"kind": "copy", "bytes": size}
    device = {"index": 0, "name": CPU}
    return make_row(
        "memory", attributes, position, 0.0, library="threads", device=device, regime=regime
    )


def write_processor(folder: Path, number: int, factor: float, cores: int, **changes: Any) -> Path:
    """The file of a machine whose rows ran with a thread on each core: products, one of them under
    sustained load as well, and copies within and beyond the cache."""
    write_device(folder, number, factor, name=CPU)
    path = folder / f"{number}.jsonl"
    context, *rows = map(json.loads, path.read_text().splitlines())
    regime = rows[0]["regime"]
    rows += [
        {**rows[0], "position": len(rows), "regime": {**regime, "power": "sustained"}},
        make_copy(len(rows) + 1, 1 << 20, {**regime, "fits_cache": True}),
        make_copy(len(rows) + 2, 1 << 30, {**regime, "fits_cache": False}),
    ]
    context["rows"] = len(rows)
    device = {"index": 0, "name": CPU, "cores": cores, "isa": "avx2", "shares_host_memory": 1}
    context |= {"device": device, "host": {"machine": f"os-{number:016x}"}, "threads": cores}
    for row in rows:
        row["regime"] = {**row["regime"], "threads": cores}
    lines = [{**context, **changes}, *rows]
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return path


def test_processors_are_told_apart_by_their_machines(tool: ModuleType, tmp_path: Path) -> None:
    source = tmp_path / "source"
    source.mkdir()
    for number, factor in enumerate((1.0, 1.01)):
        write_processor(source, number, factor, cores=4)
    entry = made_index(tool, source, tmp_path / "made")
    assert entry["devices"] == entry["spread"]["gemm float"]["devices"] == 2


def test_the_host_of_ranks_is_no_reference(tool: ModuleType, tmp_path: Path) -> None:
    source, folder = tmp_path / "source", tmp_path / "made"
    source.mkdir()
    folder.mkdir()
    path = write_processor(source, 0, 1.0, cores=16)
    assert [kind.name for kind in tool.kinds_of_devices(source)] == [f"{CPU} with 16 cores"]
    context, *rows = map(json.loads, path.read_text().splitlines())
    for row in rows:
        row["regime"]["ranks"] = 2
    path.write_text("".join(json.dumps(line) + "\n" for line in [context, *rows]))
    assert tool.kinds_of_devices(source) == []


def test_processors_with_other_numbers_of_cores_are_other_references(
    tool: ModuleType, tmp_path: Path
) -> None:
    source, folder = tmp_path / "source", tmp_path / "made"
    source.mkdir()
    folder.mkdir()
    for number, cores in enumerate((2, 16, 16)):
        write_processor(source, number, 1.0, cores)
    write_processor(source, 3, 9.0, 16, options={"threads": "3"})
    tool.write_references(folder, source)
    entries = {entry["name"]: entry for entry in json.loads((folder / "measured.json").read_text())}
    assert {name: entry["devices"] for name, entry in entries.items()} == {
        f"{CPU} with 2 cores": 1, f"{CPU} with 16 cores": 2
    }  # fmt: skip
    data = gzip.decompress((folder / entries[f"{CPU} with 16 cores"]["file"]).read_bytes())
    context = json.loads(data.splitlines()[0])
    facts = {"name": CPU, "cores": 16, "isa": "avx2", "shares_host_memory": 1}
    assert context["device"] == facts
    assert "driver" not in context["footnotes"][0]


@pytest.fixture
def processors(
    tool: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[list[str]]:
    """The files of processors with 2 and 16 cores, of which the package has references."""
    source, folder = tmp_path / "source", tmp_path / "made"
    source.mkdir()
    folder.mkdir()
    files = [str(write_processor(source, cores, 16 / cores, cores)) for cores in (2, 16)]
    tool.write_references(folder, source)
    (folder / "index.json").write_text("[]")
    monkeypatch.setattr(references, "_FOLDER", folder)
    references.available.cache_clear()
    yield files
    references.available.cache_clear()


def test_a_processor_is_compared_with_its_own_number_of_cores(
    processors: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    status, out, _ = run_command(capsys, "list", "references")
    assert status == 0
    assert f"{CPU} with 2 cores" in out
    mine = processors[0]
    status, out, _ = run_command(capsys, "compare", mine, "2 cores")
    assert status == 0
    rows = len(read(Path(mine)).rows)
    assert f"{rows} rows compared: {rows} same" in out
    assert run_command(capsys, "check-result", mine)[1].endswith(" the references\n")
    status, _, err = run_command(capsys, "compare", mine, "16 cores")
    assert status == 2
    assert "threads is 2 in the first, 16 in the second" in err
    assert "may be any of" in run_command(capsys, "compare", mine, "example cpu")[2]


def test_a_reference_of_a_processor_has_the_families_that_it_can_have(
    processors: list[str],
) -> None:
    reference = read_reference(["16 cores"])
    assert reference.device_kind == f"{CPU} with 16 cores"
    chosen = {family.name for family, rows in chosen_rows(reference, 60, 1).items() if rows}
    assert chosen == {"compute", "memory", "cache", "sustained clocks"}


def test_a_processor_is_accepted_against_its_own_number_of_cores(
    processors: list[str], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing is measured before the refusal."""
    device = read(Path(processors[0])).context["device"]
    monkeypatch.setattr(
        "deepbench.accept.acceptance.device_facts", lambda backend, device_: {"device": device}
    )
    status, _, err = run_command(capsys, "accept", "--against", "16 cores", "--backend", "cpu")
    assert status == 2
    assert f"device 0 is {CPU} with 2 cores, and the reference is of {CPU} with 16 cores" in err
    both = ",".join(processors)
    status, _, err = run_command(capsys, "accept", "--against", both, "--backend", "cpu")
    assert status == 2
    assert f"one kind of device, not {CPU} with 2 cores and {CPU} with 16 cores" in err


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
