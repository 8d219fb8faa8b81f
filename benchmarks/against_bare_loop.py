"""deepbench against a bare loop over oneDNN, in turns, in one run.

Goal: within 3 %. The bare loop (bare_onednn.cpp) knows nothing of deepbench; build it first, see
CMakeLists.txt.

    python benchmarks/against_bare_loop.py build/benchmarks/bare_onednn [options of deepbench gemm]
"""

from __future__ import annotations

import os
import statistics
import subprocess
import sys

from sweeping import median_us, sweep

PROBLEMS = (
    ("1760", "128", "1760", "float"),
    ("2560", "7000", "2560", "float"),
    ("1760", "128", "1760", "bfloat16"),
    ("2560", "7000", "2560", "bfloat16"),
    ("1760", "128", "1760", "int8"),
    ("2560", "7000", "2560", "int8"),
)
TURNS = 5


def bare_us(program: str, problem: tuple[str, ...], environment: dict[str, str]) -> float | None:
    m, n, k, precision = problem
    done = subprocess.run(
        [program, f"m={m}", f"n={n}", f"k={k}", f"precision={precision}"],
        capture_output=True,
        text=True,
        check=False,
        env=os.environ | environment,
    )
    if done.returncode != 0:
        return None
    figures = dict(word.split("=", 1) for word in done.stdout.split())
    return float(figures["median_us"])


def compare(program: str, problem: tuple[str, ...], options: list[str]) -> str:
    m, n, k, precision = problem
    label = f"{m}x{n}x{k} {precision}"
    ours, bare = [], []
    for _ in range(TURNS):
        run = sweep("gemm", f"m={m}", f"n={n}", f"k={k}", f"precision={precision}", *options)
        row = run.rows[0]
        if row["status"] != "ok":
            return f"{label:28} {row['status']}: {row['reason']}"
        ours.append(median_us(row))
        # The same binding of threads as the worker's.
        time_us = bare_us(program, problem, run.context.get("environment", {}))
        if time_us is None:
            return f"{label:28} the bare loop cannot run it"
        bare.append(time_us)
    ratio = statistics.median(ours) / statistics.median(bare)
    return (
        f"{label:28} deepbench {statistics.median(ours):12.1f} us   "
        f"bare {statistics.median(bare):12.1f} us   ratio {ratio:.4f}"
    )


def main() -> None:
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    for problem in PROBLEMS:
        print(compare(sys.argv[1], problem, sys.argv[2:]), flush=True)


if __name__ == "__main__":
    main()
