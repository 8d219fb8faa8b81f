"""Compares images per second that AI Matrix published with sums of published kernel times.

    python benchmarks/against_ai_matrix.py

AI Matrix (alibaba/ai-matrix, results of May 2019) measured inference of ResNet-50 and ResNet-152 in
TensorRT, at batch 16 on the accelerator alone: ai_matrix_images_per_second.csv. The original
benchmark published times of convolutions on the same processors. Their sum over the layers of a
model, which `deepbench workload` counts, is scaled up by the multiplications of those layers that
nobody published. The quotient is the images per second of AI Matrix over those of the sum: above 1,
TensorRT was faster than the kernels.
"""

from __future__ import annotations

import csv
import statistics
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from deepbench import Problem
from deepbench.references.lookup import open_results
from deepbench.workload.expansion import Target, expand
from deepbench.workload.model_file import builtin

PUBLISHED = Path(__file__).with_name("ai_matrix_images_per_second.csv")
BATCH = 16
SHAPE = ("w", "h", "c", "n", "k", "s", "r", "pad_w", "pad_h", "stride_w", "stride_h")


def main() -> None:
    quotients = []
    for line in csv.DictReader(PUBLISHED.open(encoding="utf-8")):
        found = kernel_sum(line["model"], line["processor"], line["precision"])
        if found is None:
            print(f"{line['processor']} {line['precision']}: no convolutions are published")
            continue
        time_s, share = found
        of_sum = BATCH * share / time_s
        quotients.append(float(line["images_per_s"]) / of_sum)
        print(
            f"{line['processor']:18} {line['precision']:5} {line['model']:12} {of_sum:8.0f} by "
            f"{100 * share:3.0f} % of the work, {line['framework']:10} "
            f"{float(line['images_per_s']):8.0f}  quotient {quotients[-1]:.2f}"
        )
    low, middle, high = statistics.quantiles(quotients, n=4)
    print(f"quotients: median {middle:.2f}, quartiles {low:.2f} and {high:.2f}, from "
          f"{min(quotients):.2f} to {max(quotients):.2f}")  # fmt: skip


def kernel_sum(model: str, processor: str, precision: str) -> tuple[float, float] | None:
    """The seconds of the published kernels of a pass, and their share of its multiplications."""
    times = published_times(processor, precision)
    seconds = known = 0.0
    items = expand(builtin(model), "fwd", {"batch": BATCH, "image": 224}, Target(Problem.parse))
    for item in items.items:
        if item.problem is None:
            continue
        problem = Problem.parse(item.problem)
        time_s = times.get(shape_of(problem.attributes)) if problem.op == "conv" else None
        if time_s is not None:
            seconds += item.count * time_s
            known += item.count * item.flops
    return (seconds, known / items.flops) if known else None


def published_times(processor: str, precision: str) -> dict[tuple[int, ...], float]:
    """The fastest published time of each forward convolution, in seconds."""
    times: dict[tuple[int, ...], float] = {}
    for shape, time_s in forward_times(processor, precision):
        times[shape] = min(time_s, times.get(shape, time_s))
    return times


def forward_times(processor: str, precision: str) -> Iterator[tuple[tuple[int, ...], float]]:
    for row in open_results(processor).rows:
        attributes = row.attributes
        wanted = attributes.get("phase") == "fwd" and attributes.get("precision") == precision
        if row.op == "conv" and row.status == "ok" and wanted and row.statistics.mean_ns:
            yield shape_of(attributes), row.statistics.mean_ns / 1e9


def shape_of(attributes: Mapping[str, Any]) -> tuple[int, ...]:
    return tuple(int(attributes[name]) for name in SHAPE)


if __name__ == "__main__":
    main()
