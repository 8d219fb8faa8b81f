"""deepbench OP: times a set, problems that are written out, or a sweep of one operation."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from deepbench import suites
from deepbench.cli.command_suggestion import suggest_command
from deepbench.cli.flags import help_lines, parse
from deepbench.cli.options import FLAGS, run_options
from deepbench.errors import UsageError
from deepbench.problems.problem_arguments import (
    ALL,
    operation,
    parse_problem_arguments,
    problem_lines,
)
from deepbench.problems.selection import select
from deepbench.results.output_names import require_result_name
from deepbench.runner.sweep import Sweep

if TYPE_CHECKING:
    from deepbench._core import Parameter

_SMALLEST = 16  # of a size that is worth a sweep; strides and paddings are less


def main(op: str, arguments: Sequence[str]) -> int:
    if list(arguments) == ["help"]:
        arguments = ["--help"]
    try:
        return _main(op, arguments)
    except UsageError as error:
        raise suggest_command(op, arguments, FLAGS) or error from None


def _main(op: str, arguments: Sequence[str]) -> int:
    line = parse(arguments, FLAGS)
    if line.has("--help"):
        print(help_text(op))
        return 0
    require_result_name(line.get("--output"), [op, *arguments], line.has("--resume"))
    options = run_options(line)
    selection = select(op, line.words, options.corrected)
    return Sweep(selection, options.for_set(selection.set), [op, *arguments]).run()


def help_text(op: str) -> str:
    """An operation's keys with their defaults, an example, and every option."""
    words = "[KEY=VALUE ...]" if op == "memory" else "[SET] [PRECISION] [KEY=VALUE ...]"
    lines = [f"usage: deepbench {op} {words} [options]", ""]
    lines += ["Every operation of a set, one after the other."] if op == ALL else _keys(op)
    return "\n".join([*lines, "", "options:", *help_lines(FLAGS)])


def _without_keys(op: str) -> str:
    """What is run where no problem is written out."""
    sets = [folder.replace("_", "-") for folder, name in suites.available() if name == op]
    if not sets:
        return "without keys: each kind of access at sizes for each level of the memory hierarchy"
    default = "; without keys: training" if "training" in sets else ""
    return f"sets: {' '.join(sets)}{default}"


def _keys(op: str) -> list[str]:
    described = operation(op)
    lines = [f"{op}: {described.help}", "", _without_keys(op), "", "keys:"]
    width = max(len(parameter.name) for parameter in described.parameters)
    for parameter in described.parameters:
        facts = [parameter.help, _values(parameter)]
        default = parameter.default
        facts.append("required" if default is None else f"default {default}")
        lines.append(f"  {parameter.name:<{width}}  {'; '.join(fact for fact in facts if fact)}")
        lines += [f"  {'':<{width}}  also {text}" for text in _alias_lines(parameter)]
    return [*lines, "", *_sweep_lines(op), "", f"example: deepbench {described.example}"]


def _values(parameter: Parameter) -> str:
    """What a key may be: "one of n t", "0 to 100000", "1 or more"."""
    if parameter.choices:
        return "one of " + " ".join(parameter.choices)
    if parameter.maximum is None:
        return f"{parameter.minimum} or more"
    most = int(parameter.maximum) if parameter.kind == "integer" else f"{parameter.maximum:.4g}"
    if parameter.maximum < 1 == float(most):
        return f"from {parameter.minimum:g} to less than 1, as in 0.95"
    return f"{parameter.minimum} to {most}"


def _alias_lines(parameter: Parameter) -> list[str]:
    """Other spellings of a key's choices: "fp16 f16 float16 for half"."""
    found: dict[str, list[str]] = {}
    for alias, choice in parameter.aliases:
        found.setdefault(choice, []).append(alias)
    said = [f"{' '.join(aliases)} for {choice}" for choice, aliases in found.items()]
    return [", ".join(said[:3]) + ",", ", ".join(said[3:])] if said else []


def sweep_example(op: str) -> tuple[str, int]:
    """Words that stand for several problems, a list and a range, and how many problems."""
    words = operation(op).example.split()[1:]
    sizes = [word for word in words if _size(word) >= _SMALLEST]
    listed, doubled = sizes[0], sizes[-1]
    key, value = doubled.split("=")[0], _size(doubled)
    changed = {doubled: f"{key}={_short(value)}..{_short(4 * value)}"}
    if listed != doubled:
        changed[listed] = f"{listed},{2 * _size(listed)}"
    several = [changed.get(word, word) for word in words]
    return " ".join(several), len(problem_lines(op, parse_problem_arguments(op, several)))


def _sweep_lines(op: str) -> list[str]:
    example, count = sweep_example(op)
    return [
        "several problems: a list, n=16,32, stands for each of its values, and a range, n=16..128,",
        "for every doubling (16 32 64 128); several of them stand for every combination. K, M and",
        f"G are 2^10, 2^20 and 2^30. {count} problems: deepbench {op} {example}",
    ]


def _size(word: str) -> int:
    """A size such as m=1760; 0 for any other word."""
    value = word.partition("=")[2]
    return int(value) if value.isdigit() else 0


def _short(number: int) -> str:
    for unit, size in (("G", 1 << 30), ("M", 1 << 20)):
        if number % size == 0:
            return f"{number // size}{unit}"
    return str(number)
