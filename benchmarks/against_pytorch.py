"""Compares the kernels of models as deepbench times them with PyTorch's calls of the same shapes.

    python benchmarks/against_pytorch.py [WORKLOAD ...]

A WORKLOAD is what follows `deepbench workload`, in quotes: "resnet50 batch=64 half". PyTorch
computes the same products (out = x W^T, without bias) and convolutions (channels_last, cuDNN's
default choice) with operands between -1 and 1, many calls in a CUDA graph. It rests as long as it
computes, like a row of deepbench in the regime `rested`. The workload is run before and after
PyTorch, and its time is the mean of both.

A gemm of deepbench adds C and PyTorch's product does not: the column `C` states how much of the
call's bytes that is. Kernels agree where they differ by at most 5 % or 0.5 us.

Exit status: 0 if PyTorch has all fwd kernels and the median of the quotients is within 5 %, 1 if
not, 2 if PyTorch or its device is missing.
"""

from __future__ import annotations

import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sweep_runner import load, median_us, run_to_file

from deepbench.results import Row

WORKLOADS = (
    "resnet50 batch=1 half",
    "resnet50 batch=64 half",
    "bert_large half",
    "llama3_8b bfloat16",
    "llama3_8b phase=decode batch=1 bfloat16",
    "llama3_8b phase=decode batch=64 bfloat16",
)
AGREE, AGREE_US = 0.05, 0.5
GRAPH_S, MAX_CALLS, REPLAYS = 3e-3, 600, 25

Call = Callable[[], Any]


@dataclass(frozen=True)
class Compared:
    """The times of one kernel in microseconds."""

    row: Row
    before_us: float
    torch_us: float
    after_us: float

    @property
    def deepbench_us(self) -> float:
        return (self.before_us + self.after_us) / 2

    @property
    def ratio(self) -> float:
        return self.deepbench_us / self.torch_us

    @property
    def agrees(self) -> bool:
        return abs(self.ratio - 1) <= AGREE or abs(self.deepbench_us - self.torch_us) <= AGREE_US

    @property
    def share_of_c(self) -> float:
        """The share of C's reading in the bytes of a call."""
        sizes = self.row.attributes
        if self.row.op != "gemm":
            return 0.0
        m, n, k = (int(sizes[name]) for name in "mnk")
        return m * n / (m * k + k * n + 2 * m * n)


def main(words: list[str]) -> int:
    try:
        import torch
    except ImportError:
        print("PyTorch is not installed")
        return 2
    if not torch.cuda.is_available():
        print("PyTorch has no device")
        return 2
    cudnn = torch.backends.cudnn.version()
    print(f"PyTorch {torch.__version__}, cuDNN {cudnn}, on {torch.cuda.get_device_name()}")
    good = [compare_workload(workload) for workload in words or WORKLOADS]
    return 0 if all(good) else 1


def compare_workload(workload: str) -> bool:
    before = rows_of(workload)
    torch_us = {problem: time_us(call_of(row)) for problem, row in before.items()}
    after = rows_of(workload)
    compared = [
        Compared(row, median_us(row), torch_us[problem], median_us(after[problem]))
        for problem, row in before.items()
        if problem in after
    ]
    libraries = sorted({str(row.library) for row in before.values()})
    print(f"\n== {workload} ({', '.join(libraries)})")
    for one in compared:
        print(
            f"{one.deepbench_us:10.3f} us  torch {one.torch_us:10.3f} us  {one.ratio:6.3f}"
            f"  twice {one.after_us / one.before_us:6.3f}  C {100 * one.share_of_c:4.1f} %"
            f"  {'' if one.agrees else 'differs'}  {one.row.problem}"
        )
    return print_summary(compared)


def print_summary(compared: list[Compared]) -> bool:
    counts = [one.row.count or 1 for one in compared]
    sums = [
        sum(count * getattr(one, side) for count, one in zip(counts, compared, strict=True))
        for side in ("deepbench_us", "torch_us")
    ]
    median = statistics.median(one.ratio for one in compared)
    agree = sum(one.agrees for one in compared)
    print(
        f"{len(compared)} kernels: {agree} agree; median quotient {median:.3f}; time of all calls "
        f"{sums[0] / 1e3:.4g} ms, PyTorch {sums[1] / 1e3:.4g} ms, quotient {sums[0] / sums[1]:.3f}"
    )
    return abs(median - 1) <= AGREE


def rows_of(workload: str) -> dict[str, Row]:
    """The rows of the workload by their problem."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "rows.jsonl"
        run_to_file(file, "workload", *workload.split())
        return {str(row.problem): row for row in load(file).ok()}


def call_of(row: Row, device: str = "cuda") -> Call:
    """PyTorch's call for the problem of a row."""
    import torch

    types = {"half": torch.half, "bfloat16": torch.bfloat16, "float": torch.float}
    options = {"dtype": types[str(row.attributes["precision"])], "device": device}
    sizes = {name: int(value) for name, value in row.attributes.items() if isinstance(value, int)}

    def uniform(*shape: int) -> Any:
        return torch.empty(shape, **options).uniform_(-1, 1)

    if row.op == "gemm":
        if (row.attributes["trans_a"], row.attributes["trans_b"]) != ("t", "n"):
            raise ValueError(f"{row.problem}: is not the product of a forward pass")
        x, weight = uniform(sizes["n"], sizes["k"]), uniform(sizes["m"], sizes["k"])
        out = torch.empty((sizes["n"], sizes["m"]), **options)
        return lambda: torch.mm(x, weight.t(), out=out)
    if row.op == "conv" and row.attributes["phase"] == "fwd":
        channels = sizes["c"] // sizes["groups"]
        image = uniform(sizes["n"], sizes["c"], sizes["h"], sizes["w"])
        filters = uniform(sizes["k"], channels, sizes["r"], sizes["s"])
        image = image.contiguous(memory_format=torch.channels_last)
        filters = filters.contiguous(memory_format=torch.channels_last)
        both = [(sizes[f"{name}_h"], sizes[f"{name}_w"]) for name in ("stride", "pad", "dilation")]
        return lambda: torch.conv2d(image, filters, None, *both, sizes["groups"])
    raise ValueError(f"{row.problem}: only products and convolutions forward are compared")


def time_us(call: Call) -> float:
    """The time of one call within a graph of many."""
    import torch

    stream = torch.cuda.Stream()
    with torch.cuda.stream(stream):
        for _ in range(3):
            call()
        once_s = graph_s(torch, graph_of(torch, call, 1))
        calls = max(1, min(MAX_CALLS, round(GRAPH_S / once_s)))
        graph = graph_of(torch, call, calls)
        graph_s(torch, graph)
        return 1e6 * statistics.median(graph_s(torch, graph) for _ in range(REPLAYS)) / calls


def graph_of(torch: Any, call: Call, calls: int) -> Any:
    graph = torch.cuda.CUDAGraph()
    torch.cuda.synchronize()
    with torch.cuda.graph(graph, stream=torch.cuda.current_stream()):
        for _ in range(calls):
            call()
    return graph


def graph_s(torch: Any, graph: Any) -> float:
    """The seconds of one replay, after a rest of the same length."""
    begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    torch.cuda.synchronize()
    begin.record()
    graph.replay()
    end.record()
    torch.cuda.synchronize()
    seconds = begin.elapsed_time(end) / 1e3
    time.sleep(seconds)
    return seconds


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
