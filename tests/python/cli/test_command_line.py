"""The command line as a person starts it. What only a process shows runs in a process of its own.

What needs a backend takes the CPU's and is skipped where that cannot be used.
"""

from __future__ import annotations

import csv
import io
import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import click
import pytest

from command_line import DEEPBENCH, WAITING, deepbench, run_command
from deepbench import _core
from deepbench.cli import backend_names, commands
from deepbench.cli.command import Option, parse_arguments
from deepbench.cli.options import OPTIONS, run_options
from deepbench.results import read, schema
from deepbench.runner import inspection
from example_rows import KEYS_OF_REFERENCES, KEYS_OF_SOAKS, KEYS_OF_THE_PLAN, members

SMALL = ("gemm", "m=64", "n=16,32", "k=64", "--backend", "cpu")
BRIEF = ("--samples", "3", "--no-ceilings")


# ---- without a backend ------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["gem"], "no operation or command 'gem' (did you mean 'gemm'?)"),
        (["--fast"], "an operation or a command comes first, not '--fast'"),
        (["gemm", "trainig"], "did you mean 'training'"),
        (["gemm", "--bakend", "cpu"], "did you mean '--backend'"),
        (["gemm", "training", "m=1"], "a set (training) and dimensions (m) are given"),
        (["gemm", "m=1", "m=1"], "m is given twice"),
        (["gemm", "m=1", "n=1"], "gemm needs k="),
        (["gemm", "m=-1", "n=1", "k=1"], "m=-1"),
        (["gemm", "m=1e3", "n=1", "k=1"], "m=1e3"),
        (["gemm", "m=4000000000000000000", "n=2", "k=2"], "2 m n k"),
        (["gemm", "--backend", "cudaa"], "no backend is called 'cudaa'"),
        (["gemm", "--backend", "/nonexistent/plugin.so"], "/nonexistent/plugin.so: no such file"),
        (["gemm", "-o", "/nonexistent/a"], "there is no folder '/nonexistent'"),
        (["run"], "run needs a suite file"),
        (["run", "/nonexistent"], "/nonexistent: there is no such file"),
        (["run", sys.executable], "is not a text file"),
        (["show"], "show needs one result file"),
        (["show", "/nonexistent"], "/nonexistent: there is no such file"),
        (["model", "resnet50"], "'deepbench workload resnet50' measures the model's kernels"),
        (["show", sys.executable], "is not a result file"),
        (["show", __file__, "--format", "xml"], "--format 'xml': must be one of table"),
        (["list", "gemm", "trainig"], "'trainig' is neither a set, nor an operation"),
        (["list", "memory"], "memory has no sets; 'deepbench memory --help' says what it runs"),
        (["list", "sparse", "training"], "sparse_gemm has no set training"),
        (["env", "all"], "env takes no words"),
        (["gemm", "--samples", "0"], "--samples '0': must be a whole number from 1"),
        (["gemm", "--samples", "-1"], "--samples '-1': must be a whole number from 1"),
        (["gemm", "--samples", "4_0"], "--samples '4_0': must be a whole number from 1"),
        (["gemm", "--time-limit", "\uff14"], "--time-limit '\uff14': must be a number above 0"),
        (["gemm", "--threads", "0"], "--threads '0': must be a whole number from 1"),
        (["gemm", "--verify-seed", "0"], "--verify-seed '0': must be a whole number from 1"),
        (["gemm", "--verify-seed", "5", "--no-verify"], "leave out --no-verify"),
        (["gemm", "--time-limit", "0.0"], "--time-limit '0.0': must be a number above 0"),
        (["gemm", "--time-limit", "nan"], "--time-limit 'nan': must be a number above 0"),
        (
            ["gemm", "--constant", "q"],
            "--constant: gemm has no operand 'q' that may be constant; it has a b",
        ),
        (["gemm", "m=\udcff"], "is not UTF-8 text"),
        *(
            ([*command, ""], "'': the name is empty; name one")
            for command in (
                ["check-result"],
                ["model"],
                ["import", "-o", "a.txt"],
                ["run"],
                ["workload"],
                ["show"],
                ["list"],
                ["compare", "x"],
                ["report", "-o", "a.html"],
                ["accept", "--against", "x"],
                ["ab", "run"],
                ["gemm"],
            )
        ),
        (["compare", "", "x"], "'': the name is empty; name one"),
        (["gemm", "-o", ""], "--output '': the name is empty; rows go to standard output"),
        (["gemm", "--against="], "--against '': the name is empty; name one"),
        (["accept", "--against", ""], "--against '': the name is empty; name one"),
        (["report", "x", "-o", ""], "--output '': the name is empty; without --output, markdown"),
    ],
)
def test_bad_usage_is_one_line(
    capsys: pytest.CaptureFixture[str], arguments: Sequence[str], message: str
) -> None:
    status, out, err = run_command(capsys, *arguments)
    assert status == 2
    assert out == ""
    said = err.removeprefix(WAITING)
    assert said.startswith("deepbench: error: ")
    assert said.count("\n") == 1
    assert message in said


