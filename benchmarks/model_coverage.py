"""Prints which share of the models' FLOPs and bytes the operations measure, without measuring.

    python benchmarks/model_coverage.py

Every packaged model is expanded in each of its phases with the defaults of its parameters. The
share of a call's time that a run measures may be another one: docs/reference/workloads.md.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from page_parts import markdown_table

from deepbench import _core
from deepbench.workload import model_file
from deepbench.workload.expansion import Target, default_values, expand
from deepbench.workload.passes import Pass

HEADING = ["model", "phase", "FLOPs", "bytes", "most bytes without an operation"]
MOST_KINDS = 3


def main() -> None:
    print(coverage_table())


def coverage_table() -> str:
    """A Markdown table with a line for every phase of every model."""
    return "\n".join(markdown_table(HEADING, list(_lines())))


def _lines() -> Iterator[list[str]]:
    target = Target(_core.Problem.parse)
    for name in model_file.available():
        model = model_file.builtin(name)
        for phase in model.phases:
            one = expand(model, phase, default_values(model, phase), target)
            yield [
                f"`{name}`",
                phase,
                per_cent(one.measured_flops, one.flops),
                per_cent(one.measured_bytes, one.bytes),
                ", ".join(kinds_without_operation(one)[:MOST_KINDS]),
            ]


def per_cent(part: float, whole: float) -> str:
    """'100 %' is the whole and nothing less."""
    return "100 %" if part >= whole else f"{min(100 * part / whole, 99.9):.1f} %"


def kinds_without_operation(one: Pass) -> list[str]:
    """The kinds of layers with calls that no operation measures, those with most bytes first."""
    sizes: Counter[str] = Counter()
    for item in one.items:
        if item.problem is None:
            sizes[item.kind] += round(item.count * item.bytes)
    return [kind for kind, _ in sizes.most_common()]


if __name__ == "__main__":
    main()
