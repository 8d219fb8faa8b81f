"""The operators of PyTorch that are products or convolutions, as deepbench's problems.

A profiler states the shapes, strides and types of an operator's arguments, and the values of those
that are numbers ("Concrete Inputs"), each in a list with a place per argument.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from deepbench.traces.convolutions import Convolution, output_size
from deepbench.traces.errors import CallError
from deepbench.traces.products import Matrix, batch_size, gemm_words, repeated_matrix

_MOST = 2**63 - 1
_PRECISIONS = {
    "float": "float", "c10::Half": "half", "c10::BFloat16": "bfloat16",
    "c10::Float8_e4m3fn": "fp8_e4m3", "signed char": "int8",
}  # fmt: skip
# The precisions of products whose operands differ in type. deepbench's first operand is PyTorch's
# second.
_MIXED_PRECISIONS = {("c10::Float8_e4m3fn", "c10::Float8_e5m2"): "fp8_e5m2"}

# The places of both operands among the arguments.
_PRODUCTS = {
    "aten::mm": (0, 1), "aten::bmm": (0, 1), "aten::addmm": (1, 2), "aten::baddbmm": (1, 2),
    "aten::_addmm_activation": (1, 2), "aten::_scaled_mm": (0, 1), "aten::_int_mm": (0, 1),
    "aten::linear": (0, 1), "aten::matmul": (0, 1),
}  # fmt: skip
# Operators that call another one of the products, unless the profiler saw them alone.
COMPOSITES = frozenset({"aten::linear", "aten::matmul"})

# The places of stride, padding, dilation, groups, and of transposed and the padding of the output,
# if the operator has them; input and filters are the first two.
_CONVOLUTIONS: Mapping[str, tuple[int, int, int, int, int | None, int | None]] = {
    "aten::convolution": (3, 4, 5, 8, 6, 7),
    "aten::_convolution": (3, 4, 5, 8, 6, 7),
    "aten::convolution_overrideable": (3, 4, 5, 8, 6, 7),
    "aten::cudnn_convolution": (3, 2, 4, 5, None, None),
    "aten::cudnn_convolution_relu": (3, 4, 5, 6, None, None),
    "aten::cudnn_convolution_add_relu": (5, 6, 7, 8, None, None),
    "aten::mkldnn_convolution": (4, 3, 5, 6, None, None),
    "aten::miopen_convolution": (4, 3, 5, 6, None, None),
}
_BACKWARD = "aten::convolution_backward"
# The phase of a transposed convolution is another one of the convolution that it transposes.
_TRANSPOSED = {"fwd": "bwd_data", "bwd_data": "fwd", "bwd_filter": "bwd_filter"}

LISTS = ("Input Dims", "Input Strides", "Input type", "Concrete Inputs")  # a place per argument
NAMES = frozenset({*_PRODUCTS, *_CONVOLUTIONS, _BACKWARD})


@dataclass(frozen=True)
class Tensor:
    """An argument as the profiler describes it."""

    shape: tuple[int, ...]
    strides: tuple[int, ...] | None  # None: this version of PyTorch does not record them
    type: str


class Arguments:
    """The arguments of an operator. Every method raises CallError for what is not there."""

    def __init__(self, recorded: Mapping[str, Any]) -> None:
        self._shapes, self._strides, self._types, self._values = (
            _list_of(recorded, name) for name in LISTS
        )

    @property
    def has_shapes(self) -> bool:
        return bool(self._shapes)

    def tensor(self, place: int) -> Tensor:
        shape = _integers(_item(self._shapes, place))
        kind = _item(self._types, place)
        if shape is None or not isinstance(kind, str) or not kind:
            raise CallError("its shapes are not in the trace")
        strides = _integers(_item(self._strides, place))
        complete = strides is not None and len(strides) == len(shape)
        return Tensor(shape, strides if complete else None, kind)

    def numbers(self, place: int, count: int) -> list[int]:
        """A list of `count` numbers, of which the trace may hold one for all."""
        found = [int(text) for text in re.findall(r"-?\d{1,18}", self._value(place), re.ASCII)]
        if len(found) not in (1, count):
            raise CallError("its dimensions contradict one another")
        return found * (count // len(found))

    def flags(self, place: int) -> list[bool]:
        return [word == "True" for word in re.findall(r"\b(True|False)\b", self._value(place))]

    def _value(self, place: int) -> str:
        value = _item(self._values, place)
        if not isinstance(value, str) or not value:
            raise CallError("its stride and padding are not in the trace; newer versions of "
                            "PyTorch record them as Concrete Inputs")  # fmt: skip
        return value


def problems_of_call(name: str, arguments: Arguments, tf32: bool) -> list[str]:
    """The problems that a call computes, as words of a suite. `tf32`: its kernels multiply floats
    in TF32. Raises CallError."""
    if name in _PRODUCTS:
        return [_product_words(name, arguments, tf32)]
    if name == _BACKWARD:
        return _gradient_words(arguments, tf32)
    return [_convolution_words(name, arguments, tf32)]


def _item(values: Sequence[Any], place: int) -> Any:
    return values[place] if place < len(values) else None


def _list_of(recorded: Mapping[str, Any], name: str) -> list[Any]:
    value = recorded.get(name)
    return value if isinstance(value, list) else []


def _integers(value: object) -> tuple[int, ...] | None:
    if not isinstance(value, list) or len(value) > 8:
        return None
    right = all(type(one) is int and 0 <= one <= _MOST for one in value)
    return tuple(value) if right else None


def _precision(first: Tensor, second: Tensor, tf32: bool) -> str:
    precision = _PRECISIONS.get(first.type)
    if precision is None or first.type != second.type:
        types = dict.fromkeys(one.type for one in (first, second))
        in_order = " in this order" if (second.type, first.type) in _MIXED_PRECISIONS else ""
        raise CallError(f"deepbench has no precision for {' and '.join(types)}{in_order}")
    return "precision=tf32" if tf32 and precision == "float" else f"precision={precision}"


# ---- products ------------------------------------------------------------------------------------


def _product_words(name: str, arguments: Arguments, tf32: bool) -> str:
    first, second = (arguments.tensor(place) for place in _PRODUCTS[name])
    if name == "aten::linear":  # its weights are stored as out x in
        second = _transposed(second)
    a, b, batch = _matrices(first, second)
    if a.columns != b.rows:
        raise CallError("its dimensions contradict one another")
    mixed = _MIXED_PRECISIONS.get((first.type, second.type))
    types = f"precision={mixed}" if mixed else _precision(first, second, tf32)
    return gemm_words(a, b, result_row_major=True, types=types, batch=batch)


def _matrices(first: Tensor, second: Tensor) -> tuple[Matrix, Matrix, int]:
    """The operands of a product, and how many products a call makes. A product of a tensor with one
    matrix takes all dimensions of the tensor but the last for rows."""
    b = _matrix(second)
    if len(first.shape) > 2 and len(second.shape) == 2:
        return Matrix(math.prod(first.shape[:-1]), first.shape[-1]), b, 1
    a = _matrix(first)
    batch = batch_size(first.shape[:-2], second.shape[:-2])
    if batch > 1 and any(0 in (one.strides or ())[:-2] for one in (first, second)):
        raise repeated_matrix()
    return a, b, batch


def _matrix(tensor: Tensor) -> Matrix:
    """A matrix, or each of a batch."""
    if len(tensor.shape) < 2:
        raise CallError("deepbench has no product with a vector")
    rows, columns = tensor.shape[-2:]
    return Matrix(rows, columns, _is_row_major(tensor))


def _is_row_major(tensor: Tensor) -> bool:
    """The order in which ATen passes a matrix to a library: column-major if its strides allow that,
    else row-major, to which it copies other matrices. Without strides it counts as contiguous."""
    if tensor.strides is None:
        return True
    row_stride, column_stride = tensor.strides[-2:]
    return not (row_stride == 1 and column_stride >= max(1, tensor.shape[-2]))


def _transposed(tensor: Tensor) -> Tensor:
    strides = tensor.strides
    if strides is None and len(tensor.shape) == 2:
        strides = (tensor.shape[1], 1)
    return Tensor(tensor.shape[::-1], strides and strides[::-1], tensor.type)


# ---- convolutions --------------------------------------------------------------------------------


def _convolution_words(name: str, arguments: Arguments, tf32: bool) -> str:
    stride, padding, dilation, groups, transposed, output_padding = _CONVOLUTIONS[name]
    x, weight = arguments.tensor(0), arguments.tensor(1)
    count = _spatial_dimensions(x, weight)
    pads = arguments.numbers(padding, count)
    strides, dilations = (arguments.numbers(place, count) for place in (stride, dilation))
    size, phase = x.shape[2:], "fwd"
    if transposed is not None and arguments.flags(transposed) == [True]:
        phase = _TRANSPOSED[phase]
        extra = arguments.numbers(output_padding or 0, count)
        size = tuple(
            (one - 1) * step - 2 * pad + rate * (length - 1) + more + 1
            for one, step, pad, rate, length, more in zip(
                size, strides, pads, dilations, weight.shape[2:], extra, strict=True
            )
        )
    made = _convolution(x, weight, size, pads, strides, dilations,
                        arguments.numbers(groups, 1)[0], phase != "fwd")  # fmt: skip
    return made.words(phase, _precision(x, weight, tf32))


def _gradient_words(arguments: Arguments, tf32: bool) -> list[str]:
    """The gradients that one call computes: of the input, of the filters, or both."""
    y, x, weight = (arguments.tensor(place) for place in range(3))
    count = _spatial_dimensions(x, weight)
    strides, pads, dilations = (arguments.numbers(place, count) for place in (4, 5, 6))
    transposed = arguments.flags(7) == [True]
    groups, mask = arguments.numbers(9, 1)[0], arguments.flags(10)
    if len(y.shape) != len(x.shape) or len(mask) < 2:
        raise CallError("its dimensions contradict one another")
    size = (y if transposed else x).shape[2:]
    made = _convolution(x, weight, size, pads, strides, dilations, groups, transposed)
    phases = [one for one, asked in zip(("bwd_data", "bwd_filter"), mask[:2], strict=True) if asked]
    types = _precision(x, weight, tf32)
    if not phases:
        raise CallError("it computes the gradient of the bias alone")
    return [made.words(_TRANSPOSED[one] if transposed else one, types) for one in phases]


def _spatial_dimensions(x: Tensor, weight: Tensor) -> int:
    if len(x.shape) != len(weight.shape) or not 3 <= len(x.shape) <= 5:
        raise CallError("its dimensions contradict one another")
    return len(x.shape) - 2


def _convolution(
    x: Tensor,
    weight: Tensor,
    size: Sequence[int],
    pads: Sequence[int],
    strides: Sequence[int],
    dilations: Sequence[int],
    groups: int,
    transposed: bool,
) -> Convolution:
    """The convolution, or for a transposed one the convolution that it transposes, whose input has
    this size."""
    inner, outer = weight.shape[1] * groups, weight.shape[0]
    if x.shape[1] != (outer if transposed else inner):
        raise CallError("its dimensions contradict one another")
    for one, length, pad, step, rate, seen in zip(
        size, weight.shape[2:], pads, strides, dilations, x.shape[2:], strict=True
    ):
        if transposed and output_size(one, length, pad, step, rate) != seen:
            raise CallError("its dimensions contradict one another")
    return Convolution(
        x.shape[0], inner, outer, groups, size, weight.shape[2:], pads, strides, dilations,
        _layout(x, weight),
    )  # fmt: skip


def _layout(x: Tensor, weight: Tensor) -> str | None:
    """The order of the activations: channels last if the input or the filters are in it, as ATen
    decides; None if the trace does not state it."""
    if x.strides is None or weight.strides is None:
        return None
    return "nhwc" if _has_channels_last(x) or _has_channels_last(weight) else "nchw"


def _has_channels_last(tensor: Tensor) -> bool:
    """Whether the strides are those of channels last and of no other order."""
    shape, strides = tensor.shape, tensor.strides
    expected, step = [], 1
    for size in (shape[1], *reversed(shape[2:])):
        expected.append(step)
        step *= size
    found = [strides[1], *reversed(strides[2:])] if strides else []
    return found == expected and shape[1] > 1 and math.prod(shape[2:]) > 1
