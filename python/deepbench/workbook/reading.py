"""Reads a workbook as a result file: its tables become rows, and its sheet Specs the context."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from deepbench import _core
from deepbench.errors import printable_line
from deepbench.json_types import MutableJsonObject
from deepbench.results import schema
from deepbench.results.row import Published, Row, build_row
from deepbench.workbook import native_sheet
from deepbench.workbook.cell_remarks import CellRemarks
from deepbench.workbook.cells import Book, CellError, Sheet
from deepbench.workbook.consistency import check_figure, sum_error
from deepbench.workbook.errors import WorkbookError
from deepbench.workbook.figures import Figure, figures, phase_of
from deepbench.workbook.precisions import Precisions
from deepbench.workbook.published_match import OTHER_TIME, PublishedMatch, with_edited_time
from deepbench.workbook.rows import (
    make_row,
    parse_problem,
    printed_attributes,
    published_members,
    with_rates,
)
from deepbench.workbook.sheet_tables import MOST_TABLES, SheetTable, SheetTables, find_tables
from deepbench.workbook.suite_alignment import SuiteAlignment, SuitePosition, best_matching_set
from deepbench.workbook.xlsx_reader import read_book

_MAX_TIMES = 50_000
_MAX_NAMES = 6  # headings of an unknown table that a remark lists
_FOOTNOTE = (
    "published figures come from a workbook, were measured by its author's rules and are not"
    " verified; rates are recomputed by deepbench's formulas; means exclude inconsistent rows"
)
_NO_PRECISION = "has no precision"
_NAME_PRECISION = f"{_NO_PRECISION} (name the sheet like 'Results - FP32')"
_DEVICES = ("gpu model", "accelerator", "device", "processor", "cpu model", "cpu")


@dataclass(frozen=True)
class Imported:
    """The contents of a workbook, and what was skipped or is doubtful."""

    context: MutableJsonObject
    rows: tuple[Row, ...]
    remarks: tuple[str, ...]  # one line for each kind of remark, with sheets and cells
    sums: int  # number of sums over phases, which are not rows
    left_out: Mapping[str, int]  # number of skipped cells by reason
    recognized: str | None  # the name of the original's workbook that it is
    doubted: int


def read_workbook(path: Path) -> Imported:
    """Reads the rows of a workbook: any layout of the original, or one that deepbench wrote. Raises
    WorkbookError."""
    book = read_book(path)
    written = native_sheet.sheet_of_rows(book)
    if written is not None:
        return _read_native(book, written)
    remarks = CellRemarks()
    for sheet in book.sheets:
        if sheet.first_outside:
            remarks.add_skipped(
                sheet.first_outside, "lies beyond any table", "this cell and further ones were"
            )
    tables: list[_TableFigures] = []
    for sheet in book.sheets:
        tables += _read_tables(sheet, remarks)
        if len(tables) > MOST_TABLES:
            raise WorkbookError(
                f"{path}: has more than {MOST_TABLES} tables, the limit for workbooks"
            )
    if not tables:
        names = ", ".join(sheet.name for sheet in book.sheets[:10])
        raise WorkbookError(
            f"{path}: has no table of results: none of its sheets ({names}) has headings like "
            "M N K Time (msec)"
        )
    return _import_tables(book, tables, remarks)


@dataclass(frozen=True)
class _TableFigures:
    """A table with its figures, row by row."""

    section: SheetTable
    top: tuple[str, ...]  # titles of the sheet's first table
    lines: tuple[Sequence[Figure], ...]

    @property
    def training(self) -> bool:
        return any(phase_of(one).startswith("bwd") for line in self.lines for one in line)


def _read_tables(sheet: Sheet, remarks: CellRemarks) -> Iterator[_TableFigures]:
    parts: SheetTables = find_tables(sheet)
    if _is_specs_sheet(sheet) and not parts.sections:
        return
    for section in parts.sections:
        top = parts.sections[0].titles
        yield _TableFigures(section, top, tuple(figures(section, remarks)))
    for one in parts.unknown:
        begin, *_ = one.headings
        names = ", ".join(cell.text for cell in one.headings[:_MAX_NAMES])
        detail = f"begins a table of an unknown operation ({names})"
        why = "is in a table of an unknown operation"
        remarks.add_skipped(
            begin.address, why, f"all {one.numbers} numbers were", one.numbers, detail
        )
    has_table = bool(parts.sections)
    no_table = "belongs to no table" if has_table else "is in a sheet without a known table"
    for cell in parts.stray:
        error = CellError(no_table, repr(cell.text))
        remarks.add_skipped(cell.address, error)
    for cell in parts.unheaded:
        error = CellError("is not below a known heading", repr(cell.text))
        remarks.add_skipped(cell.address, error)


def _import_tables(book: Book, tables: Sequence[_TableFigures], remarks: CellRemarks) -> Imported:
    every = [one for table in tables for line in table.lines for one in line]
    if len(every) > _MAX_TIMES:
        raise WorkbookError(
            f"{book.path}: has more than {_MAX_TIMES} times, the limit for workbooks"
        )
    known = PublishedMatch(every)
    specs = _read_specs(book)
    device = known.processor or _device_name(specs) or printable_line(book.path.stem)
    built: list[MutableJsonObject] = []
    sets = _sets_of_sheets(tables)
    for table in tables:
        alignment = SuiteAlignment(table.section.op, sets[table.section.sheet])
        built += _rows_of_table(book, table, alignment, known, device, remarks)
    if not built:
        raise WorkbookError(
            f"{book.path}: its tables contain no valid time{_first_remark(remarks)}"
        )
    rows = [
        build_row({**with_rates(members), "position": position})
        for position, members in enumerate(built)
    ]
    facts = [row.regime.published or Published() for row in rows]
    context = _make_context(book, facts, specs, device, remarks)
    schema.check_context(context)
    return Imported(
        context,
        tuple(rows),
        remarks.lines,
        remarks.sums,
        remarks.reasons,
        known.workbook,
        sum(one.doubt is not None for one in facts),
    )


def _first_remark(remarks: CellRemarks) -> str:
    return f"; {remarks.lines[0]}" if remarks.lines else ""


def _sets_of_sheets(tables: Sequence[_TableFigures]) -> dict[str, str | None]:
    """The set of each sheet, by the sheet's name."""
    found: dict[str, str | None] = {}
    for sheet in dict.fromkeys(table.section.sheet for table in tables):
        of_sheet = [table for table in tables if table.section.sheet == sheet]
        problems = [
            (table.section.op, line[0].dimensions) for table in of_sheet for line in table.lines
        ]
        found[sheet] = best_matching_set(problems, any(table.training for table in of_sheet))
    return found


