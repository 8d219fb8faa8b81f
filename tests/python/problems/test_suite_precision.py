"""Suites in a precision of the command line that not every operation has."""

from __future__ import annotations

from pathlib import Path

import pytest

from command_line import deepbench
from deepbench import _core, suites
from deepbench.errors import UsageError
from deepbench.problems.selection import SuiteSource, select

GEMM, SOFTMAX = "gemm m=8 n=4 k=2", "softmax rows=2 columns=3"


def source_of(precision: str, *lines: str) -> SuiteSource:
    suite = suites.from_bytes("\n".join(lines).encode(), "my.txt", "my")
    return SuiteSource([suite], {"precision": precision})


def precisions_of(source: SuiteSource) -> list[tuple[str, object]]:
    return [
        (one.problem.op, one.problem.attributes["precision"])
        for one in source.problems(_core.Problem.parse, None)
    ]


def test_problems_without_the_precision_are_left_out_and_named() -> None:
    pooled = "activation kind=relu elements=9"
    source = source_of("int8", SOFTMAX, GEMM, pooled, f"{SOFTMAX} precision=half")
    assert precisions_of(source) == [("gemm", "int8"), ("softmax", "half")]
    assert source.remarks == [
        "softmax and activation are left out, because they have no precision int8"
    ]
    assert source_of("half", SOFTMAX, GEMM).remarks == []


def test_what_is_no_product_computes_in_float_where_products_have_tf32() -> None:
    source = source_of("tf32", SOFTMAX, GEMM)
    assert precisions_of(source) == [("softmax", "float"), ("gemm", "tf32")]
    assert source.remarks == []


def test_a_suite_of_which_nothing_remains_is_an_error() -> None:
    with pytest.raises(UsageError, match=r"my.txt:1: precision=int8: must be one of float half"):
        precisions_of(source_of("int8", SOFTMAX))


def test_an_operation_of_default_problems_has_sets_too() -> None:
    assert select("attention", ["llm"], False).title == "attention llm"
    assert select("attention", [], False).title == "attention sweep"
    assert not select("attention", ["heads=2", "seq_q=8", "seq_kv=8", "dim=64"], False).many
    with pytest.raises(UsageError, match=r"attention has no set training; it has mlperf-v0\.5"):
        select("attention", ["training"], False)


def test_a_run_says_what_it_leaves_out(tmp_path: Path) -> None:
    (tmp_path / "my.txt").write_text(f"{GEMM}\n{SOFTMAX}\n")
    words = ("run", str(tmp_path / "my.txt"), "int8", "--once", "--format", "csv")
    done = deepbench(*words)
    assert done.stderr.count("softmax is left out, because it has no precision int8") == 1
    assert len(done.stdout.splitlines()) == 2
    listed = deepbench("list", *words[1:3])
    assert "softmax is left out" in listed.stdout
