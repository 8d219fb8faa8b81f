"""The product that a problem describes is the one that the program computes: both are evaluated on
the same memory."""

from __future__ import annotations

from itertools import product

import pytest

from deepbench import _core
from deepbench.traces.aten_calls import Arguments, problems_of_call
from deepbench.traces.products import Matrix, gemm_words

M, N, K = 3, 4, 5


def row_major_product(a: list[int], b: list[int], a_strides: tuple[int, int],
                      b_strides: tuple[int, int]) -> list[int]:  # fmt: skip
    """The memory of C = A B, row by row, where operands have these strides of rows and columns."""

    def at(memory: list[int], strides: tuple[int, int], row: int, column: int) -> int:
        return memory[row * strides[0] + column * strides[1]]

    return [
        sum(at(a, a_strides, i, x) * at(b, b_strides, x, j) for x in range(K))
        for i in range(M)
        for j in range(N)
    ]


def problem_product(problem: _core.Problem, first: list[int], second: list[int]) -> list[int]:
    """The memory of op(A) op(B) in column-major order, as docs/reference/operations/gemm.md defines
    it, without padding."""
    m, n, k = (problem.attributes[name] for name in "mnk")
    assert isinstance(m, int)
    assert isinstance(n, int)
    assert isinstance(k, int)
    trans_a, trans_b = problem.attributes["trans_a"], problem.attributes["trans_b"]
    return [
        sum(
            (first[i + x * m] if trans_a == "n" else first[x + i * k])
            * (second[x + j * k] if trans_b == "n" else second[j + x * n])
            for x in range(k)
        )
        for j in range(n)
        for i in range(m)
    ]


@pytest.mark.parametrize(("a_rows_first", "b_rows_first"), [*product((True, False), repeat=2)])
def test_a_problem_is_the_product_of_pytorch(a_rows_first: bool, b_rows_first: bool) -> None:
    a = [7 * i % 11 - 5 for i in range(M * K)]
    b = [5 * i % 13 - 6 for i in range(K * N)]
    a_strides = (K, 1) if a_rows_first else (1, M)
    b_strides = (N, 1) if b_rows_first else (1, K)
    recorded = {
        "Input Dims": [[M, K], [K, N]],
        "Input Strides": [list(a_strides), list(b_strides)],
        "Input type": ["float", "float"],
        "Concrete Inputs": ["", ""],
    }
    (words,) = problems_of_call("aten::mm", Arguments(recorded), tf32=False)
    problem = _core.Problem.parse(words)
    # The first operand of the problem is the second of the program.
    assert problem_product(problem, b, a) == row_major_product(a, b, a_strides, b_strides)


def test_a_column_major_result_keeps_the_operands_in_their_order() -> None:
    a, b = list(range(M * K)), list(range(1, K * N + 1))
    words = gemm_words(Matrix(M, K), Matrix(K, N), result_row_major=False, types="")
    result = problem_product(_core.Problem.parse(words), a, b)
    expected = row_major_product(a, b, (K, 1), (N, 1))
    assert result == [expected[i * N + j] for j in range(N) for i in range(M)]
