"""Computes the figures that the tables of an H100 or H200 must reach, from a folder of tables.

    python benchmarks/device_figures.py [FOLDER] [sets|best|repeat|cold|cost ...]

Goals for wall time: gemm training half in 15 s, training float in 30 s, inference int8 in 15 s;
conv training half in 30 s, inference half in 20 s; sparse products in 30 s; gemm, conv and rnn
together in 90 s (training half) and 60 s (inference half). Every row is verified, and precise or
marked with the reason. `best` takes at most four times as long, and is faster by a geometric mean
over problems of 1.03 (gemm half), 1.04 (tf32), 6 (int8) and 1.4 (rnn inference half). It is never
slower than default by construction: where the winner's full measurement is, default is kept.
Medians of three runs agree within 1 % on 95 % of the rows over 10 us. The overhead of the
host is 15 ms per row (median).
"""

from __future__ import annotations

import statistics
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

from command_runs import Run, load, median_us
from row_figures import (
    Selections,
    WallTime,
    device_uuid,
    geometric_mean,
    same_problems,
    wall_times,
)

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

Runs = dict[str, Run]


def main() -> int:
    words = sys.argv[1:]
    folder = Path(words.pop(0)) if words and words[0] not in SECTIONS else Path("results/h100")
    times, unknown = wall_times(folder), WallTime(0.0, None)
    files = sorted(folder.glob("*.jsonl"))
    runs = {file.stem: load(file, times.get(file.stem, unknown).seconds) for file in files}
    if not runs:
        print(f"there are no tables in {folder}; run benchmarks/device_tables.py")
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
            devices = {device_uuid(runs[name].context) for name in names}
            where = "" if len(devices) == 1 else f", a sum over {len(devices)} devices"
            yield f"{' + '.join(TOGETHER)}, {group}: {seconds:.1f} s{where} (goal {goal_s})"


def best_algorithm_lines(runs: Runs) -> Iterator[str]:
    """The speedup of best over default as a geometric mean: of the call, and with the
    conversion."""
    for name, run in runs.items():
        if not name.endswith("_best"):
            continue
        plain = name.removesuffix("_best")
        best = Selections.of(run.rows)
        if not best.rows:
            yield f"{name:26} has no row with two times"
            continue
        changed = sum(not algorithm_choice_of(row).is_default for row in best.rows)
        line = f"{name:26} interleaved {best.interleaved():.3f}, call {best.call():.3f}, "
        line += f"with conversion {best.with_conversion():.3f}, {changed} not default, "
        line += f"{len(best.slower())} of {len(best.rows)} slower"
        if plain in GOAL_BEST:
            line += f" (goal {GOAL_BEST[plain]} for the call)"
        if plain in runs:
            line += f"; against {plain}: {mean_speedup(runs[plain], run):.3f}"
            if run.seconds and runs[plain].seconds:
                times = run.seconds / runs[plain].seconds
                line += f"; {times:.1f} times its wall time (goal {BEST_TIMES})"
            if device_uuid(run.context) != device_uuid(runs[plain].context):
                line += ", on another device"
        yield line


def repetition_lines(runs: Runs) -> Iterator[str]:
    """The differences between the medians of several runs."""
    for name in runs:
        again = [runs[f"{name}_{turn}"] for turn in (2, 3) if f"{name}_{turn}" in runs]
        if not again:
            continue
        spreads = []
        for rows in same_problems(runs[name].rows, *(one.rows for one in again)):
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
        for one, other in same_problems(hot.rows, run.rows):
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


def host_time_ms(row: Row) -> float:
    stages = row.stages_ns
    host = sum(stages[stage] for stage in ("prepare", "verify", "measure", "other"))
    return float(host - stages["device"] - stages.get("rest", 0)) / 1e6


def mean_speedup(plain: Run, chosen: Run) -> float:
    pairs = same_problems(plain.rows, chosen.rows)
    return geometric_mean((one, median_us(one) / median_us(other)) for one, other in pairs)


if __name__ == "__main__":
    sys.exit(main())
