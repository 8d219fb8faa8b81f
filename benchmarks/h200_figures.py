"""Computes the figures that the H200's tables must reach, from the folder of h200_tables.py.

    python benchmarks/h200_figures.py [FOLDER] [sets|best|repeat|cold|cost ...]

Goals for wall time: gemm training half in 15 s, training float in 30 s, inference int8 in 15 s;
conv training half in 30 s, inference half in 20 s; sparse products in 30 s; gemm, conv and rnn
together in 90 s (training half) and 60 s (inference half). Every row is verified, and precise or
marked with the reason. `best` takes at most four times as long, is never slower than default, and
is faster by a geometric mean of 1.03 (gemm half), 1.04 (tf32), 6 (int8) and 1.4 (rnn inference
half). Medians of three runs agree within 1 % on 95 % of the rows over 10 us. The overhead of the
host is 15 ms per row (median).
"""

from __future__ import annotations

import json
import math
import statistics
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

from sweep_runner import Sweep, load, median_us

from deepbench.results import Row
from deepbench.results.algorithm_choice import algorithm_choice_of

GOAL_S = {
    "gemm_training_half": 15,
    "gemm_training_float": 30,
    "gemm_inference_int8": 15,
    "conv_training_half": 30,
    "conv_inference_half": 20,
    "sparse_gemm_inference_float": 30,
}
GOAL_TOGETHER_S = {"training_half": 90, "inference_half": 60}
TOGETHER = ("gemm", "conv", "rnn")
GOAL_BEST = {
    "gemm_training_half": 1.03,
    "gemm_training_tf32": 1.04,
    "gemm_inference_int8": 6.0,
    "sparse_gemm_inference_float": 1.0,
    "sparse_gemm_inference_half": 1.0,
    "rnn_inference_half": 1.4,
}
BEST_TIMES = 4
NEAR, NEAR_ROWS, OVER_US = 0.01, 0.95, 10.0
GOAL_ROW_MS = 15

Runs = dict[str, Sweep]


def main() -> int:
    words = sys.argv[1:]
    folder = Path(words.pop(0)) if words and words[0] not in SECTIONS else Path("results/h200")
    walls = folder / "wall_seconds.json"
    seconds = json.loads(walls.read_text()) if walls.exists() else {}
    files = sorted(folder.glob("*.jsonl"))
    runs = {file.stem: load(file, seconds.get(file.stem, 0.0)) for file in files}
    if not runs:
        print(f"there are no tables in {folder}; run benchmarks/h200_tables.py")
        return 1
    for name in words or SECTIONS:
        print(f"== {name}")
        for line in SECTIONS[name](runs):
            print(line)
    return 0


def set_lines(runs: Runs) -> Iterator[str]:
    """Wall time, number of rows, verified rows, and reasons for the end of measuring."""
    for name, run in runs.items():
        verified = sum(row.verification.status == "passed" for row in run.ok())
        stops = Counter(row.statistics.stop for row in run.rows)
        ends = " ".join(f"{stop}={count}" for stop, count in stops.most_common())
        other = Counter(row.status for row in run.rows if row.status != "ok")
        wrong = " ".join(f"{status}={count}" for status, count in other.items())
        goal = f" (goal {GOAL_S[name]})" if name in GOAL_S else ""
        wall = f"{run.seconds:.1f} s{goal}" if run.seconds else "wall time unknown"
        complete = f"{len(run.rows)} of {run.context['rows']}"
        yield f"{name:26} {complete} rows, {verified} verified, {wall}; {ends} {wrong}"
    for group, goal_s in GOAL_TOGETHER_S.items():
        names = [f"{op}_{group}" for op in TOGETHER]
        if all(name in runs and runs[name].seconds for name in names):
            seconds = sum(runs[name].seconds for name in names)
            yield f"{' + '.join(TOGETHER)}, {group}: {seconds:.1f} s (goal {goal_s})"


def best_algorithm_lines(runs: Runs) -> Iterator[str]:
    """The speedup of best over default as a geometric mean: of the call, and with the
    conversion."""
    for name, run in runs.items():
        if not name.endswith("_best"):
            continue
        plain = name.removesuffix("_best")
        rows = [row for row in run.ok() if row.algorithm.default_ns]
        if not rows:
            yield f"{name:26} has no row with two times"
            continue
        turns = geometric_mean(row.algorithm.speedup or 1.0 for row in rows)
        call = geometric_mean(row.algorithm.default_ns / median_ns(row) for row in rows)
        both = geometric_mean(row.algorithm.default_ns / with_conversion_ns(row) for row in rows)
        changed = sum(not algorithm_choice_of(row).is_default for row in rows)
        line = f"{name:26} interleaved {turns:.3f}, call {call:.3f}, with conversion {both:.3f}, "
        slower = sum(median_ns(row) > row.algorithm.default_ns for row in rows)
        line += f"{changed} not default, {slower} of {len(rows)} slower"
        if plain in GOAL_BEST:
            line += f" (goal {GOAL_BEST[plain]} for the call)"
        if plain in runs:
            line += f"; against {plain}: {mean_speedup(runs[plain], run):.3f}"
            if run.seconds and runs[plain].seconds:
                times = run.seconds / runs[plain].seconds
                line += f"; {times:.1f} times its wall time (goal {BEST_TIMES})"
        yield line


