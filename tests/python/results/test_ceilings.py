"""Ceilings as lines of a result file: what they make of rows, and everything that they must not
change."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

from command_line import deepbench
from deepbench import _core
from deepbench.results import ResultError, ResultFile, read
from deepbench.results.ceilings import Ceilings, assessed_line, ceiling_figure
from deepbench.results.reader import Detail
from deepbench.results.row import Bound
from deepbench.runner.session import Session
from example_rows import (
    KEYS,
    make_ceiling,
    make_context,
    make_gemm,
    make_memory,
    members,
    row_of_members,
    with_named_ceilings,
)
from source_tree import ROOT

FLOPS = 2.0 * 1760 * 16 * 1760  # of make_gemm(), which takes 100 us and has 2 MiB


def write_lines_with_context(path: Path, lines: Iterable[dict[str, Any]], **context: Any) -> Path:
    every = [make_context(**context), *lines]
    path.write_text("".join(json.dumps(line) + "\n" for line in every), encoding="utf-8")
    return path


def three_ceilings(arithmetic: float = 2.0, bandwidth: float = 100.0) -> list[dict[str, Any]]:
    return [
        make_ceiling("arithmetic", arithmetic),
        make_ceiling("bandwidth", bandwidth),
        make_ceiling("latency", 900.0),
    ]


def assessed_bound(*lines: dict[str, Any], row: dict[str, Any] | None = None) -> Bound:
    return (
        Ceilings(lines)
        .with_assessment(row_of_members(row or with_named_ceilings(make_gemm())))
        .bound
    )


# ---- what ceilings make of a row ----------------------------------------------------------------


def test_a_row_is_held_against_the_ceilings_that_it_names() -> None:
    found = assessed_bound(*three_ceilings())
    assert found.by == "arithmetic"
    assert found.level == "memory"
    assert (found.arithmetic_tflops, found.memory_gbps, found.latency_ns) == (2, 100, 900)
    assert (found.arithmetic_spread, found.memory_spread, found.latency_spread) == (
        pytest.approx(0.004), pytest.approx(0.004), pytest.approx(400 / 900),
    )  # fmt: skip
    tflops = FLOPS / 100_000 / 1e3
    assert found.share_arithmetic == pytest.approx(tflops / 2)
    assert found.share_roofline == pytest.approx(tflops / 2)


def test_a_ceiling_without_statistics_has_an_unknown_spread() -> None:
    ceiling = make_ceiling("arithmetic", 2.0)
    del ceiling["statistics"]
    found = assessed_bound(ceiling)
    assert (found.arithmetic_tflops, found.arithmetic_spread) == (2, None)


@pytest.mark.parametrize(
    ("flops", "size", "median_ns", "level", "by", "share"),
    [
        (1e9, 1e3, 1e6, "memory", "arithmetic", 0.5),
        (1e3, 5e7, 1e6, "memory", "memory", 0.5),
        (1e3, 5e7, 1e6, "l2", "cache", 0.5),
        (0.0, 5e7, 1e6, "memory", "memory", 0.5),
        (1e5, 1e3, 100.0, "memory", "latency", 0.5),
    ],
)
def test_the_core_assesses(
    flops: float, size: float, median_ns: float, level: str, by: str, share: float
) -> None:
    found = _core.assess(flops, size, median_ns, level, 2.0, 100.0, 90.0)
    assert found["by"] == by
    assert found["share_roofline"] == pytest.approx(share)


def test_latency_means_the_same_everywhere() -> None:
    """The words of README, reference, glossary and explanation, and the rule of the core."""
    words = "less than three times as long as the smallest product"
    pages = ("README.md", "docs/reference/command_line.md", "docs/glossary.md")
    for page in (*pages, "docs/explanation/ceilings.md"):
        assert words in re.sub(r"\s+", " ", (ROOT / page).read_text(encoding="utf-8")), page
    bounds = [
        _core.assess(1e3, 1e3, median_ns, "memory", 1.0, 1.0, 1000.0)["by"]
        for median_ns in (2999.0, 3000.0)
    ]
    assert bounds == ["latency", "memory"]


@pytest.mark.parametrize(
    ("steps", "step_ns", "by", "share"),
    [(0.0, None, "arithmetic", 0.5), (100.0, None, "arithmetic", 0.5),
     (100.0, 4e3, "arithmetic", 0.5), (100.0, 7.5e3, "serial", 0.75)],
)  # fmt: skip
def test_a_recurrence_is_held_against_its_steps(
    steps: float, step_ns: float | None, by: str, share: float
) -> None:
    found = _core.assess(1e9, 1e3, 1e6, "memory", 2.0, 100.0, 90.0, 1.0, steps, step_ns)
    assert (found["by"], found["step_ns"]) == (by, step_ns)
    assert found["share_roofline"] == pytest.approx(share)


def test_the_serial_ceiling_is_the_time_of_one_step() -> None:
    key = "serial bytes=64 device=0 threads=0 cores=2 cache=hot power=rested"
    line = make_ceiling("latency", 64e3, key, kind="serial", precision=None)
    line["work"] = {**line["work"], "steps": 64}
    row = with_named_ceilings(make_gemm(), serial=key)
    row["work"] = {**row["work"], "steps": 80}
    found = assessed_bound(*three_ceilings(), line, row=row)
    assert (found.by, found.step_ns) == ("serial", 1000.0)
    assert found.share_roofline == pytest.approx(0.8)
    assert f"ceiling {key} ; figure=1000.0" in Ceilings([line]).protocol_lines()


def test_a_transform_is_compared_with_a_higher_ceiling() -> None:
    lines = three_ceilings()
    row = with_named_ceilings(make_gemm(0))
    nominal = assessed_bound(*lines, row=row)
    row["work"] = {**row["work"], "transform_factor": 4.0}
    found = assessed_bound(*lines, row=row)
    assert found.share_arithmetic == pytest.approx((nominal.share_arithmetic or 0) / 4)
    assert found.arithmetic_tflops == nominal.arithmetic_tflops
    with pytest.raises(ValueError, match="transform_factor must be at least 1"):
        _core.assess(1e9, 1e3, 1e6, "memory", 2.0, 100.0, 90.0, 0.5)


def test_the_core_leaves_out_what_is_unknown() -> None:
    found = _core.assess(1e9, 1e3, 1e6, "memory", None, 100.0, None)
    assert found == {
        "by": None,
        "arithmetic_tflops": None,
        "memory_gbps": 100.0,
        "latency_ns": None,
        "step_ns": None,
        "share_arithmetic": None,
        "share_roofline": None,
    }
    with pytest.raises(ValueError, match="median_ns must be more than 0"):
        _core.assess(1e9, 1e3, 0.0, "memory", 1.0, 1.0, 1.0)


@pytest.mark.parametrize(
    ("figures", "counts"),
    [
        ([(2.0, None), (4.0, 1)], 4.0),
        ([(4.0, 1), (2.0, None)], 4.0),  # measured again, in a row after the one that raised it
        ([(2.0, None), (4.0, 1), (3.0, 2)], 4.0),
        ([(2.0, None), (4.0, 1), (5.0, None)], 5.0),
        ([(2.0, None), (3.0, None)], 3.0),
        ([(4.0, 1)], 4.0),
    ],
)
def test_the_highest_row_counts_in_any_order(
    figures: list[tuple[float, int | None]], counts: float
) -> None:
    lines = [make_ceiling("arithmetic", figure, raised_by=row) for figure, row in figures]
    assert assessed_bound(*lines, *three_ceilings()[1:]).arithmetic_tflops == counts


def test_a_transform_that_raised_a_ceiling_does_not_count() -> None:
    """Earlier versions wrote such lines."""
    raised = make_ceiling("arithmetic", 9.0, raised_by=1)
    raised["work"] = {**raised["work"], "transform_factor": 4.0}
    assert assessed_bound(*three_ceilings(), raised).arithmetic_tflops == 2.0


def test_a_worker_is_given_what_was_measured_and_what_rows_reached() -> None:
    lines = [
        make_ceiling("arithmetic", 2.0),
        make_ceiling("arithmetic", 4.0, raised_by=1),
        make_ceiling("bandwidth", 50.0, raised_by=1),
        make_ceiling("latency", 900.0),
    ]
    assert Ceilings(lines).protocol_lines() == [
        f"ceiling {KEYS['arithmetic']} ; figure=2000000000000.0 raised=4000000000000.0",
        f"ceiling {KEYS['bandwidth']} ; raised=50000000000.0",
        f"ceiling {KEYS['latency']} ; figure=900.0",
    ]


def test_the_last_ceiling_of_a_key_counts_for_every_row(tmp_path: Path) -> None:
    rows = [with_named_ceilings(make_gemm(position)) for position in range(2)]
    raised = make_ceiling("arithmetic", 4.0, raised_by=1)
    result = read(
        write_lines_with_context(
            tmp_path / "a.jsonl", [*three_ceilings(), rows[0], raised, rows[1]]
        )
    )
    assert [row.bound.arithmetic_tflops for row in result.rows] == [4.0, 4.0]
    assert len(result.ceilings) == 4


@pytest.mark.parametrize(
    "other", ["device=1", "threads=4", "cores=8", "cache=cold", "power=sustained"]
)
def test_a_ceiling_of_other_conditions_is_not_used(other: str) -> None:
    key = re.sub(rf"\b{other.split('=')[0]}=\w+", other, KEYS["arithmetic"])
    assert key != KEYS["arithmetic"]
    found = assessed_bound(make_ceiling("arithmetic", 9.0, key), *three_ceilings()[1:])
    assert found.arithmetic_tflops is None
    assert found.share_roofline is None
    assert found.memory_gbps == 100
    assert (
        assessed_bound(make_ceiling("arithmetic", 9.0, key), *three_ceilings()).arithmetic_tflops
        == 2
    )


def test_a_key_of_another_kind_is_not_used() -> None:
    row = with_named_ceilings(make_gemm(), bandwidth=KEYS["arithmetic"])
    assert assessed_bound(*three_ceilings(), row=row).memory_gbps is None


def test_a_ceiling_that_could_not_be_measured_leaves_no_roofline() -> None:
    failed = make_ceiling(
        "arithmetic", 2.0, status="unsupported", reason="no half", rates=None, statistics=None
    )
    assert ceiling_figure(failed) is None
    found = assessed_bound(failed, *three_ceilings()[1:])
    assert (found.by, found.share_arithmetic, found.share_roofline) == (None, None, None)


def test_a_row_that_does_not_count_has_no_share() -> None:
    row = {**with_named_ceilings(make_gemm()), "status": "mistrusted", "rates": None}
    found = assessed_bound(*three_ceilings(), row=row)
    assert found.by == "arithmetic"
    assert (found.share_arithmetic, found.share_roofline) == (None, None)


def test_a_copy_has_no_arithmetic_ceiling() -> None:
    found = assessed_bound(
        *three_ceilings(), row=with_named_ceilings(make_memory(), arithmetic=None)
    )
    assert found.by == "memory"
    assert found.arithmetic_tflops is None
    assert found.share_roofline == pytest.approx(2_097_152 / 100_000 / 100)


@pytest.mark.parametrize(
    "row",
    [
        make_gemm(),
        {**make_gemm(), "bound": None},
        {key: value for key, value in make_gemm().items() if key != "bound"},
    ],
)
def test_a_row_without_keys_keeps_its_figures(row: dict[str, Any]) -> None:
    stored = row_of_members(row)
    assert Ceilings(three_ceilings()).with_assessment(stored) is stored


@pytest.mark.parametrize(
    "row",
    [
        with_named_ceilings(make_gemm(), **dict.fromkeys(KEYS, "arithmetic of=another_file")),
        with_named_ceilings(make_gemm(), **dict.fromkeys(KEYS)),
        {**with_named_ceilings(make_gemm()), "statistics": None, "status": "failed"},
    ],
)
def test_a_row_without_ceilings_has_no_figures(row: dict[str, Any]) -> None:
    named = "arithmetic_tflops", "memory_gbps", "latency_ns", "memory_spread"
    found = assessed_bound(row=row)
    for member in ("by", "share_arithmetic", "share_roofline", *named):
        assert getattr(found, member) is None
    assert assessed_bound(row={**row, "bound": {**row["bound"], "share_roofline": 0.5}}) == found


@pytest.mark.parametrize("name", ["fleet", "gemm", "gemm_slower", "memory"])
def test_bounds_are_those_that_version_1_stored(name: str) -> None:
    """The same runs, recorded with figures in the rows and with ceilings."""
    tests = ROOT / "tests"
    stored = read(tests / "samples" / "v1" / f"{name}.jsonl").rows
    assessed = read(tests / "golden" / "outputs" / f"run_{name}.jsonl").rows
    for old, new in zip(stored, assessed, strict=True):
        for member, value in (old.members["bound"] or {}).items():
            expected = pytest.approx(value) if isinstance(value, float) else value
            assert getattr(new.bound, member) == expected
            assert json.loads(assessed_line(new))["bound"][member] == expected
        assert "share_roofline" not in (new.members["bound"] or {})


# ---- reading ------------------------------------------------------------------------------------


def test_a_file_keeps_its_lines_as_they_stand(tmp_path: Path) -> None:
    lines = [*three_ceilings(), with_named_ceilings(make_gemm(1)), make_gemm(0)]
    lines[0]["of_the_future"] = "kept"
    result = read(write_lines_with_context(tmp_path / "a.jsonl", lines))
    assert list(result.lines) == [json.dumps(line) for line in lines]
    assert list(result.ceilings) == lines[:3]
    assert [row.position for row in result.rows] == [0, 1]


def test_a_torn_ceiling_at_the_end_is_left_out(tmp_path: Path) -> None:
    path = write_lines_with_context(tmp_path / "a.jsonl", [make_gemm(), *three_ceilings()])
    whole = path.read_bytes()
    last = whole.rindex(b"\n", 0, -1) + 1
    path.write_bytes(whole[: (last + len(whole)) // 2])
    result = read(path)
    assert result.torn
    assert result.size == last
    assert len(result.ceilings) == 2
    assert len(result.rows) == 1


STATISTICS = make_gemm()["statistics"]


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"rates": {"tflops": float("nan")}}, "rates.tflops is not a finite number"),
        ({"rates": {"tflops": -1.0}}, "rates.tflops is -1.0, less than 0"),
        ({"rates": {"tflops": "fast"}}, 'rates.tflops is "fast", not number'),
        ({"rates": {"tflops": 1e31}}, "rates.tflops"),
        ({"rates": {"tflops": 0}}, "status is ok, and rates.tflops has no value"),
        ({"rates": None}, "status is ok, and rates.tflops has no value"),
        ({"kind": "speed"}, 'kind is "speed"'),
        ({"kind": "latency"}, "not 'latency NAME=VALUE ...'"),
        ({"kind": ["arithmetic"]}, "kind is"),
        ({"ceiling": 7}, "ceiling is 7, not string"),
        ({"ceiling": "arithmetic x=1\ngemm m=1 n=1 k=1"}, "not 'arithmetic NAME=VALUE ...'"),
        ({"ceiling": "arithmetic x=1 ; figure=9"}, "not 'arithmetic NAME=VALUE ...'"),
        ({"ceiling": "arithmetic x=\x1b[2J"}, "not 'arithmetic NAME=VALUE ...'"),
        ({"ceiling": "arithmetic x=" + "1" * 999}, "not 'arithmetic NAME=VALUE ...'"),
        ({"status": "fine"}, 'status is "fine"'),
        ({"raised_by": -1}, "raised_by"),
        ({"statistics": {**STATISTICS, "median_ns": "soon"}}, "statistics.median_ns"),
        ({"type": "floor"}, "the line has no 'position'"),
    ],
)
def test_a_hostile_ceiling_is_refused_in_one_line(
    tmp_path: Path, changes: dict[str, Any], message: str
) -> None:
    path = write_lines_with_context(
        tmp_path / "a.jsonl", [make_gemm(), make_ceiling("arithmetic", 2.0, **changes)]
    )
    with pytest.raises(ResultError) as caught:
        read(path)
    text = str(caught.value)
    assert text.startswith(f"{path}:3: ")
    assert message in text
    assert text.isprintable()


def test_a_ceiling_without_a_key_is_refused(tmp_path: Path) -> None:
    line = make_ceiling("arithmetic", 2.0)
    del line["ceiling"]
    with pytest.raises(ResultError, match=r":2: .*has no 'ceiling'"):
        read(write_lines_with_context(tmp_path / "a.jsonl", [line]))


# ---- programs that read and write files ---------------------------------------------------------


def stored_lines(file: Path) -> list[dict[str, Any]]:
    """The rows and ceilings as they stand in a file."""
    return [json.loads(line) for line in read(file).lines]


def as_version_1(path: Path, result: ResultFile) -> Path:
    """The file as version 1 has it: figures in its rows, and no ceilings."""
    rows = []
    for row in members(result.rows):
        figures = {name: value for name, value in row["bound"].items() if name not in KEYS}
        rows.append({**row, "bound": figures})
    return write_lines_with_context(path, rows, rows=len(rows))


@pytest.fixture
def files_of_both_versions(tmp_path: Path) -> tuple[Path, Path]:
    """The same rows with ceilings in lines of their own, and with figures in the rows."""
    rows = [with_named_ceilings(make_gemm(position, n=16 << position)) for position in range(3)]
    copy = with_named_ceilings(make_memory(3), arithmetic=None)
    lines = [make_ceiling("arithmetic", 1.0), *three_ceilings(), rows[0], *rows[1:], copy]
    new = write_lines_with_context(tmp_path / "new.jsonl", lines, rows=4)
    return new, as_version_1(tmp_path / "old.jsonl", read(new))


@pytest.mark.parametrize(
    "words",
    [
        ("show", "FILE"),
        ("show", "FILE", "--format", "csv"),
        ("show", "FILE", "--format", "markdown"),
        ("report", "FILE", "--format", "markdown"),
        ("compare", "FILE", "OTHER"),
        ("show", "FILE", "--against", "OTHER"),
    ],
)
def test_outputs_do_not_depend_on_where_the_figures_stand(
    files_of_both_versions: tuple[Path, Path], words: tuple[str, ...]
) -> None:
    other = write_lines_with_context(
        files_of_both_versions[0].with_name("other.jsonl"), [make_gemm(0, n=16)], rows=1
    )
    new, old = (
        deepbench(*({"FILE": path, "OTHER": other}.get(word, word) for word in words))
        for path in files_of_both_versions
    )
    assert new.returncode == old.returncode == 0, new.stderr
    assert new.stdout.replace("new.jsonl", "old.jsonl") == old.stdout
    assert new.stderr.replace("new.jsonl", "old.jsonl") == old.stderr


def test_json_has_the_figures_and_names_the_ceilings(
    files_of_both_versions: tuple[Path, Path],
) -> None:
    rows = json.loads(deepbench("show", files_of_both_versions[0], "--format", "json").stdout)[
        "rows"
    ]
    assert rows == members(read(files_of_both_versions[0]).rows)
    assert rows[0]["bound"]["arithmetic"] == KEYS["arithmetic"]
    assert rows[0]["bound"]["arithmetic_tflops"] == 2.0
    assert rows[0]["bound"]["memory_spread"] == pytest.approx(0.004)


def test_a_page_and_a_chart_draw_the_ceilings(
    files_of_both_versions: tuple[Path, Path], tmp_path: Path
) -> None:
    for index, path in enumerate(files_of_both_versions):
        page, chart = tmp_path / f"{index}.html", tmp_path / f"{index}.svg"
        assert deepbench("report", path, "-o", page).returncode == 0
        assert "float 2.0000 TFLOP/s" in page.read_text()
        assert deepbench("report", path, "-o", chart, "--chart", "roofline").returncode == 0
    assert (tmp_path / "0.svg").read_bytes() == (tmp_path / "1.svg").read_bytes()


def test_ceilings_are_shown_with_their_intervals(
    files_of_both_versions: tuple[Path, Path], tmp_path: Path
) -> None:
    file, page = files_of_both_versions[0], tmp_path / "page.html"
    shown = deepbench("show", file, PYTHONIOENCODING="utf-8").stderr
    sign = "\N{PLUS-MINUS SIGN}"
    assert f"ceilings: float 2.0000 TFLOP/s {sign}0.4 %, memory 100.00 GB/s {sign}0.4 %\n" in shown
    assert deepbench("report", file, "-o", page).returncode == 0
    text = page.read_text(encoding="utf-8").replace("\\u00b1", sign)
    assert f"float, measured 2.0000 TFLOP/s {sign}0.4 %" in text


def test_a_workbook_and_back(files_of_both_versions: tuple[Path, Path], tmp_path: Path) -> None:
    backs = []
    for index, path in enumerate(files_of_both_versions):
        book, back = tmp_path / f"{index}.xlsx", tmp_path / f"{index}.jsonl"
        assert deepbench("report", path, "-o", book).returncode == 0
        done = deepbench("import", book, "-o", back)
        assert back.exists(), done.stderr
        backs.append(read(back))
    assert backs[0].rows == backs[1].rows
    assert backs[0].rows[0].bound.arithmetic_tflops == 2.0
    assert not backs[0].ceilings


def test_thinning_keeps_ceilings_and_stores_no_share(
    files_of_both_versions: tuple[Path, Path], tmp_path: Path
) -> None:
    thin = tmp_path / "thin.jsonl"
    assert deepbench("show", files_of_both_versions[0], "--thin", 1, "-o", thin).returncode == 0
    before, after = stored_lines(files_of_both_versions[0]), stored_lines(thin)
    assert [line["type"] for line in after] == [line["type"] for line in before]
    assert {len(line["samples_ns"]) for line in after} == {1}
    assert [row.bound for row in read(thin).rows] == [
        row.bound for row in read(files_of_both_versions[0]).rows
    ]
    assert not any("share_roofline" in (line.get("bound") or {}) for line in after)


@pytest.mark.parametrize(
    "words", [("show", "FILE"), ("report", "FILE", "--format", "markdown"), ("model", "FILE"),
              ("show", "FILE", "--format", "csv"), ("compare", "FILE", "FILE")],
)  # fmt: skip
def test_ceilings_without_rows_are_a_file_without_rows(
    tmp_path: Path, words: tuple[str, ...]
) -> None:
    write_lines_with_context(tmp_path / "a.jsonl", three_ceilings())
    write_lines_with_context(tmp_path / "b.jsonl", [])
    some, none = (
        deepbench(*(name if word == "FILE" else word for word in words), folder=tmp_path)
        for name in ("a.jsonl", "b.jsonl")
    )
    assert some.returncode == none.returncode
    assert some.stdout.replace("a.jsonl", "b.jsonl") == none.stdout
    assert some.stderr.replace("a.jsonl", "b.jsonl") == none.stderr
    assert "Traceback" not in some.stderr


# ---- runs ---------------------------------------------------------------------------------------


def run_scripted_gemm(
    plugin: Path, file: Path, script: str, sizes: str, *more: str
) -> subprocess.CompletedProcess[str]:
    return deepbench(
        "gemm", f"m={sizes}", "n=8", "k=40", "--backend", plugin, "-o", file, *more,
        DEEPBENCH_FAKE_SCRIPT=script,
    )  # fmt: skip


def line_kinds(file: Path) -> list[str]:
    return [line.get("kind", line["type"]) for line in stored_lines(file)]


def test_ceilings_stand_before_the_row_that_needs_them(plugin: Path, tmp_path: Path) -> None:
    file = tmp_path / "rows.jsonl"
    done = run_scripted_gemm(plugin, file, "", "9,10")
    assert done.returncode == 0, done.stderr
    assert line_kinds(file) == ["bandwidth", "latency", "arithmetic", "row", "row"]
    assert "2 rows: 2 ok" in done.stderr
    for line in stored_lines(file)[3:]:
        assert set(line["bound"]) == {"level", "arithmetic", "bandwidth", "latency"}


def test_a_run_and_its_file_show_the_same(plugin: Path, tmp_path: Path) -> None:
    """The last row raises the ceiling, so that the summary's mean differs from that of the shares
    that the table has shown."""
    file = tmp_path / "rows.jsonl"
    script = "model 0.001 1000 100 1000;when m=3000 time 1e7;when m=3001 time 2e6"
    done = deepbench(
        "gemm", "m=3000,3001", "n=1024", "k=1024", "--backend", plugin, "-o", file, "--no-verify",
        DEEPBENCH_FAKE_SCRIPT=script,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    raised = read(file).ceilings[-1]
    assert (raised["kind"], raised["raised_by"]) == ("arithmetic", 1)
    summary = re.search(r"geometric mean \S+ %", done.stderr)
    assert summary
    shown = deepbench("show", file)
    assert summary[0] in shown.stderr
    shares = [row.bound.share_arithmetic for row in read(file).rows]
    assert shares == [pytest.approx(2e6 / 1e7, rel=0.01), pytest.approx(1.0)]


def test_a_restarted_worker_measures_no_ceiling_again(plugin: Path, tmp_path: Path) -> None:
    log = tmp_path / "log"
    file = tmp_path / "rows.jsonl"
    script = f"when m=1024 log {log};when m=10 crash time_batch"
    done = run_scripted_gemm(plugin, file, script, "9,10,11,12")
    assert done.returncode == 1
    assert [row.status for row in read(file).rows] == ["ok", "failed", "ok", "ok"]
    assert line_kinds(file).count("arithmetic") == 1
    assert sum("prepare" in line for line in log.read_text().splitlines()) == 2  # nn and tn


def test_a_resumed_file_measures_no_ceiling_again(plugin: Path, tmp_path: Path) -> None:
    file = tmp_path / "rows.jsonl"
    run_scripted_gemm(plugin, file, "when m=10 fail prepare failed x", "9,10,11")
    before = read(file)
    first = before.ceilings
    assert len(first) == 3
    # The ceilings of another speed would be seen.
    done = run_scripted_gemm(plugin, file, "model 1 10 1 10", "9,10,11", "--resume", "--retry")
    assert done.returncode == 0, done.stderr
    after = read(file)
    assert after.ceilings == first
    assert [row.status for row in after.rows] == ["ok"] * 3
    assert after.rows[1].bound.arithmetic_tflops == before.rows[0].bound.arithmetic_tflops


def test_a_torn_ceiling_is_measured_again_when_the_run_goes_on(
    plugin: Path, tmp_path: Path
) -> None:
    file = tmp_path / "rows.jsonl"
    run_scripted_gemm(plugin, file, "", "9,10")
    whole = file.read_bytes()
    lines = whole.splitlines(keepends=True)
    file.write_bytes(b"".join(lines[:3]) + lines[3][:40])  # context, two ceilings, a torn one
    done = run_scripted_gemm(plugin, file, "", "9,10", "--resume")
    assert done.returncode == 0, done.stderr
    assert "its last line is cut short and was left out" in done.stderr
    assert line_kinds(file) == ["bandwidth", "latency", "arithmetic", "row", "row"]


def test_ceilings_that_failed_are_measured_again_on_retry(plugin: Path, tmp_path: Path) -> None:
    file = tmp_path / "rows.jsonl"
    run_scripted_gemm(plugin, file, "when m=1024 fail time_batch failed x", "9,10,11")
    assert [line["status"] for line in read(file).ceilings] == ["ok", "ok", "failed"]
    file.write_bytes(b"".join(file.read_bytes().splitlines(keepends=True)[:-2]))
    for more, statuses in (((), ["failed"]), (("--retry",), ["failed", "ok"])):
        file.write_bytes(b"".join(file.read_bytes().splitlines(keepends=True)[:5]))
        done = run_scripted_gemm(plugin, file, "", "9,10,11", "--resume", *more)
        assert done.returncode == 0, done.stderr
        found = [one["status"] for one in read(file).ceilings if one["kind"] == "arithmetic"]
        assert found == statuses


def test_ceilings_are_kept_if_a_later_one_ends_the_worker(plugin: Path, tmp_path: Path) -> None:
    file = tmp_path / "rows.jsonl"
    done = run_scripted_gemm(plugin, file, "when m=1024 crash time_batch", "9,10")
    assert done.returncode == 0, done.stderr
    assert line_kinds(file) == ["bandwidth", "latency", "row", "row"]


def test_a_fleet_has_the_ceilings_of_rank_0(plugin: Path, tmp_path: Path) -> None:
    file = tmp_path / "rows.jsonl"
    done = run_scripted_gemm(plugin, file, "", "9,10", "--ranks", "3")
    assert done.returncode == 0, done.stderr
    assert line_kinds(file) == ["bandwidth", "latency", "arithmetic", "row", "row"]
    assert all("device=0 " in line["ceiling"] for line in read(file).ceilings)
    again = run_scripted_gemm(
        plugin, tmp_path / "again.jsonl", "", "9", "--ranks", "3", "--in-process"
    )
    assert again.returncode == 2


def test_in_process_rows_have_ceilings(plugin: Path, tmp_path: Path) -> None:
    file = tmp_path / "rows.jsonl"
    done = run_scripted_gemm(plugin, file, "", "9", "--in-process")
    assert done.returncode == 0, done.stderr
    assert line_kinds(file) == ["bandwidth", "latency", "arithmetic", "row"]
    lines = file.read_bytes().splitlines(keepends=True)
    file.write_bytes(b"".join(lines[:-1]))
    run_scripted_gemm(plugin, file, "model 1 10 1 10", "9", "--in-process", "--resume")
    assert line_kinds(file) == ["bandwidth", "latency", "arithmetic", "row"]


def session_with_bad_ceiling(*words: str) -> Session:
    return Session(
        [sys.executable, "-m", "deepbench.worker", *words],
        ceilings=lambda: ["ceiling nonsense"],
    )


def test_a_worker_refuses_a_ceiling_that_makes_no_sense(plugin: Path) -> None:
    one = session_with_bad_ceiling(str(plugin))
    one.start()
    answer = one.run("gemm m=1 n=1 k=1 ; position=0", 0, 20)
    one.kill()
    assert not isinstance(answer, str)
    assert "must be ceiling KEY ; figure=NUMBER" in answer.reason


def test_deepbench_run_prints_and_takes_ceilings(plugin: Path) -> None:
    program = Path(_core.package_directory()) / "bin" / "deepbench_run"
    if not program.exists():
        pytest.skip("deepbench_run is not installed beside the package")
    problem = "gemm m=9 n=8 k=40\n"

    def parse_output(text: str) -> tuple[int, list[dict[str, Any]]]:
        done = subprocess.run(
            [str(program), str(plugin)], input=text, capture_output=True, text=True, timeout=600
        )
        return done.returncode, [json.loads(line) for line in done.stdout.splitlines()]

    status, (hello, *first) = parse_output(problem)
    assert (status, hello["type"]) == (0, "hello")
    assert [line["type"] for line in first] == ["ceiling"] * 3 + ["row"]
    given = Ceilings(first[:3]).protocol_lines()
    status, (_, *second) = parse_output("\n".join(given) + "\n" + problem)
    assert (status, [line["type"] for line in second]) == (0, ["row"])
    assert second[0]["bound"] == first[3]["bound"]
    status, (_, error) = parse_output("ceiling nonsense\n")
    assert (status, error["type"]) == (2, "error")


# ---- readers of many rows -----------------------------------------------------------------------


@pytest.mark.parametrize("version", [1, 3])
def test_a_reader_may_leave_out_the_lines_of_rows(tmp_path: Path, version: int) -> None:
    lines = [*three_ceilings(), with_named_ceilings(make_gemm())] if version == 3 else [make_gemm()]
    path = write_lines_with_context(tmp_path / "a.jsonl", lines, schema=version)
    whole, brief = read(path), read(path, Detail(lines=False))
    assert brief.rows == whole.rows
    assert (whole.rows[0].source, brief.rows[0].source) == (whole.rows[0].line, None)


def test_a_reader_may_leave_out_the_shares_unless_a_model_needs_them(tmp_path: Path) -> None:
    lines = [*three_ceilings(), with_named_ceilings(make_gemm())]
    path = write_lines_with_context(tmp_path / "a.jsonl", lines)
    detail = Detail(shares=False)
    assert read(path).rows[0].bound.share_roofline
    assert read(path, detail).rows[0].bound.share_roofline is None
    workload = {
        "name": "m", "title": "M", "phase": "fwd", "unit": "images", "unverified": None,
        "price": None, "passes": [],
    }  # fmt: skip
    path = write_lines_with_context(tmp_path / "b.jsonl", lines, workload=workload)
    assert read(path, detail).rows == read(path).rows


def test_a_ceiling_that_is_added_later_counts() -> None:
    known = Ceilings(three_ceilings())
    row = row_of_members(with_named_ceilings(make_gemm()))
    before = known.with_assessment(row).bound
    known.add(make_ceiling("arithmetic", 4.0))
    after = known.with_assessment(row).bound
    assert (before.arithmetic_tflops, after.arithmetic_tflops) == (2.0, 4.0)
