"""Selects the problems that a command line asks for: suites, written problems, or the memory sweep.

A ProblemSource yields problems. Facts of the backend are passed in: the default precision with the
parser, the cache sizes and the phases of a call with the hello message. runner/plan.py turns
problems into rows.
"""

from __future__ import annotations

import shlex
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from deepbench import suites
from deepbench.call_counts import CallCounts
from deepbench.errors import UsageError, in_quotes
from deepbench.json_types import JsonObject
from deepbench.problems.problem_arguments import (
    ALL,
    ProblemArguments,
    choices_of,
    default_values,
    has_suites,
    operation,
    operation_name,
    operations,
    parameter_names,
    parse_problem_arguments,
    precision_name,
    precisions,
    problem_lines,
    require_constant,
)
from deepbench.problems.suite_counts import merged_by_problem
from deepbench.problems.suite_precision import in_precision, left_out_text
from deepbench.suites import Suite

if TYPE_CHECKING:
    from deepbench._core import Problem
    from deepbench.problems.chain import Chain

Parse = Callable[[str, str], "Problem"]  # parses a line, with key=value words as defaults


@dataclass(frozen=True)
class SelectedProblem:
    """One problem to run."""

    problem: Problem
    application: str | None = None
    constant: tuple[str, ...] = ()
    group: tuple[str, int] | None = None  # suite and line, which may state several phases
    counts: CallCounts | None = None  # counts of its calls; None: its suite counts none


class ProblemSource(Protocol):
    """Yields problems."""

    def problems(self, parse: Parse, hello: JsonObject | None) -> Iterator[SelectedProblem]:
        """The problems in order. `hello` is the backend's hello message, or None without a backend.
        Raises UsageError for an invalid problem."""


def _no_facts(parse: Parse, hello: JsonObject | None) -> JsonObject:
    return {}


def _no_chains(parse: Parse, hello: JsonObject | None) -> Sequence[Chain]:
    return ()


@dataclass(frozen=True)
class Selection:
    """The problems that one command runs."""

    title: str  # "gemm training"
    set: str | None
    source: ProblemSource
    many: bool  # whether it is a set or a suite, of which --quick selects a part
    # Further members of the context.
    facts: Callable[[Parse, JsonObject | None], JsonObject] = _no_facts
    remarks: Sequence[str] = ()  # remarks about what the words select
    # The passes that are also timed as one call each, after the rows.
    chains: Callable[[Parse, JsonObject | None], Sequence[Chain]] = _no_chains


@dataclass(frozen=True)
class SuiteSource:
    """The problems of suites, one suite after the other."""

    suites: Sequence[Suite]
    chosen: Mapping[str, str]  # overrides the suites' defaults where an operation has the key

    @cached_property
    def _in_precision(self) -> tuple[Sequence[Suite], Sequence[str]]:
        precision = self.chosen.get("precision")
        return in_precision(self.suites, precision) if precision else (self.suites, ())

    @property
    def remarks(self) -> list[str]:
        """Remarks about the parts of the suites that are omitted."""
        left_out = self._in_precision[1]
        return [left_out_text(left_out, self.chosen["precision"])] if left_out else []

    def problems(self, parse: Parse, hello: JsonObject | None) -> Iterator[SelectedProblem]:
        keys = parameter_names()
        joint = ((hello or {}).get("backend") or {}).get("joint_phases") or {}
        selected: list[SelectedProblem] = []
        for suite in self._in_precision[0]:
            with suite_errors_as_usage_errors():
                parsed = suites.problems(suite, parse, self.chosen, keys, joint)
                merged = merged_by_problem(parsed)
            _check_constants(suite, [one.problem.op for one in merged])
            selected += (
                SelectedProblem(one.problem, one.application, suite.constant, one.place, one.counts)
                for one in merged
            )
        if hello or "precision" in self.chosen:  # otherwise the precision is not known yet
            self._require_used(selected)
        yield from selected

    def _require_used(self, selected: Sequence[SelectedProblem]) -> None:
        """Raises UsageError for a chosen value that no problem has. An attribute such as x_type
        exists in some precisions only."""
        for key, value in self.chosen.items():
            if value in default_values(key):  # a problem may omit a default value
                continue
            if not any(key in one.problem.attributes for one in selected):
                precision = selected[0].problem.attributes.get("precision")
                within = f" in {precision}" if precision else ""
                raise UsageError(
                    f"{key}={value}: none of the selected problems has this attribute{within}"
                )


