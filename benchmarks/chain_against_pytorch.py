"""Compares whole passes of models: deepbench's chain with PyTorch's CUDA graph.

    python benchmarks/chain_against_pytorch.py [WORKLOAD ...] [--json FILE]

A WORKLOAD is what follows `deepbench workload`, in quotes: "resnet50 batch=64 half". deepbench
times the chain, its kernels in the order of the model as one graph, in a process of its own, before
and after PyTorch does; its time is the mean of both. PyTorch captures one pass of the same model
(pytorch_steps.py) in a CUDA graph and rests between two launches for as long as a pass takes, like
deepbench in the regime `rested`.

PyTorch makes the pass as it is, and once more after torch.compile, which fuses elementwise work and
norms and may choose other kernels.

A profile of PyTorch's pass attributes the difference to kinds of kernels. PyTorch's gaps are what
its graph takes beyond its kernels. deepbench's time of a kind is the sum of its rows, which its
graph need not reach: the difference is its gaps, which are negative where kernels overlap at their
ends or find operands in the cache.

Exit status: 0 if every chain is within 15 % of PyTorch's pass as it is or of the compiled one; 1 if
not; 2 if PyTorch or its device is missing.
"""

from __future__ import annotations

import argparse
import json
import re
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

WORKLOADS = (
    "resnet50 batch=1 half",
    "resnet50 batch=64 half",
    "bert_large batch=1 half",
    "bert_large batch=16 half",
    "llama3_8b phase=decode batch=1 bfloat16",
    "llama3_8b phase=decode batch=16 bfloat16",
)
PASSES = ("as it is", "compiled")
MOST_DIFFERENCE = 0.15
NOT_RUN = 2
LAUNCHES, WARM_UPS = 20, 3
KINDS = {  # by what the names of kernels contain; the first that fits
    "fused by the compiler": r"triton",
    "attention": r"fmha|flash|sdpa|attention",
    "convolution": r"conv|fprop|xmma_fprop|implicit",
    "norm": r"layer_norm|rms_norm|bn_|batch_norm",
    "pooling": r"pool",
    "product": r"gemm|nvjet|gemv|cutlass|splitk|cublas",
}
# The kinds of layers in deepbench's model files, by those of kernels.
OF_LAYERS = {
    "convolution": "convolution", "attention": "attention", "norm": "norm", "pool": "pooling",
    "fully connected": "product", "attention projection": "product", "feed forward": "product",
    "output": "product",
}  # fmt: skip
OTHERS = "elementwise and others"


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("workloads", nargs="*", default=WORKLOADS, metavar="WORKLOAD")
    parser.add_argument("--json", type=Path, metavar="FILE")
    # In the process of PyTorch's pass:
    parser.add_argument("--torch", choices=PASSES, help=argparse.SUPPRESS)
    chosen = parser.parse_args()
    if chosen.torch:
        print(json.dumps(pytorch_pass(chosen.workloads[0], chosen.torch)))
        return 0
    compared = []
    for workload in chosen.workloads:
        found = compare(workload)
        if isinstance(found, str):
            print(f"{workload}: {found}", file=sys.stderr)
            return NOT_RUN
        compared.append(found)
        print_comparison(found)
        if chosen.json:
            chosen.json.write_text(json.dumps(compared, indent=1) + "\n", encoding="utf-8")
    return 0 if all(map(is_close, compared)) else 1


def is_close(found: dict[str, Any]) -> bool:
    return any(abs(ratio - 1) <= MOST_DIFFERENCE for ratio in found["ratios"].values())


def compare(workload: str) -> dict[str, Any] | str:
    """Both sides of a workload, or why there is none."""
    before = deepbench_pass(workload)
    torch = {}
    for name in PASSES:
        answer = subprocess.run(
            [sys.executable, __file__, "--torch", name, workload], capture_output=True, text=True
        )
        if answer.returncode != 0:
            return (answer.stderr.strip().splitlines() or ["PyTorch's process failed"])[-1]
        torch[name] = json.loads(answer.stdout.splitlines()[-1])
    after = deepbench_pass(workload, kernels=False)
    chain_us = (before["chain_us"] + after["chain_us"]) / 2
    ratios = {name: chain_us / one["graph_us"] for name, one in torch.items()}
    return {"workload": workload, "ratios": ratios, "chain_us": chain_us, "deepbench": before,
            "again": after, "pytorch": torch}  # fmt: skip


