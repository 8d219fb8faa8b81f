"""Writes every measured figure of README.md and docs/ from the files under results/.

    python benchmarks/tables.py          writes the pages and the marked regions
    python benchmarks/tables.py --check  exits with 1 where a document differs from the files

Some pages are generated completely (PAGES), among them one for each folder of a processor. In
others the figures stand in regions that begin with the line
`<!-- benchmarks/tables.py writes NAME. -->` and end with `<!-- end -->` (REGIONS).
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any

from collectives_page import collectives_page
from device_page import device_page
from models_page import models_page
from page_parts import (
    ROOT,
    device_of,
    files_of,
    folders,
    markdown_table,
    processor_folders,
    wrapped,
)
from power_page import power_page
from processor_page import processor_page
from row_figures import wall_times
from support_tables import TITLES, compact_table, full_table

from deepbench import references
from deepbench.compare import Rules, compare, to_result_set
from deepbench.references import kind_of_device
from deepbench.references.lookup import open_results
from deepbench.report.comparison.headline import headlines
from deepbench.report.outline import OutlineProblem, outline
from deepbench.report.table import Table
from deepbench.results import read
from deepbench.results.build import revision_text

REGIMES, ENERGY = "rested and sustained products", "energy of products"
ON_ONE_DEVICE = (
    "The sustained rows of a precision were measured right after the rested ones, on the same "
    "device."
)
ON_FOUR_DEVICES = (
    "All sets were measured at the same time, each on another device of one machine, so that the "
    "difference between two devices is part of a ratio. The sustained ones ended early."
)
PAGES: Mapping[str, Callable[[], str]] = {
    "docs/results/h100.md": lambda: device_page("H100", "h100"),
    "docs/results/h200.md": lambda: device_page("H200", "h200"),
    "docs/results/h200_models.md": lambda: models_page("H200", "h200_models", "h200"),
    "docs/results/h100_power.md": lambda: power_page(
        f"NVIDIA H100: {REGIMES}", "h100_power", ON_ONE_DEVICE
    ),
    "docs/results/h200_energy.md": lambda: power_page(
        f"NVIDIA H200: {ENERGY}", "h200_energy", ON_FOUR_DEVICES
    ),
    "docs/results/h200_power.md": lambda: power_page(
        f"NVIDIA H200: {REGIMES}", "h200_power", ON_ONE_DEVICE
    ),
    "docs/results/h100x2.md": lambda: collectives_page("h100x2", "Two", "H100"),
    "docs/results/h100x4.md": lambda: collectives_page("h100x4", "Four", "H100", "h100x2"),
    "docs/results/h200x2.md": lambda: collectives_page("h200x2", "Two"),
    "docs/results/h200x4.md": lambda: collectives_page("h200x4", "Four", fewer="h200x2"),
    **{
        f"docs/results/{folder}.md": partial(processor_page, folder)
        for folder in processor_folders()
    },
}
DOCUMENTS = ("README.md", "results/README.md", "docs/**/*.md")
REGION = re.compile(
    r"(?P<begin><!-- benchmarks/tables\.py writes (?P<name>\w+)\. -->\n).*?(?P<end><!-- end -->\n)",
    re.DOTALL,
)
EXAMPLE_FOLDER = "results/h100"
EXAMPLE = "gemm_training_half"  # the table of which README.md shows some rows
EXAMPLE_POSITIONS = (0, 1, 3, 4, 144)


def main(arguments: list[str]) -> int:
    stale = []
    for name, text in generated_documents():
        document = ROOT / name
        if document.exists() and document.read_text(encoding="utf-8") == text:
            continue
        if "--check" in arguments:
            stale.append(name)
        else:
            document.write_text(text, encoding="utf-8")
    for name in stale:
        print(f"{name} differs from the result files; python benchmarks/tables.py writes it")
    return 1 if stale else 0


def generated_documents() -> Iterator[tuple[str, str]]:
    """The documents with generated text: their names and what they should contain."""
    for name, page in PAGES.items():
        yield name, page()
    texts = {name: write() for name, write in REGIONS.items()}
    for path in document_paths():
        text = path.read_text(encoding="utf-8")
        if REGION.search(text):
            filled = REGION.sub(lambda region: filled_region(region, texts), text)
            yield path.relative_to(ROOT).as_posix(), filled


def document_paths() -> list[Path]:
    paths = {path for pattern in DOCUMENTS for path in ROOT.glob(pattern)}
    return sorted(paths - {ROOT / name for name in PAGES})


def filled_region(region: re.Match[str], texts: Mapping[str, str]) -> str:
    name = region["name"]
    if name not in texts:
        raise SystemExit(f"no region is called {name!r}; there are {' '.join(texts)}")
    return f"{region['begin']}{texts[name]}{region['end']}"


def paragraph(text: str) -> str:
    return wrapped(text) + "\n"


def gemm_example() -> str:
    """A run's wall time, and some of its rows as the table shows them."""
    folder = ROOT / EXAMPLE_FOLDER
    file = read(folder / f"{EXAMPLE}.jsonl")
    rows = [row for row in file.rows if row.position in EXAMPLE_POSITIONS]
    table = Table()
    problems = [
        OutlineProblem(str(row.op), row.attributes, row.work.flops, power=row.regime.power)
        for row in rows
    ]
    parts = [table.begin(file.context, outline(problems)), *map(table.row, rows), table.end()]
    device, took = file.context["device"], wall_times(folder)[EXAMPLE]
    others = "another GPU that was" if took.beside == 1 else f"{took.beside} other GPUs that were"
    beside = f", beside {others} measured" if took.beside else ""
    sentences = (
        f"`deepbench gemm` measures the {len(file.rows)} problems of the training set. On one "
        f"{device['name']} with CUDA {device['driver_cuda']} it took "
        f"{took.seconds:.1f} seconds, including start and verification{beside}. "
        f"Its default precision there is `{rows[0].attributes['precision']}`. Some of the rows:"
    )
    return f"{paragraph(sentences)}\n```text\n{''.join(map(str, parts))}```\n"