def test_no_arguments() -> None:
    done = deepbench()
    assert done.returncode == 2
    assert done.stdout == ""
    assert done.stderr.startswith("usage: deepbench OP")


def test_ceilings_can_be_left_out() -> None:
    words = ("gemm", "m=8", "n=8", "k=8", "--backend", "cpu", "--samples", "3", "--format", "json")
    (row,) = json.loads(deepbench(*words, "--no-ceilings").stdout)["rows"]
    assert (row["status"], row["bound"]["share_roofline"]) == ("ok", None)


def test_a_file_without_its_folder_is_no_backends_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("libdeepbench_x.so").touch()
    done = deepbench("gemm", "m=8", "n=8", "k=8", "--backend", "libdeepbench_x.so")
    assert done.returncode == 2
    assert done.stderr.endswith("; a file is named with a '/', as in ./libdeepbench_x.so\n")


@pytest.mark.parametrize("words", [[], ["gemm"], ["all"], ["run"], ["list"], ["env"], ["show"]])
def test_help(words: Sequence[str]) -> None:
    done = deepbench(*words, "--help")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("usage: deepbench")


def test_help_names_every_operation_and_command_and_fits_80_columns(
    capsys: pytest.CaptureFixture[str],
) -> None:
    root = commands.group()
    names = root.list_commands(click.Context(root))
    assert {"gemm", "all", "run", "report", "man"} <= set(names)
    assert commands.run(["--help"]) == 0
    whole = capsys.readouterr().out
    assert all(f"\n  {name} " in whole for name in names)
    assert max(map(len, whole.splitlines())) <= 80
    for name in names:
        assert commands.run([name, "--help"]) == 0
        text = capsys.readouterr().out
        assert text.startswith(f"usage: deepbench {name}")
        assert max(map(len, text.splitlines())) <= 80, name


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_scripts(shell: str) -> None:
    done = deepbench("completion", shell)
    assert done.returncode == 0
    assert "_DEEPBENCH_COMPLETE" in done.stdout


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("gem", {"gemm"}),
        ("comp", {"compare", "completion"}),
        ("gemm --prec", set()),
        ("gemm --cach", {"--cache"}),
        ("gemm --cache ", {"hot", "cold", "both"}),
        ("gemm inference-", {"inference-server", "inference-device"}),
        ("gemm --quick bf", {"bfloat16"}),
        ("rnn cell=l", {"cell=lstm"}),
        ("completion z", {"zsh"}),
        ("gemm --power ", {"rested", "sustained", "both"}),
        ("gemm --inputs z", {"zeros"}),
        ("gemm --cores ", {"share", "all"}),
        ("gemm --algorithm ", {"default", "best", "exhaustive"}),
        ("gemm --constant ", set()),
        ("gemm --samples ", set()),
        ("gemm --backend au", {"auto"}),
        ("compare --across precision,lau", {"precision,launch"}),
        ("report x.jsonl --chart roof", {"roofline"}),
        ("nonsense x", set()),
    ],
)
def test_completions(
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    line: str,
    expected: set[str],
) -> None:
    words = f"deepbench {line}".split(" ")
    monkeypatch.setenv("_DEEPBENCH_COMPLETE", "bash_complete")
    monkeypatch.setenv("COMP_WORDS", " ".join(words))
    monkeypatch.setenv("COMP_CWORD", str(len(words) - 1))
    assert commands.run([]) == 0
    offered = {line.partition(",")[2] for line in capsys.readouterr().out.split()}
    assert offered == expected


