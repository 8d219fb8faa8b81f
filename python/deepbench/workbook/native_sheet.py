"""The sheet `Rows` of a workbook that deepbench wrote. It holds every row of the result file, so
that the workbook can be read back. The other sheets are for human readers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from deepbench import _core
from deepbench.json_types import MutableJsonObject
from deepbench.report.fields import get
from deepbench.results import schema
from deepbench.results.row import Row, build_row, check_consistency
from deepbench.workbook import specs
from deepbench.workbook.cell_remarks import CellRemarks
from deepbench.workbook.cells import Book, Cell, CellError, Sheet, number, whole_number
from deepbench.workbook.figures import LONGEST_NS
from deepbench.workbook.published_match import OTHER_TIME, published_row, with_edited_time

Value = int | float | str

SHEET = "Rows"
_NEAR = 1e-9  # relative tolerance of a rate that the time implies


@dataclass(frozen=True)
class Column:
    """One column, and the path of its values in a row."""

    title: str
    path: str
    kind: str  # 'text', 'count', 'time' (ns), 'number' or 'words' (name=value name=value)
    always: bool = False  # present even if no row has a value

    def value(self, row: Row) -> Any:
        """The row's value; None if the row has none."""
        value: Any = row
        for name in self.path.split("."):
            value = getattr(value, name, None)
        return None if value == {} else value


# Statistics in nanoseconds.
_TIMES = ("median", "low", "high", "min", "q1", "q3", "p99", "max", "mean", "stdev", "mad")


def _make_column(path: str, kind: str, always: bool = False) -> Column:
    name = path.rpartition(".")[2]
    title = name.removesuffix("_ns").replace("_", " ")
    if path.startswith("regime.published"):
        title = f"published {title}"
    elif path in ("algorithm.name", "device.index", "verification.status"):
        title = path.replace(".", " ")
    unit = " (ns)" if kind == "time" else ""
    return Column((title[:1].upper() + title[1:]) + unit, path, kind, always)


COLUMNS = (
    _make_column("position", "count", True),
    _make_column("op", "text", True),
    _make_column("problem", "text", True),
    Column("Attributes", "attributes", "words", True),
    _make_column("application", "text"),
    _make_column("status", "text", True),
    _make_column("reason", "text"),
    Column("Backend", "backend", "text"),
    Column("Device", "device.name", "text"),
    _make_column("device.index", "count"),
    Column("Library", "library", "text"),
    Column("Algorithm mode", "algorithm.mode", "text"),
    _make_column("algorithm.name", "text"),
    Column("Cache", "regime.cache", "text"),
    Column("Cold by", "regime.cold", "text"),
    Column("Power", "regime.power", "text"),
    Column("Launch", "regime.launch", "text"),
    Column("Threads", "regime.threads", "count"),
    Column("Ranks", "regime.ranks", "count"),
    Column("Timer", "regime.timer", "text"),
    *(
        _make_column(f"statistics.{name}_ns", "time", name == "median")
        for name in _TIMES
    ),
    Column("Error of the median", "statistics.relative_standard_error", "number"),
    Column("Samples", "statistics.n", "count"),
    _make_column("statistics.batch", "count"),
    _make_column("statistics.stop", "text"),
    _make_column("work.flops", "number"),
    _make_column("work.bytes", "number"),
    _make_column("rates.tflops", "number"),
    _make_column("rates.gbps", "number"),
    Column("Bound by", "bound.by", "text"),
    Column("Level", "bound.level", "text"),
    Column("Ceiling (TFLOPS)", "bound.arithmetic_tflops", "number"),
    Column("Ceiling (GB/s)", "bound.memory_gbps", "number"),
    Column("Empty call (ns)", "bound.latency_ns", "time"),
    Column("Share of ceiling", "bound.share_arithmetic", "number"),
    Column("Share of roofline", "bound.share_roofline", "number"),
    _make_column("verification.status", "text"),
    *(
        _make_column(f"regime.published.{name}", kind)
        for name, kind in (
            ("trace", "text"), ("workbook", "text"), ("sheet", "text"), ("row", "count"),
            ("set", "text"), ("index", "count"), ("phase", "text"), ("status", "text"),
            ("note", "text"), ("doubt", "text"), ("precision", "text"), ("algorithm", "text"),
            ("tflops", "number"), ("intended_attributes", "words"),
        )
    ),
)  # fmt: skip
_VERSION_1_TITLES = {"Published meant": "Published intended attributes"}  # the title in version 1
_NEEDED = ("Position", "Op", "Problem", "Attributes", "Status")


def sheet_of_rows(book: Book) -> Sheet | None:
    """The sheet `Rows`; None if deepbench did not write the workbook."""
    for sheet in book.sheets:
        titles = {cell.value for cell in sheet.rows.get(1, {}).values()}
        if sheet.name == SHEET and titles.issuperset(_NEEDED):
            return sheet
    return None


