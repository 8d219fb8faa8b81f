"""The tables of a results sheet by operation: first the original's columns in their places, then
additional columns. Rates, totals and speedups are formulas over cells of the same line."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from deepbench.results.row import Row
from deepbench.workbook.cells import column_letters

Phases = Mapping[str, Row]  # the rows of one problem, by phase

FIRST_COLUMN = 3  # the column of the first dimension; the title is to its left


@dataclass(frozen=True)
class Formula:
    """A cell with a formula and its current value."""

    text: str  # the formula with the addresses of its cells
    value: float | None


Content = str | float | int | Formula | None


@dataclass(frozen=True)
class Column:
    """A column of a table. `content` receives the phases and the line's cell addresses by key."""

    title: str
    key: str
    content: Callable[[Phases, Mapping[str, str]], Content]


@dataclass(frozen=True)
class Family:
    """The table of one operation."""

    title: str
    dimensions: tuple[tuple[str, str], ...]  # title, attribute
    phases: tuple[tuple[str, str], ...]  # phase and its title; () for a single time
    work: str  # FLOPs of a call as a formula over the dimensions; '' if the operation has none
    after: tuple[str, ...] = ()  # blank columns after the dimensions, as in the original


_MATRICES = (("M", "m"), ("N", "n"), ("K", "k"), ("A Transpose", "trans_a"),
             ("B Transpose", "trans_b"))  # fmt: skip
_OUTPUT_W = "(1+ROUNDDOWN(({w}-{s}+2*{pad_w})/{stride_w},0))"
_OUTPUT_H = "(1+ROUNDDOWN(({h}-{r}+2*{pad_h})/{stride_h},0))"
_GATES = 'IF({cell}="LSTM",4,IF({cell}="Vanilla",1,3))'
FAMILIES: Mapping[str, Family] = {
    "gemm": Family("Dense matrix products", _MATRICES, (), "2*{m}*{n}*{k}"),
    "conv": Family(
        "Convolutions",
        (("W", "w"), ("H", "h"), ("C", "c"), ("N", "n"), ("K", "k"), ("S", "s"), ("R", "r"),
         ("pad_w", "pad_w"), ("pad_h", "pad_h"), ("stride_w", "stride_w"),
         ("stride_h", "stride_h")),
        (("fwd", "Forward"), ("bwd_data", "Backward inputs"), ("bwd_filter", "Backward filter")),
        "2*{n}*{k}*{c}*{r}*{s}*" + _OUTPUT_W + "*" + _OUTPUT_H,
    ),
    "rnn": Family(
        "Recurrent layers",
        (("Hidden Units", "hidden"), ("Batch Size", "batch"), ("TimeSteps", "timesteps"),
         ("Recurrent Type", "cell")),
        (("fwd", "Forward"), ("bwd_data", "Backward inputs"), ("bwd_weights", "Backward weights"),
         ("bwd", "Backward both")),
        "2*" + _GATES + "*{timesteps}*{batch}*{hidden}^2",
    ),
    "sparse_gemm": Family(
        "Sparse matrix products", (*_MATRICES, ("Sparsity", "sparsity")), (),
        "2*{m}*{n}*{k}*(1-{sparsity})",
    ),
    "all_reduce": Family(
        "All-reduce", (("Size (# of floats)", "elements"), ("Number of Processors", "ranks")), (),
        "",
    ),
}  # fmt: skip
_CELLS = {"vanilla": "Vanilla", "lstm": "LSTM", "gru": "GRU"}
_SMALLEST_NS = 1e-9  # smaller times count as missing, so that division is safe
_RATE = "({work})/({time}/1000)/10^12"
# Attributes that are shown elsewhere. If they change the FLOPs, the FLOPs are a number, not a
# formula.
_WITHOUT_COLUMN = ("precision", "phase", "mode")


def family(op: str, attributes: Mapping[str, Any]) -> Family:
    """The table of an operation. The attributes define it if the original had no such operation."""
    known = FAMILIES.get(op)
    if known:
        return known
    names = tuple((name, name) for name in attributes if name != "precision")
    return Family(op.replace("_", " ").capitalize(), names, (), "")


