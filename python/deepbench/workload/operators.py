"""The operators of a layer: the sizes that each takes, and the calls that it makes.

A call is a problem of one of deepbench's operations, or work that has no operation and is
estimated. Many operations measure some problems and precisions and not others; such calls are
estimated where they cannot be measured. Products are PyTorch's calls, column-major: a linear layer
whose weights are out x in by rows multiplies their transpose in the forward call.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace

from deepbench.workload.expression import ExpressionError

Sizes = Mapping[str, int]

PRODUCT = "gemm m=1 n=1 k=1"  # a problem that shows the default precision of products
LONGER_PRODUCT = "gemm m=1 n=1 k=2"  # reads one element more of each operand than PRODUCT
COLLECTIVES = frozenset({"all_reduce"})  # operators whose calls need several ranks

_DIRECTIONS = {
    name: (f"{name}_h", f"{name}_w") for name in ("pad", "stride", "dilation")
} | {"filter": ("r", "s"), "size": ("h", "w")}  # fmt: skip
_DEPTH = ("d", "t", "pad_d", "stride_d", "dilation_d")


@dataclass(frozen=True)
class Call:
    """One call of a layer."""

    line: str | None  # the problem; None: no operation measures this work
    elements: int  # elements of its operands together; if it is estimated, elements that it moves
    flops: int = 0  # for work that is estimated
    may_be_estimated: bool = False  # if no operation has the problem
    count: int = 1  # equal calls
    part: str = ""  # part of the layer, such as its norm; empty: the layer itself
    kind: str = ""  # kind of the part


@dataclass(frozen=True)
class Step:
    """The conditions of a layer's calls besides its sizes."""

    is_training: bool
    words: Mapping[str, str]
    input_gradient: bool
    weight_gradient: bool
    residual: bool  # whether another map is added to the output
    joint_phases: Mapping[str, str]  # by operation: the phase for all gradients in one call


@dataclass(frozen=True)
class Operator:
    """What a layer of this operator states, and the calls that it makes."""

    calls: Callable[[Sizes, Step], Iterator[Call]]
    needed: tuple[str, ...]
    defaults: Mapping[str, int | str] = field(default_factory=dict)  # defaults of the other sizes
    optional: tuple[str, ...] = ()  # sizes without a default
    both: Mapping[str, tuple[str, str]] = field(default_factory=dict)  # one key for two sizes
    words: tuple[str, ...] = ()  # keys with a text
    # Keys with a text that is one of several choices.
    needed_choices: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    choices: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    flags: Mapping[str, bool] = field(default_factory=dict)  # with their defaults
    may_be_zero: tuple[str, ...] = ()
    switches: tuple[str, ...] = ()  # sizes that are 0 or 1

    @property
    def sizes(self) -> tuple[str, ...]:
        return (*self.needed, *self.defaults, *self.optional)


# ---- norms, activations and elementwise work ----------------------------------------------------

# Elements moved for each element of the map (docs/explanation/workloads.md): forward, forward while
# training, and for the gradient. Without trained weights a batch norm is a product and a sum.
_NORM_MOVES = {
    "batch": (2, 3, 5), "frozen": (2, 2, 2), "layer": (2, 2, 3), "rms": (2, 2, 3),
}  # fmt: skip
_ACTIVATION_MOVES = (2, 2, 3)
_ELEMENTWISE_MOVES = {"add": 3, "multiply": 3, "swiglu": 3, "rotary": 2}
_ACTIVATIONS = ("relu", "gelu", "silu", "sigmoid", "tanh")
_AROUND = {
    f"{place}{key}": choices
    for place in ("input_", "")
    for key, choices in (("norm", ("batch", "frozen")), ("activation", _ACTIVATIONS))
}


def _before(rows: int, channels: int, step: Step) -> Iterator[Call]:
    """The norm and the activation of the layer's input."""
    return _norm_and_activation("input_", rows, channels, step)


def _after(rows: int, channels: int, step: Step) -> Iterator[Call]:
    """The norm of the layer's output, the sum with another map, and the activation. The gradient of
    a sum moves nothing."""
    return _norm_and_activation("", rows, channels, step)


def _norm_and_activation(place: str, rows: int, channels: int, step: Step) -> Iterator[Call]:
    before = place.replace("_", " ")
    if norm := step.words.get(f"{place}norm"):
        yield from _norm_calls(norm, rows, channels, step, f"{before}norm", "norm")
    if step.residual and not place:
        yield _elementwise_call("add", rows, channels, part="sum", kind="sum")
    if name := step.words.get(f"{place}activation"):
        yield from _activation_calls(name, rows * channels, step, f"{before}{name}", "activation")


def _norm(sizes: Sizes, step: Step) -> Iterator[Call]:
    return _norm_calls(step.words["norm"], sizes["rows"], sizes["columns"], step)


