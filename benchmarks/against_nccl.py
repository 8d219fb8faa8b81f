"""all_reduce's rows through NCCL against the same calls timed as nccl-tests does, in one run.

Goal: within 2 %, launched alike: rows in graphs against graphs (nccl-tests -G 1), rows on the
stream against plain launches. The bare calls run before and after the rows; their figure is the
mean of both, and the spread says how far the two were apart.

    python benchmarks/against_nccl.py build/tests/bare_nccl [DEVICES [ELEMENTS,...]]

Exit status: 0 all within, 1 not all, 2 not run.
"""

from __future__ import annotations

import functools
import json
import os
import subprocess
import sys
from typing import Any

SIZES = (1024, 16384, 100_000, 1_000_000, 3_097_600, 16_777_216, 64_500_000)
CYCLES = 21
GOAL = 0.02
PACKAGE = [sys.executable, "-m", "deepbench"]
Times = dict[int, tuple[float, float]]  # by elements: plain, captured; in us


@functools.cache
def environment() -> dict[str, str]:
    """With the folders of the libraries that deepbench takes: the bare program looks elsewhere."""
    done = subprocess.run([*PACKAGE, "env", "--format", "json"], capture_output=True, check=True)
    backends = json.loads(done.stdout)["backends"]
    facts = next(each for each in backends if each["name"] == "cuda")
    paths = [library.get("path") for library in facts.get("libraries", {}).values()]
    folders = list(dict.fromkeys(os.path.dirname(path) for path in paths if path))  # noqa: PTH120
    return {**os.environ, "DEEPBENCH_CUDA_LIBRARY_PATH": ":".join(folders)}


def bare(program: str, devices: int, sizes: list[int]) -> Times:
    words = [program, str(devices), str(CYCLES), *map(str, sizes)]
    done = subprocess.run(words, stdout=subprocess.PIPE, text=True, env=environment(), timeout=300)
    if done.returncode != 0:
        raise SystemExit(2)
    lines = (line.split() for line in done.stdout.splitlines())
    return {int(size): (float(plain), float(captured)) for size, plain, captured in lines}


def rows(devices: int, sizes: list[int], launch: str) -> dict[int, dict[str, Any]]:
    names = ",".join(map(str, range(devices)))
    words = [sys.executable, "-m", "deepbench.worker", "--ranks", str(devices), "cuda",
             f"devices={names}", "library=nccl", "ceilings=no", "time_limit=2",
             f"launch={launch}"]  # fmt: skip
    lines = "".join(f"all_reduce elements={size} precision=float\n" for size in sizes)
    done = subprocess.run(words, input=lines, stdout=subprocess.PIPE, text=True, timeout=300)
    said = [json.loads(line) for line in done.stdout.splitlines()]
    found = [one for one in said if one["type"] == "row"]
    for one in [*said, *found]:
        if one["type"] == "error" or one.get("status", "ok") != "ok":
            print(one.get("message") or one["reason"], file=sys.stderr)
            raise SystemExit(2)
    return {row["attributes"]["elements"]: row for row in found}


def main() -> int:
    if len(sys.argv) < 2:
        print(__doc__, file=sys.stderr)
        return 2
    devices = int(sys.argv[2]) if len(sys.argv) > 2 else 2
    sizes = [int(word) for word in sys.argv[3].split(",")] if len(sys.argv) > 3 else list(SIZES)
    before = bare(sys.argv[1], devices, sizes)
    measured = {launch: rows(devices, sizes, launch) for launch in ("stream", "graph")}
    after = bare(sys.argv[1], devices, sizes)
    missed = 0
    print("  elements  launch    row (us)   bare (us)   ratio  bare's spread  busbw (GB/s)")
    for size in sizes:
        for which, launch in enumerate(("stream", "graph")):
            row = measured[launch][size]
            two = before[size][which], after[size][which]
            ours, theirs = row["statistics"]["median_ns"] / 1e3, sum(two) / 2
            busbw = next(one["value"] for one in row["metrics"] if one["name"] == "busbw")
            within = abs(ours / theirs - 1) <= GOAL
            missed += not within
            print(f"{size:10d}  {row['regime']['launch']:6} {ours:11.2f} {theirs:11.2f} "
                  f"{ours / theirs:7.3f} {(max(two) / min(two) - 1) * 100:12.1f} % {busbw:12.1f}"
                  f"{'' if within else '  missed'}")  # fmt: skip
    print(f"within {GOAL * 100:.0f} %: {2 * len(sizes) - missed} of {2 * len(sizes)}")
    return 0 if missed == 0 else 1


if __name__ == "__main__":
    sys.exit(main())