def _check_constants(suite: Suite, ops: Iterable[str]) -> None:
    for name in suite.constant:
        place = f"{suite.source}:{suite.lines['constant', name]}"
        require_constant(f"{place}: '# constant:'", name, ops)


@dataclass(frozen=True)
class LineSource:
    """Problems from key=value words of the command line."""

    lines: Sequence[str]

    def problems(self, parse: Parse, hello: JsonObject | None) -> Iterator[SelectedProblem]:
        for line in self.lines:
            try:
                problem = parse(line, "")
            except ValueError as error:
                raise UsageError(str(error)) from None
            yield SelectedProblem(problem, problem.metadata.get("application"))


@dataclass(frozen=True)
class DefaultProblems:
    """The problems for which an operation's name alone stands on the present device. `chosen` gives
    values to some of their attributes, which replace the operation's own."""

    op: str
    chosen: Mapping[str, Sequence[str]]

    def problems(self, parse: Parse, hello: JsonObject | None) -> Iterator[SelectedProblem]:
        lines = operation(self.op).default_problems((hello or {}).get("device") or {})
        for key, values in self.chosen.items():
            rests = dict.fromkeys(_without_key(line, key) for line in lines)
            lines = [f"{rest} {key}={value}" for value in values for rest in rests]
        return LineSource(lines).problems(parse, hello)


def _without_key(line: str, key: str) -> str:
    return " ".join(word for word in line.split() if not word.startswith(f"{key}="))


def select(op: str, line_words: Sequence[str], corrected: bool) -> Selection:
    """The problems that 'OP words...' selects. Raises UsageError."""
    words = parse_problem_arguments(op, line_words)
    dimensions = [key for key in words.values if key not in _keys_allowed_with_set(op)]
    asks_set = words.set is not None and has_suites(op)
    if words.set is not None and asks_set:
        _ops_of_set(op, words.set)
    if words.set is not None and dimensions:
        raise UsageError(
            f"a set ({_set_word(words.set)}) and dimensions ({' '.join(dimensions)}) are given; "
            "give a set, or KEY=VALUE alone for one problem"
        )
    if not asks_set and op != ALL and operation(op).default_problems({}):
        return _select_default_problems(op, words)
    if dimensions and op == ALL:
        raise UsageError(f"'all' runs sets, not one problem; name the operation of {dimensions[0]}")
    if dimensions:
        return Selection(op, None, LineSource(problem_lines(op, words)), many=False)
    return _select_set(op, words, corrected)


def select_files(words: Sequence[str]) -> Selection:
    """The problems of the suites in files. One word may be a precision. Raises UsageError."""
    asked = [word for word in words if precision_name(ALL, word) and not Path(word).exists()]
    if len(asked) > 1:
        raise UsageError(f"two precisions, {asked[0]} and {asked[1]}: give one")
    paths = [word for word in words if word not in asked]
    if not paths:
        raise UsageError("run needs a suite file: deepbench run SUITE_FILE... [PRECISION]")
    if operation_name(paths[0]) is not None and not Path(paths[0]).exists():
        raise UsageError(
            f"{in_quotes(paths[0])} is an operation, and run takes files of problems; write "
            f"{shlex.join(['deepbench', *words])}"
        )
    for word in paths:
        if "=" in word and not Path(word).exists():
            raise UsageError(f"{in_quotes(word)}: run takes files and a precision; attributes "
                             "belong in the suite file")  # fmt: skip
    with suite_errors_as_usage_errors():
        read = [suites.read(path) for path in paths]
    title = " ".join(suite.name for suite in read)
    chosen = {"precision": str(precision_name(ALL, asked[0]))} if asked else {}
    source = SuiteSource(read, chosen)
    return Selection(title, None, source, many=True, remarks=source.remarks)


