"""Measures the cost of `deepbench report` on 1,500 rows of several operations with raw samples: the
time from the start of Python to its end, the size of the page, and when it is usable in a browser.

Goals: 5 s in every format, 8 MB, 2 s in Chromium. The rows are those of results/h200 and synthetic
convolutions, hot and cold, some of which failed.

    python benchmarks/report_speed.py
"""

from __future__ import annotations

import json
import random
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
TABLES = ROOT / "results/h200"
ROWS = 1500
TURNS = 5
PHASES = ("fwd", "bwd_data", "bwd_filter")
sys.path.insert(0, str(ROOT / "tests/support"))


def turn_into_convolution(
    row: dict[str, Any], position: int, samples: int, chance: random.Random
) -> None:
    """Turns a measured product into a phase of a convolution. A few of them fail."""
    sizes = {"w": 56, "h": 56, "c": 64, "n": 16, "k": 64 + position // 6, "r": 3, "s": 3}
    attributes = {**sizes, "phase": PHASES[position % 3], "precision": "half"}
    middle = row["statistics"]["median_ns"]
    row.update(
        position=position,
        op="conv",
        attributes=attributes,
        problem=" ".join(["conv", *(f"{name}={value}" for name, value in attributes.items())]),
        application=chance.choice(("ResNet", "Vision", "Face Recognition", "OCR")),
        samples_ns=[round(chance.gauss(middle, middle / 100), 3) for _ in range(samples)],
    )
    if position % 6 >= 3:
        row["regime"].update(cache="cold", cold="rotation")
    if position % 97 == 0:
        row.update(status="incorrect", reason="made up", rates=None)


def write_result_file(path: Path, samples: int) -> None:
    chance = random.Random(samples)
    context, *lines = (TABLES / "gemm_training_half.jsonl").read_text().splitlines()
    written = [json.dumps({**json.loads(context), "rows": ROWS})]
    for position in range(ROWS):
        row: dict[str, Any] = json.loads(lines[position % len(lines)])
        turn_into_convolution(row, position, samples, chance)
        written.append(json.dumps(row))
    path.write_text("\n".join(written) + "\n")


def time_report_s(*arguments: str) -> tuple[float, float]:
    """Wall and processor time of one report."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    begin = time.monotonic()
    command = [sys.executable, "-m", "deepbench", "report", "--overwrite", *arguments]
    done = subprocess.run(command, capture_output=True, check=False)
    spent = time.monotonic() - begin
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    if done.returncode:
        sys.exit(done.stderr.decode())
    return spent, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def usable_after_ms(page: Path) -> list[int]:
    """Milliseconds until filters, the first plot, the table and a row's samples exist."""
    from browser import Browser, chromium

    if chromium() is None:
        return []
    found = []
    with tempfile.TemporaryDirectory() as profile, Browser(Path(profile)) as browser:
        for _ in range(TURNS):
            browser.open(page)
            found.append(int(browser.wait_for("document.documentElement.dataset.ready")))
    return found


def print_figures(what: str, page: Path, *arguments: str) -> None:
    spent = [time_report_s(*arguments, "-o", str(page)) for _ in range(TURNS)]
    wall, processor = (statistics.median(column) for column in zip(*spent, strict=True))
    text = f"{what:32} {wall:.2f} s, processor time {processor:.2f} s"
    if page.suffix == ".html":
        text += f"; {page.stat().st_size / 1e6:.1f} MB"
        times = usable_after_ms(page)
        text += f"; usable after {statistics.median(times) / 1e3:.2f} s" if times else ""
    print(text, flush=True)


def main() -> None:
    tables = [str(path) for path in sorted(TABLES.glob("*.jsonl"))]
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        print_figures(
            "results/h200 against V100", folder / "page.html", *tables, "--against", "v100"
        )
        for samples in (100, 1000):
            file = folder / f"{samples}.jsonl"
            write_result_file(file, samples)
            for ending in ("html", "md", "svg", "png"):
                what = f"{ROWS} rows, {samples} samples, {ending}"
                print_figures(what, folder / f"page.{ending}", str(file))


if __name__ == "__main__":
    main()
