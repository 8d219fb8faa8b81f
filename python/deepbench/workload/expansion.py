"""Expands a model to the calls of one pass: one item for each different call of a layer."""

from __future__ import annotations

from collections import ChainMap
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING

from deepbench.call_counts import MAX_COUNT
from deepbench.problems.problem_arguments import choices_of
from deepbench.problems.suite_precision import STORED_AS
from deepbench.workload.expression import MOST, ExpressionError, evaluate
from deepbench.workload.model_file import Layer, Model, ModelError
from deepbench.workload.operators import (
    COLLECTIVES,
    LONGER_PRODUCT,
    OPERATORS,
    PRODUCT,
    Call,
    Step,
)
from deepbench.workload.passes import Item, Pass

if TYPE_CHECKING:
    from deepbench._core import Problem

Parse = Callable[[str, str], "Problem"]  # of a line, with key=value words as defaults


@dataclass(frozen=True)
class Target:
    """The conditions of an expansion besides the model: precision and backend."""

    parse: Parse
    precision: str | None = None  # None: the default, which `parse` knows
    joint_phases: Mapping[str, str] = field(default_factory=dict)  # as in operators.Step
    has_ranks: bool = False  # whether collectives can be measured
    # Whether calls that may be estimated are measured where an operation has them.
    measures_all: bool = True

    @cached_property
    def defaults(self) -> str:
        return f"precision={self.precision}" if self.precision else ""

    @cached_property
    def work_precision(self) -> str:
        """The precision of work without an operation: that of the products."""
        return str(self.parse(PRODUCT, self.defaults).attributes["precision"])

    def problem_of(self, call: Call) -> Problem | None:
        """The problem of a call; None if it is estimated, since its operation lacks the phase or
        the precision of the products. Raises ValueError for sizes that the operation refuses."""
        if call.line is None or (call.may_be_estimated and not self.measures_all):
            return None
        if not call.may_be_estimated:
            return self.parse(call.line, self.defaults)
        for precision in (self.work_precision, STORED_AS.get(self.work_precision)):
            if precision and _has_choices(f"{call.line} precision={precision}"):
                return self.parse(call.line, f"precision={precision}")
        return None

    @cached_property
    def element_bytes(self) -> float:
        """The mean size of an element of the products' operands."""
        return (
            self.parse(LONGER_PRODUCT, self.defaults).bytes
            - self.parse(PRODUCT, self.defaults).bytes
        ) / 2


def _has_choices(line: str) -> bool:
    """Whether the line's operation has each choice that the line makes, such as its phase."""
    op, *words = line.split()
    chosen = (word.partition("=") for word in words)
    return all(value in (choices_of(op, name) or [value]) for name, _, value in chosen)


def default_values(model: Model, phase: str) -> dict[str, int]:
    return {name: one.default for name, one in model.parameters_of(phase).items()}


def expand(model: Model, phase: str, values: Mapping[str, int], target: Target) -> Pass:
    """The calls of a pass in the order of the layers. Raises ModelError."""
    names = _names(model, phase, values)
    # There is nothing to sum over devices.
    alone = not target.has_ranks and values.get("tp", 1) == 1
    items = [
        item
        for layer in model.layers
        if phase in layer.phases and not (alone and layer.op in COLLECTIVES)
        for item in _layer_items(model, layer, phase, names, target)
    ]
    if not items:
        chosen = " ".join(f"{name}={value}" for name, value in values.items())
        raise ModelError(f"{model.source}: makes no call in phase {phase} with {chosen}")
    return Pass(dict(values), tuple(items))


def _names(model: Model, phase: str, values: Mapping[str, int]) -> dict[str, int]:
    """The values of all names that layers may use."""
    names = dict(values)
    for table, constants in (
        ("constants", model.constants),
        (f"phase_constants.{phase}", model.phase_constants.get(phase, {})),
    ):
        for name, expression in constants.items():
            try:
                names[name] = evaluate(expression, names)
            except ExpressionError as error:
                raise ModelError(
                    f"{model.source}: [{table}] {name} = {error}{_ordering(error, constants)}"
                ) from None
    return names


def _ordering(error: ExpressionError, constants: Mapping[str, object]) -> str:
    """The reason why a constant of the same table is not defined yet, or an empty text."""
    missing = str(error).partition(": ")[2].partition(" is not defined here")[0]
    return "; constants are evaluated in their order" if missing in constants else ""


def _layer_items(
    model: Model, layer: Layer, phase: str, names: dict[str, int], target: Target
) -> Iterator[Item]:
    step = Step(
        phase == "train", layer.words, layer.input_gradient, layer.weight_gradient,
        layer.residual, target.joint_phases,
    )  # fmt: skip
    try:
        count = evaluate(layer.count, names)
        if not 0 <= count <= MAX_COUNT:
            raise ExpressionError(f"count is {count}; it must be from 0 to 10^15")
        if count == 0:  # such as a sum over devices if there is only one device
            return
        for call in OPERATORS[layer.op].calls(_sizes(layer, names), step):
            yield _item(layer, call, count, target)
    except ValueError as error:  # of an expression, or of the core for a problem
        raise ModelError(f"{model.source}: layer {layer.name!r}: {error}") from None


def _sizes(layer: Layer, names: dict[str, int]) -> dict[str, int]:
    operator = OPERATORS[layer.op]
    sizes: dict[str, int] = {}
    # A chain, because a copy for each size would cost layers times constants.
    names_and_sizes = ChainMap(sizes, names)
    for key in operator.sizes:
        if key in layer.sizes:
            value = evaluate(layer.sizes[key], names)
        elif key in operator.defaults:
            value = evaluate(operator.defaults[key], names_and_sizes)
        else:
            continue
        least = 0 if key in (*operator.may_be_zero, *operator.switches) else 1
        if value < least or (key in operator.switches and value > 1):
            required = "0 or 1" if key in operator.switches else f"at least {least}"
            raise ExpressionError(f"{key} is {value}; it must be {required}")
        sizes[key] = value
    return sizes


def _item(layer: Layer, call: Call, count: int, target: Target) -> Item:
    operand_bytes = call.elements * target.element_bytes
    name = f"{layer.name} {call.part}".strip()
    kind, op = call.kind or layer.kind, call.kind or layer.op
    count *= call.count
    if count > MAX_COUNT:
        raise ExpressionError(f"it makes {count} calls; they must be at most 10^15")
    problem = target.problem_of(call)
    if problem is None:
        if max(call.elements, call.flops) > MOST:
            raise ExpressionError(f"its work is beyond {MOST} elements or FLOPs")
        return Item(
            name, kind, op, target.work_precision, count, float(call.flops),
            operand_bytes, None, operand_bytes,
        )  # fmt: skip
    if call.may_be_estimated:  # what such a call moves may be more than its operands
        operand_bytes = problem.bytes
    is_measured = target.has_ranks or not problem.is_collective
    return Item(
        name, kind, op, str(problem.attributes["precision"]), count,
        problem.flops, problem.bytes, str(problem) if is_measured else None, operand_bytes,
    )  # fmt: skip
