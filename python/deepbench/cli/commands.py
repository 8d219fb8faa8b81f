"""Maps words to subcommands, and writes the help of all of them."""

from __future__ import annotations

import importlib
import os
import shlex
import sys
from collections.abc import Sequence
from pathlib import Path

import click

from deepbench.cli.command import HELP_NAMES
from deepbench.errors import UsageError, in_quotes, suggestion

_VERSION_OPTIONS = ("-V", "--version")
_VERSION_WORDS = ("version", *_VERSION_OPTIONS)
# Each command's module in deepbench.cli, which is imported when the command runs, and what the
# command does.
_COMMANDS = {
    "run": ("run", "time the problems of suite files"),
    "workload": ("workload", "time the kernels of a model and add them up, or list the models"),
    "list": ("list_command", "print the sets, their problems, or the references"),
    "env": ("env", "print what this installation finds here: devices and libraries"),
    "show": ("show", "print a result file in another format"),
    "compare": ("compare", "compare result files, row by row"),
    "history": ("history", "list the runs on this machine, or plot a problem over them"),
    "check-result": ("check_result", "say whether a result file may join the references"),
    "accept": ("accept", "say whether this machine is what it should be"),
    "ab": ("ab", "compare two environments, such as two versions of a library, in turns"),
    "report": ("report", "write a page, a chart or a workbook of result files"),
    "import": ("import_command", "make a suite of a trace, or a result file of a workbook"),
    "model": ("model", "predict collectives on more ranks"),
    "completion": ("completion", "print the completion script of a shell"),
    "man": ("man", "print the manual page"),
}

# Words of other programs for commands. Each operation has its own (_core.Operation.synonyms).
_SYNONYMS = {
    "diff": "compare", "view": "show", "print": "show", "cat": "show", "plot": "report",
    "chart": "report", "html": "report", "export": "report", "convert": "import",
    "info": "env", "devices": "env", "libraries": "env", "backends": "env", "doctor": "env",
    "runs": "history", "log": "history", "check": "check-result", "validate": "check-result",
    "references": "list references", "workloads": "workload", "models": "workload",
}  # fmt: skip

_COMMAND_OF_SUFFIX = {  # by the suffix of a file's name
    ".jsonl": "show", ".txt": "run", ".xlsx": "import", ".json": "import", ".gz": "import",
    ".log": "import", ".toml": "workload",
}  # fmt: skip
COMPLETION_VARIABLE = "_DEEPBENCH_COMPLETE"  # set by the shell when it asks for completions

_USAGE = """\
usage: deepbench OP [SET] [PRECISION] [KEY=VALUE ...] [options]
       deepbench COMMAND [WORD ...] [options]
       deepbench help [OP | COMMAND]
       deepbench --version | -V

  deepbench gemm                               the training set, on this machine
  deepbench gemm inference int8 --quick        a tenth of the inference set
  deepbench gemm m=1760 n=16,32 k=1760         these two problems
  deepbench run my_problems.txt -o mine.jsonl  your own suite, kept in a file
"""
_FOOTER = """
'deepbench OP --help' lists the attributes and options of an operation,
'deepbench COMMAND --help' those of a command.
"""


