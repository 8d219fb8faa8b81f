"""Measures the cost of deepbench besides measuring: start-up, listing, one problem, an empty batch.

Goals: `list` < 0.3 s, `import deepbench` < 0.15 s more than a bare interpreter, one problem < 3 s,
an empty batch through the plugin interface < 1 us (needs build/benchmarks/empty_batch, see
CMakeLists.txt).

    python benchmarks/overheads.py [build/benchmarks/empty_batch]
"""

from __future__ import annotations

import statistics
import subprocess
import sys
import time

from command_runs import without_history

TURNS = 7


def time_command_s(command: list[str]) -> float:
    begin = time.monotonic()
    subprocess.run(command, capture_output=True, check=True, env=without_history())
    return time.monotonic() - begin


def median_seconds(command: list[str], turns: int = TURNS) -> float:
    return statistics.median(time_command_s(command) for _ in range(turns))


def main() -> None:
    python = sys.executable
    bare = median_seconds([python, "-c", "pass"])
    imported = median_seconds([python, "-c", "import deepbench"])
    listed = median_seconds([python, "-m", "deepbench", "list"])
    one = median_seconds([python, "-m", "deepbench", "gemm", "m=1760", "n=128", "k=1760"], 3)
    print(f"bare interpreter       {bare:.3f} s")
    print(f"import deepbench       {imported - bare:.3f} s more")
    print(f"python -m deepbench list   {listed:.3f} s")
    print(f"one problem            {one:.2f} s")
    for program in sys.argv[1:]:
        done = subprocess.run([program], capture_output=True, text=True, check=True)
        print(f"empty batch            {float(done.stdout):.0f} ns")


if __name__ == "__main__":
    main()