def _rows_of_table(
    book: Book,
    table: _TableFigures,
    alignment: SuiteAlignment,
    known: PublishedMatch,
    device: str,
    remarks: CellRemarks,
) -> Iterator[MutableJsonObject]:
    precisions = Precisions(table.section, table.top, remarks)
    training = alignment.set == "training" or table.training
    for line in table.lines:
        position = alignment.align(line[0].dimensions)
        for figure in line:
            if phase_of(figure) == "total":
                remarks.sums += 1
                if wrong := sum_error(figure, line):
                    remarks.add(figure.address, wrong, "a sum over phases")
                continue
            published_row = known.find_row(figure)
            if published_row is not None:
                yield _as_published(figure, published_row, remarks)
                continue
            precision = precisions.precision_of_figure(figure)
            if precision is None:
                remarks.add_skipped(figure.address, _NO_PRECISION, detail=_NAME_PRECISION)
                continue
            try:
                made = _row_of_figure(book, figure, position, precision, training, device)
            except _core.InvalidProblem as error:
                detail = printable_line(str(error))
                remarks.add_skipped(figure.address, "has an invalid problem", detail=detail)
                continue
            _report_doubt(made, figure, remarks)
            yield made


def _report_doubt(row: MutableJsonObject, figure: Figure, remarks: CellRemarks) -> None:
    """Reports why a row is doubtful, once for each status."""
    if doubt := row["regime"]["published"]["doubt"]:
        status, colon, _ = doubt.partition(": ")
        kind = OTHER_TIME if "as published" in doubt else status if colon else doubt
        remarks.add(figure.address, f"inconsistent: {doubt}", kind)


def _row_of_figure(
    book: Book,
    figure: Figure,
    position: SuitePosition,
    precision: str,
    training: bool,
    device: str,
) -> MutableJsonObject:
    values = printed_attributes(figure, precision, training)
    parsed = parse_problem(figure, values)
    consistency = check_figure(figure, position, parsed.flops if parsed else None)
    precision_text = figure.texts.get("precision", precision)
    facts = published_members(
        figure, printable_line(book.path.name), position, consistency, precision_text
    )
    made = make_row(figure, values, parsed, device, facts)
    made["application"] = made["application"] or position.application
    return made


def _as_published(figure: Figure, known: Row, remarks: CellRemarks) -> MutableJsonObject:
    """The published row with the time in this file."""
    regime, published_ns = known.members["regime"], known.statistics.mean_ns or 0.0
    facts = with_edited_time(regime["published"], published_ns, figure.time_ns)
    regime = {**regime, "published": facts}
    row = {**known.members, "regime": regime, "statistics": {"mean_ns": figure.time_ns}}
    _report_doubt(row, figure, remarks)
    return row


# ---- the context -------------------------------------------------------------------------------


def _is_specs_sheet(sheet: Sheet) -> bool:
    return "spec" in sheet.name.lower()


def _read_specs(book: Book) -> dict[str, str]:
    """Keys and values of the sheets whose names contain 'spec'."""
    found: dict[str, str] = {}
    for sheet in book.sheets:
        if not _is_specs_sheet(sheet):
            continue
        for cells in sheet.rows.values():
            texts = [cell.text for cell in cells.values() if not cell.blank]
            if len(texts) >= 2:
                found.setdefault(texts[0], texts[1])
    return found


def _device_name(specs: Mapping[str, str]) -> str | None:
    by_key = {key.strip().lower(): value for key, value in specs.items()}
    return next((by_key[key] for key in _DEVICES if by_key.get(key, "").strip(" -")), None)


def _make_context(
    book: Book,
    rows: Sequence[Published],
    specs: Mapping[str, str],
    device: str,
    remarks: CellRemarks,
) -> MutableJsonObject:
    sets = Counter(one.set for one in rows)
    return {
        "type": "context",
        "schema": schema.VERSION,
        "command": None,
        "started": None,
        "set": next(iter(sets)) if len(sets) == 1 else None,
        "rows": len(rows),
        "version": "published",
        "backend": None,
        "device": {"index": None, "name": device},
        "options": {},
        "footnotes": [_FOOTNOTE],
        "specs": dict(specs),
        "workbook": printable_line(book.path.name),
        "warnings": [*book.remarks, *remarks.lines],
    }


def _read_native(book: Book, sheet: Sheet) -> Imported:
    remarks = CellRemarks()
    context, rows = native_sheet.read_native_rows(book, sheet, remarks)
    if not rows:
        raise WorkbookError(f"{book.path}: {sheet.name} contains no valid row"
                            f"{_first_remark(remarks)}")  # fmt: skip
    context["warnings"] = [*(context.get("warnings") or ()), *remarks.lines]
    schema.check_context(context)
    return Imported(context, tuple(rows), remarks.lines, 0, remarks.reasons, None, 0)
