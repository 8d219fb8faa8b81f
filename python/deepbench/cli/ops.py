"""deepbench OP: times a set, problems that are written out, or a sweep of one operation."""

from __future__ import annotations

from functools import partial
from textwrap import wrap
from typing import TYPE_CHECKING

import click

from deepbench import suites
from deepbench.cli.command import Command, CommandLine
from deepbench.cli.command_suggestion import suggest_command
from deepbench.cli.options import OPTIONS, run_options
from deepbench.errors import UsageError
from deepbench.problems.problem_arguments import (
    ALL,
    has_suites,
    operation,
    operations,
    parse_problem_arguments,
    precisions,
    problem_lines,
)
from deepbench.problems.selection import select
from deepbench.results.output_names import require_result_name

if TYPE_CHECKING:
    from deepbench._core import Parameter

_HELP_WIDTH = 80
_SMALLEST = 16  # smallest size that is worth a sweep; strides and paddings are smaller


class OperationCommand(Command):
    """The command of one operation. It answers words that are nearly right with the correct
    command."""

    def __init__(self, op: str) -> None:
        super().__init__(
            op, OPTIONS, partial(_run, op), partial(help_text, op), partial(_completions, op)
        )

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        given = list(args)
        try:
            return super().parse_args(ctx, ["--help"] if args == ["help"] else args)
        except UsageError as error:
            raise suggest_command(self.name or "", given, OPTIONS) or error from None


def _run(op: str, line: CommandLine) -> int:
    from deepbench.runner.run import Run  # not for help

    try:
        command = [op, *line.arguments]
        require_result_name(line.get("--output"), command, line.has("--resume"))
        options = run_options(line)
        selection = select(op, line.words, options.corrected)
        return Run(selection, options.for_set(selection.set), command).run()
    except UsageError as error:
        raise suggest_command(op, line.arguments, OPTIONS) or error from None


def _completions(op: str) -> list[str]:
    """Sets, precisions and choices of attributes."""
    sets = [folder.replace("_", "-") for folder, name in suites.available() if op in (ALL, name)]
    of = [key for known in operations() if op in (ALL, known.name) for key in known.parameters]
    keys = [f"{key.name}={choice}" for key in of for choice in key.choices]
    return list(dict.fromkeys([*sets, *precisions(op), *keys]))


def help_text(op: str) -> str:
    """An operation's attributes with their defaults, and an example."""
    words = "[SET] [PRECISION] [KEY=VALUE ...]" if has_suites(op) else "[KEY=VALUE ...]"
    lines = [f"usage: deepbench {op} {words} [options]", ""]
    lines += _all_help_lines() if op == ALL else _operation_help_lines(op)
    return "\n".join(lines)


def _all_help_lines() -> list[str]:
    sets = dict.fromkeys(folder.replace("_", "-") for folder, _ in suites.available())
    paragraphs = (
        "Every operation of a set, one after the other.",
        f"sets: {' '.join(sets)}; default: training",
        "KEY=VALUE sets an attribute with a choice of values that an operation of the set has and "
        "that the set's problems leave open, such as phase=fwd or precision=half.",
    )
    wrapped = [wrap(text, _HELP_WIDTH, break_on_hyphens=False) for text in paragraphs]
    return [line for lines in wrapped for line in ("", *lines)][1:]


def _default_problems_text(op: str) -> str:
    """The problems that an operation runs when its command names none."""
    sets = [folder.replace("_", "-") for folder, name in suites.available() if name == op]
    lines = wrap(f"sets: {' '.join(sets)}", _HELP_WIDTH, break_on_hyphens=False) if sets else []
    default = "training" if "training" in sets else operation(op).default_problems_help
    return "\n".join(lines + wrap(f"without attributes: {default}" if default else "", _HELP_WIDTH))


def _operation_help_lines(op: str) -> list[str]:
    described = operation(op)
    lines = [
        *wrap(f"{op}: {described.help}", _HELP_WIDTH),
        "",
        *([text, ""] if (text := _default_problems_text(op)) else []),
        "attributes:",
    ]
    formatter = click.HelpFormatter(width=_HELP_WIDTH)
    formatter.indent()
    formatter.write_dl([(key.name, _attribute_facts(key)) for key in described.parameters])
    lines.append(formatter.getvalue().rstrip())
    example = _wrapped_command(f"example: deepbench {described.example}")
    return [*lines, "", *_sweep_lines(op), "", *example]


