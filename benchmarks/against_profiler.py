"""Compares hot times of deepbench with kernel times from CUPTI, on 20 rows of an operation.

Goal: the time exceeds the sum of the call's kernels by at most 2 % or 0.5 us per kernel, whichever
is larger. CUPTI's figures come from torch's profiler, which adds about 0.6 to 3 us to a call, so
deepbench measures without it in separate processes. Three processes without the profiler and two
with it alternate. The figures are the median of the former and the mean of the latter. From 50 us
on they are compared in cycles, time multiplied by the row's SM clock, since clocks of different
runs may differ by 2 %. Such rows are printed as times at the clock of the profiled runs and marked
"same clock". The time of a call's kernels is the total of a batch in the trace, between the two
kernels that stamp the clock, divided by the number of calls. Memsets and copies count as kernels.

    python benchmarks/against_profiler.py [gemm|conv|attention] [key=value, options of both]

Exit status: 0 if all rows are within the goal, 1 if not, 2 if torch is missing.
"""

from __future__ import annotations

import json
import statistics
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

GEMM = (
    "gemm m=64 n=1 k=1216 precision=half",
    "gemm m=512 n=16 k=512 precision=half",
    "gemm m=35 n=700 k=2048 precision=half",
    "gemm m=1760 n=16 k=1760 precision=half",
    "gemm m=1760 n=128 k=1760 precision=half",
    "gemm m=2560 n=64 k=2560 trans_a=t precision=half",
    "gemm m=3072 n=128 k=1024 precision=half",
    "gemm m=512 n=16 k=500000 precision=half",
    "gemm m=1760 n=7000 k=1760 precision=half",
    "gemm m=2560 n=7000 k=2560 precision=half",
    "gemm m=5124 n=9124 k=2560 precision=half",
    "gemm m=7680 n=24000 k=2560 precision=half",
    "gemm m=512 n=32 k=512 precision=float",
    "gemm m=1760 n=128 k=1760 precision=float",
    "gemm m=2048 n=7000 k=2048 precision=float",
    "gemm m=5124 n=9124 k=2048 precision=float",
    "gemm m=4096 n=7000 k=4096 precision=tf32",
    "gemm m=4096 n=7000 k=4096 precision=bfloat16",
    "gemm m=5124 n=700 k=2048 precision=int8",
    "gemm m=3072 n=1500 k=1024 precision=int8",
)
# Geometry, phase and precision. The problems cover tensor cores in all phases, engines with several
# kernels (among them int8 and filter gradients), Winograd, and padded channels.
CONV = tuple(
    f"conv {shape} phase={phase} precision={precision}"
    for shape, phase, precision in (
        ("w=7 h=7 c=512 n=8 k=512 s=3 r=3 pad_w=1 pad_h=1", "fwd", "half"),
        ("w=14 h=14 c=256 n=8 k=64 s=1 r=1", "fwd", "half"),
        ("w=28 h=28 c=128 n=8 k=128 s=3 r=3 pad_w=1 pad_h=1", "fwd", "half"),
        ("w=56 h=56 c=64 n=16 k=64 s=3 r=3 pad_w=1 pad_h=1", "fwd", "half"),
        ("w=112 h=112 c=64 n=16 k=128 s=3 r=3 pad_w=1 pad_h=1", "fwd", "half"),
        ("w=224 h=224 c=3 n=16 k=64 s=7 r=7 pad_w=3 pad_h=3 stride_w=2 stride_h=2", "fwd", "half"),
        ("w=700 h=161 c=1 n=32 k=32 s=20 r=5 stride_w=2 stride_h=2", "fwd", "half"),
        ("w=28 h=28 c=128 n=8 k=128 s=3 r=3 pad_w=1 pad_h=1", "bwd_data", "half"),
        ("w=56 h=56 c=64 n=16 k=128 s=3 r=3 pad_w=1 pad_h=1", "bwd_data", "half"),
        ("w=341 h=79 c=32 n=32 k=32 s=10 r=5 stride_w=2 stride_h=2", "bwd_data", "half"),
        ("w=14 h=14 c=512 n=16 k=512 s=3 r=3 pad_w=1 pad_h=1", "bwd_filter", "half"),
        ("w=28 h=28 c=64 n=8 k=64 s=3 r=3 pad_w=1 pad_h=1", "bwd_filter", "half"),
        ("w=112 h=112 c=64 n=16 k=128 s=3 r=3 pad_w=1 pad_h=1", "bwd_filter", "half"),
        ("w=28 h=28 c=128 n=8 k=128 s=3 r=3 pad_w=1 pad_h=1", "fwd", "float"),
        ("w=28 h=28 c=128 n=8 k=128 s=3 r=3 pad_w=1 pad_h=1", "bwd_data", "float"),
        ("w=28 h=28 c=64 n=4 k=64 s=3 r=3 pad_w=1 pad_h=1", "bwd_filter", "float"),
        ("w=112 h=112 c=64 n=8 k=128 s=3 r=3 pad_w=1 pad_h=1", "fwd", "float"),
        ("w=56 h=56 c=64 n=8 k=64 s=3 r=3 pad_w=1 pad_h=1", "fwd", "tf32"),
        ("w=56 h=56 c=64 n=8 k=64 s=3 r=3 pad_w=1 pad_h=1", "bwd_filter", "bfloat16"),
        ("w=28 h=28 c=128 n=8 k=128 s=3 r=3 pad_w=1 pad_h=1", "fwd", "int8"),
    )
)
ATTENTION = tuple(
    f"attention {shape} precision={precision}"
    for precision in ("half", "bfloat16")
    for shape in (
        "batch=1 heads=16 seq_q=384 seq_kv=384 dim=64 mask=none",
        "batch=4 heads=16 seq_q=512 seq_kv=512 dim=64 mask=none",
        "batch=8 heads=16 seq_q=256 seq_kv=256 dim=64 mask=top_left",
        "batch=1 heads=32 kv_heads=8 seq_q=512 seq_kv=512 dim=128 mask=top_left",
        "batch=1 heads=32 kv_heads=8 seq_q=2048 seq_kv=2048 dim=128 mask=bottom_right",
        "batch=4 heads=32 kv_heads=8 seq_q=4096 seq_kv=4096 dim=128 mask=bottom_right",
        "batch=1 heads=64 kv_heads=8 seq_q=2048 seq_kv=2048 dim=64 mask=bottom_right",
        "batch=1 heads=128 seq_q=2048 seq_kv=2048 dim=192 dim_v=128 mask=bottom_right",
        "batch=16 heads=32 kv_heads=8 seq_q=1 seq_kv=8192 dim=128 mask=bottom_right",
        "batch=1 heads=8 seq_q=8192 seq_kv=8192 dim=128 mask=none",
    )
)
STAMP = "stamp"  # the kernel around each batch (src/cuda/kernels/clock.cu)
SETS = {"gemm": GEMM, "conv": CONV, "attention": ATTENTION}
SHARE, PER_KERNEL_US = 0.02, 0.5
SAME_CLOCK_US = 50  # longer calls are compared in cycles
TURNS = 2  # after a first run without the profiler, each turn runs once with it and once without
SAMPLES = 40  # under the profiler, where a sample is a graph of up to hundreds of calls
RUN_LIMIT_S = 480
NOT_RUN = 2

