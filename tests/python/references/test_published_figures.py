"""The published figures that the package contains, and comparisons with them."""

from __future__ import annotations

import csv
import gzip
import importlib.util
import json
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from command_line import run_command
from deepbench import _core, references
from deepbench.compare import Rules, compare, to_result_set
from deepbench.report.outline import OpOutline
from deepbench.report.reference_columns import ReferenceColumns
from deepbench.results import ResultFile, read
from example_rows import make_context, make_gemm, make_row, members, published_facts, row_of_members
from source_tree import ROOT

TOOL = ROOT / "tools/published_references.py"


@pytest.fixture(scope="module")
def loaded_references() -> dict[str, ResultFile]:
    return {reference.name: references.load(reference) for reference in references.published()}


def write_result_file(path: Path, *rows: dict[str, Any]) -> str:
    lines = [make_context(rows=len(rows)), *rows]
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    return str(path)


# ---- available references ----------------------------------------------------------------------


def test_all_published_figures_are_present(loaded_references: dict[str, ResultFile]) -> None:
    rows = [row for result in loaded_references.values() for row in members(result.rows)]
    assert len(loaded_references) == 14
    assert len(rows) == 10_825
    assert len({published_facts(row)["workbook"] for row in rows}) == 18
    assert Counter(published_facts(row)["status"] for row in rows) == {
        "ok": 8348, "no_rate": 1997, "MISMATCH_PQ": 216, "DIMS_1530": 120,
        "uses_2mnk*sparsity": 80, "MISMATCH_TOTAL": 45, "uses_mnk*sparsity": 16,
        "MISMATCH_N_LABEL": 3,
    }  # fmt: skip
    doubts = [published_facts(row)["doubt"] for row in rows if published_facts(row)["doubt"]]
    assert len(doubts) == 486
    assert not any(doubt.startswith(("ok", "no_rate", "uses_")) for doubt in doubts)
    unscaled = [row for row in rows if "does not scale" in (published_facts(row)["note"] or "")]
    assert len(unscaled) == 12
    assert all(published_facts(row)["doubt"] for row in unscaled)
    places = {tuple(published_facts(row)[key] for key in ("workbook", "sheet", "row", "phase"))
              for row in rows}  # fmt: skip
    assert len(places) >= len(rows) - 96  # except for the dense products beside sparse ones
    assert all(published_facts(row)["doubt"] for row in rows
               if published_facts(row)["status"].startswith(("MISMATCH", "DIMS")))  # fmt: skip


def test_the_index_matches_the_files(loaded_references: dict[str, ResultFile]) -> None:
    for reference in references.published():
        rows = members(loaded_references[reference.name].rows)
        assert reference.rows == len(rows)
        assert reference.inconsistent == sum(bool(published_facts(row)["doubt"]) for row in rows)
        assert reference.ops == Counter(row["op"] for row in rows)
    folder = Path(references.__file__).parent
    sizes = [(folder / reference.file).stat().st_size for reference in references.published()]
    assert sum(sizes) < 500_000


def test_problems_and_work_follow_deepbench(loaded_references: dict[str, ResultFile]) -> None:
    rows = [
        row
        for result in loaded_references.values()
        for row in members(result.rows)
        if row["problem"]
    ]
    assert len(rows) > 8000
    for row in rows:
        problem = _core.Problem.parse(row["problem"])
        assert str(problem) == row["problem"]
        assert problem.attributes == row["attributes"]
        assert row["work"] == {"flops": problem.flops, "bytes": problem.bytes}


def test_a_figure_checked_by_hand(loaded_references: dict[str, ResultFile]) -> None:
    problem = "gemm m=5124 n=700 k=2048 trans_a=n trans_b=n precision=int8 b_type=s8"
    row = next(
        row for row in members(loaded_references["NVIDIA T4"].rows) if row["problem"] == problem
    )
    assert row["statistics"]["mean_ns"] == 999_000
    assert published_facts(row)["workbook"] == "results/inference/DeepBench_NV_T4.xlsx"
    assert (published_facts(row)["sheet"], published_facts(row)["row"]) == (
        "Results - Mixed Precision",
        4,
    )
    entry = to_result_set(loaded_references["NVIDIA T4"]).entries[row["position"]]
    assert entry.tflops == pytest.approx(2 * 5124 * 700 * 2048 / 0.999e-3 / 1e12)