def _attribute_facts(parameter: Parameter) -> str:
    """What an attribute is, the values that it takes, its default, other spellings of its
    choices, and the title of its column if that is another."""
    default = parameter.default
    facts = [
        parameter.help,
        _allowed_values(parameter),
        "required" if default is None else f"default {_default_text(parameter)}",
        _spellings(parameter),
        f"column {parameter.title}" if parameter.title != parameter.name else "",
    ]
    return "; ".join(fact for fact in facts if fact)


def _default_text(parameter: Parameter) -> str:
    """The value of an attribute that is not given."""
    if parameter.name == "precision":
        return f"the backend's for this operation and set, else {parameter.default}"
    return str(parameter.default)


def _allowed_values(parameter: Parameter) -> str:
    """The values that an attribute may have: "one of n t", "0 to 100000", "1 or more"."""
    if parameter.choices:
        return "one of " + " ".join(parameter.choices)
    if parameter.maximum is None:
        return f"{parameter.minimum} or more"
    is_integer = parameter.kind == "integer"
    most = _round_number(int(parameter.maximum)) if is_integer else f"{parameter.maximum:.4g}"
    if parameter.maximum < 1 and most == "1":
        return f"from {parameter.minimum:g} to less than 1, as in 0.95"
    return f"{parameter.minimum} to {most}"


def _round_number(number: int) -> str:
    """A number, or a power of ten that has many zeros as 10^9."""
    zeros = len(str(number)) - 1
    return f"10^{zeros}" if zeros >= 5 and number == 10**zeros else str(number)


def _spellings(parameter: Parameter) -> str:
    """Other spellings of an attribute's choices: "also fp16 f16 float16 for half"."""
    found: dict[str, list[str]] = {}
    for alias, choice in parameter.aliases:
        found.setdefault(choice, []).append(alias)
    spellings = [f"{' '.join(aliases)} for {choice}" for choice, aliases in found.items()]
    return f"also {', '.join(spellings)}" if spellings else ""


def sweep_example(op: str) -> tuple[str, int]:
    """Words that stand for several problems, a list and a range, and how many problems."""
    words = operation(op).example.split()[1:]
    sizes = [word for word in words if _size_in_word(word) >= _SMALLEST]
    listed, doubled = sizes[0], sizes[-1]
    key, value = doubled.split("=")[0], _size_in_word(doubled)
    changed = {doubled: f"{key}={_short_number(value)}..{_short_number(4 * value)}"}
    if listed != doubled:
        changed[listed] = f"{listed},{2 * _size_in_word(listed)}"
    several = [changed.get(word, word) for word in words]
    return " ".join(several), len(problem_lines(op, parse_problem_arguments(op, several)))


def _sweep_lines(op: str) -> list[str]:
    example, count = sweep_example(op)
    key = next(word.split("=")[0] for word in example.split() if "," in word or ".." in word)
    explanation = (
        f"several problems: the list {key}=16,32 stands for each of its values, the range "
        f"{key}=16..128 for every doubling (16 32 64 128), and several of them for every "
        "combination. K, M and G are 2^10, 2^20 and 2^30."
    )
    return [
        *wrap(explanation, _HELP_WIDTH, break_on_hyphens=False),
        *_wrapped_command(f"{count} problems: deepbench {op} {example}"),
    ]


def _wrapped_command(command: str) -> list[str]:
    """The lines of a command, each but the last with the backslash that continues it."""
    lines = wrap(command, _HELP_WIDTH - 2, subsequent_indent="  ", break_on_hyphens=False)
    return [*(f"{line} \\" for line in lines[:-1]), lines[-1]]


def _size_in_word(word: str) -> int:
    """A size such as m=1760; 0 for any other word."""
    value = word.partition("=")[2]
    return int(value) if value.isdigit() else 0


def _short_number(number: int) -> str:
    for unit, size in (("G", 1 << 30), ("M", 1 << 20)):
        if number % size == 0:
            return f"{number // size}{unit}"
    return str(number)
