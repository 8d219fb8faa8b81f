"""PyTorch's calls for problems of deepbench, and deepbench's rows that make the same calls.

Products are those of a linear layer with a bias (torch.addmm), which PyTorch passes to cuBLASLt
with beta = 0 and the bias as epilogue: the row has `epilogue=bias` and PyTorch's workspace. PyTorch
passes products with one row or column to cuBLAS instead. There both sides add to the output in
place (Tensor.addmm_, `library=cublas`). Convolutions have no limit of their workspace that matters.
Nothing is padded, unless deepbench has no row without.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from deepbench import _core

# PyTorch reads them once. They state its default for cuBLASLt, where they are known.
ENVIRONMENT = {"TORCH_CUBLASLT_UNIFIED_WORKSPACE": "0", "CUBLASLT_WORKSPACE_SIZE": "1024"}
LT_WORKSPACE = 1024 << 10  # bytes; CUBLASLT_WORKSPACE_SIZE is in KiB
CONV_WORKSPACE = 1 << 30
EPSILON = 1e-5  # of norms

Call = Callable[[], Any]


def rows_on_pytorchs_terms(problem: str) -> list[tuple[str, str]]:
    """Problems and options of deepbench's rows, the best first; the next serves where one is
    unsupported."""
    parsed = _core.Problem.parse(problem)
    sizes = parsed.attributes
    if parsed.op == "conv":
        options = f"workspace={CONV_WORKSPACE}"
    elif parsed.op == "gemm" and not sizes.keys() & {"batch", "epilogue", "scaling"}:
        if min(int(sizes["m"]), int(sizes["n"])) > 1:
            problem, options = f"{problem} epilogue=bias", f"workspace={LT_WORKSPACE}"
        else:
            options = "library=cublas"
    else:
        return [(problem, "")]
    return [(problem, f"{options} pad=no"), (problem, options)]


@dataclass(frozen=True)
class Operands:
    """What a call is made of."""

    torch: Any
    problem: str
    values: dict[str, Any]
    device: str

    @property
    def dtype(self) -> Any:
        types = {"half": "half", "bfloat16": "bfloat16", "float": "float", "tf32": "float"}
        if self["precision"] not in types:
            raise ValueError(f"PyTorch has no call in {self['precision']} here")
        return getattr(self.torch, types[self["precision"]])

    def __getitem__(self, name: str) -> Any:
        return self.values[name]

    def __call__(self, *shape: int, dtype: Any = None) -> Any:
        """A tensor of values between -1 and 1."""
        options = {"dtype": dtype or self.dtype, "device": self.device}
        return self.torch.empty(shape, **options).uniform_(-1, 1)

    def require(self, **values: Any) -> None:
        """Raises ValueError if an attribute, where the problem has it, has another value."""
        for name, value in values.items():
            if self.values.get(name, value) != value:
                raise ValueError(f"PyTorch's call is not known for {name}={self[name]}")


def call_of(problem: str, device: str = "cuda") -> Call:
    """PyTorch's call for a problem; ValueError if there is none here."""
    import torch

    parsed = _core.Problem.parse(problem)
    if parsed.op not in CALLS:
        raise ValueError(f"PyTorch's call is not known for {parsed.op}")
    operands = Operands(torch, problem, dict(parsed.attributes), device)
    set_precision_flags(torch, operands["precision"])
    return CALLS[parsed.op](operands)


def set_precision_flags(torch: Any, precision: str) -> None:
    """As in deepbench, sums have 32 bits, and only tf32 rounds float operands."""
    products = torch.backends.cuda.matmul
    products.allow_fp16_reduced_precision_reduction = False
    products.allow_bf16_reduced_precision_reduction = False
    products.allow_tf32 = torch.backends.cudnn.allow_tf32 = precision == "tf32"


def gemm(operands: Operands) -> Call:
    operands.require(trans_a="t", trans_b="n", batch=1, epilogue="none", scaling="tensor")
    m, n, k = (operands[name] for name in "mnk")
    x, weight, out = operands(n, k), operands(m, k).t(), operands(n, m)
    if min(m, n) == 1:
        return lambda: out.addmm_(x, weight)
    bias = operands(m)
    return lambda: operands.torch.addmm(bias, x, weight, out=out)