def _norm_calls(
    norm: str, rows: int, columns: int, step: Step, part: str = "", kind: str = ""
) -> Iterator[Call]:
    """The calls of a norm. A norm that is not trained has no statistics; its gradient is only a
    product."""
    is_frozen = norm == "frozen"
    line = f"norm kind={'batch' if is_frozen else norm} rows={rows} columns={columns}"
    phase = "training" if step.is_training and not is_frozen else "inference"
    lines = f"{line} phase={phase}", None if is_frozen else f"{line} phase=bwd"
    return _moves(_NORM_MOVES[norm], rows * columns, step, lines, part, kind)


def _activation(sizes: Sizes, step: Step) -> Iterator[Call]:
    return _activation_calls(step.words["activation"], sizes["elements"], step)


def _activation_calls(
    name: str, elements: int, step: Step, part: str = "", kind: str = ""
) -> Iterator[Call]:
    line = f"activation kind={name} elements={elements}"
    lines = f"{line} phase=fwd", f"{line} phase=bwd"
    return _moves(_ACTIVATION_MOVES, elements, step, lines, part, kind)


def _elementwise(sizes: Sizes, step: Step) -> Iterator[Call]:
    """One forward pass. A model lists gradients as layers of their own: the gradient of a sum or of
    a rotary embedding is a layer of the same kind, and no operation computes that of a product."""
    name = step.words["elementwise"]
    if ("dim" in sizes) != (name == "rotary"):
        raise ExpressionError('elementwise = "rotary" needs dim, and no other has it')
    yield _elementwise_call(name, sizes["rows"], sizes["columns"], sizes.get("dim"))


def _elementwise_call(
    name: str, rows: int, columns: int, dim: int | None = None, part: str = "", kind: str = ""
) -> Call:
    words = {"rows": rows, "columns": columns} | ({"dim": dim} if dim else {})
    moved = _ELEMENTWISE_MOVES[name] * rows * columns
    return _estimable(f"elementwise kind={name} {_words(words)}", moved, part=part, kind=kind)


def _softmax(sizes: Sizes, step: Step) -> Iterator[Call]:
    rows, columns = sizes["rows"], sizes["columns"]
    line = f"softmax rows={rows} columns={columns}"
    lines = f"{line} phase=fwd", f"{line} phase=bwd"
    step = replace(step, weight_gradient=False)  # it has no weights
    return _moves((2, 2, 3), rows * columns, step, lines)


def _response_norm(sizes: Sizes, step: Step) -> Iterator[Call]:
    elements = sizes["n"] * sizes["c"] * sizes["h"] * sizes["w"]
    return _moves((2, 2, 4), elements, step, (f"lrn {_words(sizes)}", None))


def _words(sizes: Sizes) -> str:
    return " ".join(f"{key}={value}" for key, value in sizes.items())


def _moves(
    moves: tuple[int, int, int],
    elements: int,
    step: Step,
    lines: tuple[str | None, str | None],  # the problems of the forward and the backward pass
    part: str = "",
    kind: str = "",
) -> Iterator[Call]:
    forward, training, gradient = moves
    moved = training if step.is_training else forward
    yield _estimable(lines[0], moved * elements, part=part, kind=kind)
    if step.is_training and (step.input_gradient or step.weight_gradient):
        yield _estimable(lines[1], gradient * elements, part=part, kind=kind)


def _estimable(
    line: str | None, elements: int, flops: int = 0, part: str = "", kind: str = ""
) -> Call:
    return Call(line, elements, flops, line is not None, part=part, kind=kind)


# ---- products, convolutions and recurrent layers ------------------------------------------------


def _linear(sizes: Sizes, step: Step) -> Iterator[Call]:
    inputs, outputs, tokens = sizes["in"], sizes["out"], sizes["tokens"]
    yield from _before(tokens, inputs, step)
    yield _product(outputs, tokens, inputs, "t", "n")
    if step.is_training and step.input_gradient:
        yield _product(inputs, tokens, outputs, "n", "n")
    if step.is_training and step.weight_gradient:
        yield _product(inputs, outputs, tokens, "n", "t")
    yield from _after(tokens, outputs, step)


def _product(m: int, n: int, k: int, trans_a: str, trans_b: str) -> Call:
    line = f"gemm m={m} n={n} k={k} trans_a={trans_a} trans_b={trans_b}"
    return Call(line, m * k + k * n + m * n)


def _convolution(sizes: Sizes, step: Step) -> Iterator[Call]:
    positions = sizes["n"] * sizes.get("d", 1) * sizes["h"] * sizes["w"]
    yield from _before(positions, sizes["c"], step)
    yield from _convolution_calls(sizes, "fwd", "bwd_data", step)
    yield from _after(_output_positions(sizes), sizes["k"], step)