@pytest.mark.parametrize(
    ("instruction", "variables"),
    [
        ("bash_complete", {}),
        ("bash_complete", {"COMP_WORDS": "deepbench 'ge", "COMP_CWORD": "x"}),
        ("fish_complete", {"COMP_WORDS": ""}),
        ("nonsense", {}),
        ("\x1b[2J", {}),
        ("", {}),
    ],
)
def test_a_wrong_request_for_completions_is_one_line(
    instruction: str, variables: dict[str, str]
) -> None:
    done = deepbench("env", _DEEPBENCH_COMPLETE=instruction, **variables)
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1)
    assert done.stderr.startswith("deepbench: error: the variable _DEEPBENCH_COMPLETE=")
    assert "unset it" in done.stderr
    assert "\x1b" not in done.stderr


def test_names_of_backends_and_libraries_are_completed(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(
        backend_names, "_paths_by_backend", lambda: {"quick": "/quick", "quiet": "/quiet"}
    )
    monkeypatch.setattr(
        inspection, "inspect_backend", lambda path: {"libraries": {f"lib{path[1:]}": {}}}
    )
    test_completions(monkeypatch, capsys, "gemm --backend qui", {"quick", "quiet"})
    test_completions(monkeypatch, capsys, "gemm --library libqui", {"libquick", "libquiet"})


@pytest.mark.parametrize("option", OPTIONS, ids=lambda option: option.flag)
def test_every_choice_is_a_value_of_the_core(option: Option) -> None:
    for choice in option.choices:
        run_options(parse_arguments([option.flag, choice], OPTIONS))


@pytest.mark.parametrize(
    "line",
    [
        "deepbench show r",
        "deepbench gemm -o r",
        "deepbench gemm --against r",
        "deepbench report x.jsonl --against r",
    ],
)
def test_names_of_files_are_completed(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], line: str
) -> None:
    monkeypatch.setenv("_DEEPBENCH_COMPLETE", "bash_complete")
    monkeypatch.setenv("COMP_WORDS", line)
    monkeypatch.setenv("COMP_CWORD", str(line.count(" ")))
    assert commands.run([]) == 0
    assert capsys.readouterr().out == "file,r\n"


