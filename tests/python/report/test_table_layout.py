"""The table on a terminal: which columns it has, how wide its lines are, and what it marks."""

from __future__ import annotations

from typing import Any

import pytest
from rich.cells import cell_len

from comparison_rows import make_result_set
from deepbench import _core, suites
from deepbench.cli import show
from deepbench.marked_text import MarkedText
from deepbench.problems.problem_arguments import (
    operation,
    operations,
    parse_problem_arguments,
    problem_lines,
)
from deepbench.problems.selection import SuiteSource, original_suite
from deepbench.report import FORMATS, FormatError, create
from deepbench.report.outline import OutlineProblem, outline
from deepbench.report.reference_columns import ReferenceColumns
from deepbench.report.row_styles import style_of
from deepbench.report.table_layout import narrowing_text
from example_rows import (
    make_context,
    make_gemm,
    make_memory,
    make_row,
    row_of_members,
    without_times,
)
from source_tree import ROOT

CONV = {
    "w": 700, "h": 161, "c": 1024, "n": 16, "k": 2048, "s": 20, "r": 5, "pad_w": 0, "pad_h": 0,
    "stride_w": 2, "stride_h": 2, "dilation_w": 1, "dilation_h": 1, "groups": 1, "phase": "fwd",
    "layout": "library", "precision": "half",
}  # fmt: skip


def conv_rows() -> list[dict[str, Any]]:
    differ: list[dict[str, Any]] = [
        {}, {"w": 7, "h": 7, "phase": "bwd_filter"}, {"c": 1, "n": 4, "k": 32, "s": 1, "r": 1},
        {"pad_w": 1, "pad_h": 1, "stride_w": 1, "stride_h": 1},
    ]  # fmt: skip
    return [
        make_row("conv", {**CONV, **some}, position, 1e9) for position, some in enumerate(differ)
    ]


def report_parts(
    rows: list[dict[str, Any]], width: int | None, columns: tuple[str, ...] = ()
) -> list[str]:
    report = create("table", width=width, columns=columns)
    problems = [OutlineProblem(row["op"], row["attributes"], row["work"]["flops"]) for row in rows]
    begun = report.begin(make_context(rows=len(rows)), outline(problems))
    return [begun, *(report.row(row_of_members(row)) for row in rows), report.end()]


def header_text(
    rows: list[dict[str, Any]], width: int | None, columns: tuple[str, ...] = ()
) -> str:
    """The header, and the lines above it."""
    lines = "".join(report_parts(rows, width, columns)).splitlines()
    return "\n".join(lines[: next(at for at, line in enumerate(lines) if " time" in line) + 1])


@pytest.mark.parametrize("width", [80, 120, 200, 300])
def test_no_line_is_wider_than_the_terminal(width: int) -> None:
    noted = make_gemm(4, notes=["weights packed " * 20])
    noted["algorithm"] = {**noted["algorithm"], "mode": "best", "name": "a_long_name " * 12}
    refused = without_times(make_gemm(5), "unsupported", "no tf32 on this CPU " * 9)
    for rows in (conv_rows(), [make_gemm(3), noted, refused], [refused, refused]):
        lines = "".join(report_parts(rows, width)).splitlines()
        assert max(map(len, lines)) <= width


def example_rows_of(op: str) -> list[dict[str, Any]]:
    """Rows of the largest problems of an operation's sets, or of its example, with long names of
    applications and rates of several units."""
    lines = problem_lines(op, parse_problem_arguments(op, operation(op).example.split()[1:]))
    problems = [_core.Problem.parse(line) for line in lines]
    for folder, name in suites.available():
        if name == op:
            source = SuiteSource([original_suite(folder, name, False)], {"precision": "float"})
            problems += [found.problem for found in source.problems(_core.Problem.parse, None)]
    longest = sorted(problems, key=lambda problem: -len(str(problem)))[:5]
    names = ("DeepSpeech", "音声認識" * 5, "a name of an application that is long", None, "x")
    return [
        make_row(op, dict(problem.attributes), at, problem.flops, application=name)
        for at, (problem, name) in enumerate(zip(longest, names, strict=False))
    ]


