"""Whether cold is cold: the L2 hit rate and the bytes from DRAM of hot and cold calls, by ncu.

Takes five products that fit the cache. Needs Nsight Compute and permission to read the hardware's
counters; says so where either is missing.

    python benchmarks/cold_cache_counters.py

Exit status: 0 with figures; 2 without any, where nothing was shown.
"""

from __future__ import annotations

import csv
import shutil
import statistics
import subprocess
import sys

PROBLEMS = (
    ("m=1760", "n=128", "k=1760"),
    ("m=2048", "n=32", "k=2048"),
    ("m=2560", "n=64", "k=2560"),
    ("m=3072", "n=128", "k=1024"),
    ("m=4096", "n=32", "k=1024"),
)
HIT_RATE, FROM_DRAM = "lts__t_sector_hit_rate.pct", "dram__bytes_read.sum"
# Without ncu's own flushing, and one metric at a time: where a kernel must be run again for another
# counter, ncu saves and restores the memory between, and its caches are what would be seen.
NCU = (
    "ncu", "--csv", "--print-units", "base", "--cache-control", "none", "--clock-control", "none",
    "--kernel-name", "regex:gemm|nvjet|xmma|cutlass|gemv", "--launch-skip", "40",
    "--launch-count", "5",
)  # fmt: skip
LIMIT_S = 120
NOT_RUN = 2


def counter(metric: str, problem: tuple[str, ...], cache: str) -> float | str:
    """Its median over five calls, or why there is none."""
    command = [*NCU, "--metrics", metric, sys.executable, "-m", "deepbench", "gemm", *problem]
    command += ["precision=half", "--backend", "cuda", "--cache", cache, "--samples", "3"]
    command += ["--no-verify", "--in-process"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=LIMIT_S, check=False)
    lines = [line for line in done.stdout.splitlines() if line.startswith('"')]
    values = [float(row["Metric Value"].replace(",", "")) for row in csv.DictReader(lines)]
    if values:
        return statistics.median(values)
    said = [line for line in done.stdout.splitlines() if "ERROR" in line] or ["no counters"]
    return said[0].strip("= ")


def show(problem: tuple[str, ...], cache: str) -> bool:
    """Prints a line; whether it has both figures."""
    m, n, k = (int(word.partition("=")[2]) for word in problem)
    operands_mb = 2 * (m * k + k * n + m * n) / 1e6
    row = f"{' '.join(problem):24} {cache:5}"
    rate, dram = (counter(name, problem, cache) for name in (HIT_RATE, FROM_DRAM))
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
        print("ncu is not installed: its counters are what this shows; not run")
        return NOT_RUN
    shown = [show(problem, cache) for problem in PROBLEMS for cache in ("hot", "cold")]
    return 0 if any(shown) else NOT_RUN


if __name__ == "__main__":
    sys.exit(main())