Event = dict[str, Any]  # of a trace
Answer = dict[str, Any]  # of a subprocess, for one problem


# ---- in a subprocess ---------------------------------------------------------------------------


def problems_and_options(words: list[str]) -> tuple[tuple[str, ...], list[str]]:
    """The problems of the operation that the first word names (default gemm), and the options."""
    if words and words[0] in SETS:
        return SETS[words[0]], words[1:]
    return GEMM, words


def create_runner(options: list[str]) -> Any:
    from deepbench import _core, libraries

    libraries.export_library_path("cuda")
    return _core.Runner("cuda", " ".join(["ceilings=no", *options]), libraries.plugin_paths())


def print_without_profiler(words: list[str]) -> None:
    """Prints the median of each problem without the profiler, one JSON line each."""
    problems, options = problems_and_options(words)
    row_runner = create_runner(options)
    for position, problem in enumerate(problems):
        row = json.loads(row_runner.run(problem, position))
        print(
            json.dumps({"status": row["status"], "reason": row["reason"], **median_and_clock(row)})
        )


def median_and_clock(row: dict[str, Any]) -> Answer:
    """The median of a call, and the clock during the measurement if it is known."""
    median_ns = (row["statistics"] or {}).get("median_ns")
    return {"ns": median_ns, "mhz": (row["observed"] or {}).get("sm_clock_mhz")}


