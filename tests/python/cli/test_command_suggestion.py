"""Commands that are nearly right: each is answered in one line with the command that is right, and
what is right is taken as it is."""

from __future__ import annotations

import json
import shlex
from pathlib import Path

import pytest

from deepbench.cli import main
from deepbench.cli.command import parse_arguments
from deepbench.cli.command_suggestion import suggest_command
from deepbench.cli.ops import help_text, sweep_example
from deepbench.cli.options import OPTIONS, run_options
from deepbench.errors import UsageError
from deepbench.problems.problem_arguments import operations, parse_problem_arguments, problem_lines
from deepbench.results.output_names import require_result_name
from example_rows import make_context, make_gemm


def error_message(capsys: pytest.CaptureFixture[str], *words: str) -> str:
    """The error message of a command that must be refused."""
    assert main(list(words)) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.count("\n") == 1
    return err.removeprefix("deepbench: error: ").removesuffix("\n")


@pytest.mark.parametrize(
    ("line", "wrong", "right"),
    [
        ("gemm m=64,n=64,k=64", "m=64,n=64,k=64", "gemm m=64 n=64 k=64"),
        ("gemm m=64,n=16,32,k=64", "m=64,n=16,32,k=64", "gemm m=64 n=16,32 k=64"),
        ("gemm 'm=16;n=16;k=16'", "m=16;n=16;k=16", "gemm m=16 n=16 k=16"),
        ("gemm m=64, n=64, k=64", "m=64,", "gemm m=64 n=64 k=64"),
        ("gemm --m 64 --n 64 --k 64", "--m", "gemm m=64 n=64 k=64"),
        ("gemm --m=64 n=64 -k 64", "--m=64", "gemm m=64 n=64 k=64"),
        ("gemm M=64 N=64 K=64", "M=64", "gemm m=64 n=64 k=64"),
        ("gemm m = 64 n= 64 k =64", "m = 64", "gemm m=64 n=64 k=64"),
        ("gemm m: 64 n:64 k=64", "m: 64", "gemm m=64 n=64 k=64"),
        ("gemm m=n=k=64", "m=n=k=64", "gemm m=64 n=64 k=64"),
        ("gemm m==64 n=64 k=64", "m==64", "gemm m=64 n=64 k=64"),
        ("gemm 'm=[16,32]' n=64 k=64", "m=[16,32]", "gemm m=16,32 n=64 k=64"),
        ("gemm 64x32x16 half", "64x32x16", "gemm m=64 n=32 k=16 half"),
        ("gemm '(64,32,16)'", "(64,32,16)", "gemm m=64 n=32 k=16"),
        ("gemm shape=64x32x16", "shape=64x32x16", "gemm m=64 n=32 k=16"),
        ("gemm --set training quick", "--set", "gemm training --quick"),
        ("gemm inference cold", "cold", "gemm inference --cache cold"),
        ("gemm half cpu x.jsonl", "cpu", "gemm half --backend cpu -o x.jsonl"),
        ("gemm 64,32,16", "64,32,16", "gemm m=64 n=32 k=16"),
        ("gemm 64 32 1K", "64", "gemm m=64 n=32 k=1K"),
        ("gemm transA=t m=1 n=1 k=1", "transA=t", "gemm trans_a=t m=1 n=1 k=1"),
        ("gemm --precision half --quick", "--precision", "gemm precision=half --quick"),
        ("gemm --dtype fp16", "--dtype", "gemm precision=fp16"),
        ("gemm --training --half", "--training", "gemm training half"),
        ("gemm m=1 n=1 k=1 float,half", "float,half", "gemm m=1 n=1 k=1 precision=float,half"),
        ("gemm --seed 3 M=1 n=1 k=1", "M=1", "gemm --seed 3 m=1 n=1 k=1"),
        ("rnn lstm hidden=8 batch=2 timesteps=3", "lstm",
         "rnn cell=lstm hidden=8 batch=2 timesteps=3"),
        ("rnn cell=gru hidden_size=8 batch_size=2 seq_len=3", "hidden_size=8",
         "rnn cell=gru hidden=8 batch=2 timesteps=3"),
        ("conv w=7 h=7 c=1 n=1 k=1 s=3 r=3 pad=1", "pad=1",
         "conv w=7 h=7 c=1 n=1 k=1 s=3 r=3 pad_w=1 pad_h=1"),
        ("all_reduce 1M", "1M", "all_reduce elements=1M"),
        ("memory copy", "copy", "memory kind=copy"),
        ("all PHASE=fwd", "PHASE=fwd", "all phase=fwd"),
        ("gemm m=64 n=64 k=64 cache=cold", "cache=cold", "gemm m=64 n=64 k=64 --cache cold"),
        ("gemm samples=5 time_limit=2 half", "samples=5",
         "gemm --samples 5 --time-limit 2 half"),
        ("gemm set=inference output=x.jsonl", "set=inference", "gemm inference --output x.jsonl"),
        ("gemm m 64 n 16,32 k 64 precision FP16", "m",
         "gemm m=64 n=16,32 k=64 precision=FP16"),
        ("gemm trans_a T m=1 n=1 k=1", "trans_a", "gemm trans_a=T m=1 n=1 k=1"),
        ("gemm '[64, 32, 16]'", "[64, 32, 16]", "gemm m=64 n=32 k=16"),
        ("gemm [64, 32, 16]", "[64,", "gemm m=64 n=32 k=16"),
    ],
)  # fmt: skip
def test_nearly_right(
    capsys: pytest.CaptureFixture[str], line: str, wrong: str, right: str
) -> None:
    said = error_message(capsys, *shlex.split(line))
    assert said == f"{wrong!r} is not understood; write deepbench {right}"
    op, *words = shlex.split(right)
    assert suggest_command(op, words, OPTIONS) is None
    parse_problem_arguments(op, parse_arguments(words, OPTIONS).words)


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("gemm m=64 n=64", "gemm needs k=; for example: gemm m=1760 n=128 k=1760 trans_a=n trans_b="
         "n precision=float"),
        ("gemm m= n=64 k=64", "'m=' has an empty value; write m=VALUE or m=A,B"),
        ("gemm m=foo=64 n=1 k=1", "m=foo=64 is not an integer"),
        ("rnn lstm", "cell: the problems of training/rnn set cell themselves; omit it"),
        ("gemm fp16,bf16", "precision=half,bfloat16: a set takes one precision at a time"),
        ("gemm m n k", "'m' is neither a set, a precision nor KEY=VALUE (did you mean 'm='?); "
         "'deepbench gemm --help' lists them"),
        ("gemm quick=yes", "gemm has no attribute 'quick'; it has m n k trans_a trans_b precision "
         "b_type batch epilogue scaling"),
        ("all M=64", "'all' runs sets, not one problem; name the operation of M"),
        ("sparse m=8 n=8 k=8 sparsity=95",
         "sparsity=95: must be at most 0.9999999997671694; 95 % is sparsity=0.95"),
        ("gemm --device cuda:1", "--device 'cuda:1': must be a number, from 0; --backend selects "
         "the kind of device: --backend cuda --device 1"),
        ("gemm --device gpu", "--device 'gpu': must be a number, from 0; --backend selects the "
         "kind of device: --backend cuda --device 0"),
        ("gemm --device x:1", "--device 'x:1': must be a number, from 0; --backend selects the "
         "kind of device: --backend NAME --device 1"),
        ("gemm --device one", "--device 'one': must be a number, from 0; --backend selects the "
         "kind of device: --backend NAME --device 0"),
        ("gemm --device 0,1", "--device takes one device; use --devices 0,1 for several"),
        ("gemm -output x.jsonl", "there is no option '-output' here (did you mean '--output'?); "
         "--help lists the options"),
        ("gemm m=64 n=64 k=64 =", "'=' has no attribute before '='"),
        ("show .", "'.': is a folder; name a result file in it"),
        ("--quick gemm half", "an operation or a command comes first, not '--quick' (did you mean "
         "'deepbench gemm --quick half'?)"),
        ("--fast", "an operation or a command comes first, not '--fast'; see --help"),
        ("gemm --backend CPU", "--backend 'CPU': there is no such backend; write --backend cpu"),
        ("gemm --workspace lots", "--workspace: workspace=lots is not an integer, as in 33554432, "
         "32M or 32MiB"),
        ("gemm --workspace 32MB", "'32MB': units are powers of 2; write 32M or 32MiB, which is 32 "
         "x 1048576"),
        ("gemm --cpu", "there is no option '--cpu' here (did you mean '--backend cpu'?); --help "
         "lists the options"),
        ("gemm --csv", "there is no option '--csv' here (did you mean '--format csv'?); --help "
         "lists the options"),
        ("gemm --iterations 9", "there is no option '--iterations' here (did you mean '--samples "
         "N'?); --help lists the options"),
        ("gemm --thread 2", "there is no option '--thread' here (did you mean '--threads'?); "
         "--help lists the options"),
        ("gemm --verbose", "there is no option '--verbose' here; --help lists the options"),
        ("env --html", "there is no option '--html' here; --help lists the options"),
        ("gemm --format CSV", "--format 'CSV': must be one of table legacy json csv markdown (did "
         "you mean 'csv'?)"),
        ("gemm --format xlsx", "--format 'xlsx': must be one of table legacy json csv markdown; "
         "'deepbench report FILE -o NAME.xlsx' makes such a file"),
        ("compare a b -o x.html",
         "there is no option '-o' here: redirect the output with '> FILE'"),
        ("run gemm m=64 n=64 k=64", "'gemm' is an operation, and run takes files of problems; "
         "write deepbench gemm m=64 n=64 k=64"),
        ("list libraries", "'libraries' is neither a set, nor an operation with sets, nor a "
         "precision: 'deepbench env' prints the backends with their devices and libraries"),
        ("list resnet50",
         "'resnet50' is a model: 'deepbench workload resnet50 --list' prints its calls"),
        ("list half fp16", "'fp16' is superfluous: give one operation, one set and one precision"),
        ("help gemm conv", "help takes one word: deepbench help gemm"),
        ("--help gemm conv", "--help takes one word: deepbench --help gemm"),
        ("--version foo", "--version takes no words: leave out 'foo'"),
        ("version --help", "version takes no words: leave out '--help'"),
        ("gemm m=1 n=1 k=1 -o -",
         "--output '-': '-' is not a file; rows go to standard output with --format json"),
        ("report a.jsonl -o -",
         "--output '-': '-' is not a file; without --output, markdown is printed"),
        ("show a.jsonl --thin 2 --output=-",
         "--output '-': '-' is not a file; without --output, rows are printed"),
        ("import a.log -o -", "--output '-': '-' is not a file; name one"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_said_with_the_cure(
    capsys: pytest.CaptureFixture[str], line: str, said: str
) -> None:
    assert error_message(capsys, *shlex.split(line)) == said


@pytest.mark.parametrize(
    ("line", "meant"),
    [
        ("training gemm", "deepbench gemm training"),
        ("fp16 gemm --quick", "deepbench gemm fp16 --quick"),
        ("benchmark gemm m=1", "deepbench gemm m=1"),
        ("GEMM", "gemm"),
        ("m=64 n=64 k=64", "deepbench gemm m=64 n=64 k=64"),
        ("hidden=8 batch=1", "deepbench rnn hidden=8 batch=1"),
        ("mine.jsonl --format csv", "deepbench show mine.jsonl --format csv"),
        ("mine.txt", "deepbench run mine.txt"),
        ("step.json.gz", "deepbench import step.json.gz"),
        ("matmul", "gemm"),
        ("lstm", "rnn cell=lstm"),
        ("diff a b", "compare"),
    ],
)
def test_first_words_of_others(capsys: pytest.CaptureFixture[str], line: str, meant: str) -> None:
    first, *rest = line.split()
    said = error_message(capsys, first, *rest)
    assert said.startswith(
        f"there is no operation or command {first!r} (did you mean {meant!r}?); there are gemm "
    )


# ---- what the name of an output promises ------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "then"),
    [
        ("x.csv", "-o x.jsonl && deepbench show x.jsonl --format csv > x.csv"),
        ("x.JSON", "-o x.jsonl && deepbench show x.jsonl --format json > x.JSON"),
        ("x.md", "-o x.jsonl && deepbench show x.jsonl --format markdown > x.md"),
        ("x.txt", "-o x.jsonl && deepbench show x.jsonl > x.txt"),
        ("x.html", "-o x.jsonl && deepbench report x.jsonl -o x.html"),
        ("x.xlsx", "-o x.jsonl && deepbench report x.jsonl -o x.xlsx"),
        ("x.png", "-o x.jsonl && deepbench report x.jsonl --chart roofline -o x.png"),
        ("x.svg", "-o x.jsonl && deepbench report x.jsonl --chart roofline -o x.svg"),
        ("x.pdf", "-o x.jsonl && deepbench report x.jsonl --chart roofline -o x.pdf"),
        ("x.jsonl.gz", "-o x.jsonl && gzip x.jsonl"),
        ("x.csv.gz", "-o x.jsonl && gzip x.jsonl"),
        ("x.parquet", "-o x.jsonl"),
        ("my x.csv", "-o 'my x.jsonl' && deepbench show 'my x.jsonl' --format csv > 'my x.csv'"),
    ],
)
def test_result_files_are_json_lines(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    name: str,
    then: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    right = f"-o {name!r}: rows are kept as JSON lines; write deepbench"
    assert error_message(capsys, "gemm", "m=1", "-o", name) == f"{right} gemm m=1 {then}"
    assert error_message(capsys, "run", "mine", "-o", name) == f"{right} run mine {then}"
    assert error_message(capsys, "import", "a.xlsx", "-o", name) == f"{right} import a.xlsx {then}"
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("name", ["x.jsonl", "x", "h200.2026-11-23", "x.log", "/dev/null", ".csv"])
def test_other_names_of_result_files(name: str) -> None:
    require_result_name(name, ["gemm", "-o", name])


def test_an_older_file_is_gone_on_with(tmp_path: Path) -> None:
    path = tmp_path / "x.json"
    with pytest.raises(UsageError):
        require_result_name(str(path), ["gemm"], resumes=True)
    path.touch()
    require_result_name(str(path), ["gemm"], resumes=True)


@pytest.fixture
def my_result_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.chdir(tmp_path)
    lines = [make_context(rows=1), make_gemm(0)]
    Path("mine.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    return "mine.jsonl"


def test_a_result_file_needs_no_import(
    capsys: pytest.CaptureFixture[str], my_result_file: str
) -> None:
    said = (
        "'mine.jsonl' is a result file already: deepbench show mine.jsonl, deepbench report "
        "mine.jsonl -o mine.html, or deepbench compare mine.jsonl OTHER"
    )
    assert error_message(capsys, "import", my_result_file) == said
    assert error_message(capsys, "import", my_result_file, "-o", "b.jsonl") == said


def test_a_workbook_is_imported_first(
    capsys: pytest.CaptureFixture[str], my_result_file: str
) -> None:
    pytest.importorskip("openpyxl", reason="the extra 'xlsx' is not installed")
    assert main(["report", my_result_file, "-o", "mine.xlsx"]) == 0
    capsys.readouterr()
    assert error_message(capsys, "show", "mine.xlsx") == (
        "'mine.xlsx' is a workbook; deepbench import mine.xlsx -o mine.jsonl makes a result file "
        "of it"
    )


def test_show_prints(capsys: pytest.CaptureFixture[str], my_result_file: str) -> None:
    assert error_message(capsys, "show", my_result_file, "-o", "x.csv") == (
        "show prints, and -o is for --thin; write deepbench show mine.jsonl --format csv > x.csv"
    )
    assert error_message(capsys, "show", my_result_file, "-o", "x.html") == (
        "show prints, and -o is for --thin; write deepbench report mine.jsonl -o x.html"
    )
    assert error_message(capsys, "show", my_result_file, "-o", "x.csv", "--thin", "3") == (
        "-o 'x.csv': rows are kept as JSON lines; write deepbench show mine.jsonl --thin 3 -o "
        "x.jsonl && deepbench show x.jsonl --format csv > x.csv"
    )


# ---- what is taken ----------------------------------------------------------------------------


@pytest.mark.parametrize("text", ["32M", "32MiB", "32m", "33554432"])
def test_workspace_in_binary_units(text: str) -> None:
    assert (
        run_options(parse_arguments(["--workspace", text], OPTIONS)).rows["workspace"] == "33554432"
    )


@pytest.mark.parametrize(("words", "beginning"), [
    (["help", "gemm"], "usage: deepbench gemm "),
    (["gemm", "help"], "usage: deepbench gemm "),
    (["help", "sparse"], "usage: deepbench sparse_gemm "),
    (["help", "report"], "usage: deepbench report "),
    (["help"], "usage: deepbench OP "),
    (["help", "help"], "usage: deepbench OP "),
    (["version"], "deepbench "),
])  # fmt: skip
def test_help(capsys: pytest.CaptureFixture[str], words: list[str], beginning: str) -> None:
    assert main(words) == 0
    assert capsys.readouterr().out.startswith(beginning)


def test_help_is_the_same_both_ways(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["help", "gemm"]) == main(["gemm", "--help"]) == 0
    out = capsys.readouterr().out
    assert out[: len(out) // 2] == out[len(out) // 2 :]


@pytest.mark.parametrize(
    ("op", "said"),
    [
        ("gemm", "  m          rows of op(A) and C; 1 or more; required\n"),
        ("gemm", "one of n t; default n; column a_t\n"),
        ("gemm", "also fp32 f32 float32 single for float, fp16 f16 float16 for half, bf16 for"),
        ("gemm", "fp8 float8 e4m3 e4m3fn float8_e4m3fn for fp8_e4m3, "),
        ("gemm", "6 problems: deepbench gemm m=1760,3520 n=128 k=1760..7040 trans_a=n"),
        ("conv", "  pad_w       zeros added left and right; 0 to 10^5; default 0\n"),
        (
            "sparse_gemm",
            "  sparsity   fraction of A that is zero; from 0 to less than 1, as in 0.95",
        ),
        ("memory", "3 problems: deepbench memory kind=copy bytes=256M..1G"),
        ("all_reduce", "3 problems: deepbench all_reduce elements=16M..64M precision=float"),
    ],
)
def test_help_has_ranges_and_sweeps(op: str, said: str) -> None:
    text = help_text(op)
    assert said in text or said in " ".join(text.split())  # wrapped within 80 columns


def test_the_help_of_all_names_the_sets() -> None:
    text = " ".join(help_text("all").split())
    assert "sets: training inference-server" in text
    assert "ai-matrix-layers; default: training KEY=VALUE sets an attribute" in text


def test_help_says_that_backends_choose_the_precision() -> None:
    text = " ".join(help_text("gemm").split())
    assert "default the backend's for this operation and set, else float" in text
    assert "default n; column a_t" in text


@pytest.mark.parametrize("op", [known.name for known in operations()])
def test_the_example_of_a_sweep_runs(op: str) -> None:
    from deepbench._core import Problem

    example, count = sweep_example(op)
    lines = problem_lines(op, parse_problem_arguments(op, example.split()))
    problems = {str(Problem.parse(line)) for line in lines}
    assert len(problems) == count > 1
