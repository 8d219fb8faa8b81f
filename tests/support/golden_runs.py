"""Runs of the fake backend whose rows and outputs are the same on every machine."""

from __future__ import annotations

import json
import os
import re
import subprocess
from pathlib import Path
from typing import Any

import command_line

LIMIT_S = 600

# Name -> the fake backend's script and the command's words.
RUNS: dict[str, tuple[str, tuple[str, ...]]] = {
    "gemm": (
        "noise 7 0.002\nmhz 1500\nlibraries first second\ncandidates 1 2\n"
        "when candidate=2 m=64 model 500 2000 100 1000\n"
        "when m=96 mutant last_k\nwhen m=128 fail prepare out_of_memory 5 GiB asked\n"
        "when m=160 fail plan unsupported no such kernel\nwhen m=192 crash time_batch\n",
        ("gemm", "m=64,96,128,160,192,224", "n=32", "k=48", "--algorithm", "exhaustive",
         "--cache", "both"),
    ),
    "gemm_slower": (
        "noise 9 0.002\nmhz 1500\nlibraries first second\nmodel 1500 800 100 1000\n",
        ("gemm", "m=64,96,224,256", "n=32", "k=48", "--cache", "both"),
    ),
    "memory": ("noise 3 0.01\n", ("memory", "bytes=1M..16M", "kind=copy")),
    "fleet": (
        "time 2e6\nwhen rank=2 time 2.2e6\nmhz 1500\nemit observe temperature_c 61\n"
        "when m=12 rank=1 fail prepare out_of_memory 5 GiB asked\n",
        ("gemm", "m=9,10,12", "n=8", "k=40", "--ranks", "4"),
    ),
    "all_reduce": (
        "noise 5 0.002\n",
        ("all_reduce", "elements=1000,100000", "precision=float", "--ranks", "2"),
    ),
}  # fmt: skip

FIXED: dict[str, Any] = {
    "started": "2026-01-31T12:00:00Z",
    "host": {"cpu": "Example CPU"},
    "libraries": {},
    "environment": {},
    "build": {"revision": None, "modified": None, "binaries": {}},
    "compile_caches": {"kernels": None, "driver": None},
    "warnings": [],
    "threads": 2,
    "version": "0.1.0",
    "command": [],
    "first_call_ns": 1000.0,
    "host_ns": 1000.0,
    "planning_ns": 1000.0,
    "searched_ns": 1000,
    "seed": 1,
    "max_error_check": "before timing",
    "max_error_ratio": 0.01,  # the reference adds in an order that depends on its threads
    "stages_ns": {"prepare": 1.0, "verify": 1.0, "measure": 1.0, "ceilings": 1.0, "other": 1.0},
}
VOLATILE = (  # in texts: folders, ports, processes, times of the day
    (re.compile(r"/[\w./-]*/libdeepbench_fake\.so"), "/plugins/libdeepbench_fake.so"),
    (re.compile(r"\b\d+ core dumped\b"), "core dumped"),
)


def without_volatile_facts(value: Any, machine: str) -> Any:
    """The value without what differs from run to run or from machine to machine."""
    if isinstance(value, dict):
        return {
            key: FIXED[key]
            if key in FIXED and isinstance(kept, type(FIXED[key]))
            else without_volatile_facts(kept, machine)
            for key, kept in value.items()
        }
    if isinstance(value, list):
        return [without_volatile_facts(kept, machine) for kept in value]
    if isinstance(value, str):
        for pattern, replacement in VOLATILE:
            value = pattern.sub(replacement, value)
        return value.replace(machine, "machine") if machine else value
    return value


def lines_without_volatile_facts(text: str, machine: str) -> str:
    return "".join(
        json.dumps(without_volatile_facts(json.loads(line), machine)) + "\n"
        for line in text.splitlines()
    )


def deepbench(folder: Path, *words: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """A command in a folder of its own, as a pipe sees it."""
    variables = {key: value for key, value in os.environ.items() if not key.startswith("DEEPBENCH")}
    variables |= {"COLUMNS": "120", "DEEPBENCH_CACHE_DIR": str(folder / "cache"), **environment}
    return command_line.deepbench(*words, folder=folder, environment=variables)


def run_scripted(
    name: str, plugin: Path, folder: Path, *more: str
) -> subprocess.CompletedProcess[str]:
    """A run of RUNS. Its rows do not depend on how busy the machine is: candidates and samples have
    all the time that they need."""
    script, words = RUNS[name]
    return deepbench(
        folder, *words, "--backend", "fake", "--time-limit", "1000", *more,
        DEEPBENCH_BACKEND_PATH=str(plugin), DEEPBENCH_FAKE_SCRIPT=script,
    )  # fmt: skip
