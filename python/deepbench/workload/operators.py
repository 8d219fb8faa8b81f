"""The operators of a layer: the sizes that each takes, and the calls that it makes.

A call is a problem of one of deepbench's operations, or work that has no operation yet and is
estimated. Products are PyTorch's calls, column-major: a linear layer whose weights are out x in by
rows multiplies their transpose in the forward call.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace

from deepbench.workload.expression import ExpressionError

Sizes = Mapping[str, int]

PRODUCT = "gemm m=1 n=1 k=1"  # a problem that tells the default precision of products
LONGER_PRODUCT = "gemm m=1 n=1 k=2"  # which reads one element more of each operand
COLLECTIVES = frozenset({"all_reduce"})  # operators whose calls need several ranks

_DIRECTIONS = {
    name: (f"{name}_h", f"{name}_w") for name in ("pad", "stride", "dilation")
} | {"filter": ("r", "s"), "size": ("h", "w")}  # fmt: skip
_DEPTH = ("d", "t", "pad_d", "stride_d", "dilation_d")


@dataclass(frozen=True)
class Call:
    """One call of a layer."""

    line: str | None  # the problem; None: no operation measures this work
    elements: int  # of its operands together
    flops: int = 0  # of work without a problem


@dataclass(frozen=True)
class Step:
    """What the calls of a layer depend on beside its sizes."""

    is_training: bool
    words: Mapping[str, str]
    input_gradient: bool
    weight_gradient: bool
    joint_phases: Mapping[str, str]  # by operation: the phase for all gradients in one call


@dataclass(frozen=True)
class Operator:
    """What a layer of this operator states, and the calls that it makes."""

    calls: Callable[[Sizes, Step], Iterator[Call]]
    needed: tuple[str, ...]
    defaults: Mapping[str, int | str] = field(default_factory=dict)  # of the other sizes
    optional: tuple[str, ...] = ()  # sizes without a default
    both: Mapping[str, tuple[str, str]] = field(default_factory=dict)  # one key for two sizes
    words: tuple[str, ...] = ()  # keys with a text
    flags: tuple[str, ...] = ()
    may_be_zero: tuple[str, ...] = ()
    switches: tuple[str, ...] = ()  # sizes that are 0 or 1

    @property
    def sizes(self) -> tuple[str, ...]:
        return (*self.needed, *self.defaults, *self.optional)


def _linear(sizes: Sizes, step: Step) -> Iterator[Call]:
    inputs, outputs, tokens = sizes["in"], sizes["out"], sizes["tokens"]
    yield _product(outputs, tokens, inputs, "t", "n")
    if step.is_training and step.input_gradient:
        yield _product(inputs, tokens, outputs, "n", "n")
    if step.is_training and step.weight_gradient:
        yield _product(inputs, outputs, tokens, "n", "t")


def _product(m: int, n: int, k: int, trans_a: str, trans_b: str) -> Call:
    line = f"gemm m={m} n={n} k={k} trans_a={trans_a} trans_b={trans_b}"
    return Call(line, m * k + k * n + m * n)


def _convolution(sizes: Sizes, step: Step) -> Iterator[Call]:
    return _convolution_calls(sizes, "fwd", "bwd_data", step)


def _transposed_convolution(sizes: Sizes, step: Step) -> Iterator[Call]:
    """Its calls are those of the convolution from its output to its input, whose data gradient it
    is."""
    output = {
        side: (sizes[side] - 1) * sizes[f"stride_{side}"] - 2 * sizes[f"pad_{side}"]
        + sizes[f"dilation_{side}"] * (sizes[taps] - 1) + 1
        for side, taps in (("h", "r"), ("w", "s"))
    }  # fmt: skip
    turned = {**sizes, **output, "c": sizes["k"], "k": sizes["c"]}
    return _convolution_calls(turned, "bwd_data", "fwd", step)


def _convolution_calls(
    sizes: Sizes, forward: str, data_gradient: str, step: Step
) -> Iterator[Call]:
    words = " ".join(f"{key}={value}" for key, value in sizes.items())
    depth, filter_depth = sizes.get("d", 1), sizes.get("t", 1)
    inputs = sizes["n"] * sizes["c"] * depth * sizes["h"] * sizes["w"]
    filters = sizes["k"] * sizes["c"] // sizes["groups"] * filter_depth * sizes["r"] * sizes["s"]
    phases = [forward]
    if step.is_training:
        phases += [data_gradient] * step.input_gradient + ["bwd_filter"] * step.weight_gradient
    for phase in phases:
        yield Call(f"conv {words} phase={phase}", inputs + filters)


def _recurrent(sizes: Sizes, step: Step) -> Iterator[Call]:
    words = (
        f"rnn cell={step.words['cell']} hidden={sizes['hidden']} batch={sizes['n']} "
        f"timesteps={sizes['steps']} mode={'training' if step.is_training else 'inference'}"
    )
    joint = step.joint_phases.get("rnn")
    gradients = [joint] if joint else ["bwd_data", "bwd_weights"]
    for phase in ["fwd", *(gradients if step.is_training else [])]:
        elements = 2 * sizes["n"] * sizes["hidden"] * sizes["steps"]
        yield Call(f"{words} phase={phase}", elements + sizes["hidden"] ** 2)


def _all_reduce(sizes: Sizes, step: Step) -> Iterator[Call]:
    yield Call(f"all_reduce elements={sizes['elements']}", sizes["elements"])


def _batched_product(sizes: Sizes, step: Step) -> Iterator[Call]:
    m, n, k = sizes["m"], sizes["n"], sizes["k"]
    elements = m * k + k * n + m * n
    yield Call(None, sizes["batch_count"] * elements, 2 * sizes["batch_count"] * m * n * k)


def _grouped_product(sizes: Sizes, step: Step) -> Iterator[Call]:
    m, n, k = sizes["m"], sizes["n_total"], sizes["k"]
    used = min(sizes["groups"], n)  # a group without columns reads no weights
    yield Call(None, used * m * k + n * k + m * n, 2 * m * n * k)


def _attention(sizes: Sizes, step: Step) -> Iterator[Call]:
    dim, dim_v, queries, keys = (sizes[key] for key in ("dim", "dim_v", "seq_q", "seq_kv"))
    if sizes["window"] and not sizes["causal"]:
        raise ExpressionError("a window needs causal = 1")
    window = min(sizes["window"] or keys, keys)
    read = min(keys, queries + window - 1)
    of_queries = sizes["heads"] * queries * (dim + dim_v)
    of_keys = sizes["kv_heads"] * read * (dim if sizes["shared_kv"] else dim + dim_v)
    pairs = _pairs_in_window(queries, keys, window) if sizes["causal"] else queries * keys
    flops = 2 * sizes["batch"] * sizes["heads"] * pairs * (dim + dim_v)
    yield Call(None, sizes["batch"] * (of_queries + of_keys), flops)


def _pairs_in_window(queries: int, keys: int, window: int) -> int:
    """Pairs of a query and a key that it sees. The last query sees the last key and those before
    it, the query before it one key less, and none sees more keys than the window has."""
    fewest = max(keys - queries + 1, 1)  # keys that the first query with any key has before it
    growing = (fewest + window) * max(window - fewest + 1, 0) // 2
    return growing + window * (keys - max(window, fewest - 1))


def _other(sizes: Sizes, step: Step) -> Iterator[Call]:
    yield Call(None, sizes["elements"], sizes["flops"])


_CONVOLUTION = Operator(
    _convolution,
    ("c", "h", "w", "k", "r", "s"),
    {
        "n": "batch", "pad_h": 0, "pad_w": 0, "stride_h": 1, "stride_w": 1,
        "dilation_h": 1, "dilation_w": 1, "groups": 1,
    },
    optional=_DEPTH,
    both=_DIRECTIONS,
    flags=("input_gradient", "weight_gradient"),
    may_be_zero=("pad_h", "pad_w", "pad_d"),
)  # fmt: skip
OPERATORS: Mapping[str, Operator] = {
    "linear": Operator(
        _linear, ("tokens", "in", "out"), flags=("input_gradient", "weight_gradient")
    ),
    "conv": _CONVOLUTION,
    "transposed_conv": replace(
        _CONVOLUTION, calls=_transposed_convolution, optional=()
    ),
    "rnn": Operator(_recurrent, ("hidden", "steps"), {"n": "batch"}, words=("cell",)),
    "all_reduce": Operator(_all_reduce, ("elements",)),
    "batched_gemm": Operator(
        _batched_product,
        ("batch_count", "m", "n", "k"),
        {"a_t": 0, "b_t": 0},
        switches=("a_t", "b_t"),
    ),
    "grouped_gemm": Operator(_grouped_product, ("groups", "m", "n_total", "k")),
    "attention": Operator(
        _attention,
        ("heads", "seq_q", "seq_kv", "dim"),
        {
            "batch": "batch", "kv_heads": "heads", "dim_v": "dim", "causal": 0, "window": 0,
            "shared_kv": 0,  # 1: the values are a part of the keys
        },
        may_be_zero=("window",),
        switches=("causal", "shared_kv"),
    ),
    "other": Operator(_other, ("elements",), {"flops": 0}, may_be_zero=("flops",)),
}  # fmt: skip
