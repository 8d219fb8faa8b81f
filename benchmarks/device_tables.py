"""Measures the published tables of a device into a folder, with one command per table.

Each table takes less than eight minutes. An interrupted table resumes where it stopped, and a
complete one is not measured again. Finished tables keep at most 100 raw samples per row, evenly
spaced, and of the candidates of a search the default and those that it compared with the default.
wall_seconds.json in the same folder holds the wall time of each command and the UUID of its
device. device_figures.py and tables.py read the folder.

    python benchmarks/device_tables.py [--folder results/h100] [TABLE...] [-- options of deepbench]
    python benchmarks/device_tables.py --backend cpu --folder results/NAME [TABLE...]

The second command measures the tables of the processor, also on a machine with a GPU: those that an
acceptance needs, and sets. Together they take about nine minutes on two cores without other work.
"""

from __future__ import annotations

import argparse
import json
import signal
import subprocess
import sys
import time
from pathlib import Path

from command_runs import load, without_history
from row_figures import WallTime, device_uuid, record_wall_time

from deepbench import _core

Tables = dict[str, tuple[str, ...]]

TRAINING, INFERENCE = ("gemm", "training"), ("gemm", "inference")
SPARSE = ("sparse_gemm", "inference")
CONV_TRAINING, CONV_INFERENCE = ("conv", "training"), ("conv", "inference")
BEST, EXHAUSTIVE = ("--algorithm", "best"), ("--algorithm", "exhaustive")
COLD = ("--cache", "cold")
TABLES: Tables = {
    "gemm_training_half": (*TRAINING, "half"),
    "gemm_training_float": (*TRAINING, "float"),
    "gemm_inference_int8": (*INFERENCE, "int8"),
    "gemm_training_half_best": (*TRAINING, "half", *BEST),
    "gemm_training_tf32": (*TRAINING, "tf32"),
    "gemm_training_tf32_best": (*TRAINING, "tf32", *BEST),
    "gemm_inference_int8_best": (*INFERENCE, "int8", *BEST),
    "gemm_inference_half": (*INFERENCE, "half"),
    "gemm_training_half_cold": (*TRAINING, "half", *COLD),
    "gemm_training_bfloat16": (*TRAINING, "bfloat16"),
    "gemm_training_fp8_e4m3": (*TRAINING, "fp8_e4m3"),
    "memory": ("memory",),
    "gemm_training_float_best": (*TRAINING, "float", *BEST),
    "sparse_gemm_inference_float": (*SPARSE, "float"),
    "sparse_gemm_inference_float_best": (*SPARSE, "float", *BEST),
    "sparse_gemm_inference_half": (*SPARSE, "half"),
    "sparse_gemm_inference_half_best": (*SPARSE, "half", *BEST),
    "conv_training_half": (*CONV_TRAINING, "half"),
    "conv_training_float": (*CONV_TRAINING, "float"),
    "conv_training_tf32": (*CONV_TRAINING, "tf32"),
    "conv_inference_half": (*CONV_INFERENCE, "half"),
    "conv_inference_float": (*CONV_INFERENCE, "float"),
    "conv_inference_int8": (*CONV_INFERENCE, "int8"),
    "conv_inference_int8_s8": (*CONV_INFERENCE, "int8", "y_type=s8"),
    "conv_training_half_best": (*CONV_TRAINING, "half", *BEST),
    "conv_training_float_best": (*CONV_TRAINING, "float", *BEST),
    "conv_inference_half_best": (*CONV_INFERENCE, "half", *BEST),
    "conv_inference_float_best": (*CONV_INFERENCE, "float", *BEST),
    "conv_inference_int8_best": (*CONV_INFERENCE, "int8", *BEST),
    "rnn_training_half": ("rnn", "training", "half"),
    "rnn_training_half_best": ("rnn", "training", "half", *BEST),
    "rnn_training_float": ("rnn", "training", "float"),
    "rnn_training_float_best": ("rnn", "training", "float", *BEST),
    "rnn_inference_half": ("rnn", "inference", "half"),
    "rnn_inference_half_best": ("rnn", "inference", "half", *BEST),
    "rnn_inference_float": ("rnn", "inference", "float"),
    "rnn_inference_float_best": ("rnn", "inference", "float", *BEST),
}
# The operations of today's models, of which results/h200_models has the tables.
MODELS: Tables = {
    "llm_bfloat16": ("all", "llm", "bfloat16"),
    "mlperf_half": ("all", "mlperf", "half"),
    "mlperf_v0_5_half": ("all", "mlperf-v0.5", "half"),
    "lrn_float": ("lrn", "ai-matrix-layers", "float"),
}
# Measured by name only: the sets of models, which have a folder of their own, and, not published,
# repeated runs, the original's libraries, and tables that would be too large.
OTHERS: Tables = {
    **MODELS,
    **{
        f"{name}_{turn}": TABLES[name]
        for turn in (2, 3)
        for name in ("gemm_training_half", "gemm_training_float", "gemm_inference_int8")
    },
    "gemm_inference_int8_cublas": (*INFERENCE, "int8", "--library", "cublas"),
    "gemm_training_fp8_e5m2": (*TRAINING, "fp8_e5m2"),
    "conv_training_half_cold": (*CONV_TRAINING, "half", *COLD),
    "conv_training_half_legacy": (*CONV_TRAINING, "half", "--library", "cudnn_legacy"),
    "conv_training_bfloat16": (*CONV_TRAINING, "bfloat16"),
    "conv_training_fp8_e4m3": (*CONV_TRAINING, "fp8_e4m3"),
    "conv_inference_fp8_e5m2": (*CONV_INFERENCE, "fp8_e5m2"),
    "conv_device_half_best": ("conv", "inference-device", "half", *BEST),
    "conv_device_half_exhaustive": ("conv", "inference-device", "half", *EXHAUSTIVE),
    "rnn_training_bfloat16": ("rnn", "training", "bfloat16"),
    "rnn_inference_tf32": ("rnn", "inference", "tf32"),
    "sparse_gemm_inference_bfloat16": (*SPARSE, "bfloat16"),
}
# The products from which `deepbench accept` chooses: large ones for all cores. A few rows show
# little of how visits differ, so that more visits take the place of more rows: a reference has no
# row whose interval is wide.
FIVE_VISITS, NINE_VISITS = ("--visits", "5"), ("--visits", "9")
SIZES = ("gemm", "m=1024,2048,4096", "n=1024", "k=1024,2048")
LOADED_SIZES = ("gemm", "m=2048,4096", "n=1024", "k=1024,2048")
SUSTAINED = ("--power", "sustained")
CPU_TABLES: Tables = {
    "memory": ("memory", *NINE_VISITS),
    "gemm_sizes_float_rested": (*SIZES, "precision=float", *NINE_VISITS),
    "gemm_sizes_float_sustained": (*LOADED_SIZES, "precision=float", *SUSTAINED, *FIVE_VISITS),
    "gemm_sizes_bfloat16_rested": (*SIZES, "precision=bfloat16", *NINE_VISITS),
    "gemm_sizes_bfloat16_sustained": (
        *LOADED_SIZES, "precision=bfloat16", *SUSTAINED, *FIVE_VISITS
    ),
    "conv_inference_float": (*CONV_INFERENCE, "float"),
    "gemm_inference_float": (*INFERENCE, "float"),
}  # fmt: skip
# Tables that take longer than a few minutes on few cores, or repeat what the others show.
CPU_OTHERS: Tables = {
    "conv_inference_bfloat16": (*CONV_INFERENCE, "bfloat16"),
    "conv_inference_int8": (*CONV_INFERENCE, "int8"),
    "gemm_inference_bfloat16": (*INFERENCE, "bfloat16"),
    "gemm_inference_int8": (*INFERENCE, "int8"),
    "rnn_inference_float": ("rnn", "inference", "float"),
    "sparse_gemm_inference_float": (*SPARSE, "float"),
}
# The default and the other tables of a backend.
TABLES_OF_BACKEND = {"cuda": (TABLES, OTHERS), "cpu": (CPU_TABLES, CPU_OTHERS)}
DEFAULT_FOLDER = Path("results/h100")
LIMIT_S = 480
SAMPLES = 100


