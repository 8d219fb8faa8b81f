"""Plans the rows of a run: complete problems, each with the options of its row."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from itertools import product

from deepbench.call_counts import CallCounts, application_names
from deepbench.json_types import JsonObject
from deepbench.problems.precision_defaults import default_precision
from deepbench.problems.problem_arguments import quoted, require_constant
from deepbench.problems.selection import Parse, SelectedProblem, Selection
from deepbench.runner.run_options import RunOptions
from deepbench.runner.time_estimate import Work

_QUICK_STRIDE = 10  # --quick
# --quick skips problems with more FLOPs or bytes if a call takes longer than this: its rows take 2
# s, and filling so many bytes takes many times that.
_QUICK_FLOPS, _QUICK_BYTES, _QUICK_CALL_S = 1e11, 1e10, 1.0
# Time for loading libraries, preparing, verifying, and measuring ceilings on small problems.
_HANG_BASE_S = 30.0
_HANG_LIMITS = 6.0  # multiples of a row's time limit, since a row may be measured twice
# Observed with recurrent layers, whose threads synchronize at each step.
_SLOWEST_FLOPS_PER_S = 2e9
_SLOWEST_BYTES_PER_S = 1e8
_SLOWEST_ELEMENTS_PER_S = 1e8
_SELECTION_FACTOR = {"best": 4.0, "exhaustive": 100.0}  # relative to --algorithm default
_TIME_LIMIT_S = 10.0
_CHAIN_LIMIT_S = 600.0


@dataclass(frozen=True)
class PlannedRow:
    """A row that is to be measured."""

    position: int
    problem: str  # canonical
    op: str
    attributes: Mapping[str, int | float | str]
    application: str | None
    flops: float
    bytes: float
    host_elements: float  # elements that the host generates one by one
    is_collective: bool
    power: str  # the power regime
    options: str  # options that apply to this row only
    counts: CallCounts | None = None  # counts of its calls; None: its suite counts none

    @property
    def application_names(self) -> str | None:
        """The applications that make the call, as one text."""
        return application_names(self.application, self.counts.applications if self.counts else ())

    @property
    def problem_line(self) -> str:
        """The problem with its application, if it has one. The counts are of no concern to the
        worker: the row gets them from the plan."""
        application = f" application={quoted(self.application)}" if self.application else ""
        return f"{self.problem}{application}"

    @property
    def line(self) -> str:
        """The line that the worker receives."""
        options = f"{self.options} position={self.position}".lstrip()
        return f"{self.problem_line} ; {options}"

    @property
    def work(self) -> Work:
        """The facts from which the row's duration is estimated."""
        precision = str(self.attributes.get("precision", ""))
        cold = "cache=cold" in self.options.split()
        sustained = self.power == "sustained"
        return Work(self.op, precision, self.flops, self.bytes, cold, self.is_collective, sustained)


def plan(selection: Selection, options: RunOptions, hello: JsonObject | None) -> list[PlannedRow]:
    """Every row in order. Without `hello`, the backend's answer, default precisions are
    provisional; such a plan serves to find mistakes early. Raises UsageError."""
    selected = list(selection.source.problems(make_parser(hello, selection.set), hello))
    _check_constants(selected, options)
    if options.quick and selection.many:
        selected = quick_subset(selected)
    variants = product(selected, options.caches, options.powers)
    return [_planned_row(position, *variant) for position, variant in enumerate(variants)]


def make_parser(hello: JsonObject | None, set_name: str | None) -> Parse:
    """A parser of problems that fills in the default precision of the backend and the set."""
    from deepbench import _core

    def parse(line: str, defaults: str) -> _core.Problem:
        if "precision=" not in defaults:
            op = line.split(maxsplit=1)[0]
            defaults += f" precision={default_precision(hello, set_name, op)}"
        return _core.Problem.parse(line, defaults)

    return parse