def _output_positions(sizes: Sizes) -> int:
    """Elements that a convolution or a pooling writes in one channel of all images."""
    positions = sizes["n"]
    for size, taps, axis in (("h", "r", "h"), ("w", "s", "w"), ("d", "t", "d")):
        dilation, stride = sizes.get(f"dilation_{axis}", 1), sizes.get(f"stride_{axis}", 1)
        reached = dilation * (sizes.get(taps, 1) - 1) + 1
        padded = sizes.get(size, 1) + 2 * sizes.get(f"pad_{axis}", 0)
        positions *= max((padded - reached) // stride + 1, 0)
    return positions


def _transposed_convolution(sizes: Sizes, step: Step) -> Iterator[Call]:
    """The calls of the convolution from the layer's output to its input, of which the layer is the
    data gradient."""
    output = {
        side: (sizes[side] - 1) * sizes[f"stride_{side}"] - 2 * sizes[f"pad_{side}"]
        + sizes[f"dilation_{side}"] * (sizes[taps] - 1) + 1
        for side, taps in (("h", "r"), ("w", "s"))
    }  # fmt: skip
    turned = {**sizes, **output, "c": sizes["k"], "k": sizes["c"]}
    yield from _before(sizes["n"] * sizes["h"] * sizes["w"], sizes["c"], step)
    yield from _convolution_calls(turned, "bwd_data", "fwd", step)
    yield from _after(sizes["n"] * output["h"] * output["w"], sizes["k"], step)


def _convolution_calls(
    sizes: Sizes, forward: str, data_gradient: str, step: Step
) -> Iterator[Call]:
    words = _words(sizes)
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
    batch, elements = sizes["batch_count"], m * k + k * n + m * n
    trans_a, trans_b = ("t" if sizes[key] else "n" for key in ("a_t", "b_t"))
    line = f"gemm m={m} n={n} k={k} trans_a={trans_a} trans_b={trans_b} batch={batch}"
    yield _estimable(line, batch * elements, 2 * batch * m * n * k)


def _grouped_product(sizes: Sizes, step: Step) -> Iterator[Call]:
    m, n, k = sizes["m"], sizes["n_total"], sizes["k"]
    used = min(sizes["groups"], n)  # a group without columns reads no weights
    line = f"grouped_gemm groups={sizes['groups']} rows={n} n={m} k={k}"
    yield _estimable(line, used * m * k + n * k + m * n, 2 * m * n * k)


def _attention(sizes: Sizes, step: Step) -> Iterator[Call]:
    """The forward pass, which reads queries, keys and values, and writes the output."""
    elements, pairs = _attention_work(sizes)
    yield _estimable(
        _attention_line(sizes, "fwd"), elements, 2 * pairs * (sizes["dim"] + sizes["dim_v"])
    )


def _attention_gradient(sizes: Sizes, step: Step) -> Iterator[Call]:
    """Reads these and the gradient of the output, and writes three gradients. Three of its five
    products have the length of a key, two that of a value."""
    elements, pairs = _attention_work(sizes)
    flops = 2 * pairs * (3 * sizes["dim"] + 2 * sizes["dim_v"])
    yield _estimable(_attention_line(sizes, "bwd"), 2 * elements, flops)


def _attention_work(sizes: Sizes) -> tuple[int, int]:
    """The elements of queries, keys, values and output, and the pairs of a query and a key."""
    dim, dim_v, queries, keys = (sizes[key] for key in ("dim", "dim_v", "seq_q", "seq_kv"))
    if sizes["window"] and not sizes["causal"]:
        raise ExpressionError("a window needs causal = 1")
    window = min(sizes["window"] or keys, keys)
    read = min(keys, queries + window - 1)
    of_queries = sizes["heads"] * queries * (dim + dim_v)
    of_keys = sizes["kv_heads"] * read * (dim if sizes["shared_kv"] else dim + dim_v)
    pairs = _pairs_in_window(queries, keys, window) if sizes["causal"] else queries * keys
    return sizes["batch"] * (of_queries + of_keys), sizes["batch"] * sizes["heads"] * pairs


def _attention_line(sizes: Sizes, phase: str) -> str | None:
    """The problem; None if the values are a part of the keys, which the operation reads
    separately."""
    if sizes["shared_kv"]:
        return None
    words = {key: sizes[key] for key in ("batch", "heads", "kv_heads", "seq_q", "seq_kv", "dim")}
    if sizes["dim_v"] != sizes["dim"]:
        words["dim_v"] = sizes["dim_v"]
    mask = "bottom_right" if sizes["causal"] else "none"
    if sizes["window"]:
        words["window"] = sizes["window"]
    sink = " sink=yes" if sizes["sink"] else ""
    return f"attention {_words(words)} mask={mask}{sink} phase={phase}"


def _pairs_in_window(queries: int, keys: int, window: int) -> int:
    """Pairs of a query and a key that it sees. The last query sees the last key and those before
    it, the query before it one key less, and none sees more keys than the window has."""
    fewest = max(keys - queries + 1, 1)  # keys that the first query with any key sees
    growing = (fewest + window) * max(window - fewest + 1, 0) // 2
    return growing + window * (keys - max(window, fewest - 1))


def _pool(sizes: Sizes, step: Step) -> Iterator[Call]:
    """Pooling. Both directions read or write each element of the input and of the output."""
    moved = sizes["c"] * (sizes["n"] * sizes["h"] * sizes["w"] + _output_positions(sizes))
    phases = ["fwd", *(["bwd"] if step.is_training and step.input_gradient else [])]
    for phase in phases:
        line = f"pool kind={step.words['pooling']} {_words(sizes)} phase={phase}"
        yield _estimable(line, moved)


def _embedding(sizes: Sizes, step: Step) -> Iterator[Call]:
    """Reads and writes the rows of the tokens. A gradient is a separate layer, since the optimizer
    determines what happens with it."""
    rows, dim, tokens = sizes["rows"], sizes["dim"], sizes["tokens"]
    line = f"embedding rows={rows} dim={dim} lookups=1 batch={tokens} mode=gather phase=fwd"
    yield _estimable(line, 2 * tokens * dim)


def _other(sizes: Sizes, step: Step) -> Iterator[Call]:
    """Other work. Several kernels divide the elements into equal parts."""
    kernels, elements = sizes["kernels"], sizes["elements"]
    if kernels > 1 and sizes["flops"]:
        raise ExpressionError("kernels share elements, but no flops; use count")
    part, rest = divmod(elements, kernels)
    if kernels > rest:
        yield Call(None, part, sizes["flops"], count=kernels - rest)
    if rest:
        yield Call(None, part + 1, count=rest)


_GRADIENTS = {"input_gradient": True, "weight_gradient": True}
_CONVOLUTION = Operator(
    _convolution,
    ("c", "h", "w", "k", "r", "s"),
    {
        "n": "batch", "pad_h": 0, "pad_w": 0, "stride_h": 1, "stride_w": 1,
        "dilation_h": 1, "dilation_w": 1, "groups": 1,
    },
    optional=_DEPTH,
    both=_DIRECTIONS,
    choices=_AROUND,
    flags=_GRADIENTS | {"residual": False},
    may_be_zero=("pad_h", "pad_w", "pad_d"),
)  # fmt: skip
_ATTENTION = Operator(
    _attention,
    ("heads", "seq_q", "seq_kv", "dim"),
    {
        "batch": "batch", "kv_heads": "heads", "dim_v": "dim", "causal": 0, "window": 0,
        "shared_kv": 0,  # 1: the values are a part of the keys
        "sink": 0,  # 1: the softmax of each head has an additional learned logit
    },
    may_be_zero=("window",),
    switches=("causal", "shared_kv", "sink"),
)  # fmt: skip
OPERATORS: Mapping[str, Operator] = {
    "linear": Operator(
        _linear,
        ("tokens", "in", "out"),
        choices=_AROUND,
        flags=_GRADIENTS | {"residual": False},
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
    "attention": _ATTENTION,
    "attention_gradient": replace(_ATTENTION, calls=_attention_gradient),
    "softmax": Operator(
        _softmax, ("rows", "columns"), flags={"input_gradient": True}
    ),
    "embedding": Operator(_embedding, ("rows", "dim", "tokens")),
    "norm": Operator(_norm, ("rows", "columns"), needed_choices={"norm": tuple(_NORM_MOVES)}),
    "activation": Operator(
        _activation, ("elements",), needed_choices={"activation": _ACTIVATIONS}
    ),
    "elementwise": Operator(
        _elementwise,
        ("rows", "columns"),
        optional=("dim",),
        needed_choices={"elementwise": tuple(_ELEMENTWISE_MOVES)},
    ),
    "lrn": Operator(_response_norm, ("c", "h", "w", "size"), {"n": "batch"}),
    "pool": Operator(
        _pool,
        ("c", "h", "w", "r", "s"),
        {"n": "batch", "pad_h": 0, "pad_w": 0, "stride_h": 1, "stride_w": 1},
        both=_DIRECTIONS,
        needed_choices={"pooling": ("max", "average")},
        flags={"input_gradient": True},
        may_be_zero=("pad_h", "pad_w"),
    ),
    "other": Operator(
        _other, ("elements",), {"flops": 0, "kernels": 1}, may_be_zero=("flops",)
    ),
}  # fmt: skip