def repetition_lines(runs: Runs) -> Iterator[str]:
    """The differences between the medians of several runs."""
    for name in runs:
        again = [runs[f"{name}_{turn}"] for turn in (2, 3) if f"{name}_{turn}" in runs]
        if not again:
            continue
        spreads = []
        for rows in same_problems(runs[name], *again):
            times = [median_us(row) for row in rows]
            if min(times) > OVER_US:
                spreads.append(max(times) / min(times) - 1)
        if not spreads:
            continue
        near = sum(spread <= NEAR for spread in spreads) / len(spreads)
        yield (
            f"{name:26} {1 + len(again)} runs, {len(spreads)} rows over {OVER_US:g} us: "
            f"{100 * near:.1f} % within {100 * NEAR:g} % (goal {100 * NEAR_ROWS:g}), "
            f"median spread {100 * statistics.median(spreads):.2f} %, "
            f"largest {100 * max(spreads):.2f} %"
        )


def cold_cache_lines(runs: Runs) -> Iterator[str]:
    """Cold against hot, for every row."""
    for name, run in runs.items():
        hot = runs.get(name.removesuffix("_cold"))
        if not name.endswith("_cold") or hot is None:
            continue
        ratios = []
        for one, other in same_problems(hot, run):
            ratios.append(median_us(other) / median_us(one))
            regime = other.regime
            how = f"{regime.cold}, {regime.copies} copies"
            times = f"hot {median_us(one):10.2f} cold {median_us(other):10.2f} us"
            yield f"  {times} x {ratios[-1]:.3f}  {how:24} {one.problem}"
        quarters = statistics.quantiles(ratios, n=4) if len(ratios) > 1 else ratios
        shown = " ".join(f"{value:.3f}" for value in quarters)
        slower = sum(ratio > 1.02 for ratio in ratios)
        yield f"{name:26} cold / hot: quartiles {shown}, {slower} of {len(ratios)} over 1.02"


def host_cost_lines(runs: Runs) -> Iterator[str]:
    """The wall time of a row without the device's work, rest time, and the ceilings."""
    for name, run in runs.items():
        rows = [row for row in run.ok() if row.stages_ns.get("device")]
        if not rows:
            continue
        parts = {
            stage: statistics.median(row.stages_ns.get(stage, 0) for row in rows) / 1e6
            for stage in ("prepare", "verify", "measure", "other", "device", "rest")
        }
        rest = statistics.median(host_time_ms(row) for row in rows)
        ceilings_s = run.stage_seconds("ceilings")
        shown = ", ".join(f"{stage} {ms:.1f}" for stage, ms in parts.items())
        yield (
            f"{name:26} {rest:.1f} ms per row, median (goal {GOAL_ROW_MS}); "
            f"medians: {shown} ms; ceilings {ceilings_s:.1f} s in total"
        )


SECTIONS: dict[str, Callable[[Runs], Iterator[str]]] = {
    "sets": set_lines,
    "best": best_algorithm_lines,
    "repeat": repetition_lines,
    "cold": cold_cache_lines,
    "cost": host_cost_lines,
}


def median_ns(row: Row) -> float:
    return float(row.statistics.median_ns)


def with_conversion_ns(row: Row) -> float:
    return median_ns(row) + float(row.conversion.ns or 0.0)


def host_time_ms(row: Row) -> float:
    stages = row.stages_ns
    host = sum(stages[stage] for stage in ("prepare", "verify", "measure", "other"))
    return float(host - stages["device"] - stages.get("rest", 0)) / 1e6


def same_problems(*runs: Sweep) -> Iterator[tuple[Row, ...]]:
    """Rows of the same position and problem that are ok in every run."""
    by_place = [{(row.position, row.problem): row for row in run.ok()} for run in runs]
    for place in by_place[0]:
        if all(place in rows for rows in by_place):
            yield tuple(rows[place] for rows in by_place)


def mean_speedup(plain: Sweep, chosen: Sweep) -> float:
    return geometric_mean(
        median_us(one) / median_us(other) for one, other in same_problems(plain, chosen)
    )


def geometric_mean(ratios: Iterator[float]) -> float:
    """The geometric mean."""
    logarithms = [math.log(ratio) for ratio in ratios]
    return math.exp(sum(logarithms) / len(logarithms)) if logarithms else math.nan


if __name__ == "__main__":
    sys.exit(main())