def print_under_profiler(words: list[str]) -> None:
    """Prints the sum and the number of the kernels of one call, one JSON line per problem."""
    import torch  # type: ignore[import-not-found]

    torch.cuda.init()
    problems, options = problems_and_options(words)
    row_runner = create_runner(["verify=no", f"samples={SAMPLES}", *options])
    for position, problem in enumerate(problems):
        events, row = run_traced_row(row_runner, problem, position)
        found = median_of_one_call(
            split_into_batches(events), (row["statistics"] or {}).get("batch")
        )
        found["reason"] = row["reason"] or found["reason"]
        print(json.dumps(found | median_and_clock(row)), flush=True)


def run_traced_row(row_runner: Any, line: str, position: int) -> tuple[list[Event], Answer]:
    """All events on the device during a row, in order, and the row."""
    events, row = trace(lambda: json.loads(row_runner.run(line, position)))
    row_runner.release()
    return events, row


def trace(action: Callable[[], Any]) -> tuple[list[Event], Any]:
    """All events on the device during an action, in order, and what it returns."""
    from torch.profiler import ProfilerActivity, profile  # type: ignore[import-not-found]

    with profile(activities=[ProfilerActivity.CUDA]) as profiler:
        returned = action()
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "trace.json"
        profiler.export_chrome_trace(str(file))
        return events_on_device(json.loads(file.read_text())), returned


def events_on_device(exported: dict[str, Any]) -> list[Event]:
    work = ("kernel", "gpu_memset", "gpu_memcpy")
    found = (event for event in exported["traceEvents"] if event.get("cat") in work)
    return sorted(found, key=lambda event: float(event["ts"]))


def split_into_batches(events: list[Event]) -> list[list[Event]]:
    """The events of each batch, between one clock stamp and the next."""
    found: list[list[Event]] = []
    inside = False
    for event in events:
        if event["name"] == STAMP:
            inside = not inside
            found += [[]] if inside else []
        elif inside:
            found[-1].append(event)
    return found


def median_of_one_call(found: list[list[Event]], calls: int | None) -> Answer:
    """The median over the row's later batches of this many calls."""
    whole = whole_batches(found, calls)
    if not calls or not whole:
        return {"us": 0.0, "kernels": 0, "reason": f"no batch of {calls} calls in the trace"}
    sums = [sum(float(event["dur"]) for event in batch) for batch in whole]
    return {
        "us": statistics.median(sums) / calls,
        "kernels": len(whole[0]) // calls,
        "reason": None,
    }


