"""Runs --quick three times and prints the differences between the medians of each row.

Goal on a quiet machine: within 3 % of each other on 90 % of the rows.

    python benchmarks/repeatability.py [further options of deepbench gemm]
"""

from __future__ import annotations

import sys

from command_runs import median_us, run_command

RUNS = 3
NEAR = 0.03


def main() -> None:
    runs = [run_command("gemm", "training", "float", "--quick", *sys.argv[1:]) for _ in range(RUNS)]
    spreads = []
    for rows in zip(*(run.rows for run in runs), strict=True):
        if any(row.status != "ok" for row in rows):
            continue
        times = [median_us(row) for row in rows]
        spreads.append(max(times) / min(times) - 1)
        print(f"{100 * spreads[-1]:6.2f} %  {rows[0]['problem']}")
    near = sum(spread <= NEAR for spread in spreads)
    share = 100 * near / len(spreads)
    print(f"within {100 * NEAR:.0f} %: {near} of {len(spreads)} rows ({share:.0f} %)")


if __name__ == "__main__":
    main()
