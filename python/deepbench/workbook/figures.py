"""The times of a table, one figure each, together with the other cells of their rows. Invalid
dimensions and times are skipped and reported with their sheet and cell."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from deepbench.workbook.cell_remarks import CellRemarks
from deepbench.workbook.cells import SMALLEST_NUMBER, Cell, CellError, number, whole_number
from deepbench.workbook.headings import BACKWARD_UNSPECIFIED
from deepbench.workbook.sheet_tables import RECURRENT_CELLS, Line, SheetTable

LONGEST_NS = 1e15  # the limit in schema.json
_LARGEST_RATE = 1e9  # TFLOPS
_TRANSPOSED = {"n": "n", "t": "t", "0": "n", "1": "t", "0.0": "n", "1.0": "t",
               "false": "n", "true": "t"}  # fmt: skip
# Texts of cells without a measurement.
_MISSING = {"", "n/a", "na", "-", "--", "not supported", "none", "x", "n.a.", "tbd"}

Value = int | float | str


@dataclass(frozen=True)
class Figure:
    """A time in a workbook."""

    address: str  # 'Results FP32!N52'
    sheet: str
    row: int
    op: str
    dimensions: Mapping[str, Value]
    phase: str  # '' if the operation has none
    time_ns: float
    tflops: float | None
    texts: Mapping[str, str]  # application, algorithm, precision, notes
    numbers: Mapping[str, float]  # bandwidth_gbs, stddev_ms, speedup
    padded: bool | None
    heading: str  # of the time's column


def figures(section: SheetTable, remarks: CellRemarks) -> Iterator[list[Figure]]:
    """The times of every row. A row with an invalid problem is skipped and reported."""
    if not section.columns_of_kind("time"):
        if section.lines:
            remarks.add(f"{section.sheet}!{section.row}", f"the table of {section.op} has no times")
        return
    carried: Mapping[str, Value] = {}
    for line in section.lines:
        try:
            dimensions = _read_dimensions(section, line, carried, remarks)
        except CellError:
            continue
        carried = dimensions
        found = list(_figures_of_line(section, line, dimensions, remarks))
        if found:
            yield found


def _read_dimensions(
    section: SheetTable, line: Line, before: Mapping[str, Value], remarks: CellRemarks
) -> dict[str, Value]:
    """The problem of a row as printed. Raises CellError after reporting it."""
    found: dict[str, Value] = {"trans_a": "n", "trans_b": "n"} if _is_product(section.op) else {}
    if section.op == "rnn" and section.cell:
        found["cell"] = section.cell
    for name, column in section.dimensions.items():
        cell = line.cells.get(column)
        if cell is None and section.op == "all_reduce" and name == "elements" and name in before:
            # Printed only in the first row of several with different numbers of ranks.
            found[name] = before[name]
            continue
        if cell is None or (cell.blank and not cell.uncomputed):
            missing = CellError(f"has no {name}")
            _skip_row(section, line, missing, remarks)
            raise missing
        try:
            found[name] = _dimension_value(name, cell)
        except CellError as error:
            _skip_row(section, line, error, remarks, cell.address)
            raise
    if section.op == "rnn" and "cell" not in found:
        missing = CellError("names no recurrent cell, and neither does the table's title")
        _skip_row(section, line, missing, remarks)
        raise missing
    return found


def _skip_row(
    section: SheetTable, line: Line, why: CellError, remarks: CellRemarks, address: str = ""
) -> None:
    """Reports the row, with its number of times."""
    columns = section.columns_of_kind("time").values()
    times = sum(column in line.cells and line.cells[column].numeric for column in columns)
    what = f"the row with its {times} times was" if times > 1 else "the row was"
    address = address or f"{section.sheet}!{line.number}"
    remarks.add_skipped(address, why, what, max(1, times))


def _is_product(op: str) -> bool:
    return op in ("gemm", "sparse_gemm")


def _dimension_value(name: str, cell: Cell) -> Value:
    if name in ("trans_a", "trans_b"):
        return _known_word(cell, str(cell.value).strip().lower(), _TRANSPOSED, "N or T")
    if name == "cell":
        word = cell.text.lower().split(" ")[0].strip("()")
        known = dict(zip(RECURRENT_CELLS, RECURRENT_CELLS, strict=True))
        return _known_word(cell, word, known, " ".join(RECURRENT_CELLS))
    if name == "sparsity":
        value = number(cell)
        if not 0 <= value < 1:
            raise CellError("is not a fraction of zeros below 1", cell.text)
        return value
    return whole_number(cell)


def _known_word(cell: Cell, word: str, known: Mapping[str, str], right: str) -> str:
    if cell.uncomputed:
        number(cell)
    if word not in known:
        raise CellError(f"is not one of {right}", repr(cell.text))
    return known[word]


def _figures_of_line(
    section: SheetTable, line: Line, dimensions: Mapping[str, Value], remarks: CellRemarks
) -> Iterator[Figure]:
    rates = section.columns_of_kind("rate")
    texts = dict(_texts_by_kind(section, line))
    numbers = dict(_other_numbers(section, line, remarks))
    for phase, column in section.columns_of_kind("time").items():
        unit = section.columns[column].unit
        time_ns = _time_ns(line.cells.get(column), unit, remarks)
        if time_ns is None:
            continue
        rate = rates.get(phase)
        if rate is None and len(section.columns_of_kind("time")) == 1 and len(rates) == 1:
            rate = next(iter(rates.values()))
        yield Figure(
            address=line.cells[column].address,
            sheet=section.sheet,
            row=line.number,
            op=section.op,
            dimensions=dimensions,
            phase=phase,
            time_ns=time_ns,
            tflops=_rate_tflops(section, line, rate, remarks),
            texts=texts,
            numbers=numbers,
            padded=_is_padded(section, line),
            heading=section.headings.get(column, ""),
        )


def _time_ns(cell: Cell | None, unit: float, remarks: CellRemarks) -> float | None:
    """The time in nanoseconds, or None. A missing time is reported unless the cell marks it as
    missing."""
    if cell is None or (isinstance(cell.value, str) and _marks_missing(cell)):
        return None
    try:
        # Rounds away the error of the conversion: 0.142 ms is 142000 ns.
        value = float(f"{number(cell) * unit:.15g}")
        if not 0 < value <= LONGEST_NS:
            raise CellError("is not a valid time", cell.text)
    except CellError as error:
        remarks.add_skipped(cell.address, error, "the time was")
        return None
    return value


def _marks_missing(cell: Cell) -> bool:
    return cell.text.strip().rstrip("*").lower() in _MISSING


def _rate_tflops(
    section: SheetTable, line: Line, column: int | None, remarks: CellRemarks
) -> float | None:
    """The rate in TFLOPS. An invalid rate does not affect the row, since rates are recomputed from
    times."""
    cell = line.cells.get(column) if column is not None else None
    if column is None or cell is None or (isinstance(cell.value, str) and _marks_missing(cell)):
        return None
    try:
        value = number(cell) * section.columns[column].unit
        if not 0 <= value <= _LARGEST_RATE:
            raise CellError("is not a valid rate", cell.text)
    except CellError as error:
        remarks.add_skipped(cell.address, error, "the rate was")
        return None
    return value


def _texts_by_kind(section: SheetTable, line: Line) -> Iterator[tuple[str, str]]:
    for kind in ("application", "algorithm", "precision", "notes"):
        for column in section.columns_of_kind(kind).values():
            cell = line.cells.get(column)
            if cell is not None and isinstance(cell.value, str) and not cell.blank:
                yield kind, cell.text.strip()


def _other_numbers(
    section: SheetTable, line: Line, remarks: CellRemarks
) -> Iterator[tuple[str, float]]:
    """The other numbers of the row. Invalid ones are skipped and reported."""
    names = {"bandwidth": "bandwidth_gbs", "stddev": "stddev_ms", "speedup": "speedup"}
    wanted = [
        (names[kind], column) for kind in names for column in section.columns_of_kind(kind).values()
    ]
    for name, column in wanted:
        cell = line.cells.get(column)
        if cell is None or (isinstance(cell.value, str) and _marks_missing(cell)):
            continue
        try:
            value = number(cell)
            if name == "stddev_ms":
                value *= section.columns[column].unit / 1e6
            if not 0 <= value <= LONGEST_NS or 0 < value < SMALLEST_NUMBER:
                raise CellError("is out of range", cell.text)
        except CellError as error:
            remarks.add_skipped(cell.address, error)
            continue
        yield name, value


def _is_padded(section: SheetTable, line: Line) -> bool | None:
    for column in section.columns_of_kind("padded").values():
        cell = line.cells.get(column)
        if cell is not None:
            return cell.text.strip().lower() in ("1", "1.0", "yes", "y", "true", "padded")
    return None


def phase_of(figure: Figure) -> str:
    """The phase in deepbench's terms. A backward pass of an unspecified kind is the data gradient,
    since the original's programs timed that."""
    if figure.phase in ("", BACKWARD_UNSPECIFIED):
        return "bwd_data" if figure.phase else "fwd"
    return figure.phase
