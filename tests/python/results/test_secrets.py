"""Tests that no result file contains the secret of a run's ranks, and that no output made from an
older file that contains it does."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from command_line import deepbench
from deepbench.redaction import without_secrets
from deepbench.results import read
from deepbench.runner.environment import relevant_variables
from example_rows import make_context, make_gemm
from rank_processes import QUICK, rank_environment
from required_tools import require_module

VARIABLE = "DEEPBENCH_RANKS_SECRET"
SECRET = "4f1dd0c5a7"


@pytest.fixture
def old_file(tmp_path: Path) -> Path:
    """As version 0.1.0 writes it, with a run's secret among the variables."""
    variables = {"MASTER_ADDR": "node1", VARIABLE: SECRET}
    context = make_context(
        rows=1, host={"cpu": "Example CPU", "environment": variables}, environment=variables
    )
    path = tmp_path / "old.jsonl"
    path.write_text("\n".join(json.dumps(line) for line in (context, make_gemm())) + "\n")
    return path


def printed_by(*words: str, **variables: str) -> str:
    """All that a command says."""
    done = deepbench(*words, environment=rank_environment(**variables))
    assert done.returncode == 0, done.stderr
    return done.stdout + done.stderr


def test_a_run_does_not_write_it(tmp_path: Path) -> None:
    file = tmp_path / "rows.jsonl"
    words = ("gemm", "m=8", "n=8", "k=8", "--backend", "cpu", *QUICK)
    for more in ((), ("--ranks", "2")):
        said = printed_by(*words, *more, "-o", str(file), "--overwrite", **{VARIABLE: SECRET})
        assert SECRET not in said
        assert SECRET not in file.read_text()
        assert read(file).context["host"]["environment"][VARIABLE] == "(redacted)"
    said = printed_by(*words, "--format", "json", **{VARIABLE: SECRET})
    assert SECRET not in said
    assert "(redacted)" in said


@pytest.mark.parametrize(
    "name", ["NVIDIA_API_KEY", "MASTER_TOKEN", "FI_OPX_PASSWORD", "CUDA_APIKEY", "ccl_secret_1"]
)
def test_other_secrets_of_the_environment_are_left_out(name: str) -> None:
    assert relevant_variables({name: SECRET, "PATH": "/"}).get(name, "(redacted)") == "(redacted)"
    assert without_secrets({name: SECRET, "empty": ""}) == {name: "(redacted)", "empty": ""}


@pytest.mark.parametrize("name", ["NCCL_IB_PKEY", "UCX_KEYVAL_CACHE", "OMPI_MCA_keyboard"])
def test_variables_that_are_no_secrets_are_kept(name: str) -> None:
    assert relevant_variables({name: "1"}) == {name: "1"}


@pytest.mark.parametrize("form", ["text", "json"])
def test_env_does_not_print_it(form: str) -> None:
    said = printed_by("env", "--format", form, **{VARIABLE: SECRET})
    assert "(redacted)" in said
    assert SECRET not in said


def test_an_old_file_is_read_without_it(old_file: Path) -> None:
    context = read(old_file).context
    for variables in (context["environment"], context["host"]["environment"]):
        assert variables == {"MASTER_ADDR": "node1", VARIABLE: "(redacted)"}


@pytest.mark.parametrize("form", ["table", "legacy", "json", "csv", "markdown"])
def test_show_does_not_print_it(old_file: Path, form: str) -> None:
    said = printed_by("show", str(old_file), "--format", form)
    assert SECRET not in said
    assert form != "json" or "(redacted)" in said


@pytest.mark.parametrize("form", ["table", "json", "markdown", "html"])
def test_compare_does_not_print_it(old_file: Path, tmp_path: Path, form: str) -> None:
    other = tmp_path / "other.jsonl"
    other.write_text(old_file.read_text())
    assert SECRET not in printed_by("compare", str(old_file), str(other), "--format", form)


@pytest.mark.parametrize("form", ["html", "markdown", "xlsx"])
def test_reports_do_not_hold_it(old_file: Path, tmp_path: Path, form: str) -> None:
    needed = {"html": "vl_convert", "xlsx": "xlsxwriter"}
    if form in needed:
        require_module(needed[form])
    page = tmp_path / "page"
    printed_by("report", str(old_file), "-o", str(page), "--format", form)
    if form == "xlsx":
        import zipfile

        with zipfile.ZipFile(page) as book:
            content = b"".join(book.read(name) for name in book.namelist())
    else:
        content = page.read_bytes()
    assert SECRET.encode() not in content
    assert form != "html" or b"(redacted)" in content


def test_a_file_that_is_written_from_an_old_one_does_not_hold_it(
    old_file: Path, tmp_path: Path
) -> None:
    thin = tmp_path / "thin.jsonl"
    printed_by("show", str(old_file), "--thin", "1", "-o", str(thin))
    assert SECRET not in thin.read_text()


@pytest.mark.skipif(not Path("/proc/self/cmdline").exists(), reason="there is no /proc here")
def test_no_command_line_holds_it(tmp_path: Path) -> None:
    """Everybody on a machine can read these; a process' variables only its user can."""
    log = tmp_path / "commands"
    code = (
        "import os, pathlib\n"
        "words = pathlib.Path('/proc/self/cmdline').read_bytes()\n"
        f"with open({str(log)!r}, 'ab') as file: file.write(words + b'\\n')\n"
        f"with open({str(log)!r} + '.secret', 'a') as file:\n"
        f"    file.write(os.environ.get({VARIABLE!r}, '') + '\\n')\n"
    )
    (tmp_path / "sitecustomize.py").write_text(code)
    words = ("all_reduce", "elements=100", "--backend", "cpu", "--ranks", "2", *QUICK)
    printed_by(*words, PYTHONPATH=str(tmp_path), **{VARIABLE: "a-secret-of-the-user"})
    commands = log.read_bytes()
    assert commands.count(b"worker/__main__.py") == 2  # rank 0's and the one that it starts
    secrets = Path(f"{log}.secret").read_text().splitlines()
    # The command and rank 0 have it; a rank that inherits its connection needs none.
    assert sorted(secrets) == ["", "a-secret-of-the-user", "a-secret-of-the-user"]
    assert b"a-secret-of-the-user" not in commands