def conv(operands: Operands) -> Call:
    operands.require(phase="fwd", d=1, layout="library")
    n, c, h, w, k, r, s, groups = (operands[name] for name in (*"nchwkrs", "groups"))
    layout = operands.torch.channels_last
    image = operands(n, c, h, w).contiguous(memory_format=layout)
    filters = operands(k, c // groups, r, s).contiguous(memory_format=layout)
    both = [[operands[f"{name}_{side}"] for side in "hw"] for name in ("stride", "pad", "dilation")]
    return lambda: operands.torch.conv2d(image, filters, None, *both, groups)


def norm(operands: Operands) -> Call:
    operands.require(phase="inference")
    functional, columns = operands.torch.nn.functional, operands["columns"]
    if operands["kind"] == "batch":
        x = operands(1, columns, operands["rows"], 1)
        x = x.contiguous(memory_format=operands.torch.channels_last)
        real = operands.torch.float
        scale, shift, mean = (operands(columns, dtype=real) for _ in range(3))
        variance = operands(columns, dtype=real).abs()
        return lambda: functional.batch_norm(
            x, mean, variance, scale, shift, training=False, eps=EPSILON
        )
    x, scale, shift = operands(operands["rows"], columns), operands(columns), operands(columns)
    if operands["kind"] == "layer":
        return lambda: functional.layer_norm(x, (columns,), scale, shift, EPSILON)
    operands.require(kind="rms")
    return lambda: functional.rms_norm(x, (columns,), scale, EPSILON)


def activation(operands: Operands) -> Call:
    operands.require(phase="fwd")
    function = getattr(operands.torch.nn.functional, operands["kind"])
    x = operands(operands["elements"])
    return lambda: function(x)


def softmax(operands: Operands) -> Call:
    operands.require(phase="fwd")
    x = operands(operands["rows"], operands["columns"])
    return lambda: operands.torch.softmax(x, -1)


def elementwise(operands: Operands) -> Call:
    torch, shape = operands.torch, (operands["rows"], operands["columns"])
    if operands["kind"] == "rotary":
        return rotary(operands)
    a, b = operands(*shape), operands(*shape)
    calls: dict[str, Call] = {
        "add": lambda: a + b,
        "multiply": lambda: a * b,
        "swiglu": lambda: torch.nn.functional.silu(a) * b,
    }
    return calls[operands["kind"]]


def rotary(operands: Operands) -> Call:
    """As transformers computes it."""
    rows, columns, dim = (operands[name] for name in ("rows", "columns", "dim"))
    x = operands(rows, columns // dim, dim)
    cosines, sines = operands(rows, 1, dim), operands(rows, 1, dim)

    def call() -> Any:
        first, second = x[..., : dim // 2], x[..., dim // 2 :]
        return x * cosines + operands.torch.cat((-second, first), -1) * sines

    return call


def pool(operands: Operands) -> Call:
    operands.require(phase="fwd")
    functional = operands.torch.nn.functional
    x = operands(*(operands[name] for name in "nchw"))
    window, stride, padding = (
        [operands[name] for name in names]
        for names in ("rs", ("stride_h", "stride_w"), ("pad_h", "pad_w"))
    )
    if operands["kind"] == "max":
        return lambda: functional.max_pool2d(x, window, stride, padding)
    return lambda: functional.avg_pool2d(x, window, stride, padding, count_include_pad=False)


def embedding(operands: Operands) -> Call:
    operands.require(phase="fwd", mode="gather", indices="uniform")
    torch, lookups = operands.torch, operands["batch"] * operands["lookups"]
    table = operands(operands["rows"], operands["dim"])
    indices = torch.randint(operands["rows"], (lookups,), dtype=torch.int32, device=operands.device)
    return lambda: torch.nn.functional.embedding(indices, table)


def attention(operands: Operands) -> Call:
    """Through cuDNN where it can, as deepbench computes it, otherwise as PyTorch chooses."""
    from torch.nn.attention import SDPBackend, sdpa_kernel

    operands.require(phase="fwd", sink="no", window=0)
    torch, (queries, keys) = operands.torch, (operands["seq_q"], operands["seq_kv"])
    if operands["mask"] != "none" and queries != keys:
        operands.require(mask="bottom_right", seq_q=1)
    batch, heads, kv_heads, dim = (operands[name] for name in ("batch", "heads", "kv_heads", "dim"))
    q, k = operands(batch, heads, queries, dim), operands(batch, kv_heads, keys, dim)
    v = operands(batch, kv_heads, keys, operands.values.get("dim_v", dim))
    causal = operands["mask"] != "none" and queries == keys

    def by_choice() -> Any:
        return torch.nn.functional.scaled_dot_product_attention(
            q, k, v, is_causal=causal, enable_gqa=heads != kv_heads
        )

    def by_cudnn() -> Any:
        with sdpa_kernel(SDPBackend.CUDNN_ATTENTION):
            return by_choice()

    try:
        by_cudnn()
    except RuntimeError:
        return by_choice
    return by_cudnn


CALLS: dict[str, Callable[[Operands], Call]] = {
    "gemm": gemm,
    "conv": conv,
    "norm": norm,
    "activation": activation,
    "softmax": softmax,
    "elementwise": elementwise,
    "pool": pool,
    "embedding": embedding,
    "attention": attention,
}
