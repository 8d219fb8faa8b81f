"""Lines of a suite that count their calls: lines of one problem become one."""

from __future__ import annotations

from pathlib import Path

import pytest

from deepbench import _core, suites
from deepbench.call_counts import MAX_COUNT, ApplicationCalls, CallCounts, calls_by_application
from deepbench.problems.problem_arguments import parameter_names
from deepbench.problems.selection import select_files
from deepbench.problems.suite_counts import MergedProblem, merged_by_problem
from deepbench.suites import Entry, SuiteError

QKV, OUT = ApplicationCalls("qkv", 32), ApplicationCalls("out", 32)


def merged(text: str) -> list[MergedProblem[_core.Problem]]:
    suite = suites.from_bytes(text.encode(), "my.txt", "my")
    return merged_by_problem(suites.problems(suite, _core.Problem.parse))


def counts(text: str) -> list[CallCounts | None]:
    return [one.counts for one in merged(text)]


def test_a_count_is_no_part_of_the_problem() -> None:
    text = 'gemm count=32 m=1 n=2 application="q k" k=3\ngemm m=1 n=2 k=3\n'
    suite = suites.from_bytes(text.encode(), "my.txt", "my")
    assert suite.entries == (
        Entry("gemm m=1 n=2 k=3", "q k", "my.txt", 1, 32),
        Entry("gemm m=1 n=2 k=3", None, "my.txt", 2, None),
    )


def test_lines_of_one_problem_become_one_with_the_sum() -> None:
    text = """\
gemm m=1 n=2 k=3 count=32 application="qkv"
gemm m=1 n=2 k=4 count=5
gemm k=3 m=1 n=2 trans_a=n count=32 application="out"
gemm m=1 n=2 k=3
gemm m=1 n=2 k=3 count=8 application="qkv"
"""
    assert counts(text) == [
        CallCounts(73, (ApplicationCalls("qkv", 40), OUT)),
        CallCounts(5, ()),
    ]
    first, second = merged(text)
    assert str(first.problem).startswith("gemm m=1 n=2 k=3 ")
    assert (first.place, second.place) == (("my.txt", 1), ("my.txt", 2))
    assert first.application is None


def test_the_only_application_of_a_problem_is_its_application() -> None:
    text = 'gemm m=1 n=2 k=3 count=32 application="qkv"\ngemm m=1 n=2 k=3\n'
    (one,) = merged(text)
    assert (one.application, one.counts) == ("qkv", CallCounts(33, (QKV,)))


def test_headers_are_applied_before_lines_are_merged() -> None:
    text = """\
# default: precision=half
# phases: fwd bwd_data
conv w=4 h=4 c=1 n=1 k=1 s=1 r=1 count=3
conv w=4 h=4 c=1 n=1 k=1 s=1 r=1 precision=float count=5
conv w=4 h=4 c=1 n=1 k=1 s=1 r=1 precision=half phase=fwd count=7
"""
    found = {
        (one.problem.attributes["precision"], one.problem.attributes["phase"]): one.counts
        for one in merged(text)
    }
    assert found == {
        ("half", "fwd"): CallCounts(10),
        ("half", "bwd_data"): CallCounts(3),
        ("float", "fwd"): CallCounts(5),
        ("float", "bwd_data"): CallCounts(5),
    }


def test_a_suite_without_counts_keeps_its_duplicates() -> None:
    text = 'gemm m=1 n=2 k=3 application="a"\ngemm m=1 n=2 k=3\n'
    assert [(one.application, one.counts) for one in merged(text)] == [("a", None), (None, None)]


def test_no_operation_has_an_attribute_of_that_name() -> None:
    """A suite could not give it a value."""
    assert not {"application", "count"} & parameter_names()


def test_the_sets_of_the_original_count_nothing() -> None:
    for set_name, op in suites.available():
        if set_name in suites.ORIGINALS:
            suite = suites.builtin(set_name, op)
            assert all(entry.count is None for entry in suite.entries)


def test_suites_of_one_run_are_not_merged(tmp_path: Path) -> None:
    paths = [tmp_path / "a.txt", tmp_path / "b.txt"]
    paths[0].write_text("gemm m=1 n=2 k=3 count=2\n" * 2)
    paths[1].write_text("gemm m=1 n=2 k=3\n" * 2)
    source = select_files([str(path) for path in paths]).source
    found = [one.counts for one in source.problems(_core.Problem.parse, {})]
    assert found == [CallCounts(4), None, None]


def test_a_sum_that_is_too_large_is_refused_at_its_line() -> None:
    largest = f"gemm m=1 n=2 k=3 count={MAX_COUNT}\n"
    assert counts(largest) == [CallCounts(MAX_COUNT)]
    with pytest.raises(SuiteError) as caught:
        merged(f"# of two lines\n{largest}gemm m=1 n=2 k=4\ngemm m=1 n=2 k=3\n")
    assert str(caught.value) == (
        "my.txt:4: the counts of this problem sum to more than 1,000,000,000,000,000 from line 2 "
        "on; write smaller counts"
    )


def test_calls_by_application() -> None:
    assert calls_by_application("a", None, ()) == [("a", 1)]
    assert calls_by_application(None, 7, ()) == [(None, 7)]
    assert calls_by_application("qkv", 32, (QKV,)) == [("qkv", 32)]
    assert calls_by_application(None, 70, (QKV, OUT)) == [("qkv", 32), ("out", 32), (None, 6)]
