"""Compares rows of all_reduce through NCCL with the same calls timed as in nccl-tests, in one run.

Goal: within 2 % for the same kind of launch: rows in graphs against graphs (nccl-tests -G 1), and
rows on the stream against plain launches. The bare calls run before and after the rows. Their
figure is the mean of both, and the spread is the difference between them. The host's clock includes
the launch of the first call and the wait for the last, which is about 5 % of 20 calls of 10 us.
Calls under 100 us are therefore compared with 200 calls (nccl-tests -n 200), and the figure for 20
calls is printed as well.

    python benchmarks/against_nccl.py build/tests/bare_nccl [DEVICES [ELEMENTS,...]]

Exit status: 0 if all rows are within the goal, 1 if not, 2 if the comparison could not run.
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
FEW, MANY = 20, 200
# By elements and calls: plain and captured, in us.
Times = dict[tuple[int, int], tuple[float, float]]


@functools.cache
def environment_with_library_path() -> dict[str, str]:
    """Adds the folders of the libraries that deepbench uses, since the bare program searches
    elsewhere."""
    done = subprocess.run([*PACKAGE, "env", "--format", "json"], capture_output=True, check=True)
    backends = json.loads(done.stdout)["backends"]
    facts = next(each for each in backends if each["name"] == "cuda")
    paths = [library.get("path") for library in facts.get("libraries", {}).values()]
    folders = list(dict.fromkeys(os.path.dirname(path) for path in paths if path))  # noqa: PTH120
    return {**os.environ, "DEEPBENCH_CUDA_LIBRARY_PATH": ":".join(folders)}


def bare_times(program: str, devices: int, sizes: list[int]) -> Times:
    words = [program, str(devices), str(CYCLES), *map(str, sizes)]
    done = subprocess.run(
        words, stdout=subprocess.PIPE, text=True, env=environment_with_library_path(), timeout=300
    )
    if done.returncode != 0:
        raise SystemExit(2)
    lines = (line.split() for line in done.stdout.splitlines())
    return {(int(size), int(calls)): (float(plain), float(captured))
            for size, calls, plain, captured in lines}  # fmt: skip


def deepbench_rows(devices: int, sizes: list[int], launch: str) -> dict[int, dict[str, Any]]:
    names = ",".join(map(str, range(devices)))
    words = [sys.executable, "-m", "deepbench.worker", "--ranks", str(devices), "cuda",
             f"devices={names}", "library=nccl", "ceilings=no", "time_limit=2",
             f"launch={launch}"]  # fmt: skip
    lines = "".join(f"all_reduce elements={size} precision=float\n" for size in sizes)
    done = subprocess.run(words, input=lines, stdout=subprocess.PIPE, text=True, timeout=300)
    answers = [json.loads(line) for line in done.stdout.splitlines()]
    for one in answers:
        if one["type"] == "error" or one.get("status", "ok") != "ok":
            print(one.get("message") or one["reason"], file=sys.stderr)
            raise SystemExit(2)
    return {row["attributes"]["elements"]: row for row in answers if row["type"] == "row"}


def main() -> int:
    if len(sys.argv) < 2:
        print(__doc__, file=sys.stderr)
        return 2
    devices = int(sys.argv[2]) if len(sys.argv) > 2 else 2
    sizes = [int(word) for word in sys.argv[3].split(",")] if len(sys.argv) > 3 else list(SIZES)
    before = bare_times(sys.argv[1], devices, sizes)
    measured = {launch: deepbench_rows(devices, sizes, launch) for launch in ("stream", "graph")}
    after = bare_times(sys.argv[1], devices, sizes)
    missed = 0
    print(
        "  elements launch   row (us)  20 calls (us)  200 calls (us)  ratio  spread  busbw (GB/s)"
    )
    for size in sizes:
        for which, launch in enumerate(("stream", "graph")):
            row = measured[launch][size]
            keys = [key for key in ((size, FEW), (size, MANY)) if key in before and key in after]
            bares = [(before[key][which], after[key][which]) for key in keys]
            row_us, judge = row["statistics"]["median_ns"] / 1e3, bares[-1]
            ratio = row_us / (sum(judge) / 2)
            busbw = next(one["value"] for one in row["metrics"] if one["name"] == "busbw")
            within = abs(ratio - 1) <= GOAL
            missed += not within
            many = f"{sum(bares[1]) / 2:15.2f}" if len(bares) > 1 else " " * 15
            print(f"{size:10d} {row['regime']['launch']:6} {row_us:10.2f} "
                  f"{sum(bares[0]) / 2:14.2f} {many} {ratio:6.3f} "
                  f"{(max(judge) / min(judge) - 1) * 100:5.1f} % {busbw:11.1f}"
                  f"{'' if within else '  missed'}")  # fmt: skip
    print(f"within {GOAL * 100:.0f} %: {2 * len(sizes) - missed} of {2 * len(sizes)}")
    return 0 if missed == 0 else 1


if __name__ == "__main__":
    sys.exit(main())
