"""Every output format against its golden file.

tests/samples/v1 holds result files as version 1 of the schema wrote them; what is printed of them
stays as it is in tests/golden/outputs. DEEPBENCH_UPDATE_GOLDEN=1 rewrites the golden files, to be
looked at before they are committed. The samples are never rewritten.
"""

from __future__ import annotations

import json
import re
import socket
from pathlib import Path

import pytest

from golden_files import check_golden, golden_text
from golden_runs import RUNS, deepbench, lines_without_volatile_facts, run_scripted
from required_tools import require_module
from source_tree import ROOT

SAMPLES = ROOT / "tests/samples/v1"
RESULTS = ROOT / "results"
NAMES = sorted(RUNS)

# Golden file -> a command; {NAME} is the sample of that name.
COMMANDS = {
    **{
        f"show_{name}.{form}": ("show", f"{{{name}}}", "--format", form)
        for name in NAMES
        for form in ("table", "json", "csv", "markdown")
    },
    "show_gemm.legacy": ("show", "{gemm}", "--format", "legacy"),
    "show_gemm_against.table": ("show", "{gemm}", "--against", "{gemm_slower}"),
    **{
        f"compare.{form}": ("compare", "{gemm}", "{gemm_slower}", "--format", form)
        for form in ("table", "json", "markdown", "html")
    },
    "report.markdown": ("report", "{gemm}", "--against", "{gemm_slower}", "--format", "markdown"),
    "list_sets.table": ("list",),
    "list_conv.csv": ("list", "conv", "inference-device", "--format", "csv"),
    "list_conv.json": ("list", "conv", "inference-device", "--format", "json"),
    "list_references.table": ("list", "references"),
    "list_reference.csv": ("list", "references", "iphone_6", "--format", "csv"),
    "model.table": ("model", str(RESULTS / "h200x4" / "all_reduce_sweep_float_nccl.jsonl")),
}  # fmt: skip


def without_added_operations(listing: str) -> str:
    """What `list` prints of the operations that its golden file has."""
    golden = golden_text("outputs/list_sets.table").splitlines()
    known = {line.split()[1] for line in golden}
    return "".join(line for line in listing.splitlines(keepends=True) if line.split()[1] in known)


def page_without_scripts(page: str) -> str:
    """A page's text without its style sheet and scripts, but with its data."""
    page = re.sub(r"<style>.*?</style>", "<style></style>", page, flags=re.S)
    page = re.sub(r"(<script(?![^>]*json)[^>]*>).*?(</script>)", r"\1\2", page, flags=re.S)
    return re.sub(r"sha256-[\w+/=]+", "sha256-digest", page)


@pytest.mark.parametrize("name", NAMES)
def test_rows_of_a_run(name: str, plugin: Path, tmp_path: Path) -> None:
    done = run_scripted(name, plugin, tmp_path, "-o", "rows.jsonl")
    assert (tmp_path / "rows.jsonl").exists(), done.stderr
    text = lines_without_volatile_facts((tmp_path / "rows.jsonl").read_text(), socket.gethostname())
    check_golden(f"outputs/run_{name}.jsonl", text)


@pytest.mark.parametrize("form", ["table", "legacy"])
def test_formats_of_a_run(form: str, plugin: Path, tmp_path: Path) -> None:
    done = run_scripted("gemm", plugin, tmp_path, "--format", form)
    check_golden(f"outputs/run_gemm.{form}", done.stdout)


@pytest.mark.parametrize("file", sorted(COMMANDS))
def test_formats_of_a_file(file: str, tmp_path: Path) -> None:
    for name in NAMES:
        (tmp_path / f"{name}.jsonl").write_bytes((SAMPLES / f"{name}.jsonl").read_bytes())
    words = [word.format(**{name: f"{name}.jsonl" for name in NAMES}) for word in COMMANDS[file]]
    done = deepbench(tmp_path, *words)
    assert done.stdout, done.stderr
    text = done.stdout
    if file.endswith(".html"):
        text = page_without_scripts(text)
    elif file == "list_sets.table":
        text = without_added_operations(text)
    check_golden(f"outputs/{file}", text)


def test_page(tmp_path: Path) -> None:
    require_module("vl_convert")
    for name in ("gemm", "gemm_slower"):
        (tmp_path / f"{name}.jsonl").write_bytes((SAMPLES / f"{name}.jsonl").read_bytes())
    done = deepbench(
        tmp_path, "report", "gemm.jsonl", "--against", "gemm_slower.jsonl", "-o", "page.html"
    )
    assert done.returncode == 0, done.stderr
    check_golden("outputs/report.html", page_without_scripts((tmp_path / "page.html").read_text()))


def test_chart(tmp_path: Path) -> None:
    """The words of a chart, in order."""
    require_module("vl_convert")
    (tmp_path / "gemm.jsonl").write_bytes((SAMPLES / "gemm.jsonl").read_bytes())
    done = deepbench(tmp_path, "report", "gemm.jsonl", "-o", "chart.svg", "--chart", "roofline")
    assert done.returncode == 0, done.stderr
    words = re.findall(r">([^<>\n]+)</text>", (tmp_path / "chart.svg").read_text())
    check_golden("outputs/chart.txt", "\n".join(words) + "\n")


def test_workbook_and_back(tmp_path: Path) -> None:
    require_module("openpyxl")
    require_module("xlsxwriter")
    import openpyxl

    (tmp_path / "gemm.jsonl").write_bytes((SAMPLES / "gemm.jsonl").read_bytes())
    done = deepbench(tmp_path, "report", "gemm.jsonl", "-o", "book.xlsx")
    assert done.returncode == 0, done.stderr
    book = openpyxl.load_workbook(tmp_path / "book.xlsx")
    cells = {
        sheet.title: [list(row) for row in sheet.iter_rows(values_only=True)] for sheet in book
    }
    check_golden("outputs/workbook.json", json.dumps(cells, indent=1, default=str) + "\n")
    done = deepbench(tmp_path, "import", "book.xlsx", "-o", "back.jsonl")
    assert (tmp_path / "back.jsonl").exists(), done.stderr
    check_golden(
        "outputs/imported.jsonl",
        lines_without_volatile_facts((tmp_path / "back.jsonl").read_text(), ""),
    )
