"""Reads the log of cuBLASLt (CUBLASLT_LOG_LEVEL=2): a line per product, without times.

The line of a product names the function (cublasLtMatmul, or one of a fixed type such as
cublasLtSSSMatmul), the layouts Adesc to Ddesc, and in computeDesc the type of the arithmetic and
the transpositions, of which the defaults are left out.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from deepbench.traces.errors import CallError
from deepbench.traces.products import batch_word, repeated_matrix
from deepbench.traces.recording import Recording

MARK = b"[cublasLt]["
_CALL = re.compile(r"\[cublasLt\]\[\d+\]\[Trace\]\[(cublasLt\w*Matmul)\] ")
_PART = re.compile(r"\b([ABCD]desc|computeDesc)=\[([^\[\]]*)\]")
_NUMBER = re.compile(r"\d{1,19}", re.ASCII)
# Types of A and B and the arithmetic, and the words of the precision.
_PRECISIONS = {
    ("R_32F", "R_32F", "COMPUTE_32F"): "float",
    ("R_32F", "R_32F", "COMPUTE_32F_PEDANTIC"): "float",
    ("R_32F", "R_32F", "COMPUTE_32F_FAST_TF32"): "tf32",
    ("R_16F", "R_16F", "COMPUTE_32F"): "half",
    ("R_16BF", "R_16BF", "COMPUTE_32F"): "bfloat16",
    ("R_8F_E4M3", "R_8F_E4M3", "COMPUTE_32F"): "fp8_e4m3",
    ("R_8F_E5M2", "R_8F_E4M3", "COMPUTE_32F"): "fp8_e5m2",
    ("R_8I", "R_8I", "COMPUTE_32I"): "int8",
}


def read_cublaslt_log(lines: Iterable[str]) -> Recording:
    """The products of a log."""
    recording = Recording("the log of cuBLASLt", timer=None)
    for line in lines:
        call = _CALL.search(line)
        if call is None:
            continue
        try:
            recording.add_call(call[1], [_product_words(line)])
        except CallError as error:
            recording.leave_out(call[1], str(error))
    return recording


def _product_words(line: str) -> str:
    parts = {name: _values(text) for name, text in _PART.findall(line)}
    if not {"Adesc", "Bdesc", "Ddesc", "computeDesc"} <= parts.keys():
        raise CallError("the line is incomplete")
    a, b, d, compute = (parts[name] for name in ("Adesc", "Bdesc", "Ddesc", "computeDesc"))
    for layout in (a, b, d):
        if layout.get("order", "ORDER_COL") not in ("ORDER_COL", "COL"):
            raise CallError(f"a matrix is in {layout['order']}, not column-major")
    types = (a.get("type", "?"), b.get("type", "?"), compute.get("computeType", "?"))
    precision = _PRECISIONS.get(types)
    if precision is None:
        raise CallError(f"deepbench has no product of {types[0]} and {types[1]} in {types[2]}")
    trans_a, trans_b = (_transposition(compute.get(name)) for name in ("transa", "transb"))
    m, n = _dimension(d, "rows"), _dimension(d, "cols")
    k = _dimension(a, "rows" if trans_a == "t" else "cols")
    if k != _dimension(b, "cols" if trans_b == "t" else "rows"):
        raise CallError("its dimensions contradict one another")
    words = f"gemm m={m} n={n} k={k} trans_a={trans_a} trans_b={trans_b}"
    return f"{words}{batch_word(_batch(a, b, d))} precision={precision}"


def _batch(*layouts: Mapping[str, str]) -> int:
    """The products of a batch, each with matrices of its own."""
    counts = {_number(layout.get("batchCount", "1")) for layout in layouts}
    if len(counts) > 1:
        raise CallError("its dimensions contradict one another")
    count = counts.pop()
    if count > 1 and any(layout.get("stridedBatchOffset", "0") == "0" for layout in layouts):
        raise repeated_matrix()
    return count


def _values(text: str) -> dict[str, str]:
    return dict(word.split("=", 1) for word in text.split() if "=" in word)


def _transposition(operation: str | None) -> str:
    """'t' also for the conjugate transpose, which is the transpose of real numbers."""
    if operation not in (None, "OP_N", "OP_T", "OP_C", "OP_HERMITAN"):
        raise CallError(f"an operand has the unknown operation {operation}")
    return "n" if operation in (None, "OP_N") else "t"


def _dimension(layout: Mapping[str, str], name: str) -> int:
    return _number(layout.get(name, ""))


def _number(text: str) -> int:
    if not _NUMBER.fullmatch(text):
        raise CallError("the line is incomplete")
    return int(text)
