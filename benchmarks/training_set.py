"""The whole training set, or a tenth of it (--quick): wall time, what was verified, what it cost.

Goals on two cores: float in at most 10 minutes with every row verified, --quick in 90 s,
verification at most 15 % of the run, under 10 ms a row (median) for everything that is neither
measuring nor verifying.

    python benchmarks/training_set.py [--quick] [further options of deepbench gemm]
"""

from __future__ import annotations

import statistics
import sys
from collections import Counter

from sweeping import sweep


def main() -> None:
    run = sweep("gemm", "training", "float", *sys.argv[1:])
    verified = sum(row["verification"]["status"] == "passed" for row in run.rows)
    verify_s = run.stage_seconds("verify")
    other_ms = [(row["stages_ns"]["other"] + row["stages_ns"]["prepare"]) / 1e6 for row in run.rows]
    print(f"rows              {len(run.rows)}, {len(run.ok())} ok, {verified} verified")
    print(f"wall time         {run.seconds:.1f} s")
    print(f"  measuring       {run.stage_seconds('measure'):.1f} s")
    print(f"  verifying       {verify_s:.1f} s, {100 * verify_s / run.seconds:.1f} % of the run")
    print(f"  preparing       {run.stage_seconds('prepare'):.1f} s")
    print(f"  ceilings        {run.stage_seconds('ceilings'):.1f} s")
    print(f"other, a row      {statistics.median(other_ms):.2f} ms (median), with preparing")
    print(f"ended             {dict(Counter(row['statistics']['stop'] for row in run.ok()))}")


if __name__ == "__main__":
    main()
