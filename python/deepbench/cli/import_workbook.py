"""Makes a result file of a workbook that the original benchmark published or 'report' wrote."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from deepbench.results import ResultWriter
from deepbench.workbook import Imported, read_workbook


def import_workbook(book: Path, output: Path, overwrite: bool) -> tuple[Sequence[str], str]:
    """Writes the result file. Returns remarks and a summary, each a line."""
    imported = read_workbook(book)
    _write_result_file(imported, output, overwrite)
    device = (imported.context.get("device") or {}).get("name") or "an unnamed device"
    return imported.remarks, f"{book.name}: {device}: {_counts_text(imported)}"


def _write_result_file(imported: Imported, path: Path, overwrite: bool) -> None:
    writer = ResultWriter.create(path, overwrite=overwrite, cure="--overwrite replaces it")
    try:
        writer.replace(imported.context, (row.line for row in imported.rows))
    finally:
        writer.close()


def _counts_text(imported: Imported) -> str:
    """Counts the figures that were read and left out."""
    rows = f"{len(imported.rows)} rows"
    if imported.doubted:
        rows += f" ({imported.doubted} inconsistent)"
    facts = [f"{len(imported.rows) + imported.sums} figures read", rows]
    if imported.sums:
        facts.append(f"{imported.sums} sums over phases left out as derived")
    reasons = ", ".join(f"{reason}: {count}" for reason, count in imported.left_out.items())
    cells = f"{sum(imported.left_out.values())} cells left out"
    facts.append(f"{cells} ({reasons})" if reasons else cells)
    if imported.recognized:
        facts.append(f"the original's {imported.recognized}")
    return "; ".join(facts)
