"""Checks that cold calls read from DRAM: prints the L2 hit rate and the bytes from DRAM of hot and
cold calls, measured by ncu.

Uses five products that fit the cache. Needs Nsight Compute and permission to read hardware
counters, and reports if either is missing.

    python benchmarks/cold_cache_counters.py

Exit status: 0 if figures were printed, 2 if not.
"""

from __future__ import annotations

import csv
import shutil
import statistics
import subprocess
import sys

from command_runs import without_history

PROBLEMS = (
    ("m=1760", "n=128", "k=1760"),
    ("m=2048", "n=32", "k=2048"),
    ("m=2560", "n=64", "k=2560"),
    ("m=3072", "n=128", "k=1024"),
    ("m=4096", "n=32", "k=1024"),
)
HIT_RATE, FROM_DRAM = "lts__t_sector_hit_rate.pct", "dram__bytes_read.sum"
# Disables ncu's cache flushing and collects one metric per run. If a kernel must be replayed for
# another counter, ncu saves and restores the memory in between, which changes the caches.
NCU = (
    "ncu", "--csv", "--print-units", "base", "--cache-control", "none", "--clock-control", "none",
    "--kernel-name", "regex:gemm|nvjet|xmma|cutlass|gemv", "--launch-skip", "40",
    "--launch-count", "5",
)  # fmt: skip
LIMIT_S = 120
NOT_RUN = 2


def median_counter(metric: str, problem: tuple[str, ...], cache: str) -> float | str:
    """The median of the counter over five calls, or the reason why it is missing."""
    command = [*NCU, "--metrics", metric, sys.executable, "-m", "deepbench", "gemm", *problem]
    command += ["precision=half", "--backend", "cuda", "--cache", cache, "--samples", "3"]
    command += ["--no-verify", "--in-process"]
    done = subprocess.run(
        command, capture_output=True, text=True, timeout=LIMIT_S, check=False, env=without_history()
    )
    lines = [line for line in done.stdout.splitlines() if line.startswith('"')]
    values = [float(row["Metric Value"].replace(",", "")) for row in csv.DictReader(lines)]
    if values:
        return statistics.median(values)
    errors = [line for line in done.stdout.splitlines() if "ERROR" in line] or ["no counters"]
    return errors[0].strip("= ")


def print_counters(problem: tuple[str, ...], cache: str) -> bool:
    """Prints a line, and returns whether it has both figures."""
    m, n, k = (int(word.partition("=")[2]) for word in problem)
    operands_mb = 2 * (m * k + k * n + m * n) / 1e6
    row = f"{' '.join(problem):24} {cache:5}"
    rate, dram = (median_counter(name, problem, cache) for name in (HIT_RATE, FROM_DRAM))
    if isinstance(rate, str) or isinstance(dram, str):
        print(f"{row} {rate if isinstance(rate, str) else dram}", flush=True)
        return False
    print(
        f"{row} L2 hit rate {rate:5.1f} %   "
        f"from DRAM {dram / 1e6:7.3f} MB of {operands_mb:.3f} MB read",
        flush=True,
    )
    return True


def main() -> int:
    if shutil.which("ncu") is None:
        print("ncu is not installed, so there are no counters to show")
        return NOT_RUN
    shown = [print_counters(problem, cache) for problem in PROBLEMS for cache in ("hot", "cold")]
    return 0 if any(shown) else NOT_RUN


if __name__ == "__main__":
    sys.exit(main())