@pytest.mark.parametrize(
    ("words", "name"),
    [
        ("NVIDIA Tesla V100", "NVIDIA Tesla V100"),
        ("v100", "NVIDIA Tesla V100"),
        ("titanxp", "NVIDIA TitanXp"),
        ("titan-x pascal", "NVIDIA TitanX Pascal"),
        ("1080", "NVIDIA GTX 1080 Ti"),
        ("phi 7250", "Intel Xeon Phi 7250"),
        ("h200", "NVIDIA H200"),
        ("h100", "NVIDIA H100 80GB HBM3"),
        ("h300", None),
        ("7", None),  # a single character is too short, although 'iPhone 7' ends in it
        ("i", None),
        ("-", None),
    ],
)
def test_references_are_found_by_name(words: str, name: str | None) -> None:
    found = references.find(words)
    assert (found.name if found else None) == name


def test_an_ambiguous_name_is_refused() -> None:
    with pytest.raises(references.UnknownReference, match="TitanX Maxwell, NVIDIA TitanX Pascal"):
        references.find("titan x")


def test_a_name_ends_where_a_word_begins() -> None:
    """'NVIDIA TitanXp' ends in 'xp', but 'xp' is not one of its words."""
    with pytest.raises(references.UnknownReference, match="TitanX Pascal, NVIDIA TitanXp"):
        references.find("xp")


def test_list(capsys: pytest.CaptureFixture[str]) -> None:
    status, out, _ = run_command(capsys, "list", "references", "--format", "csv")
    rows = [row for row in csv.DictReader(out.splitlines()) if row["kind"] == "published"]
    assert status == 0
    assert len(rows) == 14
    assert sum(int(row["rows"]) for row in rows) == 10_825
    status, out, _ = run_command(capsys, "list", "references", "iphone", "7", "--format", "json")
    rows = json.loads(out)
    assert len(rows) == 29
    assert rows[0]["source"].startswith("results/inference/device/DeepBench_iPhone_7.xlsx, Kernels")
    status, out, _ = run_command(capsys, "list", "references", "xeon", "phi", "--format", "json")
    stated = {row["status"] for row in json.loads(out)}
    assert "inconsistent: time does not scale with batch" in stated
    assert not any(text.startswith("inconsistent: ok") for text in stated)
    status, out, _ = run_command(capsys, "list", "references", "t4")
    assert out.splitlines()[-2].startswith("published: the mean over queued calls by the host's")
    assert "were all zeros" in out.splitlines()[-1]
    status, out, err = run_command(capsys, "list", "references", "h300")
    assert (status, out) == (2, "")
    assert "no reference 'h300'" in err


# ---- unpacking ---------------------------------------------------------------------------------


def test_unpacking_is_bounded() -> None:
    bomb = gzip.compress(b"\0" * (64 << 20))
    assert len(bomb) < 100_000
    assert references.decompressed_if_small(bomb, 1 << 20) is None
    assert references.decompressed_if_small(gzip.compress(b"abc"), 3) == b"abc"
    assert references.decompressed_if_small(gzip.compress(b"abcd"), 3) is None
    assert references.decompressed_if_small(gzip.compress(b"abc")[:-4], 3) is None
    assert references.decompressed_if_small(b"hello", 100) is None


def test_a_damaged_reference_is_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(references, "_FOLDER", tmp_path)
    reference = references.available()[0]
    with pytest.raises(references.UnknownReference, match="reinstall"):
        references.load(reference)
    (tmp_path / reference.file).write_bytes(gzip.compress(b"{}\n"))
    with pytest.raises(references.UnknownReference, match="damaged; reinstall"):
        references.load(reference)


