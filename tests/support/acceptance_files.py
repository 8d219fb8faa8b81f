"""Reference files of several devices, made of one measured file."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any


def slowed_row(row: dict[str, Any], factor: float) -> dict[str, Any]:
    """The row with all its times and its energy multiplied by the factor."""
    statistics = {
        name: value * factor if name.endswith("_ns") and value is not None else value
        for name, value in row["statistics"].items()
    }
    metrics = [
        {**one, "value": one["value"] * factor} if one["name"] == "energy" else one
        for one in row["metrics"]
    ]
    return {**row, "statistics": statistics, "metrics": metrics}


def write_devices(
    folder: Path, files: Sequence[Path], factors: Sequence[float], op: str | None = None
) -> Path:
    """A folder with the files once for each factor, as if from devices that are slower by it; with
    `op`, only the rows of that operation."""
    folder.mkdir()
    for number, factor in enumerate(factors):
        for file in files:
            context, *lines = map(json.loads, file.read_text().splitlines())
            context["device"]["uuid"] = f"GPU-{number}"
            rows = [
                slowed_row(line, factor)
                for line in lines
                if line["type"] == "row" and op in (None, line["op"])
            ]
            text = "".join(json.dumps(line) + "\n" for line in (context, *rows))
            (folder / f"{number}_{file.name}").write_text(text)
    return folder
