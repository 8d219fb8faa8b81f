"""The problem sets of the original benchmark, those that tools/make_suites.py makes of the
package's models, and those of AI Matrix, as files <set>/<op>.txt in this folder.

This file finds the sets. problems/suite_reader.py reads a suite file, the user's ones too, and
problems/suite_expansion.py turns its lines into problems. work.json, which tools/suite_work.py
writes, has the work of each suite, so that listing the sets reads no problem.
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from deepbench.problems.suite_expansion import problems
from deepbench.problems.suite_reader import Entry, Suite, SuiteError, from_bytes, read

__all__ = [
    "AIMATRIX",
    "MODELS",
    "ORIGINALS",
    "SETS",
    "Entry",
    "Suite",
    "SuiteError",
    "Work",
    "available",
    "builtin",
    "checksum",
    "from_bytes",
    "known_work",
    "problems",
    "read",
    "set_name",
]

# The sets of the original benchmark, those made of models, those of AI Matrix, and all.
ORIGINALS = ("training", "inference_server", "inference_device")
MODELS = ("mlperf-v0.5", "mlperf", "llm")
AIMATRIX = ("ai-matrix-micro", "ai-matrix-soak", "ai-matrix-layers")
SETS = (*ORIGINALS, *MODELS, *AIMATRIX)

_FOLDER = Path(__file__).parent
_CORRECTED = "_corrected"
_WORDS = {
    "train": "training",
    "training": "training",
    "inference": "inference_server",
    "inference-server": "inference_server",
    "inference_server": "inference_server",
    "server": "inference_server",
    "inference-device": "inference_device",
    "inference_device": "inference_device",
    "device": "inference_device",
    **{name: name for name in (*MODELS, *AIMATRIX)},
}


def set_name(word: str) -> str | None:
    """The set that a word of the command line names, or None."""
    return _WORDS.get(word)


def available() -> list[tuple[str, str]]:
    """Every (set, op) that builtin() can read."""
    return [pair for pair in _suite_files() if not pair[1].endswith(_CORRECTED)]


def builtin(set_name: str, op: str, corrected: bool = False) -> Suite:
    """The problems of an operation in a set; those of the original benchmark include its misprints
    unless `corrected`. Raises SuiteError."""
    stem = op + _CORRECTED if corrected else op
    name = f"{set_name}/{stem}"
    known = [pair for pair in _suite_files() if pair[1].endswith(_CORRECTED) == corrected]
    if (set_name, stem) not in known:
        there_are = ", ".join("/".join(pair) for pair in known)
        raise SuiteError(f"there is no suite {name!r}; there are {there_are}")
    return from_bytes((_FOLDER / set_name / f"{stem}.txt").read_bytes(), name, name)


@dataclass(frozen=True)
class Work:
    """The rows of a suite, and the useful work of all of their calls."""

    problems: int
    rows: int
    tflop: float
    gb: float


def known_work(set_name: str, op: str) -> Work | None:
    """The work of a built-in suite in float; None if its file is not the one of work.json."""
    known = _known_work().get(f"{set_name}/{op}")
    if known is None or known["checksum"] != checksum(set_name, op):
        return None
    return Work(known["problems"], known["rows"], known["tflop"], known["gb"])


def checksum(set_name: str, op: str) -> int:
    """Tells two versions of a suite file apart."""
    return zlib.crc32((_FOLDER / set_name / f"{op}.txt").read_bytes())


@cache
def _known_work() -> Mapping[str, Mapping[str, Any]]:
    """Nothing if the file is damaged: the problems can be read instead."""
    try:
        known: dict[str, dict[str, Any]] = json.loads((_FOLDER / "work.json").read_bytes())
    except (OSError, ValueError):
        return {}
    return known


@cache
def _suite_files() -> Sequence[tuple[str, str]]:
    """(set, name without .txt) of every suite file, in the order of sets and operations."""
    from deepbench import _core

    order = [operation.name for operation in _core.operations()]

    def operation_order(name: str) -> tuple[int, str]:
        op = name.removesuffix(_CORRECTED)
        return (order.index(op) if op in order else len(order), name)

    return tuple(
        (folder, name)
        for folder in SETS
        for name in sorted(
            (path.stem for path in (_FOLDER / folder).glob("*.txt")), key=operation_order
        )
    )
