"""From a suite's lines to problems: defaults, phases, and who is blamed for what is wrong."""

from __future__ import annotations

import pytest

from deepbench import suites
from deepbench.suites import Suite, SuiteError

KEYS = {"gemm": ["m", "k", "precision"], "conv": ["n", "phase", "precision"]}


def suite_of(text: str) -> Suite:
    return suites.from_bytes(text.encode(), "my.txt", "my")


def parse(line: str, defaults: str) -> str:
    """As the native parser treats defaults: the line wins, unknown keys are ignored."""
    op, *words = line.split()
    if "m=0" in words:
        raise ValueError("m=0: must be at least 1;\nsee the help")
    given = dict(word.split("=") for word in [*defaults.split(), *words])
    return " ".join([op, *(f"{key}={given[key]}" for key in KEYS[op] if key in given)])


def texts(suite: Suite, **chosen: str) -> list[str]:
    return [text for _, text in suites.problems(suite, parse, chosen)]


def test_a_line_wins_over_the_command_line_and_that_over_headers() -> None:
    suite = suite_of("# default: precision=half k=3\ngemm m=1\ngemm m=1 k=4 precision=int8")
    assert texts(suite) == ["gemm m=1 k=3 precision=half", "gemm m=1 k=4 precision=int8"]
    assert texts(suite, precision="float") == [
        "gemm m=1 k=3 precision=float",
        "gemm m=1 k=4 precision=int8",
    ]


def test_phases_of_a_line_follow_one_another() -> None:
    suite = suite_of("# phases: fwd bwd\nconv n=1\nconv n=1 phase=bwd\ngemm m=1\ngemm m=1")
    conv, backward, gemm, again = suite.entries
    assert suites.problems(suite, parse) == [
        (conv, "conv n=1 phase=fwd"),
        (conv, "conv n=1 phase=bwd"),
        (backward, "conv n=1 phase=bwd"),
        (gemm, "gemm m=1"),
        (again, "gemm m=1"),
    ]
    assert texts(suite, phase="fwd")[:2] == ["conv n=1 phase=fwd", "conv n=1 phase=bwd"]


def test_the_parsers_error_gets_file_and_line() -> None:
    with pytest.raises(SuiteError) as caught:
        suites.problems(suite_of("#\n\ngemm m=1\ngemm m=0\n"), parse)
    assert str(caught.value) == "my.txt:4: m=0: must be at least 1; see the help"


def test_a_default_is_blamed_for_its_own_value() -> None:
    def parse_or_refuse(line: str, defaults: str) -> str:
        if "precision=nonsense" in f"{line} {defaults}":
            raise ValueError("precision=nonsense: must be one of float half")
        return line

    header, own = "# default: precision=nonsense\n", "gemm m=1 precision=nonsense"
    for text, said in (
        (f"{header}gemm m=1", "my.txt:1: '# default:' has precision=nonsense: must be one of"),
        (f"{header}{own}", "my.txt:2: precision=nonsense: must be one of"),
        (own, "my.txt:1: precision=nonsense: must be one of"),
    ):
        with pytest.raises(SuiteError) as caught:
            suites.problems(suite_of(text), parse_or_refuse)
        assert str(caught.value).startswith(said)


def test_a_phase_that_no_line_gives_is_the_headers() -> None:
    def parse_or_refuse(line: str, defaults: str) -> str:
        if "phase=sideways" in f"{line} {defaults}":
            raise ValueError("phase=sideways: must be one of fwd bwd")
        return f"{line} {defaults}"

    header, own = "# phases: fwd sideways\n", "conv w=1 phase=sideways"
    for text, said in (
        (f"\n{header}conv w=1", "my.txt:2: '# phases:' has phase=sideways: must be one of fwd bwd"),
        (f"{header}{own}", "my.txt:2: phase=sideways: must be one of fwd bwd"),
    ):
        with pytest.raises(SuiteError) as caught:
            suites.problems(suite_of(text), parse_or_refuse)
        assert str(caught.value) == said


@pytest.mark.parametrize("value", ["64K", "16,32", "1..64M"])
def test_the_command_lines_numbers_are_not_a_files(value: str) -> None:
    def refuse(line: str, defaults: str) -> str:
        raise ValueError(f"m={value} is not an integer")

    with pytest.raises(SuiteError, match=r"my.txt:1: .* is not an integer; in a file each problem"):
        suites.problems(suite_of(f"gemm m={value}"), refuse)


def test_a_misspelt_default_is_found() -> None:
    suite = suite_of("# default: precison=half\ngemm m=1")
    assert suites.problems(suite, parse)
    with pytest.raises(SuiteError) as caught:
        suites.problems(suite, parse, keys=["precision", "m"])
    said = "my.txt:1: '# default:' names precison, which no operation has;"
    assert str(caught.value).startswith(said)
