"""Products of row-major matrices as deepbench's problems, whose matrices are column-major.

A row-major matrix of R x C elements is, in the same memory, the column-major matrix of C x R
elements that is its transpose. The product C = A B of row-major matrices (M x K times K x N) is
therefore the column-major product C' = B' A' with m = N, n = M and k = K, whose first operand is B
and whose second is A, neither of them transposed. An operand that is column-major in memory already
counts as transposed.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from deepbench.traces.errors import CallError


@dataclass(frozen=True)
class Matrix:
    """An operand or the result of a product as the program sees it."""

    rows: int
    columns: int
    row_major: bool = True


def batch_size(first: Sequence[int], second: Sequence[int]) -> int:
    """The products that a call makes of operands with these sizes before those of their matrices.
    Raises CallError if an operand has fewer matrices than there are products."""
    if math.prod(first) == math.prod(second) == 1:
        return 1
    if list(first) != list(second):
        raise repeated_matrix()
    return math.prod(first)


def repeated_matrix() -> CallError:
    return CallError("deepbench has no product whose operand serves several results of a batch")


def gemm_words(a: Matrix, b: Matrix, result_row_major: bool, types: str, batch: int = 1) -> str:
    """The problem of a batch of products a b. `types` are the words of its precision."""
    if result_row_major:
        m, n, first, second = b.columns, a.rows, b.row_major, a.row_major
    else:
        m, n, first, second = a.rows, b.columns, not a.row_major, not b.row_major
    trans_a, trans_b = ("n" if plain else "t" for plain in (first, second))
    words = f"gemm m={m} n={n} k={a.columns} trans_a={trans_a} trans_b={trans_b}"
    return f"{words}{batch_word(batch)} {types}"


def batch_word(batch: int) -> str:
    return "" if batch == 1 else f" batch={batch}"
