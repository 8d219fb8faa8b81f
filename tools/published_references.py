"""Creates the package's reference data set from tables of the figures that the original published.

    python tools/published_references.py RESULTS.csv SPECS.csv ISSUES.csv [FOLDER]

The tables hold the contents of the original's 18 workbooks: one line for every published time, with
a status. The tool writes a compressed result file for each processor and an index to FOLDER
(default python/deepbench/references). The same tables give the same bytes.
"""

from __future__ import annotations

import csv
import gzip
import hashlib
import json
import re
import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from deepbench import _core, suites

FOLDER = Path(__file__).parents[1] / "python/deepbench/references"

Line = Mapping[str, str]  # a line of RESULTS.csv by column
Json = dict[str, Any]

# Classes of ISSUES.csv for lines whose time may belong to another problem, and notes that state
# this for lines whose status is ok.
DOUBTFUL = {"dims_differ_from_header", "DIMS_1530", "MISMATCH_PQ", "MISMATCH_TOTAL",
            "MISMATCH_N_LABEL"}  # fmt: skip
DOUBTFUL_NOTES = ("swaps n and c", "suspect", "does not scale")
PHASES = {"bwd_params": "bwd_weights"}
NOT_PROBLEMS = ("total",)  # phases that are sums over others
TRANSPOSED = {"0": "n", "1": "t"}

# The measuring rules of the original's programs, by vendor.
GENERAL = (
    "published: the mean over queued calls by the host's clock, one call of warm-up, operands hot"
    " in the caches, results not verified; times are as published, rates are recomputed by our"
    " formulas; rows marked inconsistent count in no mean"
)
FOOTNOTES = {
    "NVIDIA": "whole microseconds; operands of half and int8 were all zeros, which lowers the power"
              " and raises the clocks of some devices",
    "AMD": "recurrent layers: 'backward' is the data gradient alone",
    "Intel": "products: packed operands, where packing is not in the time",
    "Raspberry": "8-bit products on unsigned operands; convolutions ran another problem (n and c"
                 " swapped) on operands that were never filled",
    "iPhone": "8-bit products on unsigned operands",
}  # fmt: skip


def main() -> None:
    if not 4 <= len(sys.argv) <= 5:
        sys.exit(__doc__)
    results, specs, issues = (read_lines(Path(name)) for name in sys.argv[1:4])
    folder = Path(sys.argv[4]) if len(sys.argv) == 5 else FOLDER
    folder.mkdir(parents=True, exist_ok=True)
    write_references(folder, results, specs, issues)


def read_lines(path: Path) -> list[Line]:
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def write_references(
    folder: Path, results: Sequence[Line], specs: Sequence[Line], issues: Sequence[Line]
) -> None:
    """Writes a file for each processor, and index.json."""
    doubtful = {(i["source_workbook"], i["sheet"], i["row"]) for i in issues
                if i["class"] == "dims_differ_from_header"}  # fmt: skip
    set_problems = SetProblems()
    index = []
    for name in sorted({line["processor"] for line in results}):
        lines = [line for line in results if line["processor"] == name]
        rows = [result_row(i, line, set_problems, doubtful) for i, line in enumerate(lines)]
        about = reference_context(name, rows, [spec for spec in specs if spec["processor"] == name])
        lines = [json.dumps(about, ensure_ascii=False), *map(_core.line_of_members, rows)]
        text = "".join(line + "\n" for line in lines)
        file = re.sub(r"[^a-z0-9]+", "_", name.lower()) + ".jsonl.gz"
        (folder / file).write_bytes(gzip.compress(text.encode(), 9, mtime=0))
        index.append(index_entry(name, file, rows, text.encode()))
    (folder / "index.json").write_text(json.dumps(index, indent=1) + "\n", encoding="utf-8")


def index_entry(name: str, file: str, rows: Sequence[Json], data: bytes) -> Json:
    """The facts about a reference that are available without opening it."""
    ops = Counter(row["op"] for row in rows)
    return {
        "name": name,
        "file": file,
        "bytes": len(data),
        "sha256": hashlib.sha256(data).hexdigest(),
        "rows": len(rows),
        "inconsistent": sum(row["regime"]["published"]["doubt"] is not None for row in rows),
        "sets": sorted({row["regime"]["published"]["set"] for row in rows}),
        "ops": dict(sorted(ops.items())),
        "precisions": sorted({row["attributes"]["precision"] for row in rows}),
        "workbooks": sorted({row["regime"]["published"]["workbook"] for row in rows}),
    }


def reference_context(name: str, rows: Sequence[Json], specs: Sequence[Line]) -> Json:
    maker = name.split()[0]
    return {
        "type": "context",
        "schema": 2,
        "command": None,
        "started": None,
        "set": None,
        "rows": len(rows),
        "version": "published",
        "backend": None,
        "device": {"index": None, "name": name},
        "options": {},
        "footnotes": [GENERAL, f"{name}: {FOOTNOTES[maker]}"],
        "specs": {f"{spec['mode']}: {spec['key']}": spec["value"] for spec in specs},
    }