def columns(op: str, shape: Family, lines: Sequence[Phases]) -> list[Column]:
    """The columns that a table of these lines needs, in order."""
    found = [Column(title, name, _dimension_content(name)) for title, name in shape.dimensions]
    if op == "gemm":
        found.append(_text_column("Application", lambda row: row.application))
    phases = _present_phases(shape, lines)
    found += [_time_column(op, phase, name) for phase, name in phases]
    if op == "sparse_gemm":
        found += _dense_columns()
    if any(one.work.flops for line in lines for one in line.values()):
        found += [_rate_column(shape, phase, name) for phase, name in phases]
    elif shape.work == "":
        found.append(_bandwidth_column())
    if len(phases) > 1:
        found.append(_total_column(phases))
    if op != "gemm":
        found.append(_text_column("Application", lambda row: row.application))
    shown = [name for _, name in shape.dimensions]
    extra = {name: None for line in lines for name, value in _attributes_of_line(line).items()
             if name not in shown and name not in _WITHOUT_COLUMN}  # fmt: skip
    found += [Column(name, name, _dimension_content(name)) for name in extra]
    return [*found, _text_column("Cache", lambda row: row.regime.cache),
            *(_algorithm_column(phase, name) for phase, name in phases),
            Column("Status", "status", _status_text)]  # fmt: skip


def _present_phases(shape: Family, lines: Sequence[Phases]) -> list[tuple[str, str]]:
    """The phases that any line has. The forward phase is always present, as in the original."""
    if not shape.phases:
        return [("", "")]
    present = {phase for line in lines for phase in line} | {"fwd"}
    return [(phase, name) for phase, name in shape.phases if phase in present]


def time_ms(row: Row | None) -> float | None:
    """The row's time; None if the row has no valid time."""
    value = row.time_ns if row is not None and row.status == "ok" else None
    return value / 1e6 if value is not None and value >= _SMALLEST_NS else None


def _attributes_of_line(line: Phases) -> Mapping[str, Any]:
    return next(iter(line.values())).attributes


def _dimension_content(name: str) -> Callable[[Phases, Mapping[str, str]], Content]:
    def cell_content(line: Phases, cells: Mapping[str, str]) -> Content:
        value = _attributes_of_line(line).get(name)
        # The number of ranks belongs to the regime in deepbench's rows.
        if name == "ranks" and value is None:
            value = next(iter(line.values())).regime.ranks
        if name in ("trans_a", "trans_b") and isinstance(value, str):
            return value.upper()
        return _CELLS.get(str(value), value) if name == "cell" else value

    return cell_content


def _text_column(title: str, value: Callable[[Row], str | None]) -> Column:
    return Column(title, f"{title} text", lambda line, cells: value(next(iter(line.values()))))


def _row_of_phase(line: Phases, phase: str) -> Row | None:
    return line.get(phase) if phase else next(iter(line.values()))


def _time_column(op: str, phase: str, name: str) -> Column:
    title = f"{name or ('Sparse' if op == 'sparse_gemm' else '')} Time (msec)".strip()
    return Column(title, f"time {phase}",
                  lambda line, cells: time_ms(_row_of_phase(line, phase)))  # fmt: skip


def _algorithm_column(phase: str, name: str) -> Column:
    def cell_content(line: Phases, cells: Mapping[str, str]) -> Content:
        row = _row_of_phase(line, phase)
        return row.algorithm.name if row else None

    return Column(f"{name} Algorithm".strip(), f"algorithm {phase}", cell_content)


def _rate_column(shape: Family, phase: str, name: str) -> Column:
    def cell_content(line: Phases, cells: Mapping[str, str]) -> Content:
        row = _row_of_phase(line, phase)
        flops, time = row.work.flops if row else None, time_ms(row)
        if not flops or not time:
            return None
        values = {"work": _flops_formula(shape, line, cells, flops), "time": cells[f"time {phase}"]}
        return Formula("=" + _RATE.format(**values), flops / time / 1e9)

    return Column(f"{name} TERAFLOPS".strip(), f"rate {phase}", cell_content)