def main() -> int:
    arguments = sys.argv[1:]
    cut = arguments.index("--") if "--" in arguments else len(arguments)
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--folder", type=Path, help=f"{DEFAULT_FOLDER} unless the backend is cpu")
    parser.add_argument("--backend", choices=sorted(TABLES_OF_BACKEND), default="cuda")
    parser.add_argument("--limit", type=float, default=LIMIT_S, help="seconds for each table")
    parser.add_argument("tables", nargs="*", metavar="TABLE", help="the default ones unless given")
    chosen = parser.parse_args(arguments[:cut])
    if chosen.folder is None and chosen.backend == "cpu":
        parser.error("--backend cpu needs --folder results/NAME")
    tables, others = TABLES_OF_BACKEND[chosen.backend]
    known = {**tables, **others}
    for name in chosen.tables:
        if name not in known:
            parser.error(f"unknown table {name!r}; the tables are {' '.join(known)}")
    folder = chosen.folder or DEFAULT_FOLDER
    folder.mkdir(parents=True, exist_ok=True)
    extra = ["--backend", chosen.backend, *arguments[cut + 1 :]]
    complete = [
        measure_table(name, [*known[name], *extra], folder, chosen.limit)
        for name in chosen.tables or tables
    ]
    return 0 if all(complete) else 1


