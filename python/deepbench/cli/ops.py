"""deepbench OP: times a set, problems that are written out, or a sweep of one operation."""

from __future__ import annotations

from collections.abc import Sequence

from deepbench import suites
from deepbench.cli.flags import help_lines, parse
from deepbench.cli.options import FLAGS, run_options
from deepbench.cli.selection import select
from deepbench.cli.sweep import Sweep
from deepbench.cli.words import ALL, operation


def main(op: str, arguments: Sequence[str]) -> int:
    line = parse(arguments, FLAGS)
    if line.has("--help"):
        print(help_text(op))
        return 0
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
        facts = [parameter.help]
        if parameter.choices:
            facts.append("one of " + " ".join(parameter.choices))
        default = parameter.default
        facts.append("required" if default is None else f"default {default}")
        lines.append(f"  {parameter.name:<{width}}  {'; '.join(fact for fact in facts if fact)}")
    return [*lines, "", f"example: deepbench {described.example}"]