# ---- comparing ---------------------------------------------------------------------------------


def slow_gemm_row(**changes: Any) -> dict[str, Any]:
    """A product of the training set that takes one second."""
    row = make_gemm(0, m=1760, n=16, **changes)
    row["attributes"]["trans_b"] = "n"
    row["statistics"] = {**row["statistics"], "median_ns": 1e9, "low_ns": 9e8, "high_ns": 1.1e9}
    return row


@pytest.mark.parametrize("order", [1, -1])
def test_published_figures_are_never_a_regression(
    order: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    mine = write_result_file(
        tmp_path / "mine.jsonl", slow_gemm_row(), {**slow_gemm_row(precision="half"), "position": 1}
    )
    status, out, _ = run_command(capsys, "compare", *[mine, "v100"][::order], "--format", "json")
    found = json.loads(out)
    assert status == 0
    assert {row["verdict"] for row in found["against"][0]["rows"]} == {"published"}
    expected = 1e9 / 38_000 if order < 0 else 38_000 / 1e9
    assert found["against"][0]["rows"][0]["ratio"] == pytest.approx(expected)
    status, out, _ = run_command(capsys, "compare", *[mine, "v100"][::order])
    assert "host's clock" in out
    assert "zeros" in out


def test_inconsistent_figures_are_shown_but_excluded_from_means(
    loaded_references: dict[str, ResultFile],
) -> None:
    """The sheet prints k=1530, but the original's program ran 1536: rows of both match."""
    dims = {"m": 512, "n": 24000, "trans_a": "n", "trans_b": "n", "precision": "half"}
    for k in (1530, 1536):
        attributes = {"m": dims["m"], "n": dims["n"], "k": k, **dims}
        rows = [
            make_row("gemm", attributes, 0, 1.0),
            {**slow_gemm_row(precision="half"), "position": 1},
        ]
        mine = to_result_set(
            ResultFile(Path("mine"), make_context(), tuple(map(row_of_members, rows)), 0, False)
        )
        against = compare(
            [mine, to_result_set(loaded_references["NVIDIA Tesla V100"])], Rules()
        ).others[0]
        assert [row.verdict for row in against.rows] == ["inconsistent", "published"]
        assert against.rows[0].other.doubt == (
            "DIMS_1530: sheet k=1530, header k=1536; rate computed with 1530"
        )
        assert against.overall is not None
        assert (against.overall.rows, against.overall.left_out) == (1, 1)


def test_unsigned_operands_match_figures_without_a_sign(
    loaded_references: dict[str, ResultFile],
) -> None:
    attributes = {"m": 35, "n": 700, "k": 2048, "trans_a": "n", "trans_b": "n",
                  "precision": "int8", "b_type": "u8"}  # fmt: skip
    row = make_row("gemm", attributes, 0, 1.0)
    mine = to_result_set(ResultFile(Path("mine"), make_context(), (row_of_members(row),), 0, False))
    against = compare([mine, to_result_set(loaded_references["NVIDIA T4"])], Rules()).others[0]
    assert len(against.rows) == 1


def test_sums_of_phases_are_excluded_from_the_overall_mean(
    loaded_references: dict[str, ResultFile],
) -> None:
    sides = [to_result_set(loaded_references[f"NVIDIA Tesla {name}"]) for name in ("V100", "P100")]
    against = compare(sides, Rules()).others[0]
    totals = [row for row in against.rows if row.base.phase == "total"]
    assert totals
    assert against.overall is not None
    assert against.overall.rows + against.overall.left_out == len(against.rows) - len(totals)
    assert any(group.name == "conv total half" for group in against.families)


def test_against_adds_columns(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    mine = write_result_file(
        tmp_path / "mine.jsonl", slow_gemm_row(precision="half"), make_gemm(1, m=5)
    )
    for form in ("table", "markdown"):
        status, out, _ = run_command(capsys, "show", mine, "--against", "v100", "--format", form)
        lines = [line.replace("|", " ").split() for line in out.splitlines()]
        row = next(line for line in lines if line[:2] == ["1760", "16"])
        other = next(line for line in lines if line[:2] == ["5", "16"])
        assert status == 0
        assert "Tesla V100 time" in out
        assert row[-5:-1] == ["20.00", "\N{MICRO SIGN}s", "2e-05", "4.9562"]
        assert other[-3:] == ["-", "-", "-"]
        assert "zeros" in out
    status, _, err = run_command(capsys, "show", mine, "--against", "v100", "--format", "csv")
    assert status == 2
    assert "cannot show reference columns" in err
    assert run_command(capsys, "gemm", "m=1", "n=1", "k=1", "--against", "nobody")[0] == 2
    status, out, _ = run_command(capsys, "show", mine, "--against", mine)
    assert "1.000" in out


@pytest.mark.parametrize("form", ["table", "markdown"])
def test_against_refuses_other_inputs(
    form: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The context states the contents of operands, not the rows."""
    files = {}
    for inputs in ("uniform", "zeros"):
        lines = [make_context(rows=1, options={"inputs": inputs}), make_gemm(0)]
        files[inputs] = tmp_path / f"{inputs}.jsonl"
        files[inputs].write_text("".join(json.dumps(line) + "\n" for line in lines))
    (tmp_path / "again.jsonl").write_bytes(files["zeros"].read_bytes())
    for ours, theirs, expected in (
        ("zeros", "again", True), ("zeros", "uniform", False), ("uniform", "zeros", False),
    ):  # fmt: skip
        words = [str(tmp_path / f"{name}.jsonl") for name in (ours, theirs)]
        _, out, _ = run_command(capsys, "show", words[0], "--against", words[1], "--format", form)
        assert ("1.000" in out) is expected


def test_against_states_that_figures_are_hot(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    says = "published figures are hot in the caches"
    hot = slow_gemm_row(precision="half")
    cold = {**hot, "position": 1, "regime": {**hot["regime"], "cache": "cold"}}
    _, out, _ = run_command(
        capsys, "show", write_result_file(tmp_path / "a.jsonl", hot), "--against", "v100"
    )
    assert says not in out
    _, out, _ = run_command(
        capsys, "show", write_result_file(tmp_path / "b.jsonl", hot, cold), "--against", "v100"
    )
    assert f"{says}; 1 row here is cold" in out


@pytest.mark.parametrize(
    ("name", "title"),
    [("iPhone 6", "iPhone 6"), ("NVIDIA T4", "NVIDIA T4"), ("NVIDIA Tesla V100", "Tesla V100"),
     ("Raspberry Pi 3", "Pi 3")],
)  # fmt: skip
def test_column_titles_name_the_processor(
    name: str, title: str, loaded_references: dict[str, ResultFile]
) -> None:
    assert (
        ReferenceColumns(to_result_set(loaded_references[name]))
        .columns(OpOutline({}, False))[0]
        .title
        == f"{title} time"
    )


def test_rows_are_compared_with_figures_of_their_application(
    loaded_references: dict[str, ResultFile],
) -> None:
    """The workbooks contain layers of two applications twice, with different times."""
    published = to_result_set(loaded_references["NVIDIA GTX 1080 Ti"])
    rows: dict[tuple[str, str], Mapping[str, Any]] = {}
    for row in members(loaded_references["NVIDIA GTX 1080 Ti"].rows):
        if row["op"] == "conv" and row["problem"] and row["application"]:
            rows.setdefault((row["problem"], row["application"]), row)
    counts = Counter(problem for problem, _ in rows)
    ours = [
        make_row("conv", row["attributes"], i, 1.0, application=row["application"])
        for i, row in enumerate(reversed(rows.values()))
        if counts[row["problem"]] > 1
    ]
    assert ours
    mine = to_result_set(
        ResultFile(Path("mine"), make_context(), tuple(map(row_of_members, ours)), 0, False)
    )
    against = compare([mine, published], Rules()).others[0]
    assert len(against.rows) == len(ours)
    assert all(row.base.application == row.other.application for row in against.rows)


# ---- the tool ----------------------------------------------------------------------------------


@pytest.fixture
def references_tool() -> ModuleType:
    if not TOOL.exists():
        pytest.skip("the tools are not part of this installation")
    spec = importlib.util.spec_from_file_location("published_references", TOOL)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def table_line(**changes: str) -> dict[str, str]:
    """A line of the tables."""
    return {
        "processor": "NVIDIA Example", "mode": "train", "platform": "server", "op": "gemm",
        "set": "training", "index": "0", "dims": "m=1760 n=16 k=1760 trans_a=0 trans_b=0",
        "precision": "half", "phase": "fwd", "time_ms": "0.02", "tflops": "4.95616",
        "padded": "0", "algorithm": "", "application": "DeepSpeech",
        "source_workbook": "x.xlsx", "sheet": "S", "row": "5", "precision_detail": "half",
        "application_group": "", "tflops_recomputed": "", "status": "ok", "bandwidth_gbs": "",
        "stddev_ms": "", "speedup": "", "note": "", **changes,
    }  # fmt: skip


def test_the_tool_makes_result_files(references_tool: ModuleType, tmp_path: Path) -> None:
    lines = [
        table_line(),
        table_line(dims="m=1760 n=16 k=1530 trans_a=0 trans_b=0", row="6", status="DIMS_1530"),
        table_line(op="conv", phase="total", index="", time_ms="1.5", row="7", dims="w=7 h=7 c=832 "
             "n=16 k=128 s=5 r=5 pad_w=2 pad_h=2 stride_w=1 stride_h=1"),
        table_line(op="rnn", phase="bwd_params", row="8", dims="hidden=1760 batch=16 timesteps=50 "
             "cell=vanilla"),
        table_line(op="all_reduce", phase="total", row="9", dims="elements=100000 ranks=2"),
        table_line(row="10", note="time does not scale with batch"),
    ]  # fmt: skip
    issues = [{"class": "dims_differ_from_header", "source_workbook": "x.xlsx", "sheet": "S",
               "row": "8", "message": ""}]  # fmt: skip
    specs = [{"processor": "NVIDIA Example", "mode": "train", "key": "CPU", "value": "C"}]
    for folder in ("one", "two"):
        (tmp_path / folder).mkdir()
        references_tool.write_references(tmp_path / folder, lines, specs, issues)
    packed = (tmp_path / "one/nvidia_example.jsonl.gz").read_bytes()
    assert packed == (tmp_path / "two/nvidia_example.jsonl.gz").read_bytes()
    (tmp_path / "plain.jsonl").write_bytes(gzip.decompress(packed))
    rows = members(read(tmp_path / "plain.jsonl").rows)
    assert [row["statistics"]["mean_ns"] for row in rows] == [2e4, 2e4, 1.5e6, 2e4, 2e4, 2e4]
    assert [published_facts(row)["doubt"] for row in rows] == [
        None,
        "DIMS_1530: dimensions differ from those of the original's set",
        None,
        "dimensions differ from those of the original's set",
        None,
        "time does not scale with batch",
    ]
    assert rows[0]["problem"] == "gemm m=1760 n=16 k=1760 trans_a=n trans_b=n precision=half"
    assert published_facts(rows[1])["intended_attributes"] == {"k": 1760}
    assert rows[2]["problem"] is None
    assert "phase=bwd_weights mode=training" in rows[3]["problem"]
    assert rows[4]["attributes"] == {"elements": 100_000, "ranks": 2, "precision": "half"}
    index = json.loads((tmp_path / "one/index.json").read_text())
    assert index[0]["rows"] == 6
    assert index[0]["bytes"] == len(gzip.decompress(packed))
