"""Measures the published tables of several devices into a folder, with one command per table.

    python benchmarks/collective_tables.py --devices 2 --folder results/h200x2 [TABLE...]

Sums of all sizes of the training set and of every power of two, in place and out of place, with one
process per device and with one for all; the other collectives; the ring on the host between as many
processes; and a fleet. tables.py reads the folder. A second run resumes where the first one was
interrupted, as device_tables.py describes.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from device_tables import LIMIT_S, Tables, measure_table

PRECISIONS = ("float", "half", "bfloat16")
LIBRARIES = {
    "nccl": ("--library", "nccl"),
    "peer": ("--library", "peer"),
    "best": ("--algorithm", "best"),
    "nccl_single": ("--library", "nccl_single"),
}
OTHER_COLLECTIVES = ("all_gather", "reduce_scatter", "all_to_all", "broadcast", "send_recv")
POWERS_OF_TWO = "elements=1..64M"
SMALL_SIZES = "elements=256,16384,262144,1048576"
SIZES = "elements=4,64,1024,4096,16384,65536,262144,1048576,4194304,16777216,67108864"
# Seconds for each row. The longest call takes about 1 ms.
LIMIT = ("--time-limit", "0.3")


def tables(devices: int) -> Tables:
    """Words of deepbench by the names that tables.py knows, the most important tables first."""
    on_devices = ("--devices", str(devices))
    found: Tables = {}

    def add(name: str, *words: str) -> None:
        found[name] = (*words, *on_devices, *LIMIT)

    for precision in PRECISIONS:
        for library in ("nccl", "peer", "best"):
            add(f"all_reduce_training_{precision}_{library}",
                "all_reduce", "training", precision, *LIBRARIES[library])  # fmt: skip
    add("all_reduce_training_float_nccl_single",
        "all_reduce", "training", "float", *LIBRARIES["nccl_single"])  # fmt: skip
    for precision in ("float", "half"):
        for library in ("nccl", "peer"):
            add(f"all_reduce_training_{precision}_in_place_{library}",
                "all_reduce", "training", precision, "in_place=yes",
                *LIBRARIES[library])  # fmt: skip
    for library in ("nccl", "peer", "best"):
        add(f"all_reduce_sizes_float_{library}", "all_reduce", SMALL_SIZES, *LIBRARIES[library])
    for library in ("nccl", "peer", "nccl_single"):
        add(f"all_reduce_sweep_float_{library}", "all_reduce", POWERS_OF_TWO, *LIBRARIES[library])
    for library in ("nccl", "peer"):
        add(f"all_reduce_in_place_sweep_float_{library}",
            "all_reduce", POWERS_OF_TWO, "in_place=yes", *LIBRARIES[library])  # fmt: skip
    for precision in PRECISIONS:
        for operation in OTHER_COLLECTIVES:
            for library in ("nccl", "peer"):
                add(f"{operation}_sweep_{precision}_{library}",
                    operation, SIZES, f"precision={precision}", *LIBRARIES[library])  # fmt: skip
    ranks = ("--backend", "cpu", "--ranks", str(devices))
    found["all_reduce_sweep_float_ring"] = (
        "all_reduce", POWERS_OF_TWO, "--library", "ring", *ranks, *LIMIT,
    )  # fmt: skip
    found["fleet_all_half_quick"] = ("all", "half", "--quick", *on_devices)
    return found


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--devices", type=int, required=True)
    parser.add_argument("--folder", type=Path, required=True)
    parser.add_argument("--limit", type=float, default=LIMIT_S, help="seconds for each table")
    parser.add_argument("tables", nargs="*", metavar="TABLE", help="all unless given")
    chosen = parser.parse_args()
    if chosen.devices < 2:
        parser.error("--devices must be at least 2")
    known = tables(chosen.devices)
    for name in chosen.tables:
        if name not in known:
            parser.error(f"unknown table {name!r}; the tables are {' '.join(known)}")
    chosen.folder.mkdir(parents=True, exist_ok=True)
    complete = [
        measure_table(name, list(known[name]), chosen.folder, chosen.limit)
        for name in chosen.tables or known
    ]
    return 0 if all(complete) else 1


if __name__ == "__main__":
    sys.exit(main())