class CommandGroup(click.Group):
    """Operations, which the native module names, and commands, each imported when it is needed."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        from deepbench.problems import problem_arguments

        return [*problem_arguments.operation_choices(), *_COMMANDS]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name in _COMMANDS:
            module = importlib.import_module(f"deepbench.cli.{_COMMANDS[cmd_name][0]}")
            command: click.Command = module.command
            return command
        from deepbench.problems import problem_arguments

        op = problem_arguments.operation_name(cmd_name)
        if op is None:
            return None
        from deepbench.cli.ops import OperationCommand

        return OperationCommand(op)

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        first = args[0] if args else ""
        if first.startswith("-") and not ctx.resilient_parsing:
            known = [name for parameter in self.get_params(ctx) for name in parameter.opts]
            if first not in known:
                right = _suggest_first_word(first, args[1:]) or "; see --help"
                raise UsageError(
                    f"an operation or a command comes first, not {in_quotes(first)}{right}"
                )
        return super().parse_args(ctx, args)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        first, rest = args[0], args[1:]
        command = self.get_command(ctx, first)
        if command is not None or ctx.resilient_parsing:
            return first, command, rest
        from deepbench.problems import problem_arguments

        names = problem_arguments.operation_choices()
        meant = _suggest_first_word(first, rest) or suggestion(first, [*names, *_COMMANDS])
        raise UsageError(
            f"there is no operation or command {in_quotes(first)}{meant}; "
            f"there are {' '.join(names)} and {' '.join(_COMMANDS)}"
        )

    def format_help(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        formatter.write(usage())


def group() -> CommandGroup:
    """The whole command line."""
    return CommandGroup(
        "deepbench",
        params=[
            click.Option(
                list(_VERSION_OPTIONS), is_flag=True, is_eager=True, expose_value=False,
                callback=_print_version, help="Print the version.",
            )
        ],
        context_settings={"help_option_names": HELP_NAMES},
    )  # fmt: skip


def run(words: Sequence[str]) -> int:
    """Runs the subcommand that the first word names. Raises UserError."""
    if (instruction := os.environ.get(COMPLETION_VARIABLE)) is not None:
        return _complete(instruction)
    if not words:
        sys.stderr.write(usage())
        return 2
    # Click's own main() would answer Ctrl-C and a closed pipe; deepbench.cli.main() does.
    try:
        with group().make_context("deepbench", _without_help_word(words)) as ctx:
            status: int = ctx.command.invoke(ctx)
            return status
    except click.exceptions.Exit as finished:  # of --help and --version
        return finished.exit_code


def _complete(instruction: str) -> int:
    """Answers the script that `deepbench completion` printed."""
    from click.shell_completion import shell_complete

    try:
        status = shell_complete(group(), {}, "deepbench", COMPLETION_VARIABLE, instruction)
    except (KeyError, ValueError):  # COMP_WORDS or COMP_CWORD is missing or wrong
        status = 1
    if status:
        raise UsageError(
            f"the variable {COMPLETION_VARIABLE}={instruction[:60]} is for the script that "
            "'deepbench completion' prints; unset it"
        )
    return status


def usage() -> str:
    """The help of the whole command line."""
    from deepbench.problems import problem_arguments

    formatter = click.HelpFormatter(width=80)
    formatter.write(_USAGE)
    operations = [(one.name, one.help) for one in problem_arguments.operations()]
    operations.append((problem_arguments.ALL, "every operation of a set"))
    sets = (
        "training (default), inference-server or inference-device, or a set of later models or "
        "benchmarks, such as mlperf and llm: 'deepbench list' has them all"
    )
    precisions = " ".join(problem_arguments.precisions(problem_arguments.ALL))
    precisions += "; fp16, bf16 and other usual spellings too"
    for title, rows in (
        ("OP is one of", operations),
        (
            "and takes",
            [
                ("SET", sets),
                ("PRECISION", precisions),
            ],
        ),
        ("COMMAND is one of", [(name, text) for name, (_, text) in _COMMANDS.items()]),
    ):
        with formatter.section(title):
            formatter.write_dl(rows)
    formatter.write(_FOOTER)
    return formatter.getvalue()


def _without_help_word(words: Sequence[str]) -> list[str]:
    """'help gemm' and '--help gemm' as 'gemm --help', and 'version' as '--version'."""
    first, rest = words[0], list(words[1:])
    if first in _VERSION_WORDS:
        if rest:
            raise UsageError(f"{first} takes no words: leave out {in_quotes(rest[0])}")
        return ["--version"]
    if first not in ("help", *(HELP_NAMES if rest else ())):
        return [first, *rest]
    if len(rest) > 1:
        raise UsageError(f"{first} takes one word: deepbench {first} {rest[0]}")
    return ["--help"] if rest in ([], ["help"]) else [*rest, "--help"]


def _print_version(ctx: click.Context, parameter: click.Parameter, value: bool) -> None:
    if not value or ctx.resilient_parsing:
        return
    from deepbench import _core

    print(f"deepbench {_core.version}")
    ctx.exit()


def _suggest_first_word(first: str, rest: Sequence[str]) -> str:
    """The suggestion for an unknown first word: the word that another program uses for a command of
    deepbench, or the command with its words in the right order; empty if there is none."""
    whole = _reordered_command(first, rest)
    if whole is not None:
        return f" (did you mean {shlex.join(['deepbench', *whole])!r}?)"
    meant = {**_SYNONYMS, **_operation_synonyms()}.get(first.lower())
    return f" (did you mean {meant!r}?)" if meant else ""


def _operation_synonyms() -> dict[str, str]:
    from deepbench.problems.problem_arguments import operations

    return {word: words for known in operations() for word, words in known.synonyms}


def _reordered_command(first: str, rest: Sequence[str]) -> list[str] | None:
    """The command with its operation in the first place, or the command that takes a file."""
    from deepbench import suites
    from deepbench.problems import problem_arguments
    from deepbench.workload import model_file

    op = next((word for word in rest if problem_arguments.operation_name(word) is not None), None)
    if op is not None:
        others = [word for word in rest if word != op]
        known = suites.set_name(first) or problem_arguments.precision_name(
            problem_arguments.ALL, first
        )
        return [op, *([first] if known or first.startswith("-") else []), *others]
    keys = {word.partition("=")[0] for word in (first, *rest) if "=" in word}
    if "=" in first and not first.startswith("-"):
        of = [
            one.name
            for one in problem_arguments.operations()
            if keys <= {key.name for key in one.parameters}
        ]
        return [of[0], first, *rest] if of else None
    command = _COMMAND_OF_SUFFIX.get(Path(first).suffix.lower())
    if command is None and first.lower() in model_file.available():
        command, first = "workload", first.lower()
    return [command, first, *rest] if command else None