def test_a_path_is_completed_as_a_backend(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    test_completions(monkeypatch, capsys, "gemm --backend ./libdeep", {"./libdeep"})


def test_the_manual_page_has_every_operation_and_command() -> None:
    page = deepbench("man").stdout
    assert page.startswith('.TH DEEPBENCH 1 "" "deepbench ')
    for name in ("GEMM", "ALL_REDUCE", "RUN", "REPORT", "COMPLETION"):
        assert f'.SH "DEEPBENCH {name}"' in page


def test_the_manual_page_has_the_options_of_all_operations_once() -> None:
    options = deepbench("man").stdout.partition(".SH OPTIONS\n")[2].partition(".SH ")[0]
    assert ".TP\n.B \\-\\-algorithm WORD\ndefault, best, exhaustive, or a candidate" in options
    assert ".TP\n.B \\-o, \\-\\-output FILE\n" in options
    assert options.count(".B \\-\\-corrected\n") == 3  # of the operations, of ab and of list


@pytest.mark.skipif(shutil.which("groff") is None, reason="groff formats the manual page")
def test_the_manual_page_is_well_formed() -> None:
    page = deepbench("man").stdout
    done = subprocess.run(
        ["groff", "-man", "-ww", "-Tutf8"], input=page, capture_output=True, text=True, check=True
    )
    assert done.stderr == ""


def test_help_of_an_operation_lists_its_keys() -> None:
    text = deepbench("gemm", "--help").stdout
    for part in ("trans_a", "one of n t", "default n", "required", "example: deepbench gemm m="):
        assert part in text


@pytest.mark.parametrize(
    ("op", "said"),
    [
        (
            "gemm",
            "sets: training inference-server inference-device mlperf-v0.5 mlperf llm\n"
            "ai-matrix-micro ai-matrix-soak ai-matrix-layers\n"
            "without attributes: training\n",
        ),
        ("sparse_gemm", "sets: inference-server inference-device\n"),
        (
            "norm",
            "sets: mlperf-v0.5 mlperf llm ai-matrix-layers\n"
            "without attributes: layers of ResNet-50",
        ),
        ("memory", "without attributes: each kind of access at sizes for each level"),
        ("all_reduce", "several problems: the list elements=16,32 stands for each"),
    ],
)
def test_help_of_an_operation_says_what_it_runs_alone(
    capsys: pytest.CaptureFixture[str], op: str, said: str
) -> None:
    assert said in run_command(capsys, op, "--help")[1]


def test_version() -> None:
    from deepbench import __version__

    assert deepbench("--version").stdout == f"deepbench {__version__}\n"
    assert "deepbench --version | -V\n" in deepbench("--help").stdout


def test_help_before_a_command_is_its_help(capsys: pytest.CaptureFixture[str]) -> None:
    expected = run_command(capsys, "gemm", "--help")
    assert run_command(capsys, "--help", "gemm") == expected
    assert run_command(capsys, "-h", "gemm") == expected


def test_list_has_every_set() -> None:
    done = deepbench("list")
    lines = [line.split() for line in done.stdout.splitlines()]
    assert lines[0] == ["set", "op", "problems", "rows", "TFLOP", "GB"]
    counts = {(line[0], line[1]): (int(line[2]), int(line[3])) for line in lines[1:-1]}
    assert counts[("training", "gemm")] == (160, 160)
    assert counts[("training", "conv")] == (94, 282)
    assert counts[("inference_device", "sparse_gemm")] == (8, 8)
    originals = {"gemm", "conv", "rnn", "all_reduce", "sparse_gemm"}
    sets = ("training", "inference_server", "inference_device")
    assert len([op for name, op in counts if name in sets and op in originals]) == 12
    assert {("llm", "gemm"), ("mlperf", "conv"), ("mlperf-v0.5", "rnn")} <= set(counts)


def test_every_operation_is_in_the_list(capsys: pytest.CaptureFixture[str]) -> None:
    _, table, _ = run_command(capsys, "list")
    *sets, others = table.splitlines()
    assert others.startswith("operations without sets: ")
    without = others.removeprefix("operations without sets: ").split(";")[0].split()
    named = {line.split()[1] for line in sets[1:]}
    assert named.isdisjoint(without)
    assert named | set(without) == {known.name for known in _core.operations()}
    for words in (["list", "training"], ["list", "gemm"], ["list", "--format", "csv"]):
        assert "without sets" not in run_command(capsys, *words)[1]


def test_list_shows_problems_with_their_work() -> None:
    done = deepbench("list", "training", "gemm", "half", "--format", "json")
    problems = json.loads(done.stdout)
    assert len(problems) == 160
    assert problems[0] == {
        "set": "training",
        "problem": "gemm m=1760 n=16 k=1760 trans_a=n trans_b=n precision=half",
        "GFLOP": 0.099123,
        "MB": 6.36416,  # 2 bytes x (m k + k n + 2 m n)
        "application": "DeepSpeech",
    }
    read_back = list(
        csv.DictReader(io.StringIO(deepbench("list", "rnn", "--format", "csv").stdout))
    )
    sets = ("training", "inference_server", "inference_device")
    originals = [row for row in read_back if row["set"] in sets]
    assert len(originals) == 3 * 53 + 69 + 3
    every = csv.DictReader(
        io.StringIO(deepbench("list", "all", "device", "--format", "csv").stdout)
    )
    assert len(list(every)) == 13 + 16 + 3 + 8


def test_env_says_what_is_here() -> None:
    done = deepbench("env")
    assert done.returncode == 0
    assert done.stdout.startswith("deepbench ")
    facts = json.loads(deepbench("env", "--format", "json").stdout)
    assert Path(facts["package"]).is_dir()
    assert facts["host"]["python"].count(".") >= 2


def test_problems_of_another_operation_are_refused_before_anything_runs(tmp_path: Path) -> None:
    suite = tmp_path / "mine.txt"
    suite.write_text("gemm m=1 n=1 k=1\nconv m=1\n")
    done = deepbench("run", str(suite))
    assert done.returncode == 2
    assert f"{suite}:2: " in done.stderr


def test_worker_keeps_the_protocol() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "deepbench.worker", "nobody"],
        input="", capture_output=True, text=True, timeout=600,
    )  # fmt: skip
    error = json.loads(done.stdout)
    assert (done.returncode, error["type"], error["exit"]) == (2, "error", 2)
    assert "no backend is called 'nobody'" in error["message"]


