"""deepbench's hot times against the kernel times that CUPTI reports, on 20 rows of 3 us to 5 ms.

Goal: above the sum of the call's kernels by at most 2 % or 0.5 us a kernel, whichever is larger.
CUPTI's figures come from torch's profiler; without torch the script says so. It adds about a
microsecond to a call, so that short calls are measured in processes of their own, before and after
the profiler's. From 50 us on a device's clock differs more from run to run than that: there, ours
is the median of the profiled run itself, profiler included.

    python benchmarks/against_profiler.py [options of rows, key=value, for both]
"""

from __future__ import annotations

import json
import re
import statistics
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

PROBLEMS = (
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
SHARE, PER_KERNEL_US = 0.02, 0.5
SAME_RUN_US = 50  # calls of so long are compared within the profiled run
SAMPLES = 40  # under the profiler: graphs of up to hundreds of calls each
ROW_LIMIT_S = 480

Event = dict[str, Any]


# ---- in a process of its own --------------------------------------------------------------------


def runner(options: list[str]) -> Any:
    from deepbench import _core, libraries

    libraries.tell_where("cuda")
    return _core.Runner("cuda", " ".join(["ceilings=no", *options]), libraries.plugin_paths())


def plainly(options: list[str]) -> None:
    """Our medians, one JSON line a problem."""
    ours = runner(options)
    for position, problem in enumerate(PROBLEMS):
        row = json.loads(ours.run(problem, position))
        median_ns = (row["statistics"] or {}).get("median_ns")
        print(json.dumps({"status": row["status"], "reason": row["reason"], "ns": median_ns}))


def under_profiler(options: list[str]) -> None:
    """The sum of the kernels of one call and their number, one JSON line a problem."""
    import torch  # type: ignore[import-not-found]

    torch.cuda.init()
    ours, own = runner(["verify=no", f"samples={SAMPLES}", *options]), own_kernels()
    for position, problem in enumerate(PROBLEMS):
        once, _ = traced(ours, f"{problem} ; once=yes", position)
        many, row = traced(ours, problem, position)
        wanted = Counter(event["name"] for event in of_the_call(once, own))
        found = summed(wanted, of_the_call(many, own))
        found["ns"] = (row["statistics"] or {}).get("median_ns")
        print(json.dumps(found), flush=True)


def traced(ours: Any, line: str, position: int) -> tuple[list[Event], dict[str, Any]]:
    """Everything that the device did for a row, in order, and the row."""
    from torch.profiler import ProfilerActivity, profile  # type: ignore[import-not-found]

    with profile(activities=[ProfilerActivity.CUDA]) as profiler:
        row = json.loads(ours.run(line, position))
    ours.release()
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "trace.json"
        profiler.export_chrome_trace(str(file))
        events = json.loads(file.read_text())["traceEvents"]
    work = ("kernel", "gpu_memset", "gpu_memcpy")
    found = sorted((e for e in events if e.get("cat") in work), key=lambda e: float(e["ts"]))
    return found, row


def own_kernels() -> set[str]:
    """Our kernels: they prepare, verify and read clocks, outside the timed spans."""
    folder = Path(__file__).parents[1] / "src" / "cuda" / "kernels"
    declared = r"__global__\s+void\s+(?:__launch_bounds__\([^)]*\)\s*)?(\w+)\("
    found = (re.findall(declared, file.read_text()) for file in folder.glob("*.cu"))
    return {name for names in found for name in names}


def of_the_call(events: list[Event], own: set[str]) -> list[Event]:
    """Without what comes before the first call: filling operands, the first clock stamp."""
    ours = [event["cat"] != "kernel" or event["name"] in own for event in events]
    first = ours.index(False) if False in ours else len(events)
    return [event for event, is_own in zip(events[first:], ours[first:], strict=True)
            if not is_own or event["cat"] == "gpu_memset"]  # fmt: skip


def summed(wanted: Counter[str], events: list[Event]) -> dict[str, Any]:
    """Over the second half of the row, which is warm."""
    total_us, missing = 0.0, []
    for name, count in wanted.items():
        durations = [float(event["dur"]) for event in events if event["name"] == name]
        settled = durations[len(durations) // 2 :]
        if not settled:
            missing.append(name)
        elif count == 1:
            total_us += statistics.median(settled)
        else:  # the same kernel in several sizes
            total_us += count * statistics.fmean(settled)
    return {"us": total_us, "kernels": wanted.total(), "missing": missing, "events": len(events)}


# ---- the comparison -----------------------------------------------------------------------------


def answers(mode: str, options: list[str]) -> list[dict[str, Any]]:
    command = [sys.executable, __file__, mode, *options]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, timeout=ROW_LIMIT_S)
    lines = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
    if done.returncode or len(lines) != len(PROBLEMS):
        print(f"{mode}: exit status {done.returncode} after {len(lines)} rows")
    return lines


def comparisons(options: list[str]) -> Iterator[bool]:
    before = answers("--plainly", options)
    kernels = answers("--under-profiler", options)
    after = answers("--plainly", options)
    for problem, one, traced_one, other in zip(PROBLEMS, before, kernels, after, strict=False):
        if not one["ns"] or not other["ns"] or not traced_one["us"]:
            why = one["reason"] or other["reason"] or f"no kernels seen {traced_one}"
            print(f"{problem:52} {one['status']}: {why}")
            yield False
            continue
        same_run = traced_one["us"] >= SAME_RUN_US and traced_one["ns"]
        ours_us = traced_one["ns"] / 1e3 if same_run else (one["ns"] + other["ns"]) / 2e3
        excess_us = ours_us - traced_one["us"]
        allowed_us = max(SHARE * traced_one["us"], PER_KERNEL_US * traced_one["kernels"])
        print(
            f"{problem:52} ours {ours_us:10.3f}  kernels {traced_one['us']:10.3f} us "
            f"({traced_one['kernels']})  excess {excess_us:7.3f} us {excess_us / ours_us:7.2%}  "
            f"{'within' if excess_us <= allowed_us else 'BEYOND'}{', same run' if same_run else ''}"
        )
        yield excess_us <= allowed_us


def main() -> int:
    modes = {"--plainly": plainly, "--under-profiler": under_profiler}
    if sys.argv[1:] and sys.argv[1] in modes:
        modes[sys.argv[1]](sys.argv[2:])
        return 0
    from importlib.util import find_spec

    if find_spec("torch") is None:
        print("torch is not installed: its profiler is what this compares with")
        return 0
    within = list(comparisons(sys.argv[1:]))
    print(f"within {SHARE:.0%} or {PER_KERNEL_US} us a kernel: {sum(within)} of {len(PROBLEMS)}")
    return 0 if sum(within) == len(PROBLEMS) else 1


if __name__ == "__main__":
    sys.exit(main())
