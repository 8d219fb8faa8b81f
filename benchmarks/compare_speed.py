"""Measures the cost of `deepbench compare`: two files of 500 rows, from the start of Python to its
end.

Goal: at most 1 s in every format, with 100 raw samples per row (as in results/) and with 1,000 (the
maximum per row). The rows are synthetic. Reading takes nearly all of the time.

    python benchmarks/compare_speed.py
"""

from __future__ import annotations

import json
import random
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

ROWS = 500
TURNS = 5
SET = Path(__file__).parents[1] / "results/h200/gemm_training_half.jsonl"


def write_repeated_rows(path: Path, seed: int, samples: int) -> None:
    """Writes a file that repeats the rows of a measured set with modified dimensions and times."""
    chance = random.Random(seed)
    context, *lines = SET.read_text().splitlines()
    written = [json.dumps({**json.loads(context), "rows": ROWS})]
    for position in range(ROWS):
        row: dict[str, Any] = json.loads(lines[position % len(lines)])
        row["attributes"]["n"] += position
        row["problem"] = " ".join(["gemm", *(f"{k}={v}" for k, v in row["attributes"].items())])
        middle = row["statistics"]["median_ns"]
        times = [round(chance.gauss(middle, middle / 100), 3) for _ in range(samples)]
        written.append(json.dumps({**row, "position": position, "samples_ns": times}))
    path.write_text("\n".join(written) + "\n")


def time_command_s(*arguments: str) -> float:
    command = [sys.executable, "-m", "deepbench", "compare", *arguments]
    begin = time.monotonic()
    done = subprocess.run(command, capture_output=True, check=False)
    spent = time.monotonic() - begin
    if done.returncode not in (0, 1):
        sys.exit(done.stderr.decode())
    return spent


def main() -> None:
    for samples in (100, 1000):
        with tempfile.TemporaryDirectory() as folder:
            files = [Path(folder) / f"{name}.jsonl" for name in "ab"]
            for seed, file in enumerate(files):
                write_repeated_rows(file, seed, samples)
            for form in ("table", "json", "markdown", "html"):
                spent = [time_command_s(*map(str, files), "--format", form) for _ in range(TURNS)]
                middle, best = statistics.median(spent), min(spent)
                print(f"{samples:5} samples per row, {form:8} {middle:.2f} s (best {best:.2f})")


if __name__ == "__main__":
    main()
