"""The expansion of a suite's lines to problems: defaults, phases, and the line that an error
names."""

from __future__ import annotations

import pytest

from deepbench import suites
from deepbench.suites import Suite, SuiteError

KEYS = {"gemm": ["m", "k", "precision"], "conv": ["n", "phase", "precision"]}


def suite_of(text: str) -> Suite:
    return suites.from_bytes(text.encode(), "my.txt", "my")


def parse_like_core(line: str, defaults: str) -> str:
    """Treats defaults as the native parser does: the line takes precedence, and unknown keys are
    ignored."""
    op, *words = line.split()
    if "m=0" in words:
        raise ValueError("m=0: must be at least 1;\nsee the help")
    given = dict(word.split("=") for word in [*defaults.split(), *words])
    return " ".join([op, *(f"{key}={given[key]}" for key in KEYS[op] if key in given)])


def problem_texts(suite: Suite, **chosen: str) -> list[str]:
    return [text for _, text in suites.problems(suite, parse_like_core, chosen)]


def test_a_line_wins_over_the_command_line_and_that_over_headers() -> None:
    suite = suite_of("# default: precision=half k=3\ngemm m=1\ngemm m=1 k=4 precision=int8")
    assert problem_texts(suite) == ["gemm m=1 k=3 precision=half", "gemm m=1 k=4 precision=int8"]
    assert problem_texts(suite, precision="float") == [
        "gemm m=1 k=3 precision=float",
        "gemm m=1 k=4 precision=int8",
    ]


def test_phases_of_a_line_follow_one_another() -> None:
    suite = suite_of("# phases: fwd bwd\nconv n=1\nconv n=1 phase=bwd\ngemm m=1\ngemm m=1")
    conv, backward, gemm, again = suite.entries
    assert suites.problems(suite, parse_like_core) == [
        (conv, "conv n=1 phase=fwd"),
        (conv, "conv n=1 phase=bwd"),
        (backward, "conv n=1 phase=bwd"),
        (gemm, "gemm m=1"),
        (again, "gemm m=1"),
    ]
    assert problem_texts(suite, phase="fwd")[:2] == ["conv n=1 phase=fwd", "conv n=1 phase=bwd"]


def test_the_parsers_error_gets_file_and_line() -> None:
    with pytest.raises(SuiteError) as caught:
        suites.problems(suite_of("#\n\ngemm m=1\ngemm m=0\n"), parse_like_core)
    assert str(caught.value) == "my.txt:4: m=0: must be at least 1; see the help"


def expansion_error(text: str) -> str:
    """The message of the error in this suite, which is one line."""
    core = pytest.importorskip("deepbench._core", reason="the native module is not built")
    with pytest.raises(SuiteError) as caught:
        suites.problems(suite_of(text), core.Problem.parse)
    return str(caught.value)


CONV = "conv w=8 h=8 c=4 n=1 k=4 s=3 r=3"


IN_HEADER = {
    "#\n# default: precision=no\ngemm m=1 n=1 k=1": "my.txt:2: '# default:', for gemm in line 3: "
    "precision=no: must be one of",
    f"#\n# phases: fwd sideways\n{CONV}": "my.txt:2: '# phases:', for conv in line 3: "
    "phase=sideways: must be one of fwd bwd_data bwd_filter",
    f"# phases: fwd bwd_filter\n{CONV}\nrnn cell=gru hidden=8 batch=1 timesteps=2":
    "my.txt:1: '# phases:', for rnn in line 3: phase=bwd_filter: must be one of fwd",
    "# default: m=64K\ngemm n=1 k=1": "my.txt:1: '# default:', for gemm in line 2: "
    "m=64K is not an integer; in a file numbers are written out",
}  # fmt: skip
IN_LINE = {
    "gemm m=1 n=1 k=1 precision=no": "my.txt:1: precision=no: must be one of",
    "# default: precision=no\ngemm m=1 n=1 k=1 precision=nil": "my.txt:2: precision=nil: must be",
    f"# phases: fwd bwd_data\n{CONV} phase=up": "my.txt:2: phase=up: must be one of fwd bwd_data",
    f"# default: groups=2\n{CONV}\n{CONV.replace('c=4', 'c=3')}":
    "my.txt:3: groups=2 does not divide c=3",
    "gemm m=64k n=1 k=1": "my.txt:1: m=64k is not an integer; in a file numbers are written out",
    "gemm m=16,32 n=1 k=1": "my.txt:1: m=16,32 is not an integer; in a file numbers are",
    "gemm m=1..64M n=1 k=1": "my.txt:1: m=1..64M is not an integer; in a file numbers are",
}  # fmt: skip


@pytest.mark.parametrize(("text", "said"), [*IN_HEADER.items(), *IN_LINE.items()])
def test_a_wrong_value_is_told_where_it_stands(text: str, said: str) -> None:
    assert expansion_error(text).startswith(said)


def test_a_misspelled_default_is_found() -> None:
    suite = suite_of("# default: precison=half\ngemm m=1")
    assert suites.problems(suite, parse_like_core)
    with pytest.raises(SuiteError) as caught:
        suites.problems(suite, parse_like_core, keys=["precision", "m"])
    said = "my.txt:1: '# default:' names precison, which no operation has;"
    assert str(caught.value).startswith(said)
