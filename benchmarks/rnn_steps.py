"""Measures the time of one step of a recurrent layer on an NVIDIA GPU, for each algorithm.

Prints Markdown tables in microseconds per step, or per call for the weights' gradient. The columns
are cuDNN's algorithms and, for inference, the built-in kernel `persistent`. `-`: the algorithm does
not support the layer.

    python benchmarks/rnn_steps.py [PRECISION, default half]
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from command_runs import Run, median_us, run_command

STEPS = 50
TRAINING = (
    ("vanilla", 512, 16),
    ("vanilla", 1760, 16),
    ("vanilla", 1760, 128),
    ("vanilla", 2560, 64),
    ("vanilla", 32, 1),
    ("lstm", 128, 64),
    ("lstm", 256, 16),
    ("lstm", 512, 16),
    ("lstm", 1536, 8),
    ("lstm", 2048, 32),
    ("gru", 512, 16),
    ("gru", 2816, 4),
)
INFERENCE = tuple(
    (cell, hidden, batch)
    for cell, sizes in (("gru", (1024, 1536, 2048, 2560, 2816)), ("lstm", (1024, 1536, 2048)))
    for hidden in sizes
    for batch in (1, 2, 4)
)
CUDNN = ("standard", "persist_static", "persist_static_small_h", "persist_dynamic")

Layer = tuple[str, int, int]


def main() -> int:
    precision = sys.argv[1] if len(sys.argv) > 1 else "half"
    built_in = {"persistent": ("--library", "persistent")}
    cudnn = {name: ("--library", "cudnn", "--algorithm", name) for name in CUDNN}
    print_table(
        "phase=fwd mode=inference",
        INFERENCE,
        precision,
        {"standard": cudnn["standard"], **built_in},
    )
    for phase in ("fwd", "bwd_data"):
        print_table(f"phase={phase} mode=training", TRAINING, precision, cudnn)
    weights = {"standard": cudnn["standard"]}  # the only algorithm with this phase
    print_table("phase=bwd_weights mode=training", TRAINING, precision, weights, steps=1)
    return 0


def print_table(
    what: str,
    layers: Sequence[Layer],
    precision: str,
    algorithms: dict[str, tuple[str, ...]],
    steps: int = STEPS,
) -> None:
    """Prints one table. Times are divided by `steps`."""
    lines = [
        f"rnn cell={cell} hidden={hidden} batch={batch} timesteps={STEPS} {what}"
        f" precision={precision}"
        for cell, hidden, batch in layers
    ]
    columns = [
        column_cells(run_layers(lines, options), len(lines), steps)
        for options in algorithms.values()
    ]
    print(f"\n{what}, {precision}, us {'per step' if steps > 1 else 'per call'}\n")
    print("|".join(("| layer ", *(f" {name} " for name in algorithms), "")))
    print("|---" * (1 + len(columns)) + "|")
    for (cell, hidden, batch), cells in zip(layers, zip(*columns, strict=True), strict=True):
        print(f"| {cell} {hidden}, batch {batch} | " + " | ".join(cells) + " |", flush=True)


def run_layers(lines: Sequence[str], options: Sequence[str]) -> Run:
    with tempfile.TemporaryDirectory() as folder:
        suite = Path(folder) / "layers.txt"
        suite.write_text("\n".join(lines) + "\n")
        return run_command("run", str(suite), *options)


def column_cells(run: Run, count: int, steps: int) -> list[str]:
    """The cells of a column: the time of a step, or the reason why it is missing."""
    shown = ["not run"] * count
    for row in run.rows:
        ok = row.status == "ok"
        why = "-" if row.status == "unsupported" else row.status
        shown[int(row.position)] = f"{median_us(row) / steps:.2f}" if ok else why
    return shown


if __name__ == "__main__":
    sys.exit(main())
