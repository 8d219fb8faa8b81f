"""Reads the log of oneDNN (ONEDNN_VERBOSE=1, also DNNL_VERBOSE): a line per executed primitive with
its time.

The fields of a line stand between commas: the mark, what newer versions add (v1, a time stamp,
primitive), exec, engine, primitive, implementation, propagation, memory, attributes (which old
versions lack), algorithm, problem, milliseconds. Fields are therefore counted from exec on and from
the end.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

from deepbench.traces.convolutions import Convolution, output_size
from deepbench.traces.errors import CallError
from deepbench.traces.products import Matrix, batch_size, gemm_words
from deepbench.traces.recording import Recording

MARKS = (b"onednn_verbose,", b"dnnl_verbose,")
_LINE = re.compile(r"(?:onednn|dnnl)_verbose,(?:[^,]*,){0,3}?exec,(?P<fields>.*)")
_VERSION = re.compile(r"(?:onednn|dnnl)_verbose,(?:v1,)?info,((?:oneDNN|DNNL) v[\w.]+)")
# Names and numbers have bounded lengths and a place where they begin, so that the time of a search
# is linear in the length of the line, whatever a stranger wrote into it.
_MEMORY = re.compile(
    r"(\w{1,32}?)[_:]([a-z]\w{0,31}):[^:]{0,64}:([^:]{0,64}):([^:]{0,64}):", re.ASCII
)
_NUMBERS = re.compile(r"(?<![a-z])([a-z]{1,8})(\d{1,19})", re.ASCII)
_SHAPE = re.compile(r"\d{1,19}(?:x\d{1,19}){1,11}", re.ASCII)  # oneDNN has at most 12 dimensions
_OLD_MATMUL = re.compile(r"(?:b(\d{1,19}))?m(\d{1,19})n(\d{1,19})k(\d{1,19})", re.ASCII)
_PRECISIONS = {"f32": "float", "f16": "half", "bf16": "bfloat16", "f8_e4m3": "fp8_e4m3"}
_PHASES = {
    "forward_training": "fwd",
    "forward_inference": "fwd",
    "backward_data": "bwd_data",
    "backward_weights": "bwd_filter",
}
_LAYOUTS = {"abc": "nchw", "abcd": "nchw", "abcde": "nchw",
            "acb": "nhwc", "acdb": "nhwc", "acdeb": "nhwc"}  # fmt: skip


@dataclass(frozen=True)
class Memory:
    """The description of a tensor."""

    type: str
    kind: str
    tag: str  # the order of its dimensions, such as ab, or blocks such as aBcd16b


@dataclass(frozen=True)
class Execution:
    """One line of the log."""

    primitive: str
    propagation: str
    memory: Mapping[str, Memory]
    attributes: str
    problem: str
    time_ns: float


def read_onednn_log(lines: Iterable[str]) -> Recording:
    """The products and convolutions of a log."""
    recording = Recording("the log of oneDNN", timer="oneDNN")
    for line in lines:
        version = _VERSION.match(line)
        if version is not None:
            recording.source = f"the log of {version[1]}"
        found = _LINE.match(line)
        if found is None:
            continue
        try:
            one = _execution(found["fields"].rstrip().split(","))
        except CallError as error:
            recording.leave_out("a line", str(error))
            continue
        try:
            recording.add_call(one.primitive, [_words(one)], time_ns=one.time_ns)
        except CallError as error:
            recording.leave_out(one.primitive, str(error), one.time_ns)
    return recording


def _execution(fields: list[str]) -> Execution:
    if len(fields) < 8:
        raise CallError("the line is incomplete")
    _, primitive, _, propagation, memory, attributes = fields[:6]
    try:
        milliseconds = float(fields[-1])
    except ValueError:
        raise CallError("the line is incomplete") from None
    if not (math.isfinite(milliseconds) and 0 <= milliseconds < 1e9):
        raise CallError("the time is not valid")
    found = filter(None, map(_MEMORY.match, memory.split(" ")))
    known = {one[1]: Memory(one[2], one[3], one[4]) for one in found}
    return Execution(primitive, propagation, known, attributes, fields[-2], milliseconds * 1e6)


def _words(one: Execution) -> str:
    words_of = _READERS.get(one.primitive)
    if words_of is None:
        raise CallError("")
    if "fpmath:" in one.attributes and "fpmath:strict" not in one.attributes:
        raise CallError("its fpmath mode is not strict")
    return words_of(one)


def _tensors(one: Execution) -> tuple[Memory, Memory, Memory]:
    try:
        return one.memory["src"], one.memory["wei"], one.memory["dst"]
    except KeyError:
        raise CallError("the line is incomplete") from None


def _product_types(source: Memory, weights: Memory) -> str:
    if weights.type == "s8" and source.type in ("s8", "u8"):
        return f"precision=int8 b_type={source.type}"
    return _floating_precision(source, weights)


def _floating_precision(source: Memory, weights: Memory) -> str:
    precision = _PRECISIONS.get(source.type)
    if precision is None or source.type != weights.type:
        raise CallError(f"deepbench has no {source.type} with {weights.type}")
    return f"precision={precision}"


def _numbers(problem: str) -> dict[str, int]:
    """The numbers of a description such as mb32ic48oc64."""
    return {key: int(number) for key, number in _NUMBERS.findall(problem)}


# ---- matmul: row-major matrices, src M x K and wei K x N ----------------------------------------


def _product_words(one: Execution) -> str:
    source, weights, result = _tensors(one)
    (rows, inner, columns), batch = _product_shape(one.problem)
    a = Matrix(rows, inner, _is_row_major(source))
    b = Matrix(inner, columns, _is_row_major(weights))
    return gemm_words(a, b, _is_row_major(result), _product_types(source, weights), batch)


def _product_shape(text: str) -> tuple[tuple[int, int, int], int]:
    """M, K and N of MxK:KxN, which up to version 2 of oneDNN the result followed, or of m1n2k3, and
    the products of a batch, whose sizes precede these."""
    old = _OLD_MATMUL.fullmatch(text)
    if old is not None:
        batch, rows, columns, inner = (int(number or 1) for number in old.groups())
        sizes = [[batch, rows, inner], [batch, inner, columns]]
    else:
        sizes = [[int(number) for number in shape.split("x")]
                 for shape in text.split(":")[:2] if _SHAPE.fullmatch(shape)]  # fmt: skip
    if len(sizes) != 2 or len(sizes[0]) != len(sizes[1]) or sizes[0][-1] != sizes[1][-2]:
        raise CallError("its dimensions contradict one another")
    batch = batch_size(sizes[0][:-2], sizes[1][:-2])
    return (sizes[0][-2], sizes[0][-1], sizes[1][-1]), batch


def _is_row_major(memory: Memory) -> bool:
    """Whether the last two dimensions are in this order. A tensor in blocks, as of weights that
    were converted beforehand, has no transposition and counts as row-major."""
    return memory.tag[-2:] not in ("ba", "cb", "dc")


# ---- inner product: a linear layer and its gradients ---------------------------------------------


def _linear_words(one: Execution) -> str:
    source, weights, _ = _tensors(one)
    known = _numbers(one.problem)
    try:
        batch, outputs, inputs = known["mb"], known["oc"], known["ic"]
    except KeyError:
        raise CallError("its description is not known") from None
    for name in "dhw":
        inputs *= known.get(f"i{name}", 1)
    x = Matrix(batch, inputs, _has_rows_first(source))
    by_output = _has_rows_first(weights)  # outputs x inputs in row-major order
    types = _product_types(source, weights)
    if _PHASES.get(one.propagation) == "fwd":  # y = x W'
        return gemm_words(x, Matrix(inputs, outputs, not by_output), True, types)
    if one.propagation == "backward_data":  # dx = dy W
        return gemm_words(Matrix(batch, outputs), Matrix(outputs, inputs, by_output), True, types)
    if one.propagation == "backward_weights":  # dW = dy' x
        return gemm_words(Matrix(outputs, batch, False), x, by_output, types)
    raise CallError(f"its propagation is {one.propagation}")


def _has_rows_first(memory: Memory) -> bool:
    """Whether the first dimension is the outermost one, also of blocks."""
    return memory.tag[:1] in ("a", "A")


# ---- convolution ---------------------------------------------------------------------------------


def _convolution_words(one: Execution) -> str:
    source, weights, result = _tensors(one)
    phase = _PHASES.get(one.propagation)
    if phase is None:
        raise CallError(f"its propagation is {one.propagation}")
    if weights.type == "s8" and source.type in ("s8", "u8"):
        if result.type not in ("s32", "f32", "s8"):
            raise CallError(f"deepbench has no int8 convolution with a result in {result.type}")
        y_type = "s8" if result.type == "s8" else "s32"
        types = f"precision=int8 x_type={source.type} y_type={y_type}"
    else:
        types = _floating_precision(source, weights)
    return _convolution(one.problem, _LAYOUTS.get(source.tag)).words(phase, types)


def _convolution(text: str, layout: str | None) -> Convolution:
    """The convolution of mb2_ic3oc64_ih224oh112kh7sh2dh0ph3_iw...; its dilation counts from 0."""
    known = _numbers(text)
    names = [name for name in "dhw" if f"i{name}" in known]
    try:
        size, filters, stride, dilation, pad = (
            [known[f"{kind}{name}"] for name in names] for kind in "iksdp"
        )
        outputs = [known[f"o{name}"] for name in names]
        batch, channels, count = known["mb"], known["ic"], known["oc"]
    except KeyError:
        raise CallError("its description is not known") from None
    dilation = [number + 1 for number in dilation]
    for expected, *numbers in zip(outputs, size, filters, pad, stride, dilation, strict=True):
        if expected != output_size(*numbers):
            raise CallError("its padding differs between both sides")
    groups = known.get("g", 1)
    return Convolution(batch, channels, count, groups, size, filters, pad, stride, dilation, layout)


_READERS: Mapping[str, Callable[[Execution], str]] = {
    "matmul": _product_words,
    "inner_product": _linear_words,
    "convolution": _convolution_words,
}