# ---- with the CPU -----------------------------------------------------------------------------


@pytest.mark.usefixtures("cpu")
def test_problems_run_and_are_kept(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    # A ceiling that moves during the run would change the shares of rows that are printed already.
    done = deepbench(*SMALL, "-o", str(path), "--time-limit", "0.5", "--no-ceilings")
    assert done.returncode == 0, done.stderr
    lines = [line for line in done.stdout.splitlines() if not line.startswith("[")]
    assert (len(lines), lines[0]) == (4, "power: rested")
    result = read(path)
    for row in members(result.rows):
        properties = set(schema.schema_document()["$defs"]["row"]["properties"])
        assert set(row) >= properties - KEYS_OF_THE_PLAN - KEYS_OF_SOAKS - KEYS_OF_REFERENCES
        assert row["status"] == "ok"
        assert row["verification"]["status"] == "passed"
    shown = deepbench("show", str(path))
    assert shown.stdout == done.stdout
    assert json.loads(deepbench("show", str(path), "--format", "json").stdout) == {
        "context": result.context,
        "rows": list(members(result.rows)),
    }


@pytest.mark.usefixtures("cpu")
def test_rows_go_to_a_pipe_that_standard_output_is() -> None:
    done = deepbench(*SMALL, *BRIEF, "-o", "/dev/stdout")
    assert done.returncode == 0, done.stderr
    lines = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
    assert [line["type"] for line in lines] == ["context", "row", "row"]


def test_in_process_gives_the_same_rows() -> None:
    done = deepbench(*SMALL, "--in-process", *BRIEF, "--format", "json")
    rows = json.loads(done.stdout)["rows"]
    assert [row["statistics"]["n"] for row in rows] == [3, 3]


@pytest.mark.usefixtures("cpu")
def test_suites_run(tmp_path: Path) -> None:
    suite = tmp_path / "mine.txt"
    suite.write_text("gemm m=16 n=16 k=16\nmemory kind=read bytes=65536\n")
    done = deepbench("run", str(suite), "--backend", "cpu", "--samples", "3")
    assert done.returncode == 0, done.stderr
    assert "GB/s" in done.stdout
    assert "TFLOP/s" in done.stdout


@pytest.mark.usefixtures("cpu")
def test_same_protocol_by_hand() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "deepbench.worker", "cpu", "samples=3"],
        input="# a comment\n\ngemm m=8 n=8 k=8 ; position=7\nnonsense\n",
        capture_output=True, text=True, timeout=600,
    )  # fmt: skip
    said = [json.loads(line) for line in done.stdout.splitlines()]
    measuring = [line for line in said if line["type"] == "measuring"]
    assert json.loads(measuring[0]["row"])["position"] == 7
    assert all(line["row"] is None for line in measuring[1:])
    ceilings = [line for line in said if line["type"] == "ceiling"]
    # A doubted ceiling is measured again, and then has another line.
    assert {line["kind"] for line in ceilings} == {"arithmetic", "bandwidth", "latency"}
    for line in ceilings:
        schema.check_ceiling(line)
        schema.check_ceiling_consistency(line)
        assert said.index(measuring[0]) < said.index(line)
    admitted = [line for line in said if line["type"] == "admitted"]
    assert admitted == [{"type": "admitted"}]
    others = (line for line in said if line not in (*measuring, *ceilings, *admitted))
    hello, begin, row, again, refused = others
    assert all(said.index(line) < said.index(row) for line in ceilings)
    assert done.returncode == 0
    assert begin == again == {"type": "begin"}
    assert hello["type"] == "hello"
    assert (row["position"], row["status"]) == (7, "ok")
    assert (refused["position"], refused["status"]) == (1, "invalid")
    schema.check_row(refused)