def _select_set(op: str, words: ProblemArguments, corrected: bool) -> Selection:
    set_name = words.set or "training"
    ops = _ops_of_set(op, set_name)
    chosen = {} if words.precision is None else {"precision": words.precision}
    for key, items in words.values.items():
        if len(items) > 1:
            raise UsageError(f"{key}={','.join(items)}: a set takes one {key} at a time")
        chosen[key] = items[0]
    _require_choices(op, ops, chosen)
    with suite_errors_as_usage_errors():
        read = [original_suite(set_name, name, corrected) for name in ops]
    _require_not_in_suite(chosen, read)
    said = [f"{key}={value}" for key, value in chosen.items() if key != "precision"]
    title = " ".join([op, _set_word(set_name), *said])
    source = SuiteSource(read, chosen)
    return Selection(title, set_name, source, many=True, remarks=source.remarks)


def _ops_of_set(op: str, set_name: str) -> list[str]:
    """The operations of a set that `op` selects, at least one. Raises UsageError."""
    there = suites.available()
    ops = [name for folder, name in there if folder == set_name and op in (ALL, name)]
    if not ops:
        sets = _space_separated(_set_word(folder) for folder, name in there if name == op)
        raise UsageError(f"{op} has no set {_set_word(set_name)}; it has {sets}")
    return ops


def _require_choices(op: str, ops: Sequence[str], chosen: Mapping[str, str]) -> None:
    for key, value in chosen.items():
        if key == "precision":
            if precision_name(op, value) is None:
                raise UsageError(
                    f"{op} has no precision {value!r}; it has {_space_separated(precisions(op))}"
                )
            continue
        choices = [choice for name in ops for choice in choices_of(name, key)]
        if not choices:
            raise UsageError(f"{key}: no operation of this set has it")
        if value not in choices:
            raise UsageError(
                f"{key}={value}: must be one of {_space_separated(dict.fromkeys(choices))}"
            )


def _space_separated(words: Iterable[str]) -> str:
    return " ".join(words)


def _require_not_in_suite(keys: Collection[str], read: Sequence[Suite]) -> None:
    """Raises UsageError for an attribute that lines of a suite set themselves, which would override
    it."""
    for suite in read:
        for key in keys:
            if any(f" {key}=" in entry.text for entry in suite.entries):
                raise UsageError(
                    f"{key}: the problems of {suite.name} set {key} themselves; omit it"
                )


def original_suite(set_name: str, op: str, corrected: bool) -> Suite:
    """A set of the original benchmark. With `corrected`, its misprints are corrected."""
    if corrected:
        try:
            return suites.builtin(set_name, op, corrected=True)
        except suites.SuiteError:
            pass
    return suites.builtin(set_name, op)


def _select_default_problems(op: str, words: ProblemArguments) -> Selection:
    """Selects the default problems of an operation, or those written out."""
    if words.set is not None:
        raise UsageError(f"{op} has no sets: '{op}' alone runs a sweep over {_sweep_keys(op)}")
    if set(words.values) - _keys_allowed_with_set(op):
        return Selection(op, None, LineSource(problem_lines(op, words)), many=False)
    chosen = words.values | ({"precision": [words.precision]} if words.precision else {})
    return Selection(f"{op} sweep", None, DefaultProblems(op, chosen), many=True)


def _sweep_keys(op: str) -> str:
    return " and ".join(parameter.name for parameter in operation(op).parameters)


def _set_word(set_name: str) -> str:
    """The name of a set on the command line."""
    return set_name.replace("_", "-")


def _keys_allowed_with_set(op: str) -> set[str]:
    """The attributes that may accompany a set: those with a choice of values, such as the phase."""
    of = operations() if op == ALL else [operation(op)]
    return {key.name for one in of for key in one.parameters if key.kind == "choice"}


@contextmanager
def suite_errors_as_usage_errors() -> Iterator[None]:
    """Turns SuiteError into UsageError."""
    try:
        yield
    except suites.SuiteError as error:
        raise UsageError(str(error)) from None