def print_comparison(found: dict[str, Any]) -> None:
    ours, passes = found["deepbench"], found["pytorch"]
    ratios = ", ".join(f"{ratio:.3f} of PyTorch {name}" for name, ratio in found["ratios"].items())
    print(f"\n{found['workload']}: the chain takes {found['chain_us']:.1f} us, {ratios}")
    titles = ("chain's rows, us", "calls", *(word for name in passes for word in (name, "kernels")))
    print(f"  {'kind':24}" + "".join(f"{title:>18}" for title in titles))
    sides = (ours, *passes.values())
    for kind in sorted({kind for one in sides for kind in one["kinds"]}):
        print_line(kind, *(one["kinds"].get(kind, (0.0, 0)) for one in sides))
    gaps = (one["graph_us"] - one["kernels_us"] for one in passes.values())
    print_line("gaps", *((gap, "") for gap in (found["chain_us"] - ours["sum_us"], *gaps)))
    totals = (found["chain_us"], *(one["graph_us"] for one in passes.values()))
    print_line("whole", *((us, "") for us in totals))


def print_line(title: str, *cells: tuple[float, object]) -> None:
    print(f"  {title:24}" + "".join(f"{us:18.1f}{calls!s:>18}" for us, calls in cells), flush=True)


def deepbench_pass(workload: str, kernels: bool = True) -> dict[str, Any]:
    """The chain of a workload and, for its kernels, the sums of their rows by kind."""
    command = [sys.executable, "-m", "deepbench", "workload", *workload.split(), "--backend",
               "cuda", "--chain", "--format", "json", "--no-history", "--no-ceilings",
               *(() if kernels else ("--time-limit", "0.05"))]  # fmt: skip
    answer = subprocess.run(command, capture_output=True, text=True)
    try:
        found = json.loads(answer.stdout)["workload"][0]
        chain_us = found["chain"]["statistics"]["median_ns"] / 1e3
    except (ValueError, KeyError, TypeError, IndexError):
        sys.exit(f"{' '.join(command)} failed:\n{answer.stdout[-2000:]}{answer.stderr[-2000:]}")
    kinds: dict[str, list[float]] = {}
    for layer in found["kinds"]:
        one = kinds.setdefault(OF_LAYERS.get(layer["name"], OTHERS), [0.0, 0])
        one[0] += layer["measured_ns"] / 1e3
        one[1] += layer["calls"] if layer["measured_ns"] else 0
    return {"chain_us": chain_us, "sum_us": found["measured_ns"] / 1e3, "kinds": kinds,
            "verification": found["chain"]["verification"]}  # fmt: skip


# ---- the process of PyTorch's pass --------------------------------------------------------------


def pytorch_pass(workload: str, how: str) -> dict[str, Any]:
    try:
        import torch
        from pytorch_steps import STEPS
    except ImportError as error:
        sys.exit(f"PyTorch is missing: {error}")
    if not torch.cuda.is_available():
        sys.exit("PyTorch has no CUDA device")
    name, *words = workload.split()
    given = dict(word.split("=", 1) for word in words if "=" in word)
    step_name = f"{name} {given.pop('phase', 'fwd')}"
    if step_name not in STEPS:
        sys.exit(f"there is no pass of PyTorch for {step_name}")
    precision = next((word for word in words if "=" not in word), "float")
    sizes = {key: int(value) for key, value in given.items()}
    torch.manual_seed(1)
    with torch.inference_mode():
        step = STEPS[step_name](getattr(torch, precision), how == "compiled", **sizes)
        graph_us = time_graph(torch, step)
        names = profile(torch, step)
    kinds: dict[str, list[float]] = {}
    for kernel, (us, calls) in names.items():
        one = kinds.setdefault(kind_of(kernel), [0.0, 0])
        one[0] += us
        one[1] += calls
    return {"graph_us": graph_us, "kernels_us": sum(us for us, _ in names.values()),
            "kinds": kinds, "kernels": names, "torch": torch.__version__}  # fmt: skip


def time_graph(torch: Any, step: Callable[[], Any]) -> float:
    """The median time of a launch of the pass as one graph, in microseconds."""
    stream = torch.cuda.Stream()
    with torch.cuda.stream(stream):
        for _ in range(WARM_UPS):
            step()
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        step()
    times = []
    for _ in range(WARM_UPS + LAUNCHES):
        begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        begin.record()
        graph.replay()
        end.record()
        torch.cuda.synchronize()
        times.append(begin.elapsed_time(end) * 1e3)
        time.sleep(times[-1] / 1e6)
    return statistics.median(times[WARM_UPS:])


def profile(torch: Any, step: Callable[[], Any]) -> dict[str, list[float]]:
    """The microseconds and calls of every kernel of a pass."""
    activity = torch.profiler.ProfilerActivity
    with torch.profiler.profile(activities=[activity.CUDA, activity.CPU]) as profiler:
        step()
        torch.cuda.synchronize()
    return {
        event.key: [event.self_device_time_total, event.count]
        for event in profiler.key_averages()
        if event.self_device_time_total > 0 and str(event.device_type).endswith("CUDA")
    }


def kind_of(kernel: str) -> str:
    found = (kind for kind, words in KINDS.items() if re.search(words, kernel, re.IGNORECASE))
    return next(found, OTHERS)


if __name__ == "__main__":
    sys.exit(main())