@pytest.mark.usefixtures("cpu")
@pytest.mark.parametrize(
    ("number", "status"), [(signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGHUP, 143)]
)
def test_interrupted_run_keeps_its_rows(tmp_path: Path, number: int, status: int) -> None:
    path = tmp_path / "a.jsonl"
    process = subprocess.Popen(
        [*DEEPBENCH, "gemm", "--backend=cpu", "--samples=3", "--format=csv", "-o", str(path)],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True,
        # A shell's background job ignores this signal, and so would what it starts.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )  # fmt: skip
    assert process.stdout is not None
    for _ in range(3):  # the header and two rows
        process.stdout.readline()
    os.killpg(process.pid, number)  # as a terminal does, to the worker too
    _, err = process.communicate(timeout=600)
    assert process.returncode == status
    assert "Traceback" not in err
    assert "interrupted, " in err
    assert len(read(path).rows) >= 2


@pytest.mark.usefixtures("cpu")
@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no /dev/full here")
def test_full_disk() -> None:
    done = deepbench(*SMALL, *BRIEF, "-o", "/dev/full", "--overwrite")
    assert done.returncode == 2
    assert "deepbench: error: /dev/full: the disk is full" in done.stderr
    with Path("/dev/full").open("w") as full:
        process = subprocess.run(
            [*DEEPBENCH, *SMALL, *BRIEF], stdout=full, stderr=subprocess.PIPE, text=True
        )
    assert process.returncode == 1
    assert "No space left on device" in process.stderr
    assert "Traceback" not in process.stderr


@pytest.mark.parametrize(
    ("module", "error"),
    [
        ("deepbench.cli", "KeyboardInterrupt"),
        ("deepbench._core", "ImportError('initialization failed') from KeyboardInterrupt()"),
    ],
)
def test_ctrl_c_while_modules_are_imported_is_quiet(module: str, error: str) -> None:
    code = (
        "import runpy, sys\n"
        "class Interrupted:\n"
        "    def find_spec(name, path=None, target=None):\n"
        f"        if name == {module!r}: raise {error}\n"
        "sys.meta_path.insert(0, Interrupted)\n"
        "sys.argv = ['deepbench', 'gemm']\n"
        "runpy.run_module('deepbench', run_name='__main__')\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=600)
    assert (done.returncode, done.stdout, done.stderr) == (130, "", "")


def test_a_module_that_cannot_be_loaded_is_one_line(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def run(words: Sequence[str]) -> int:
        raise ImportError("\n\nREAD THIS\n\nOriginal error was: no memory\n\n")

    monkeypatch.setattr(commands, "run", run)
    status, out, err = run_command(capsys, "list")
    assert (status, out) == (2, "")
    assert err == (
        "deepbench: error: a module of Python cannot be loaded: Original error was: no memory\n"
    )


@pytest.mark.parametrize(
    "arguments", [[], ["env"], ["list"], ["show", "x"], ["--help"], ["run", "x"], ["gemm"]]
)
def test_closed_standard_output_is_one_line(arguments: Sequence[str]) -> None:
    done = subprocess.run(
        ["sh", "-c", 'exec "$@" >&-', "sh", *DEEPBENCH, *arguments],
        stderr=subprocess.PIPE, text=True, timeout=600,
    )  # fmt: skip
    assert done.returncode == 2
    assert done.stderr.startswith("deepbench: error: standard output is closed")
    assert done.stderr.count("\n") == 1


@pytest.mark.usefixtures("cpu")
def test_closed_standard_error_is_no_reason_to_fail(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    done = subprocess.run(
        ["sh", "-c", 'exec "$@" 2>&- <&-', "sh", *DEEPBENCH, *SMALL, *BRIEF, "-o", str(path)],
        stdout=subprocess.PIPE, text=True, timeout=600,
    )  # fmt: skip
    assert done.returncode == 0
    assert done.stdout.startswith("power: rested\n m ")
    assert len(read(path).rows) == 2


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no /dev/full here")
@pytest.mark.parametrize(("words", "status"), [((), 0), (("--no-such-option",), 2)])
def test_messages_that_cannot_be_written_are_dropped(
    plugin: Path, tmp_path: Path, words: tuple[str, ...], status: int
) -> None:
    path = tmp_path / "a.jsonl"
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(
            [*DEEPBENCH, "gemm", "m=8,9", "n=8", "k=40", "--samples", "2", "--backend",
             str(plugin), "-o", str(path), *words],
            stdout=subprocess.PIPE, stderr=full, text=True, timeout=600,
        )  # fmt: skip
    assert done.returncode == status
    assert (len(read(path).rows) if path.exists() else 0) == (2 if status == 0 else 0)


@pytest.mark.usefixtures("cpu")
def test_a_file_gets_every_row_though_nobody_reads_the_report(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    process = subprocess.Popen(
        [*DEEPBENCH, *SMALL, *BRIEF, "-o", str(path)],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    assert process.stdout is not None
    process.stdout.close()
    process.stdout = None
    _, err = process.communicate(timeout=600)
    assert process.returncode == 0, err
    assert "2 rows: 2 ok" in err
    assert len(read(path).rows) == 2


@pytest.mark.usefixtures("cpu")
@pytest.mark.parametrize(
    ("option", "message"),
    [
        (("--algorithm", "sgem"), "no candidate 'sgem' for this problem"),
        (("--threads", "100000"), "threads=100000: this process may use "),
    ],
)
def test_what_the_machine_does_not_have_is_bad_usage(
    tmp_path: Path, option: tuple[str, str], message: str
) -> None:
    path = tmp_path / "a.jsonl"
    done = deepbench(*SMALL, *option, "-o", str(path))
    assert (done.returncode, done.stdout) == (2, "")
    assert message in done.stderr
    assert done.stderr.splitlines()[-1].startswith("deepbench: error: ")
    assert not path.exists()


@pytest.mark.usefixtures("cpu")
def test_a_verification_is_repeated_with_its_seed(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    deepbench(*SMALL, *BRIEF, "--verify-seed", "77", "-o", str(path))
    assert {row.verification.seed for row in read(path).rows} == {77}


@pytest.mark.usefixtures("cpu")
def test_the_number_of_threads_asked_for_replaces_that_of_the_environment(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    arguments = (*SMALL, "--once", "--threads", "1", "-o", str(path))
    done = deepbench(*arguments, OMP_NUM_THREADS="2")
    assert done.returncode == 0, done.stderr
    assert ", 1 thread): 2 rows" in done.stderr
    assert read(path).context["environment"]["OMP_NUM_THREADS"] == "1"


@pytest.mark.usefixtures("cpu")
@pytest.mark.parametrize(
    ("variable", "value", "warns"),
    [
        ("OMP_NUM_THREADS", "100000", True),
        ("OMP_NUM_THREADS", "99999999999999999999", True),
        ("OMP_NUM_THREADS", "-1", False),
        ("OMP_NUM_THREADS", "abc", False),
        ("OMP_THREAD_LIMIT", "1", False),
        ("OMP_MAX_ACTIVE_LEVELS", "0", False),
        ("GOMP_CPU_AFFINITY", "garbage", False),
    ],
)
def test_absurd_variables_of_openmp_spoil_no_row(variable: str, value: str, warns: bool) -> None:
    done = deepbench(*SMALL, "--once", "--format", "json", **{variable: value})
    assert done.returncode == 0, done.stderr
    assert ("more threads are asked for than may run here" in done.stderr) == warns


@pytest.mark.usefixtures("cpu")
def test_unknown_library_names_those_that_exist() -> None:
    done = deepbench(*SMALL, "--library", "onednnn")
    assert done.returncode == 2
    assert "knows no library 'onednnn'" in done.stderr
