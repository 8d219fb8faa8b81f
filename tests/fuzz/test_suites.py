"""Damaged suites are read or refused in one line, and what is read can be written and read
again."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import strategies as st

from byte_mutations import mutated_bytes, shuffled_lines
from campaign import Campaign, corpus, require_printable_line
from deepbench import _core, suites
from deepbench.problems.suite_counts import MergedProblem, merged_by_problem
from deepbench.suites import Entry, Suite, SuiteError
from source_tree import ROOT

LINES_OF_A_SEED = 8
PARAMETERS = {
    operation.name: [parameter.name for parameter in operation.parameters]
    for operation in _core.operations()
}
METADATA = ("application", "count")
KEYS = sorted({name for names in PARAMETERS.values() for name in names})
NUMBERS = ("0", "1", "-1", "+1", "007", "1.5", "1e9", "1e400", "nan", "inf", "0x10", "2147483648",
           "9223372036854775807", "9223372036854775808", "18446744073709551615", "1" * 30, "1,2",
           "1..64M", "\u0661", "")  # fmt: skip
PIECES = tuple(
    text.encode()
    for text in (
        *PARAMETERS, *(f" {key}=" for key in KEYS), *NUMBERS, ' application="', " count=", '"',
        "\\", "'", "=",
        "# default: ", "# phases: fwd bwd_data\n", "# constant: a\n", "# defaults:", "#", "\n",
        "\r\n", "\t", "\u00a0", "\u2028", "\u202e", "\ufeff", "\x00", "\x1b[2J", "{", ";",
        " " * 4100, " position=3", " ; cache=cold",
    )
)  # fmt: skip


def seeds() -> list[bytes]:
    found = []
    for path in sorted((ROOT / "python/deepbench/suites").glob("*/*.txt")):
        lines = path.read_bytes().splitlines(keepends=True)
        found.append(b"".join([*lines[:LINES_OF_A_SEED], *lines[-2:]]))
    return [
        *found,
        b'gemm m=1 n=2 k=3 application="a \\"b\\" c" precision=half\n',
        b'gemm m=1 n=2 k=3 count=32 application="a"\ngemm m=1 n=2 k=3 count=1000000000000000\n',
    ]


def lines_of_words() -> st.SearchStrategy[bytes]:
    """Lines of an operation with values of its keys, right and wrong ones."""
    values = st.sampled_from(NUMBERS) | st.integers(-(2**65), 2**65).map(str)
    values |= st.sampled_from(["half", "float", "n", "t", "yes", "fwd", "copy", "lstm"])
    return st.lists(st.sampled_from(sorted(PARAMETERS)).flatmap(
        lambda op: st.lists(st.tuples(st.sampled_from([*PARAMETERS[op], *METADATA]), values))
        .map(lambda pairs: " ".join([op, *(f"{key}={value}" for key, value in pairs)]))
    ), max_size=5).map(lambda lines: "\n".join(lines).encode())  # fmt: skip


def check_suite(data: bytes) -> None:
    try:
        suite = suites.from_bytes(data, "mine.txt", "mine")
    except SuiteError as error:
        require_printable_line(error)
        return
    for entry in suite.entries:
        assert f"{entry.text} {entry.application}".replace("\t", " ").isprintable()
    again = suites.from_bytes(as_text(suite).encode(), "mine.txt", "mine")
    assert again.defaults == suite.defaults
    assert (again.phases, again.constant) == (suite.phases, suite.constant)
    assert words_of(again) == words_of(suite)
    check_problems(suite)


def check_problems(suite: Suite) -> None:
    try:
        problems = suites.problems(suite, _core.Problem.parse, keys=KEYS)
        merged = merged_by_problem(problems)
    except SuiteError as error:
        require_printable_line(error)
        return
    check_merged(problems, merged)
    for _, problem in problems:
        again = _core.Problem.parse(str(problem))
        assert again == problem
        assert str(again) == str(problem)
        assert (again.flops, again.bytes) == (problem.flops, problem.bytes)
        assert str(problem).isprintable()


def check_merged(
    problems: list[tuple[Entry, _core.Problem]], merged: list[MergedProblem[_core.Problem]]
) -> None:
    """No call is lost or counted twice, and a suite without counts keeps its duplicates."""
    if any(entry.count is not None for entry, _ in problems):
        counts = [one.counts.count for one in merged if one.counts is not None]
        assert sum(counts) == sum(entry.count or 1 for entry, _ in problems)
        assert len(counts) == len({str(problem) for _, problem in problems})
    else:
        assert [one.problem for one in merged] == [problem for _, problem in problems]


def words_of(suite: Suite) -> list[tuple[str, str | None, int | None]]:
    return [(entry.text, entry.application, entry.count) for entry in suite.entries]


def as_text(suite: Suite) -> str:
    """The suite as a file."""
    lines = [f"# default: {key}={value}" for key, value in suite.defaults.items()]
    lines += [f"# {name}: {' '.join(words)}" for name, words in
              (("phases", suite.phases), ("constant", suite.constant)) if words]  # fmt: skip
    for entry in suite.entries:
        application = (entry.application or "").replace("\\", "\\\\").replace('"', '\\"')
        count = "" if entry.count is None else f" count={entry.count}"
        text = entry.text + count
        lines.append(f'{text} application="{application}"' if application else text)
    return "\n".join(lines)


def test_damaged_bytes(campaign: Campaign) -> None:
    known = seeds()
    inputs = mutated_bytes(known, PIECES) | shuffled_lines(known, PIECES) | lines_of_words()
    campaign.run(check_suite, inputs, count=500)


@pytest.mark.parametrize("path", corpus("suites"))
def test_corpus(path: Path) -> None:
    check_suite(path.read_bytes())
