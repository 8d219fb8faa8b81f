"""Compares deepbench with a bare loop over the same library; both take turns within one run.

Goal: the median ratio is within 3 %. Each ratio compares two neighbouring measurements, which a
change of the machine's speed affects alike. A mistrusted row is measured again. The bare loops
(bare_onednn.cpp, bare_onednn_conv.cpp, bare_onednn_rnn.cpp, bare_onednn_arrays.cpp, bare_eigen.cpp)
do not use deepbench; see CMakeLists.txt for how to build them. The name of the program determines
the operations.

    python benchmarks/against_bare_loop.py build/benchmarks/bare_onednn [options of deepbench]
"""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
from pathlib import Path

from command_runs import median_us, run_command

_SQUARE = "w=28 h=28 c=128 n=8 k=128 s=3 r=3 pad_w=1 pad_h=1"

# Problems for both programs. Omitted attributes have the same defaults in both.
PROBLEMS = {
    "gemm": (
        "m=1760 n=128 k=1760 precision=float",
        "m=2560 n=7000 k=2560 precision=float",
        "m=1760 n=128 k=1760 precision=bfloat16",
        "m=2560 n=7000 k=2560 precision=bfloat16",
        "m=1760 n=128 k=1760 precision=int8",
        "m=2560 n=7000 k=2560 precision=int8",
    ),
    "conv": (
        f"{_SQUARE} precision=float phase=fwd",
        f"{_SQUARE} precision=float phase=bwd_data",
        f"{_SQUARE} precision=float phase=bwd_filter",
        f"{_SQUARE} precision=bfloat16 phase=fwd",
        f"{_SQUARE} precision=int8 x_type=u8 phase=fwd",
        "w=14 h=14 c=256 n=1 k=1024 s=1 r=1 precision=float phase=fwd",
        "w=112 h=112 c=64 n=8 k=128 s=3 r=3 pad_w=1 pad_h=1 precision=float phase=fwd",
    ),
    "rnn": (
        "cell=lstm hidden=512 batch=16 timesteps=25 phase=fwd mode=inference",
        "cell=lstm hidden=512 batch=16 timesteps=25 phase=bwd",
        "cell=gru hidden=1536 batch=4 timesteps=50 phase=fwd mode=inference",
        "cell=gru hidden=1024 batch=32 timesteps=25 phase=bwd",
        "cell=vanilla hidden=1760 batch=16 timesteps=50 phase=fwd",
    ),
    "sparse_gemm": (
        "m=7680 n=1 k=2560 sparsity=0.95",
        "m=10752 n=1 k=3584 sparsity=0.9",
        "m=7680 n=4 k=2560 sparsity=0.95",
        "m=7680 n=200 k=2560 sparsity=0.95",
    ),
    "softmax": ("rows=512 columns=512", "rows=2048 columns=2048"),
    "activation": (
        "kind=relu elements=262144",
        "kind=relu elements=8388608",
        "kind=gelu elements=4194304",
        "kind=silu elements=4194304",
    ),
    "elementwise": ("kind=add rows=512 columns=512", "kind=add rows=2048 columns=2048"),
    "norm": ("kind=layer rows=512 columns=1024", "kind=layer rows=8192 columns=1024"),
}
PROGRAMS = {
    "bare_onednn": ("gemm",),
    "bare_onednn_conv": ("conv",),
    "bare_onednn_rnn": ("rnn",),
    "bare_onednn_arrays": ("softmax", "activation", "elementwise", "norm"),
    "bare_eigen": ("sparse_gemm",),
}
TURNS = 7
MAX_MISTRUSTED = 7


def bare_us(program: str, op: str, problem: str, environment: dict[str, str]) -> float | None:
    done = subprocess.run(
        [program, op, *problem.split()],
        capture_output=True,
        text=True,
        check=False,
        env=os.environ | environment,
    )
    if done.returncode != 0:
        return None
    figures = dict(word.split("=", 1) for word in done.stdout.split())
    return float(figures["median_us"])


def compare(program: str, op: str, problem: str, options: list[str]) -> str:
    label = f"{op} {problem}"
    deepbench_us: list[float] = []
    bare: list[float] = []
    mistrusted = 0
    while len(deepbench_us) < TURNS:
        run = run_command(op, *problem.split(), *options)
        row = run.rows[0]
        if row.status == "mistrusted" and mistrusted < MAX_MISTRUSTED:
            mistrusted += 1
            continue
        if row.status != "ok":
            return f"{label:84} {row.status}: {row.reason}"
        # Binds threads in the same way as the worker.
        time_us = bare_us(program, op, problem, run.context.get("environment", {}))
        if time_us is None:
            return f"{label:84} the bare loop does not support it"
        deepbench_us.append(median_us(row))
        bare.append(time_us)
    ratios = sorted(one / other for one, other in zip(deepbench_us, bare, strict=True))
    return (
        f"{label:84} deepbench {statistics.median(deepbench_us):12.1f} us   "
        f"bare {statistics.median(bare):12.1f} us   ratio {statistics.median(ratios):.3f} "
        f"({ratios[0]:.3f} to {ratios[-1]:.3f})"
        + (f", {mistrusted} mistrusted" if mistrusted else "")
    )


def main() -> None:
    ops = PROGRAMS.get(Path(sys.argv[1]).name) if len(sys.argv) > 1 else None
    if ops is None:
        sys.exit(__doc__)
    for op in ops:
        for problem in PROBLEMS[op]:
            print(compare(sys.argv[1], op, problem, sys.argv[2:]), flush=True)


if __name__ == "__main__":
    main()