def whole_batches(found: list[list[Event]], calls: int | None) -> list[list[Event]]:
    """The row's later batches of this many calls. Perturbing batches have fewer calls."""
    later = found[len(found) // 2 :]
    whole = Counter(len(batch) for batch in later if calls and batch and len(batch) % calls == 0)
    length = max(whole, key=lambda length: (whole[length], length), default=0)
    return [batch for batch in later if batch and len(batch) == length]


# ---- the comparison ----------------------------------------------------------------------------


def answers_of_subprocess(mode: str, words: list[str]) -> list[Answer]:
    command = [sys.executable, __file__, mode, *words]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, timeout=RUN_LIMIT_S)
    lines = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
    if done.returncode or len(lines) != len(problems_and_options(words)[0]):
        print(f"{mode}: exit status {done.returncode} after {len(lines)} rows")
    return lines


def compared_times_and_mark(
    plain: Sequence[Answer], traced: Sequence[Answer]
) -> tuple[float, float, str]:
    """The time of deepbench and of the kernels in us, and a mark if they are compared in cycles."""
    measured_us = statistics.median(one["ns"] / 1e3 for one in plain)
    kernels_us = statistics.mean(one["us"] for one in traced)
    if kernels_us < SAME_CLOCK_US:
        return measured_us, kernels_us, ""
    if not all(one["mhz"] for one in [*plain, *traced]):
        return measured_us, kernels_us, ", clocks unknown"
    clock = statistics.mean(one["mhz"] for one in traced)
    measured_us = statistics.median(one["ns"] * one["mhz"] for one in plain) / 1e3 / clock
    kernels_us = statistics.mean(one["us"] * one["mhz"] for one in traced) / clock
    return measured_us, kernels_us, ", same clock"


def reason_not_to_compare(plain: Sequence[Answer], traced: Sequence[Answer]) -> str:
    """The reason why a row cannot be compared; empty if it can."""
    for one in plain:
        if not one["ns"]:
            return f"{one['status']}: {one['reason']}"
    for one in traced:
        if not one["us"]:
            return f"under the profiler: {one['reason']}"
    counts = sorted({one["kernels"] for one in traced})
    return (
        ""
        if len(counts) == 1
        else f"under the profiler, calls have different numbers of kernels: {counts}"
    )


def comparisons(words: list[str]) -> Iterator[bool]:
    plain, traced = [answers_of_subprocess("--plainly", words)], []
    for _ in range(TURNS):
        traced.append(answers_of_subprocess("--under-profiler", words))
        plain.append(answers_of_subprocess("--plainly", words))
    width = max(map(len, problems_and_options(words)[0]))
    each = zip(
        problems_and_options(words)[0],
        zip(*plain, strict=False),
        zip(*traced, strict=False),
        strict=False,
    )
    for problem, without_profiler, with_profiler in each:
        if why := reason_not_to_compare(without_profiler, with_profiler):
            print(f"{problem:{width}} {why}")
            yield False
            continue
        measured_us, kernels_us, how = compared_times_and_mark(without_profiler, with_profiler)
        count = with_profiler[0]["kernels"]  # the same in all runs
        excess_us = measured_us - kernels_us
        within = excess_us <= max(SHARE * kernels_us, PER_KERNEL_US * count)
        print(
            f"{problem:{width}} deepbench {measured_us:10.3f}  kernels {kernels_us:10.3f} us "
            f"({count})  excess {excess_us:7.3f} us {excess_us / kernels_us:7.2%}  "
            f"{'within' if within else 'BEYOND'}{how}"
        )
        yield within


def main() -> int:
    modes = {"--plainly": print_without_profiler, "--under-profiler": print_under_profiler}
    if sys.argv[1:] and sys.argv[1] in modes:
        modes[sys.argv[1]](sys.argv[2:])
        return 0
    from importlib.util import find_spec

    if find_spec("torch") is None:
        print("torch is not installed, so there is no profiler to compare with")
        return NOT_RUN
    within, count = list(comparisons(sys.argv[1:])), len(problems_and_options(sys.argv[1:])[0])
    print(f"within {SHARE:.0%} or {PER_KERNEL_US} us per kernel: {sum(within)} of {count}")
    return 0 if sum(within) == count else 1


if __name__ == "__main__":
    sys.exit(main())