def read_native_rows(
    book: Book, sheet: Sheet, remarks: CellRemarks
) -> tuple[MutableJsonObject, list[Row]]:
    """The context and the valid rows."""
    known = {column.title: column for column in COLUMNS}
    columns: dict[int, Column] = {}
    for column_number, cell in sheet.rows[1].items():
        title = (
            _VERSION_1_TITLES.get(cell.value, cell.value) if isinstance(cell.value, str) else None
        )
        if title in known:
            columns[column_number] = known[title]
        else:
            detail = f"is an unknown column {cell.text!r}"
            remarks.add_skipped(cell.address, "is an unknown column", detail=detail)
    if sheet.first_outside:
        remarks.add_skipped(
            sheet.first_outside, "lies beyond any result file", "this cell and further ones were"
        )
    rows: list[Row] = []
    seen: set[int] = set()
    for line, cells in sheet.rows.items():
        row = _row_of_cells(columns, f"{sheet.name}!{line}", cells, remarks) if line > 1 else None
        if row is None:
            continue
        if row.position in seen:
            remarks.add_skipped(f"{sheet.name}!{line}", "has the position of another row")
            continue
        seen.add(row.position)
        rows.append(row)
    return specs.context_of_specs(book, len(rows)), rows


def _row_of_cells(
    columns: Mapping[int, Column], address: str, cells: Mapping[int, Cell], remarks: CellRemarks
) -> Row | None:
    row: MutableJsonObject = {
        "type": "row",
        "reason": None,
        "problem": None,
        "op": None,
        "attributes": {},
    }
    for where, column in columns.items():
        cell = cells.get(where)
        if cell is None or (cell.blank and not cell.uncomputed):
            continue
        try:
            _set_member(row, column, _cell_value(column, cell))
        except CellError as error:
            remarks.add_skipped(cell.address, error, "the row was")
            return None
    if row["problem"] is not None:
        row["attributes"] = _attributes_of_problem(row)
    try:
        check_consistency(build_row(row))
    except schema.SchemaError as error:
        text = str(error)
        remarks.add_skipped(address, f"has a wrong {text.split()[0]}", "the row was", detail=text)
        return None
    if _time_was_edited(row):
        remarks.add(address, "has a time that contradicts its rate; values derived from the "
                           "measured time were removed")  # fmt: skip
        for part in ("rates", "bound", "verification"):
            row.pop(part, None)
        row["statistics"] = {"median_ns": row["statistics"]["median_ns"]}
    if get(row, "regime.published"):
        _compare_with_published(row, address, remarks)
    return build_row(row)


def _compare_with_published(row: MutableJsonObject, address: str, remarks: CellRemarks) -> None:
    """Marks a published figure as doubtful if its time differs from the published one, and reports
    it."""
    original, time_ns = published_row(build_row(row)), get(row, "statistics.mean_ns")
    published_ns = original.statistics.mean_ns if original else None
    if published_ns is None or time_ns is None or time_ns == published_ns:
        return
    facts = with_edited_time(row["regime"]["published"], published_ns, time_ns)
    row["regime"]["published"] = facts
    remarks.add(address, f"inconsistent: {facts['note']}", OTHER_TIME)


def _time_was_edited(row: MutableJsonObject) -> bool:
    """Whether the time was edited in the workbook."""
    time_ns = get(row, "statistics.median_ns")
    for rate, work, unit in (("tflops", "flops", 1e3), ("gbps", "bytes", 1.0)):
        written, done = get(row, f"rates.{rate}"), get(row, f"work.{work}")
        if written and done and time_ns and abs(done / time_ns / unit / written - 1) > _NEAR:
            return True
    return False


def _cell_value(column: Column, cell: Cell) -> Value | dict[str, Value]:
    if cell.uncomputed:
        number(cell)  # raises the error
    if column.kind == "text":
        return cell.text
    if column.kind == "words":
        pairs = (word.split("=", 1) for word in cell.text.split(" ") if "=" in word)
        return {name: _number_or_text(text) for name, text in pairs}
    if column.kind == "count":
        return whole_number(cell)
    value = number(cell)
    if column.kind == "time" and not 0 <= value <= LONGEST_NS:
        raise CellError("is not a valid time", cell.text)
    if column.path in ("statistics.median_ns", "statistics.mean_ns") and not value > 0:
        raise CellError("is not a valid time", cell.text)
    if not 0 <= value <= 1e30:
        raise CellError("is out of range", cell.text)
    return value


def _set_member(row: MutableJsonObject, column: Column, value: object) -> None:
    *parents, name = column.path.split(".")
    part = row
    for parent in parents:
        part = part.setdefault(parent, {})
    part[name] = value


def _attributes_of_problem(row: MutableJsonObject) -> MutableJsonObject:
    """The attributes of the problem; as written if this version of deepbench does not know the
    problem."""
    try:
        return dict(_core.Problem.parse(str(row["problem"])).attributes)
    except _core.InvalidProblem:
        return dict(row["attributes"])


def _number_or_text(text: str) -> Value:
    for kind in (int, float):
        try:
            value: Value = kind(text)
        except ValueError:
            continue
        return value if abs(float(value)) <= 1e30 else text
    return text