def _flops_formula(shape: Family, line: Phases, cells: Mapping[str, str], flops: float) -> str:
    """The FLOPs as a formula over the dimensions, or as a number if the formula does not give
    them."""
    values = {key: _dimension_content(key)(line, cells) for _, key in shape.dimensions}
    if shape.work and all(key in cells for _, key in shape.dimensions):
        counted = _computed_flops(shape, values)
        if counted is not None and abs(counted - flops) <= 1e-9 * flops:
            return shape.work.format(**cells)
    return repr(float(flops))


def _computed_flops(shape: Family, values: Mapping[str, Any]) -> float | None:
    """The value of the formula for the FLOPs."""
    try:
        if "hidden" in values:
            gates = {"LSTM": 4, "Vanilla": 1}.get(values["cell"], 3)
            steps = values["timesteps"] * values["batch"]
            return float(2.0 * gates * steps * values["hidden"] ** 2)
        product = 2.0 * values["n"] * values["k"]
        if "w" not in values:
            return float(product * values["m"] * (1 - values.get("sparsity", 0)))
        out_w = 1 + (values["w"] - values["s"] + 2 * values["pad_w"]) // values["stride_w"]
        out_h = 1 + (values["h"] - values["r"] + 2 * values["pad_h"]) // values["stride_h"]
        return float(product * values["c"] * values["r"] * values["s"] * out_w * out_h)
    except (KeyError, TypeError, ZeroDivisionError, OverflowError):
        return None


def _dense_columns() -> list[Column]:
    def dense_time_ms(line: Phases, cells: Mapping[str, str]) -> Content:
        metrics = next(iter(line.values())).metrics
        found = next((one.value for one in metrics if one.name == "dense_time"), None)
        return found / 1e3 if found else None

    def speedup(line: Phases, cells: Mapping[str, str]) -> Content:
        dense_ms, sparse_ms = dense_time_ms(line, cells), time_ms(_row_of_phase(line, ""))
        if not isinstance(dense_ms, float) or not sparse_ms:
            return None
        return Formula(f"={cells['dense']}/{cells['time ']}", dense_ms / sparse_ms)

    return [Column("Dense Time (msec)", "dense", dense_time_ms),
            Column("Speedup wrt dense", "speedup", speedup)]  # fmt: skip


def _bandwidth_column() -> Column:
    def cell_content(line: Phases, cells: Mapping[str, str]) -> Content:
        row = _row_of_phase(line, "")
        size, time = row.work.bytes if row else None, time_ms(row)
        if not size or not time:
            return None
        return Formula(f"={float(size)!r}/({cells['time ']}/1000)/10^9", size / time / 1e6)

    return Column("Bandwidth (GB/s)", "bandwidth", cell_content)


def _total_column(phases: Sequence[tuple[str, str]]) -> Column:
    def cell_content(line: Phases, cells: Mapping[str, str]) -> Content:
        times = {phase: time for phase, _ in phases if (time := time_ms(line.get(phase)))}
        if not times:
            return None
        return Formula("=" + "+".join(cells[f"time {phase}"] for phase in times),
                       sum(times.values()))  # fmt: skip

    return Column("Total Time (msec)", "total", cell_content)


def _status_text(line: Phases, cells: Mapping[str, str]) -> Content:
    """The reasons why phases have no time; 'ok' if there are none."""
    problems = [
        f"{phase} {row.status}: {row.reason or 'no reason given'}".strip()
        for phase, row in line.items()
        if row.status != "ok"
    ]
    facts = [row.regime.published for row in line.values() if row.regime.published]
    doubts = [one.doubt for one in facts if one.doubt]
    return "; ".join(dict.fromkeys([*problems, *doubts])) or "ok"


def cell_addresses(found: Sequence[Column], row: int) -> dict[str, str]:
    """The address of each column's cell in a row of the sheet, by key."""
    return {one.key: f"{column_letters(FIRST_COLUMN + i)}{row}" for i, one in enumerate(found)}