def measure_table(name: str, words: list[str], folder: Path, limit_s: float) -> bool:
    """Measures one table and thins it. Returns False if rows are still missing."""
    file = folder / f"{name}.jsonl"
    if file.exists() and is_complete(file):
        print(f"{name}: exists", flush=True)
        return True
    resumed = file.exists()
    command = [sys.executable, "-m", "deepbench", *words, "-o", str(file), "--resume"]
    begin = time.monotonic()
    status = run(command, limit_s)
    seconds = time.monotonic() - begin
    if not file.exists():
        print(f"{name}: no row was measured, exit status {status}", flush=True)
        return False
    complete = is_complete(file)
    if complete and not resumed:
        device = device_uuid(load(file).context)
        record_wall_time(folder, name, WallTime(round(seconds, 1), device))
    if complete:
        thin_samples(file)
        thin_candidates(file)
    rows = load(file).rows
    ok = sum(row.status == "ok" for row in rows)
    end = "" if complete else ", rows are missing: run it again"
    size = file.stat().st_size / 1e6
    print(f"{name}: {len(rows)} rows, {ok} ok, {seconds:.1f} s, {size:.2f} MB{end}", flush=True)
    return complete


def run(command: list[str], limit_s: float) -> int:
    """Interrupts the command at the limit like Ctrl-C, so that the file keeps the measured rows."""
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, env=without_history())
    try:
        return process.wait(limit_s)
    except subprocess.TimeoutExpired:
        process.send_signal(signal.SIGINT)
        return process.wait()


def is_complete(file: Path) -> bool:
    run = load(file)
    return len(run.rows) == run.context["rows"]


def thin_samples(file: Path) -> None:
    new = file.with_suffix(".thin")
    new.unlink(missing_ok=True)
    command = [sys.executable, "-m", "deepbench", "show", str(file), "--thin", str(SAMPLES)]
    subprocess.run([*command, "-o", str(new)], check=True)
    new.replace(file)


def thin_candidates(file: Path) -> None:
    """Leaves out the candidates that a search screened alone, up to half of a table, which no page
    shows. `candidates` still counts them."""
    new = file.with_suffix(".thin")
    lines = file.read_bytes().splitlines(keepends=True)
    new.write_bytes(b"".join(map(without_screened_candidates, lines)))
    new.replace(file)


def without_screened_candidates(line: bytes) -> bytes:
    members = json.loads(line)
    tried = (members.get("algorithm") or {}).get("tried")
    if not tried:
        return line
    members["algorithm"]["tried"] = [
        one
        for one in tried
        if one["candidate"] is None or one.get("compared_ns") or one.get("refused")
    ]
    return _core.line_of_members(members).encode() + b"\n"


if __name__ == "__main__":
    sys.exit(main())
