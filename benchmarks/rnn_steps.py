"""What a step of a recurrent layer takes on an NVIDIA GPU, by each algorithm that can do it.

Microseconds a step, of the gradient of the weights the whole call: cuDNN's algorithms, and in
inference our own `persistent`. None: the algorithm cannot do the layer, `-`. Tables in Markdown.

    python benchmarks/rnn_steps.py [PRECISION, default half]
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from sweeping import Sweep, median_us, sweep

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
    own = {"persistent": ("--library", "persistent")}
    cudnn = {name: ("--library", "cudnn", "--algorithm", name) for name in CUDNN}
    show("phase=fwd mode=inference", INFERENCE, precision, {"standard": cudnn["standard"], **own})
    for phase in ("fwd", "bwd_data"):
        show(f"phase={phase} mode=training", TRAINING, precision, cudnn)
    weights = {"standard": cudnn["standard"]}  # the only one that has it
    show("phase=bwd_weights mode=training", TRAINING, precision, weights, steps=1)
    return 0


def show(
    what: str,
    layers: Sequence[Layer],
    precision: str,
    algorithms: dict[str, tuple[str, ...]],
    steps: int = STEPS,
) -> None:
    """One table; times are divided by `steps`."""
    lines = [
        f"rnn cell={cell} hidden={hidden} batch={batch} timesteps={STEPS} {what}"
        f" precision={precision}"
        for cell, hidden, batch in layers
    ]
    columns = [times(lines, options) for options in algorithms.values()]
    print(f"\n{what}, {precision}, us {'a step' if steps > 1 else 'a call'}\n")
    print("|".join(("| layer ", *(f" {name} " for name in algorithms), "")))
    print("|---" * (1 + len(columns)) + "|")
    for place, (cell, hidden, batch) in enumerate(layers):
        shown = [f"{column[place] / steps:.2f}" if column[place] else "-" for column in columns]
        print(f"| {cell} {hidden}, batch {batch} | " + " | ".join(shown) + " |", flush=True)


def times(lines: Sequence[str], options: Sequence[str]) -> list[float | None]:
    """Microseconds of each line's call; none where it is not ok."""
    with tempfile.TemporaryDirectory() as folder:
        suite = Path(folder) / "layers.txt"
        suite.write_text("\n".join(lines) + "\n")
        run = sweep("run", str(suite), *options)
    return by_position(run, len(lines))


def by_position(run: Sweep, count: int) -> list[float | None]:
    found: list[float | None] = [None] * count
    for row in run.ok():
        found[int(row["position"])] = median_us(row)
    return found


if __name__ == "__main__":
    sys.exit(main())