def comparison_example() -> str:
    """The first line of a comparison, and what was compared."""
    name = f"{EXAMPLE_FOLDER}/{EXAMPLE}.jsonl"
    reference = "NVIDIA Tesla V100"
    sides = [to_result_set(open_results(word)) for word in (str(ROOT / name), reference)]
    sentence = f'The first line of `deepbench compare {name} "{reference}"`:'
    return f"{sentence}\n\n```text\n{headlines(compare(sides, Rules()))[0]}\n```\n"


def published_figures() -> str:
    """How much the original published."""
    found = references.published()
    times = sum(reference.rows for reference in found)
    workbooks = {book for reference in found for book in reference.workbooks}
    return paragraph(
        f"The package contains what the original published: {times:,} times of {len(found)} "
        f"processors in {len(workbooks)} workbooks."
    )


def measured_machines() -> str:
    """Where the result files come from, by folder."""
    heading = ["folder", "files", "rows", "devices in a run", "machines", "driver", "CUDA",
               "deepbench", "measured"]  # fmt: skip
    return "\n".join(markdown_table(heading, map(machine_cells, folders()))) + "\n"


def machine_cells(folder: str) -> list[str]:
    files = list(files_of(folder).values())
    contexts = [file.context for file in files]
    devices = [context["device"] for context in contexts]
    ranks = {(context.get("ranks") or {}).get("count") or 1 for context in contexts}
    names = {kind_of_device(device) for device in devices}
    days = sorted({str(context["started"])[:10] for context in contexts})
    versions = {version_text(context) for context in contexts}
    return [
        f"`{folder}`",
        str(len(files)),
        str(sum(len(file.rows) for file in files)),
        f"{max(ranks)} {joined(names)}",
        str(len({device_of(file) for file in files})),
        joined({device.get("driver") for device in devices}),
        joined({device.get("driver_cuda") for device in devices}),
        joined(versions),
        " to ".join(dict.fromkeys((days[0], days[-1]))),
    ]


def version_text(context: Mapping[str, Any]) -> str:
    revision = revision_text(context.get("build") or {})
    return f"{context['version']} ({revision or 'revision not recorded'})"


def joined(words: Iterable[str | None]) -> str:
    return ", ".join(sorted(filter(None, words)))


REGIONS: Mapping[str, Callable[[], str]] = {
    "gemm_example": gemm_example,
    "comparison_example": comparison_example,
    "published_figures": published_figures,
    "measured_machines": measured_machines,
    "supported_precisions": compact_table,
    **{f"support_{backend}": partial(full_table, backend) for backend in TITLES},
}


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
