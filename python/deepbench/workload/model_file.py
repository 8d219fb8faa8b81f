"""Reads a model file (docs/reference/workloads.md): a model's phases, parameters, constants and
layers, whose dimensions are numbers or expressions.

Reading checks keys and types. What an expression is worth depends on phase and parameters, and
expansion.py evaluates it.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from keyword import iskeyword
from pathlib import Path
from typing import Any, NoReturn

from deepbench.errors import UserError, in_quotes, suggestion
from deepbench.input_files import NotRegularFile, TooLargeFile, read_whole
from deepbench.workload.expression import FUNCTIONS, MOST
from deepbench.workload.operators import OPERATORS, Operator

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

PHASES = ("fwd", "train", "prefill", "decode")
PARAMETERS = ("batch", "seq", "kv", "image", "tp")

_FOLDER = Path(__file__).parent.parent / "workloads"
_SUFFIX = ".toml"
_MAX_BYTES = 1 << 20
_MAX_LINE_CHARACTERS = 4096  # the time for a dotted key grows with the square of its length
# A part of a dotted key costs a kilobyte, and time by the number of parts before it.
_MAX_LINE_DOTS = 100
_MAX_DOTS = 50_000
_MAX_LAYERS = 10_000
_MAX_TEXT = 400  # characters
_NAME = re.compile(r"[a-z_][a-z0-9_]*")  # of a constant
_FILE_NAME = re.compile(r"[a-z0-9][a-z0-9_.-]{0,99}")

Expression = int | str
Table = Mapping[str, Any]


class ModelError(UserError):
    """A model cannot be used. The message is one line: file, problem and cure."""


@dataclass(frozen=True)
class Parameter:
    """A size that the command line may choose."""

    name: str
    default: int
    minimum: int
    maximum: int
    values: tuple[int, ...] = ()  # if not empty, those that are possible
    phases: tuple[str, ...] = ()  # in which it applies


@dataclass(frozen=True)
class Layer:
    """Calls of one operator."""

    name: str
    kind: str
    op: str  # a key of OPERATORS
    phases: tuple[str, ...]
    count: Expression = 1
    sizes: Mapping[str, Expression] = field(default_factory=dict)
    words: Mapping[str, str] = field(default_factory=dict)
    input_gradient: bool = True
    weight_gradient: bool = True
    residual: bool = False


@dataclass(frozen=True)
class Model:
    """The content of a model file."""

    name: str
    source: str  # the file in error messages
    title: str
    batch_unit: str  # what batch counts, in the plural
    origin: str
    unverified: str | None
    phases: tuple[str, ...]  # the first is the default
    parameters: Mapping[str, Parameter]
    constants: Mapping[str, Expression]
    phase_constants: Mapping[str, Mapping[str, Expression]]
    layers: tuple[Layer, ...]

    def parameters_of(self, phase: str) -> dict[str, Parameter]:
        return {name: one for name, one in self.parameters.items() if phase in one.phases}

    def unit(self, phase: str) -> str:
        """What a pass delivers for each unit of batch, in the plural. A pass of decode generates
        one token for each sequence."""
        return "tokens" if phase == "decode" else self.batch_unit

    def one_unit(self, phase: str) -> str:
        return self.unit(phase).removesuffix("s")


def available() -> list[str]:
    """The names of the models of the package."""
    return sorted(path.name.removesuffix(_SUFFIX) for path in _FOLDER.glob(f"*{_SUFFIX}"))


def builtin(name: str) -> Model:
    """A model of the package. Raises ModelError."""
    path = _FOLDER / f"{name}{_SUFFIX}"
    if not _FILE_NAME.fullmatch(name) or not path.is_file():
        raise ModelError(
            f"there is no workload {in_quotes(name)}{suggestion(name, available())}; "
            "'deepbench workload' lists them"
        )
    return from_bytes(path.read_bytes(), name, name)


def read(path: str) -> Model:
    """The model in a file. Raises ModelError for any file that is not a valid model file."""
    right = "a model file is a regular file NAME.toml"
    try:
        data = read_whole(path, _MAX_BYTES)
    except FileNotFoundError:
        raise ModelError(f"{path}: there is no such file") from None
    except OSError as error:
        raise ModelError(f"{path}: cannot be read ({error.strerror}); {right}") from None
    except NotRegularFile:
        raise ModelError(f"{path}: is not a regular file; {right}") from None
    except TooLargeFile:
        raise ModelError(
            f"{path}: is too large; a model file has at most {_MAX_BYTES >> 20} MiB"
        ) from None
    except ValueError as error:  # NUL in the name
        raise ModelError(f"{path!r} cannot be the name of a file ({error})") from None
    return from_bytes(data, path, Path(path).stem)


def from_bytes(data: bytes, source: str, name: str) -> Model:
    """The model in the content of a file. Error messages call the file `source`."""
    return _Reader(source).model(_parsed(data, source), name)


def _parsed(data: bytes, source: str) -> Table:
    for line in data.splitlines():
        if len(line) > _MAX_LINE_CHARACTERS:
            raise ModelError(f"{source}: has a line of more than {_MAX_LINE_CHARACTERS:,} bytes")
        if line.count(b".") > _MAX_LINE_DOTS:
            raise ModelError(f"{source}: has a line of more than {_MAX_LINE_DOTS} dots")
    if (dots := data.count(b".")) > _MAX_DOTS:
        raise ModelError(f"{source}: has {dots:,} dots; a model file has at most {_MAX_DOTS:,}")
    try:
        table: Table = tomllib.loads(data.decode("utf-8"))
    except UnicodeDecodeError:
        raise ModelError(f"{source}: is not UTF-8 text; a model file is TOML") from None
    except RecursionError:
        raise ModelError(f"{source}: is nested too deeply") from None
    except ValueError as error:  # of TOML, or of an integer with thousands of digits
        raise ModelError(f"{source}: is not valid TOML: {error}") from None
    return table


class _Reader:
    """Turns the tables of a file into a model."""

    def __init__(self, source: str) -> None:
        self._source = source

    def model(self, table: Table, name: str) -> Model:
        self._check_keys(
            "", table,
            needed=("title", "batch_unit", "source", "phases", "parameters", "layers"),
            optional=("unverified", "constants", "phase_constants"),
        )  # fmt: skip
        phases = self._phases("phases", table["phases"], PHASES)
        parameters = self._parameters(self._table("[parameters]", table["parameters"]), phases)
        constants = self._constants("[constants]", table.get("constants", {}))
        of_phases = self._table("[phase_constants]", table.get("phase_constants", {}))
        self._check_keys("[phase_constants]: ", of_phases, optional=phases)
        phase_constants = {
            phase: self._constants(f"[phase_constants.{phase}]", one)
            for phase, one in of_phases.items()
        }
        return Model(
            name=name,
            source=self._source,
            title=self._text("title", table["title"]),
            batch_unit=self._text("batch_unit", table["batch_unit"]),
            origin=self._text("source", table["source"]),
            unverified=self._text("unverified", table["unverified"])
            if "unverified" in table
            else None,
            phases=phases,
            parameters=parameters,
            constants=constants,
            phase_constants=phase_constants,
            layers=self._layers(table["layers"], phases),
        )

    def _parameters(self, table: Table, phases: tuple[str, ...]) -> dict[str, Parameter]:
        self._check_keys("[parameters]: ", table, needed=("batch",), optional=PARAMETERS)
        found = {}
        for name in PARAMETERS:  # in this order
            if name in table:
                where = f"[parameters.{name}]"
                found[name] = self._parameter(where, name, self._table(where, table[name]), phases)
        if found["batch"].phases != phases:
            self._fail("[parameters.batch]: batch is a parameter of all phases")
        return found

    def _parameter(self, where: str, name: str, table: Table, phases: tuple[str, ...]) -> Parameter:
        of = self._phases(f"{where}: phases", table.get("phases", list(phases)), phases)
        if "values" in table:
            self._check_keys(f"{where}: ", table, needed=("values",), optional=("phases",))
            values = self._sizes(f"{where}: values", table["values"])
            return Parameter(name, values[0], min(values), max(values), values, of)
        self._check_keys(
            f"{where}: ", table, needed=("default", "maximum"), optional=("minimum", "phases")
        )
        least, default, most = (
            self._sizes(f"{where}: {key}", [table.get(key, 1)])[0]
            for key in ("minimum", "default", "maximum")
        )
        if not least <= default <= most:
            self._fail(f"{where}: the default, {default}, must be from {least} to {most}")
        return Parameter(name, default, least, most, (), of)

    def _layers(self, value: Any, phases: tuple[str, ...]) -> tuple[Layer, ...]:
        if not isinstance(value, list) or not value:
            self._fail("has no [[layers]]")
        if len(value) > _MAX_LAYERS:
            self._fail(f"has {len(value):,} layers; a model file has at most {_MAX_LAYERS:,}")
        layers = tuple(
            self._layer(number, table, phases) for number, table in enumerate(value, start=1)
        )
        seen: set[str] = set()
        for layer in layers:
            if layer.name in seen:
                self._fail(f"two layers have the name {in_quotes(layer.name)}; use count, or two")
            seen.add(layer.name)
        return layers

    def _layer(self, number: int, value: Any, phases: tuple[str, ...]) -> Layer:
        table = self._table(f"layer {number}", value)
        name = self._text(f"layer {number}: name", table.get("name"))
        where = f"layer {in_quotes(name)}: "
        op = self._text(f"{where}op", table.get("op"))
        if op not in OPERATORS:
            known = " ".join(OPERATORS)
            near = suggestion(op, OPERATORS)
            self._fail(f"{where}there is no op {in_quotes(op)}{near}; there are {known}")
        if table.get("count") == 0:
            self._fail(f"{where}count is 0; leave the layer out")
        operator = OPERATORS[op]
        table = self._with_both_sizes(where, table, operator)
        self._check_keys(
            where, table,
            needed=(
                "name", "kind", "op", *operator.words, *operator.needed_choices, *operator.needed
            ),
            optional=("count", "phases", *operator.flags, *operator.choices, *operator.sizes),
        )  # fmt: skip
        return Layer(
            name=name,
            kind=self._text(f"{where}kind", table["kind"]),
            op=op,
            phases=self._phases(f"{where}phases", table.get("phases", list(phases)), phases),
            count=self._expression(f"{where}count", table.get("count", 1)),
            sizes={
                key: self._expression(f"{where}{key}", table[key])
                for key in operator.sizes if key in table
            },
            words={
                **{key: self._word(f"{where}{key}", table[key]) for key in operator.words},
                **{
                    key: self._choice(f"{where}{key}", table[key], choices)
                    for key, choices in {**operator.needed_choices, **operator.choices}.items()
                    if key in table
                },
            },
            **{
                flag: self._flag(f"{where}{flag}", table.get(flag, default))
                for flag, default in operator.flags.items()
            },
        )  # fmt: skip

    def _word(self, where: str, value: Any) -> str:
        """A value of an attribute, which has no blank and no '='."""
        text = self._text(where, value)
        if not _NAME.fullmatch(text):
            self._fail(f"{where} is {in_quotes(text)}; it must be a name of a-z, 0-9 and _")
        return text

    def _choice(self, where: str, value: Any, choices: Sequence[str]) -> str:
        text = self._text(where, value)
        if text not in choices:
            near = suggestion(text, choices)
            self._fail(f"{where} is {in_quotes(text)}{near}; it must be one of "
                       + " ".join(choices))  # fmt: skip
        return text

    def _with_both_sizes(self, where: str, table: Table, operator: Operator) -> Table:
        """The table with each key that stands for two sizes replaced by these."""
        replaced = dict(table)
        for short, sizes in operator.both.items():
            if short in replaced:
                value = replaced.pop(short)
                for size in sizes:
                    if size in replaced:
                        self._fail(f"{where}{short} and {size} are both given")
                    replaced[size] = value
        return replaced

    def _constants(self, where: str, value: Any) -> dict[str, Expression]:
        table = self._table(where, value)
        for name in table:
            if not _NAME.fullmatch(name) or name in FUNCTIONS or iskeyword(name):
                self._fail(
                    f"{where}: {in_quotes(name)} cannot be a name; write a-z, 0-9 and _, no "
                    f"word of Python and not {' '.join(FUNCTIONS)}"
                )
            if name in PARAMETERS:
                self._fail(f"{where}: {name} is a parameter and cannot be a constant")
        return {name: self._expression(f"{where}: {name}", one) for name, one in table.items()}

    def _phases(self, where: str, value: Any, known: Sequence[str]) -> tuple[str, ...]:
        phases = value if isinstance(value, list) else []
        wrong = [one for one in phases if one not in known]
        if not phases or wrong or len(set(phases)) < len(phases):
            self._fail(f"{where}: must be a list of some of {' '.join(known)}, each once")
        return tuple(phases)

    def _sizes(self, where: str, value: Any) -> tuple[int, ...]:
        sizes = value if isinstance(value, list) else []
        if not sizes or not all(type(one) is int and 1 <= one <= MOST for one in sizes):
            self._fail(f"{where}: must be numbers from 1")
        return tuple(sizes)

    def _expression(self, where: str, value: Any) -> Expression:
        if type(value) is not int and not isinstance(value, str):
            self._fail(f"{where}: must be an integer or a text with an expression")
        return value

    def _text(self, where: str, value: Any) -> str:
        if not isinstance(value, str) or not value.strip() or not value.isprintable():
            self._fail(f"{where}: must be a printable text")
        if len(value) > _MAX_TEXT:
            self._fail(f"{where}: is longer than {_MAX_TEXT} characters")
        return value.strip()

    def _flag(self, where: str, value: Any) -> bool:
        if not isinstance(value, bool):
            self._fail(f"{where}: must be true or false")
        return value

    def _table(self, where: str, value: Any) -> Table:
        if not isinstance(value, dict):
            self._fail(f"{where}: must be a table")
        return value

    def _check_keys(
        self, where: str, table: Table, *, needed: Iterable[str] = (), optional: Iterable[str] = ()
    ) -> None:
        known = list(dict.fromkeys((*needed, *optional)))
        for key in table:
            if key not in known:
                near = suggestion(key, known)
                self._fail(f"{where}there is no key {in_quotes(key)}{near}; there are "
                           + " ".join(known))  # fmt: skip
        for key in needed:
            if key not in table:
                self._fail(f"{where}has no {key}")

    def _fail(self, what: str) -> NoReturn:
        raise ModelError(f"{self._source}: {what}")