def quick_subset(selected: Sequence[SelectedProblem]) -> list[SelectedProblem]:
    """Every tenth problem, plus the first problem of each application and of each operation that
    would be missing. All phases of a problem stay together."""
    groups: dict[object, list[SelectedProblem]] = {}
    for index, problem in enumerate(selected):
        groups.setdefault(index if problem.group is None else problem.group, []).append(problem)
    problems = list(groups.values())
    chosen = set(range(0, len(problems), _QUICK_STRIDE))
    seen = {family for index in chosen for family in _families_of(problems[index][0])}
    for index, problem_group in enumerate(problems):
        families = _families_of(problem_group[0])
        if not families <= seen:
            seen |= families
            chosen.add(index)
    return [problem for index in sorted(chosen) for problem in problems[index]]


def without_long_calls(
    rows: Sequence[PlannedRow], call_s: Callable[[Work], float]
) -> tuple[list[PlannedRow], list[PlannedRow]]:
    """The rows that --quick measures, and those that it skips because one call of more than 10^11
    FLOPs or 10^10 bytes is expected to take more than a second. `call_s` estimates the seconds of a
    call."""
    large = [row for row in rows if row.flops > _QUICK_FLOPS or row.bytes > _QUICK_BYTES]
    skipped = [row for row in large if call_s(row.work) > _QUICK_CALL_S]
    positions = {row.position for row in skipped}
    kept = [row for row in rows if row.position not in positions]
    return [replace(row, position=position) for position, row in enumerate(kept)], skipped


def _check_constants(selected: Sequence[SelectedProblem], options: RunOptions) -> None:
    """Raises UsageError for a constant operand that no operation of the run has."""
    given = options.rows.get("constant")
    for name in given.split(",") if given is not None else ():
        require_constant("--constant:", name, [one.problem.op for one in selected])


def hang_limit_s(row: PlannedRow, options: RunOptions) -> float:
    """Seconds after which the worker of this row counts as hung."""
    if options.hang_limit_s is not None:
        return options.hang_limit_s
    if options.once:  # a simulator may need days for one call
        return float("inf")
    limit_s = float(options.rows.get("time_limit", 0)) or _TIME_LIMIT_S
    longer = _SELECTION_FACTOR.get(options.rows.get("algorithm", ""), 1.0)
    work_s = row.flops / _SLOWEST_FLOPS_PER_S + row.bytes / _SLOWEST_BYTES_PER_S
    work_s += row.host_elements / _SLOWEST_ELEMENTS_PER_S
    return longer * (_HANG_BASE_S + _HANG_LIMITS * limit_s + work_s)


def chain_limit_s(options: RunOptions, kernels: int) -> float:
    """Seconds after which the worker of a chain counts as hung. It prepares and verifies every
    kernel, like rows, and measures them together."""
    return options.hang_limit_s or _CHAIN_LIMIT_S + _HANG_BASE_S * kernels


def digest(rows: Sequence[PlannedRow]) -> str:
    """A hash that differs between different plans."""
    from hashlib import sha256

    lines: list[list[object]] = [
        [row.problem, row.options, row.application, *([asdict(row.counts)] if row.counts else [])]
        for row in rows
    ]
    return sha256(json.dumps(lines).encode()).hexdigest()


def _planned_row(position: int, selected: SelectedProblem, cache: str, power: str) -> PlannedRow:
    problem = selected.problem
    return PlannedRow(
        position=position,
        problem=str(problem),
        op=problem.op,
        attributes=problem.attributes,
        application=selected.application,
        flops=problem.flops,
        bytes=problem.bytes,
        host_elements=problem.host_elements,
        is_collective=problem.is_collective,
        power=power,
        options=" ".join(_row_options(selected, cache, power)),
        counts=selected.counts,
    )


def _row_options(selected: SelectedProblem, cache: str, power: str) -> Iterator[str]:
    if cache != "hot":
        yield f"cache={cache}"
    if power != "rested":
        yield f"power={power}"
    if selected.constant:
        yield f"constant={','.join(selected.constant)}"


def _families_of(selected: SelectedProblem) -> set[tuple[str, str | None]]:
    """The operation and each application of the problem."""
    applications = selected.counts.applications if selected.counts else ()
    names: list[str | None] = [one.name for one in applications]
    return {
        ("operation", selected.problem.op),
        *(("application", name) for name in names or [selected.application]),
    }