@pytest.mark.parametrize("op", [known.name for known in operations()])
@pytest.mark.parametrize("width", [80, 120, 200])
@pytest.mark.parametrize("against", [False, True])
def test_every_operation_fits(op: str, width: int, against: bool) -> None:
    rows = example_rows_of(op)
    others = make_result_set(*rows, name="the_name_of_a_file.jsonl")
    columns = ReferenceColumns(others) if against else None
    report = create("table", columns, width)
    problems = [
        OutlineProblem(row["op"], row["attributes"], row["work"]["flops"], row["application"])
        for row in rows
    ]
    begun = report.begin(make_context(rows=len(rows)), outline(problems))
    text = "".join([begun, *(report.row(row_of_members(row)) for row in rows), report.end()])
    assert text.count("100.0") >= len(rows)
    assert max(map(cell_len, text.splitlines())) <= width


def test_the_help_and_the_documents_state_the_order() -> None:
    said = " ".join(show.command.usage_text().split())
    assert narrowing_text() in said
    page = ROOT.joinpath("docs/reference/command_line.md").read_text(encoding="utf-8")
    assert narrowing_text() in " ".join(page.replace("`", "").split())


def test_columns_go_in_the_documented_order() -> None:
    """Width after width, down to one that nothing fits."""
    seen = []
    for width in range(220, 40, -1):
        text = header_text(conv_rows(), width)
        if all(text.splitlines()[-1] != other.splitlines()[-1] for other in seen):
            seen.append(text)
    header = [text.splitlines()[-1] for text in seen]
    whole = header_text(conv_rows(), None)
    assert seen[0] == whole
    assert "dilation_w" in whole
    assert seen[1].splitlines()[0] == (
        "every row: dilation_w=1 dilation_h=1 groups=1 layout=library precision=half"
    )
    assert header[1].endswith("%roofline  bound by    verified")
    assert header[2].endswith("%roofline  bound by")
    assert header[3].endswith("%ceiling  %roofline")
    assert seen[4].splitlines()[1] == "pw: pad_w, ph: pad_h, sw: stride_w, sh: stride_h"
    assert "  pw  ph  sw  sh  " in header[4]
    assert " pw ph sw sh " in header[5]
    assert header[6].endswith("time    \N{PLUS-MINUS SIGN}%  TFLOP/s %roofline")
    assert header[7].endswith("time  TFLOP/s %roofline")
    assert header[8].endswith("time  TFLOP/s")
    assert len(seen) == 9


def test_a_table_that_fits_is_that_of_a_pipe() -> None:
    rows = [make_gemm(0), make_gemm(1, n=7000), make_memory(2)]
    assert report_parts(rows, 200) == report_parts(rows, None)


def test_columns_can_be_chosen() -> None:
    rows = [make_gemm(0), make_memory(1)]
    assert header_text(rows, None, ("m", "time", "rate")) == "   m      time   TFLOP/s"
    text = "".join(report_parts(rows, None, ("rate", "bytes", "n")))
    assert text.splitlines()[0] == " n   TFLOP/s"
    assert text.splitlines()[3].split() == ["bytes", "GB/s"]
    assert header_text(rows, 10, ("problem", "time")).split() == [
        "m", "n", "k", "a_t", "b_t", "precision", "time",
    ]  # fmt: skip


def test_an_unknown_column_is_refused_before_the_first_row() -> None:
    message = "--columns: there is no column 'tim'; there are problem m"
    with pytest.raises(FormatError, match=message):
        report_parts([make_gemm(0)], None, ("tim",))


@pytest.mark.parametrize("name", [name for name in FORMATS if name != "table"])
def test_other_formats_have_no_columns_to_choose(name: str) -> None:
    with pytest.raises(FormatError, match=f"not of --format {name}"):
        create(name, columns=("time",))


def noisy_row() -> dict[str, Any]:
    row = make_gemm(0)
    return {**row, "statistics": {**row["statistics"], "stop": "noisy"}}


@pytest.mark.parametrize(
    ("row", "style"),
    [
        (make_gemm(0), ""),
        (noisy_row(), "yellow"),
        (make_gemm(0, status="mistrusted", reason="above the ceiling"), "yellow"),
        (make_gemm(0, status="incorrect", reason="output 3 is 1, not 2"), "red"),
        (without_times(make_gemm(0), "failed", "the worker crashed"), "red"),
        (without_times(make_gemm(0), "unsupported", "no tf32"), ""),
    ],
)
def test_rows_that_deserve_attention_are_marked(row: dict[str, Any], style: str) -> None:
    assert style_of(row_of_members(row)) == style
    first = make_gemm(1)
    _, _, text, _ = report_parts([first, row], 200)
    assert getattr(text, "style", "") == style
    _, text, _ = report_parts([row], 200)
    if isinstance(text, MarkedText):
        assert text[: text.plain_length].count("\n") == 1  # the header
    assert not any(isinstance(text, MarkedText) for text in report_parts([row], None))
