"""Runs a whole set, or a tenth of it (--quick), and prints wall time, verified rows, and overheads.

Goals on two cores: `gemm training float` in at most 10 minutes with every row verified, with
--quick in 90 s; `all inference-device` in 3 minutes; `all --quick` in 6; verification at most 15 %
of the run; under 10 ms per row (median) for everything except measuring and verifying.

    python benchmarks/suite_overheads.py [WORDS OF deepbench]    by default: gemm training float
"""

from __future__ import annotations

import statistics
import sys
from collections import Counter

from command_runs import run_command

from deepbench.results import Row

Rows = list[Row]
STAGES = ("prepare", "verify", "measure", "ceilings", "other")  # of the host's time


def main() -> None:
    words = sys.argv[1:] or ["gemm", "training", "float"]
    run = run_command(*words)
    print(f"wall time         {run.seconds:.1f} s: {' '.join(words)}")
    print_summary("all rows", run.rows)
    ops = list(dict.fromkeys(row.op for row in run.rows))
    for op in ops if len(ops) > 1 else []:
        print_summary(op, [row for row in run.rows if row.op == op])


def print_summary(title: str, rows: Rows) -> None:
    """Prints the totals of some rows."""
    ok = [row for row in rows if row.status == "ok"]
    verified = sum(row.verification.status == "passed" for row in rows)
    verify_s = stage_seconds(rows, "verify")
    all_s = sum(stage_seconds(rows, stage) for stage in STAGES)
    other_ms = [(row.stages_ns["other"] + row.stages_ns["prepare"]) / 1e6 for row in rows]
    print(f"{title}: {len(rows)} rows, {len(ok)} ok, {verified} verified, {all_s:.1f} s")
    print(f"  measuring       {stage_seconds(rows, 'measure'):.1f} s")
    print(f"  verifying       {verify_s:.1f} s, {100 * verify_s / max(all_s, 1e-9):.1f} %")
    print(f"  preparing       {stage_seconds(rows, 'prepare'):.1f} s")
    print(f"  ceilings        {stage_seconds(rows, 'ceilings'):.1f} s")
    print(f"  other, per row  {statistics.median(other_ms):.2f} ms (median), including preparing")
    print(f"  ended           {dict(Counter(row.statistics.stop for row in ok))}")
    for reason, count in Counter(reason_of(row) for row in rows if row.status != "ok").most_common(
        8
    ):
        print(f"  {count} {reason}")


def reason_of(row: Row) -> str:
    return f"{row.status}: {row.reason}"


def stage_seconds(rows: Rows, stage: str) -> float:
    return sum(float(row.stages_ns.get(stage) or 0) for row in rows) / 1e9


if __name__ == "__main__":
    main()
