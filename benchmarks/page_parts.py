"""What the generated pages of tables.py share: result files by name, devices, tables, digits."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterable
from functools import cache
from itertools import compress
from pathlib import Path
from textwrap import fill

from row_figures import device_uuid

from deepbench.results import ResultFile, read

ROOT = Path(__file__).resolve().parents[1]
Files = dict[str, ResultFile]


@cache
def files_of(folder: str) -> Files:
    """The result files of a folder, which several pages and regions read."""
    return {path.stem: read(path) for path in paths_of(folder)}


def paths_of(folder: str) -> list[Path]:
    return sorted((ROOT / "results" / folder).glob("*.jsonl"))


def folders() -> list[str]:
    """The folders of result files."""
    return sorted({path.parent.name for path in (ROOT / "results").glob("*/*.jsonl")})


def processor_folders() -> list[str]:
    """The folders whose files all come from processors."""
    return [
        folder
        for folder in folders()
        if (paths := paths_of(folder)) and all(map(is_of_processor, paths))
    ]


def is_of_processor(path: Path) -> bool:
    """Whether a result file comes from a processor, by its first line."""
    with path.open(encoding="utf-8") as file:
        return bool(json.loads(file.readline())["device"].get("shares_host_memory"))


def device_of(file: ResultFile) -> str:
    """The first digits of the UUID of a file's device, of several the first, or of the identity of
    a processor's machine, which tell the machines of a page apart."""
    return short_uuid(device_uuid(file.context))


def short_uuid(uuid: str | None) -> str:
    return re.sub("^(GPU|dmi|os)-", "", uuid)[:8] if uuid else "unrecorded"


def count(number: int, noun: str) -> str:
    """'1 device', '3 devices'."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def page_head(title: str, folder: str) -> list[str]:
    return [
        f"# {title}",
        "",
        f"<!-- benchmarks/tables.py writes this page from results/{folder}. -->",
        "",
        f"The tables on this page are generated from the result files in `results/{folder}`.",
        "`results/README.md` describes the machines and the commands.",
        "",
    ]


def section(title: str, text: str, heading: list[str], rows: list[list[str]]) -> list[str]:
    """A heading, a paragraph and a table; nothing where the table has no rows."""
    if not rows:
        return []
    table = [*markdown_table(heading, rows), ""]
    return [f"## {title}", "", *([wrapped(text), ""] if text else []), *table]


def filled_section(title: str, text: str, heading: list[str], rows: list[list[str]]) -> list[str]:
    """The same without the columns that no row fills."""
    filled = [any(cells) for cells in zip(*rows, strict=True)]
    shown, *lines = (list(compress(cells, filled)) for cells in (heading, *rows))
    return section(title, text, shown, lines)


def wrapped(text: str) -> str:
    return fill(text, 100, break_on_hyphens=False)


def markdown_table(heading: list[str], rows: Iterable[list[str]]) -> list[str]:
    return ["| " + " | ".join(cells) + " |" for cells in [heading, ["---"] * len(heading), *rows]]


def significant_digits(value: float, count: int = 3) -> str:
    return f"{value:,.{max(0, count - 1 - math.floor(math.log10(value)))}f}" if value > 0 else "0"
