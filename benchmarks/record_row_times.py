"""Records how long the rows of runs take on this machine's CPU, for the test of time estimates.

    python benchmarks/record_row_times.py FOLDER

Runs every command below, which takes an hour on two busy cores. Keeps the result files in FOLDER,
skips those that exist already, and writes tests/data/row_times_cpu.jsonl. That file has one line
per run with its command, the facts of the backend that an estimate uses, and for each row the
problem, its seconds, the seconds of ceilings, and its status. An interrupted run is included up to
its last row. Rows that ended their worker are excluded.
tests/python/runner/test_time_estimate.py replays the file.
"""

from __future__ import annotations

import json
import subprocess
import sys
from itertools import takewhile
from pathlib import Path
from typing import Any

from command_runs import without_history

TARGET = Path(__file__).resolve().parents[1] / "tests/data/row_times_cpu.jsonl"
SUITE_FILE = "own_problems.txt"
OWN_PROBLEMS = """\
gemm m=512 n=64 k=512
gemm m=1024 n=1024 k=1024
gemm m=4096 n=4096 k=1024
conv w=56 h=56 c=64 n=8 k=64 s=3 r=3 pad_w=1 pad_h=1
conv w=14 h=14 c=256 n=16 k=256 s=3 r=3 pad_w=1 pad_h=1
rnn cell=lstm hidden=512 batch=16 timesteps=50
gemm m=3072 n=1500 k=1024 precision=int8
conv w=28 h=28 c=128 n=16 k=128 s=3 r=3 pad_w=1 pad_h=1 precision=int8
gemm m=35 n=700 k=2048
gemm m=7680 n=1 k=2560
"""
COMMANDS = (
    "gemm training --quick",
    "all_reduce training --ranks 2",
    f"run {SUITE_FILE}",
    "gemm device",
    "sparse_gemm device",
    "gemm inference --quick --cache both",
    "conv device int8",
    "memory",
    "gemm m=64..1024 n=64..1024 k=512",
    "all device --time-limit 0.2",
    "conv training --quick",
    "all_reduce elements=1K..16M --ranks 2 --time-limit 1",
    "rnn inference --quick",
    "sparse_gemm inference --time-limit 1",
    "gemm inference --time-limit 0.2",
    "gemm device --algorithm best --time-limit 1",
    "conv inference --time-limit 0.1",
    "conv inference --quick --no-verify",
    "all inference --quick",
    "all training --quick --time-limit 0.5",
)
OF_HOST = ("load", "cpus", "cpus_allowed")
STAGES = ("prepare", "verify", "measure", "other")  # of the host's time; ceilings are separate
ADDED_OPTIONS = ("--backend", "-o")  # the first of the options that this program adds
OF_DEVICE = ("name", "row_limit_ns", "min_total_ns", "last_level_cache_bytes")


def main() -> None:
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    folder = Path(sys.argv[1])
    folder.mkdir(exist_ok=True)
    (folder / SUITE_FILE).write_text(OWN_PROBLEMS, encoding="utf-8")
    for command in COMMANDS:
        if not result_file(folder, command).exists():
            run_and_keep(folder, command)
    recordings = [json.dumps(recorded_run(result_file(folder, command))) for command in COMMANDS]
    TARGET.parent.mkdir(exist_ok=True)
    TARGET.write_text("\n".join(recordings) + "\n", encoding="utf-8")
    print(f"{TARGET}: {len(recordings)} runs, {TARGET.stat().st_size} bytes")


def result_file(folder: Path, command: str) -> Path:
    return folder / ("".join(c if c.isalnum() else "_" for c in command) + ".jsonl")


def run_and_keep(folder: Path, command: str) -> None:
    """The file has another name until the run is complete, so that an interrupted command runs
    again."""
    partial = folder / "partial.jsonl"
    words = [sys.executable, "-m", "deepbench", *command.split(), "--backend", "cpu"]
    subprocess.run(
        [*words, "-o", str(partial.resolve()), "--overwrite"],
        cwd=folder,
        env=without_history(),
        stdout=subprocess.DEVNULL,
        check=False,
    )
    partial.rename(result_file(folder, command))


def recorded_run(path: Path) -> dict[str, Any]:
    lines = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    context = lines[0]
    rows = [line for line in lines if line["type"] == "row"]
    rows.sort(key=lambda row: int(row["position"]))
    device = context["device"]
    levels = [key for key in device if key.startswith("cache.")]
    return {
        "command": " ".join(takewhile(lambda word: word not in ADDED_OPTIONS, context["command"])),
        "backend": {"name": context["backend"]["name"]},
        "device": {key: device[key] for key in (*OF_DEVICE, *levels) if key in device},
        "threads": context["threads"],
        "ranks": {"count": context["ranks"]["count"]} if context.get("ranks") else None,
        "options": context["options"],
        "host": {key: context["host"].get(key) for key in OF_HOST},
        "rows": [recorded_row(row) for row in rows if has_known_time(row)],
    }


def has_known_time(row: dict[str, Any]) -> bool:
    """Whether the time of a row is known. A row that ended its worker has none."""
    return row["stages_ns"] is not None or row["status"] == "unsupported"


def recorded_row(row: dict[str, Any]) -> list[Any]:
    stages = row["stages_ns"] or dict.fromkeys((*STAGES, "ceilings"), 0)
    seconds = sum(stages[stage] or 0 for stage in STAGES) / 1e9
    ceilings = (stages["ceilings"] or 0) / 1e9
    cold = (row["regime"] or {}).get("cache") == "cold"
    return [
        row["problem"] + (" ; cache=cold" if cold else ""),
        round(seconds, 4),
        round(ceilings, 4),
        row["status"],
    ]


if __name__ == "__main__":
    main()
