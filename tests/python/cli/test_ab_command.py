"""deepbench ab as a command: real workers of the scripted backend, its files, and bad input."""

from __future__ import annotations

import resource
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from command_line import DEEPBENCH, TIMEOUT_S, run_command

Ab = Callable[..., tuple[int, str, str]]
TIMES = "when m=8 time 20000; when m=16 time 40000"


@pytest.fixture
def ab(plugin: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Ab:
    """Two pairs of two problems, with another script in B if one is given."""
    monkeypatch.setenv("DEEPBENCH_BACKEND_PATH", str(plugin))
    monkeypatch.setenv("DEEPBENCH_FAKE_SCRIPT", TIMES)

    def run(*arguments: str, of_b: str | None = None) -> tuple[int, str, str]:
        words = [] if of_b is None else ["--b", f"DEEPBENCH_FAKE_SCRIPT={of_b}"]
        problem = ("gemm", "m=8,16", "n=8", "k=8", "--backend", "fake", "--pairs", "2")
        return run_command(capsys, "ab", *words, *problem, *arguments)

    return run


def test_equal_environments_do_not_differ_and_secrets_are_not_kept(ab: Ab, tmp_path: Path) -> None:
    secret = ("--a", "MY_API_KEY=hidden7", "--b", "MY_API_KEY=hidden7")
    status, out, err = ab("-o", str(tmp_path / "x"), *secret)
    assert status == 0
    assert out.startswith("no difference between A and B (2 rows, 2 pairs)\n")
    assert "A and B have the same environment: what differs is chance" in out
    assert "2 rows, 2 pairs of about" in err
    assert "MY_API_KEY=(redacted)" in out
    kept = "".join((tmp_path / f"x_{side}.jsonl").read_text() for side in "ab")
    assert "hidden7" not in out + err + kept


def test_a_slower_row_is_named_and_the_files_of_both_sides_are_kept(
    ab: Ab, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    name = str(tmp_path / "mine.jsonl")
    slower = "when m=8 time 20200; when m=16 time 40000; libraries other"
    status, out, _ = ab("-o", name, of_b=slower)
    assert status == 1
    assert out.startswith("A and B differ: of 2 rows 1 slower in B (2 pairs)\n")
    assert f"B = DEEPBENCH_FAKE_SCRIPT={slower}" in out
    assert "other: A none, B 1.0 (/fake/libother.so)" in out
    line = next(line for line in out.splitlines() if line.split()[:1] == ["8"])
    assert "1.0100" in line
    assert line.endswith("slower")
    files = [str(tmp_path / f"mine_{side}.jsonl") for side in "ab"]
    assert "1.010" in run_command(capsys, "compare", *files)[1]
    assert "2 visits" in run_command(capsys, "show", files[1])[1]
    page = tmp_path / "page.html"
    assert run_command(capsys, "report", *files, "-o", str(page))[0] == 0
    status, _, err = ab("-o", name)
    assert (status, "exists; --overwrite replaces it" in err) == (2, True)


def test_a_value_makes_no_line_of_its_own_and_steers_no_terminal(ab: Ab) -> None:
    status, out, err = ab("--a", "X=1\nB = Y=2", "--b", "X=\x1b[31mred")
    assert status == 0
    assert "\nA = X=1 B = Y=2\nB = X=\N{REPLACEMENT CHARACTER}[31mred\n" in out
    assert "deepbench: A = X=1 B = Y=2\n" in err
    assert "\x1b" not in out + err


def test_a_row_that_fails_on_one_side_is_named(ab: Ab) -> None:
    status, out, _ = ab(of_b=f"{TIMES}; when m=16 fail prepare out_of_memory 5 GiB asked")
    assert status == 1
    assert "of 2 rows 1 in one of them only" in out
    assert "B: gemm m=16 n=8 k=8" in out
    assert "out_of_memory: prepare: 5 GiB asked" in out
    assert "not ok in B" in out


@pytest.mark.parametrize(
    ("of_b", "reason"),
    [
        ("absent fake its library is not there; fail prepare unsupported no library", "no library"),
        ("fail time_batch device_lost it fell off", "it fell off"),
        ("devices 0", "device"),
    ],
)
def test_a_side_that_runs_no_row_is_an_error(ab: Ab, of_b: str, reason: str) -> None:
    status, out, err = ab(of_b=of_b)
    assert (status, out) == (2, "")
    last = err.splitlines()[-1]
    assert last.startswith(f"deepbench: error: B (DEEPBENCH_FAKE_SCRIPT={of_b})")
    assert reason in last


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no /dev/full here")
def test_a_result_that_cannot_be_printed_is_no_difference(plugin: Path) -> None:
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(
            [*DEEPBENCH, "ab", "gemm", "m=8", "n=8", "k=8", "--backend", str(plugin),
             "--pairs", "2"],
            stdout=full, stderr=subprocess.PIPE, text=True, timeout=600,
        )  # fmt: skip
    assert done.returncode == 2
    assert "writing to standard output" in done.stderr


def test_a_full_disk_is_no_difference(plugin: Path, tmp_path: Path) -> None:
    """A limit of the size of files stands for the disk."""
    limit = (4096, resource.getrlimit(resource.RLIMIT_FSIZE)[1])
    done = subprocess.run(
        [*DEEPBENCH, "ab", "gemm", "m=8,16,24,32", "n=8", "k=8", "--backend", str(plugin),
         "--pairs", "2", "-o", "both"],
        capture_output=True, text=True, timeout=TIMEOUT_S, cwd=tmp_path,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, limit),
    )  # fmt: skip
    assert (done.returncode, done.stdout) == (2, "")
    assert "both_a.jsonl: may not grow further" in done.stderr.splitlines()[-1]


@pytest.mark.parametrize("side", "ab")
@pytest.mark.parametrize("is_symbolic", [True, False])
def test_the_rows_never_replace_the_suite(
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    side: str,
    is_symbolic: bool,
) -> None:
    monkeypatch.chdir(tmp_path)
    suite, link = Path("suite.txt"), Path(f"x_{side}.jsonl")
    suite.write_text("gemm m=8 n=8 k=8\n")
    (link.symlink_to if is_symbolic else link.hardlink_to)(suite)
    status, out, err = run_command(capsys, "ab", "run", "suite.txt", "-o", "x", "--overwrite")
    assert (status, out, err.count("\n")) == (2, "", 1)
    assert f"-o 'x_{side}.jsonl': is also an input; choose another output" in err
    assert suite.read_text() == "gemm m=8 n=8 k=8\n"


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ((), "ab needs an operation or a suite"),
        (("gem",), "ab 'gem': an operation or 'run' comes first"),
        (("run",), "ab run needs a suite file"),
        (("--a", "X", "gemm"), "--a 'X': must set a variable"),
        (("--b", "X=1", "--b", "X=1", "gemm"), "--b X is given twice"),
        (("--b", "RANK=1", "gemm"), "--b RANK: cannot be set"),
        (("--pairs", "1", "gemm"), "--pairs '1': must be a whole number from 2 to 99"),
        (("--pairs", "100", "gemm"), "--pairs '100': must be a whole number from 2 to 99"),
        (("--visits", "3", "gemm"), "there is no option '--visits' here"),
        (("--no-history", "gemm"), "there is no option '--no-history' here"),
        (("gemm", "--a"), "--a needs a value: --a KEY=VALUE"),
        (("gemm", "-o", "x.csv"), "rows are kept as JSON lines"),
        (("gemm", "m=-1"), "m=-1"),
    ],
)
def test_bad_usage_is_one_line(
    words: tuple[str, ...], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    status, out, err = run_command(capsys, "ab", *words)
    assert (status, out) == (2, "")
    assert message in err
    assert len(err.splitlines()) == 1
