"""Measures `show`, `compare` and `report` on result files of many rows: processor time, and the
peak of memory beside the size of a file. The rows are products of different sizes, of 30 samples.

    python benchmarks/large_files.py [ROWS]
"""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT / "tests/support"))

from example_rows import make_ceiling, make_context, make_gemm, with_named_ceilings  # noqa: E402

ROWS = 20_000
SAMPLES = 30


def write_result_file(path: Path, rows: int, seed: int) -> None:
    chance = random.Random(seed)
    with path.open("w") as file:
        for line in (make_context(rows=rows), make_ceiling("arithmetic", 10.0)):
            file.write(json.dumps(line) + "\n")
        for position in range(rows):
            size = {"m": 16 + position % 400, "n": 16 + 8 * (position // 400)}
            row = with_named_ceilings(make_gemm(position, **size))
            factor = chance.uniform(0.97, 1.03)
            for name, value in row["statistics"].items():
                if name.endswith("_ns"):
                    row["statistics"][name] = round(value * factor, 3)
            row["samples_ns"] = [round(chance.gauss(1e5 * factor, 500), 1) for _ in range(SAMPLES)]
            file.write(json.dumps(row) + "\n")


def print_cost(*words: str) -> None:
    """Runs a command; prints its processor time and its peak of memory."""
    command = [sys.executable, "-m", "deepbench", *words]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    _, status, used = os.wait4(process.pid, 0)
    seconds = used.ru_utime + used.ru_stime
    ended = os.waitstatus_to_exitcode(status)
    print(f"{words[0]}: {seconds:.1f} s, {used.ru_maxrss >> 10:,} MiB, status {ended}", flush=True)


def main() -> None:
    rows = int(sys.argv[1]) if len(sys.argv) > 1 else ROWS
    with tempfile.TemporaryDirectory() as folder:
        a, b = (Path(folder, f"{name}.jsonl") for name in "ab")
        for seed, path in enumerate((a, b)):
            write_result_file(path, rows, seed)
        print(f"{rows:,} rows: two files of {a.stat().st_size >> 20:,} MiB")
        print_cost("show", str(a))
        print_cost("compare", str(a), str(b))
        print_cost("report", str(a), "-o", str(Path(folder, "page.html")))


if __name__ == "__main__":
    main()