class SetProblems:
    """The problems of the original's sets, by set, operation and index."""

    def __init__(self) -> None:
        self._read: dict[tuple[str, str], list[dict[str, str]]] = {}

    def dimensions_of(self, line: Line) -> dict[str, str]:
        """The dimensions of the problem at the line's index; empty if the line has no index."""
        place = line["index"] or _header_index_in_note(line["note"])
        key = (line["set"], line["op"])
        if not place or key not in suites.available():
            return {}
        if key not in self._read:
            entries = suites.builtin(*key).entries
            self._read[key] = [_key_value_pairs(entry.text.split()[1:]) for entry in entries]
        return self._read[key][int(place)]


def _header_index_in_note(note: str) -> str:
    found = re.search(r"probably header index (\d+)", note)
    return found.group(1) if found else ""


def _key_value_pairs(words: Sequence[str]) -> dict[str, str]:
    return dict(word.split("=", 1) for word in words if "=" in word)


def result_row(
    position: int, line: Line, set_problems: SetProblems, doubtful: set[tuple[str, str, str]]
) -> Json:
    """Converts a line to a row of a result file. Its problem is the printed one."""
    printed = {key: TRANSPOSED.get(value, value) if key.startswith("trans_") else value
               for key, value in _key_value_pairs(line["dims"].split()).items()}  # fmt: skip
    printed |= {"precision": line["precision"], **_phase_attribute(line)}
    problem = _problem(line, printed)
    header = set_problems.dimensions_of(line)
    differing = [key for key in printed if header.get(key, printed[key]) != printed[key]]
    meant = {key: int(header[key]) for key in differing if header[key].isdigit()}
    numbers = {key: _number_or_text(value) for key, value in printed.items()}
    time_ns = round(float(line["time_ms"]) * 1e6, 3)
    return {
        "type": "row",
        "position": position,
        "problem": None if problem is None else str(problem),
        "op": line["op"],
        "attributes": problem.attributes if problem else numbers,
        "application": line["application"] or None,
        "device": {"index": None, "name": line["processor"]},
        "status": "ok",
        "reason": None,
        "regime": {
            "cache": "hot",
            "timer": "host clock",
            "published": source_of_figure(line, meant, doubtful),
        },
        "statistics": {"mean_ns": time_ns},
        "work": {"flops": problem.flops, "bytes": problem.bytes} if problem else None,
    }


def _phase_attribute(line: Line) -> dict[str, str]:
    if line["op"] not in ("conv", "rnn"):
        return {}
    phase = {"phase": PHASES.get(line["phase"], line["phase"])}
    if line["op"] == "rnn":
        phase["mode"] = "training" if line["set"] == "training" else "inference"
    return phase


def _problem(line: Line, printed: Mapping[str, str]) -> _core.Problem | None:
    """The line's problem; None for sums of phases and for figures without an equivalent in
    deepbench."""
    described = line["op"] != "all_reduce" and line["algorithm"] != "dense baseline"
    if not described or line["phase"] in NOT_PROBLEMS:
        return None
    words = [f"{key}={value}" for key, value in printed.items()]
    return _core.Problem.parse(" ".join([line["op"], *words]))


def source_of_figure(line: Line, meant: Json, doubtful: set[tuple[str, str, str]]) -> Json:
    """The source of a figure, the printed values, and why it is doubtful."""
    found = (line["source_workbook"], line["sheet"], line["row"])
    doubt = line["status"] in DOUBTFUL or bool(meant) or found in doubtful
    doubt = doubt or any(words in line["note"] for words in DOUBTFUL_NOTES)
    values: Json = {
        "workbook": line["source_workbook"],
        "sheet": line["sheet"],
        "row": int(line["row"]),
        "set": line["set"],
        "index": int(line["index"]) if line["index"] else None,
        "phase": line["phase"],
        "status": line["status"],
        "note": line["note"] or None,
        "doubt": _reason_of_doubt(line) if doubt else None,
        "precision": line["precision_detail"],
    }
    optional = ("tflops", "bandwidth_gbs", "stddev_ms", "speedup")
    values |= {key: float(line[key]) for key in optional if line[key]}
    if line["padded"]:
        values["padded"] = line["padded"] == "1"
    if line["algorithm"]:
        values["algorithm"] = line["algorithm"]
    return values | ({"intended_attributes": meant} if meant else {})


def _reason_of_doubt(line: Line) -> str:
    """Why a figure is doubtful. The status is included only if it names the defect."""
    note = line["note"] or "dimensions differ from those of the original's set"
    return f"{line['status']}: {note}" if line["status"] in DOUBTFUL else note


def _number_or_text(text: str) -> int | float | str:
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text


if __name__ == "__main__":
    main()
