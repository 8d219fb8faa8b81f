"""Measures what `deepbench accept` compares on each device of a machine, into files of one device.

    python benchmarks/acceptance_tables.py --devices 4 --folder results/h200_acceptance

Each device measures the memory table by itself, since transfers of several devices would share the
host's memory. Then all devices measure the calls of acceptance.txt at the same time, rested and
sustained, with their energy. A device takes about four minutes. tools/measured_references.py reads
the files; rows of at least five devices give a reference its spread. Five devices that deviate by
0.7 % have a tolerance above the plain 5 %, and so have eight by 1.1 %. A second run resumes where
the first one was interrupted, as device_tables.py describes.
"""

from __future__ import annotations

import argparse
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from device_tables import LIMIT_S, measure_table

CALLS = Path(__file__).with_name("acceptance.txt")
MEMORY = ("memory",)
COMPUTE = ("run", str(CALLS), "--power", "both", "--energy")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--devices", type=int, required=True)
    parser.add_argument("--folder", type=Path, required=True)
    parser.add_argument("--machine", default="machine", help="the files' names begin with it")
    chosen = parser.parse_args()
    if chosen.devices < 1:
        parser.error("--devices must be at least 1")
    chosen.folder.mkdir(parents=True, exist_ok=True)

    def measure(device: int, name: str, words: tuple[str, ...]) -> bool:
        table = f"{chosen.machine}_device{device}_{name}"
        on_device = ["--backend", "cuda", "--device", str(device)]
        return measure_table(table, [*words, *on_device], chosen.folder, LIMIT_S)

    devices = range(chosen.devices)
    complete = [measure(device, "memory", MEMORY) for device in devices]
    with ThreadPoolExecutor(chosen.devices) as threads:
        complete += threads.map(lambda device: measure(device, "calls", COMPUTE), devices)
    return 0 if all(complete) else 1


if __name__ == "__main__":
    sys.exit(main())
