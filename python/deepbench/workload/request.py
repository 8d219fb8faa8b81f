"""The request of a command line for a model: a phase, a precision and values for its parameters."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from deepbench.errors import UsageError, in_quotes, suggestion
from deepbench.problems.problem_arguments import ALL, precision_name, precisions
from deepbench.problems.ranges import expand_numbers
from deepbench.workload import model_file
from deepbench.workload.expansion import default_values
from deepbench.workload.model_file import Model, Parameter

_MOST_PASSES = 64
_MOST_DIGITS = 19  # of 63 bits


@dataclass(frozen=True)
class Request:
    """The requested passes of a model."""

    model: Model
    phase: str
    precision: str | None  # None: the default of backend and operation
    values: tuple[Mapping[str, int], ...]  # values for each pass, the smallest batch first

    @property
    def title(self) -> str:
        """'resnet50 fwd batch=1,4 image=224'."""
        first = dict(self.values[0])
        del first["batch"]
        batch = ",".join(str(one["batch"]) for one in self.values)
        words = [f"batch={batch}", *(f"{name}={value}" for name, value in first.items())]
        return " ".join([self.model.name, self.phase, *words])


def parse_request(words: Sequence[str]) -> Request:
    """Reads a model's name or file and the words after it. Raises UserError."""
    model = _model(words[0])
    given: dict[str, str] = {}
    for word in words[1:]:
        key, equals, value = word.partition("=")
        if not equals:
            key, value = "precision", word
        if key in given:
            raise UsageError(f"{key} is given twice")
        given[key] = value if equals else _precision(word, model)
    phase = _phase(given.pop("phase", model.phases[0]), model)
    precision = given.pop("precision", None)
    parameters = model.parameters_of(phase)
    batches = [parameters["batch"].default]
    values = default_values(model, phase)
    for key, text in given.items():
        numbers = _numbers(_parameter(key, model, phase), text, model)
        if key == "batch":
            batches = sorted(dict.fromkeys(numbers))
        elif len(numbers) > 1:
            raise UsageError(f"{key}={text}: a run has one value of {key}; batch may have several")
        else:
            values[key] = numbers[0]
    return Request(
        model,
        phase,
        None if precision is None else _precision(precision, model),
        tuple({**values, "batch": batch} for batch in batches),
    )


def _model(word: str) -> Model:
    if "/" in word or word.endswith(".toml"):
        return model_file.read(word)
    return model_file.builtin(word)


def _precision(word: str, model: Model) -> str:
    name = precision_name(ALL, word)
    if name is None:
        keys = [f"{key}=" for key in ("phase", *model.parameters)]
        near = suggestion(word, [*precisions(ALL), *keys])
        raise UsageError(
            f"{in_quotes(word)} is neither a precision nor KEY=VALUE{near}; precisions are "
            + " ".join(precisions(ALL))
        )
    return name


def _phase(word: str, model: Model) -> str:
    if word not in model.phases:
        raise UsageError(
            f"{model.name} has no phase {in_quotes(word)}{suggestion(word, model.phases)}; it has "
            + " ".join(model.phases)
        )
    return word


def _parameter(key: str, model: Model, phase: str) -> Parameter:
    known = model.parameters_of(phase)
    if key in known:
        return known[key]
    if key in model.parameters:
        phases = " ".join(model.parameters[key].phases)
        raise UsageError(
            f"{model.name} has no parameter {key} in phase {phase}, but in {phases}; here it has "
            + " ".join(known)
        )
    raise UsageError(
        f"{model.name} has no parameter {in_quotes(key)}{suggestion(key, [*known, 'phase'])}; it "
        f"has {' '.join(known)} and phase"
    )


def _numbers(parameter: Parameter, text: str, model: Model) -> list[int]:
    """The values that a word gives to a parameter, such as 8, 1,4,16 or 1..256."""
    words = [number for item in text.split(",") for number in expand_numbers(item)]
    if len(words) > _MOST_PASSES:
        raise UsageError(
            f"{parameter.name} has {len(words)} values; a run has at most {_MOST_PASSES}"
        )
    return [_number(parameter, word, model) for word in words]


def _number(parameter: Parameter, word: str, model: Model) -> int:
    is_number = word.isascii() and word.isdigit() and len(word) <= _MOST_DIGITS
    number = int(word) if is_number else 0
    if parameter.values and number not in parameter.values:
        required = f"one of {' '.join(map(str, parameter.values))}"
    elif not parameter.minimum <= number <= parameter.maximum:
        required = f"a number from {parameter.minimum} to {parameter.maximum}"
    else:
        return number
    raise UsageError(f"{model.name}: {parameter.name}={in_quotes(word)[1:-1]}: must be {required}")
