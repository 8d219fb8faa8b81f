"""Whether cold is cold: the L2 hit rate and the bytes from DRAM of hot and cold calls, by ncu.

Takes five products that fit the cache. Needs Nsight Compute and permission to read the hardware's
counters; says so where either is missing.

    python benchmarks/cold_by_counters.py
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
# One pass over these two, without ncu's own flushing, or its cache would be what is seen.
NCU = (
    "ncu", "--csv", "--print-units", "base", "--cache-control", "none", "--clock-control", "none",
    "--metrics", f"{HIT_RATE},{FROM_DRAM}", "--kernel-name", "regex:gemm|nvjet|xmma|cutlass|gemv",
    "--launch-skip", "40", "--launch-count", "5",
)  # fmt: skip
LIMIT_S = 120


def counters(problem: tuple[str, ...], cache: str) -> dict[str, float] | str:
    """Medians over five calls by metric, or why there are none."""
    command = [*NCU, sys.executable, "-m", "deepbench", "gemm", *problem, "precision=half"]
    command += ["--backend", "cuda", "--cache", cache, "--samples", "3", "--no-verify"]
    done = subprocess.run(
        [*command, "--in-process"], capture_output=True, text=True, timeout=LIMIT_S, check=False
    )
    lines = [line for line in done.stdout.splitlines() if line.startswith('"')]
    found: dict[str, list[float]] = {}
    for row in csv.DictReader(lines):
        value = row["Metric Value"].replace(",", "")
        found.setdefault(row["Metric Name"], []).append(float(value))
    if HIT_RATE not in found or FROM_DRAM not in found:
        said = [line for line in done.stdout.splitlines() if "ERROR" in line] or ["no counters"]
        return said[0].strip("= ")
    return {name: statistics.median(values) for name, values in found.items()}


def main() -> int:
    if shutil.which("ncu") is None:
        print("ncu is not installed: its counters are what this shows")
        return 0
    for problem in PROBLEMS:
        m, n, k = (int(word.partition("=")[2]) for word in problem)
        operands_mb = 2 * (m * k + k * n + m * n) / 1e6
        for cache in ("hot", "cold"):
            seen = counters(problem, cache)
            if isinstance(seen, str):
                print(f"{' '.join(problem):24} {cache:5} {seen}")
                continue
            print(
                f"{' '.join(problem):24} {cache:5} L2 hit rate {seen[HIT_RATE]:5.1f} %   "
                f"from DRAM {seen[FROM_DRAM] / 1e6:7.3f} MB of {operands_mb:.3f} MB read",
                flush=True,
            )
    return 0


if __name__ == "__main__":
    sys.exit(main())
