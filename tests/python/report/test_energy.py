"""The energy and the cost of calls in tables."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from command_line import run_command
from deepbench.report import FORMATS, create
from deepbench.report.outline import OutlineProblem, outline
from deepbench.report.overview.metric_chart import plot_choices
from deepbench.report.overview.report_rows import report_files
from deepbench.results import read
from example_rows import make_context, make_gemm, make_memory, row_of_members

HALF_A_JOULE = {"name": "energy", "value": 0.5, "unit": "J", "better": "lower"}


def rendered(name: str, *rows: dict[str, Any], price: float | None = None) -> list[str]:
    """The words of each line."""
    problems = [
        OutlineProblem(
            row["op"], row["attributes"], row["work"]["flops"], energy=bool(row["metrics"])
        )
        for row in rows
    ]
    report = create(name)
    text = report.begin(make_context(), outline(problems, price))
    text += "".join(report.row(row_of_members(row)) for row in rows) + report.end()
    return text.splitlines()


@pytest.mark.parametrize("name", ["table", "markdown"])
def test_energy_has_two_columns(name: str) -> None:
    row = make_gemm(metrics=[HALF_A_JOULE])
    lines = rendered(name, row)
    header = next(line for line in lines if "J/call" in line)
    assert "GFLOP/J" in header
    cells = lines[-1].replace("|", " ").split()
    efficiency = 2 * 1760 * 16 * 1760 / 0.5 / 1e9
    assert cells[-2:] == ["0.5", f"{efficiency:.4g}"]
    assert "energy=" not in lines[-1]


def test_rows_without_energy_or_price_have_no_such_columns() -> None:
    text = "\n".join(rendered("table", make_gemm()))
    assert not any(word in text for word in ("J/call", "GFLOP/J", "cost"))


def test_integers_and_copies_have_their_own_units() -> None:
    integers = make_gemm(metrics=[HALF_A_JOULE], precision="int8")
    assert any(" GOP/J" in line for line in rendered("table", integers))
    lines = rendered("table", make_memory(metrics=[HALF_A_JOULE]))
    assert any("J/call" in line for line in lines)
    assert not any("OP/J" in line for line in lines)


def test_the_cost_of_a_million_calls_is_that_of_all_devices() -> None:
    row = make_gemm()  # 100 us: a million calls take 100 s
    assert rendered("table", row, price=3.6)[-1].split()[-1] == "0.1"
    row["regime"]["ranks"] = 8
    assert rendered("table", row, price=3.6)[-1].split()[-1] == "0.8"


def test_show_takes_energy_from_the_file_and_a_price(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "rows.jsonl"
    lines = [make_context(rows=1), make_gemm(metrics=[HALF_A_JOULE])]
    file.write_text("".join(json.dumps(line) + "\n" for line in lines))
    status, out, _ = run_command(capsys, "show", str(file), "--price", "3.6")
    assert status == 0
    assert out.splitlines()[-1].split()[-3:] == ["0.5", "0.1982", "0.1"]
    chosen = ("--columns", "m,energy,efficiency,cost", "--price", "3.6")
    out = run_command(capsys, "show", str(file), *chosen)[1]
    assert out.splitlines()[-2].split() == ["m", "J/call", "GFLOP/J", "cost/M"]
    status, _, err = run_command(capsys, "show", str(file), "--price", "0")
    assert (status, "must be a number above 0" in err) == (2, True)
    formats = {
        name: [run_command(capsys, "show", str(file), "--format", name, *price)[1]
               for price in ((), ("--price", "3.6"))]
        for name in FORMATS
    }  # fmt: skip
    assert {name for name, (without, priced) in formats.items() if priced != without} == {
        "table",
        "markdown",
    }
    found = plot_choices(report_files([read(file)]))
    assert found is not None
    assert {"energy", "efficiency"} <= {metric.name for metric in found.metrics}
