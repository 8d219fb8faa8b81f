"""The common parts of every subcommand: click's parser, with one-line errors that name the remedy.

Words and options may come in any order. An option is given at most once. Click raises its own
errors; a Command turns them into UsageError.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import click

from deepbench.cli.backend_names import backend_by_name_or_synonym
from deepbench.cli.option_types import FILE, OptionValue, TextWithCandidates, choices_of
from deepbench.errors import UsageError, in_quotes, suggestion

# Names of options in other programs, with their names in deepbench.
_SYNONYMS = {
    "best": "--algorithm best", "exhaustive": "--algorithm exhaustive",
    "hot": "--cache hot", "cold": "--cache cold", "steady": "--power sustained",
    "burst": "--power rested", "rested": "--power rested", "sustained": "--power sustained",
    "gpus": "--devices N", "ngpus": "--devices N", "np": "--ranks N", "nproc": "--ranks N",
    "csv": "--format csv", "json": "--format json", "markdown": "--format markdown",
    "html": "--format html", "png": "--format png", "svg": "--format svg",
    "iterations": "--samples N", "iters": "--samples N", "iter": "--samples N",
    "repeat": "--samples N", "repetitions": "--samples N", "runs": "--samples N",
    "timeout": "--time-limit S", "max-time": "--time-limit S", "jobs": "--threads N",
    "j": "--threads N", "baseline": "--against NAME", "debug": "--in-process",
    "file": "--output FILE", "force": "--overwrite", "f": "--overwrite",
    "continue": "--resume", "no-check": "--no-verify", "skip-verify": "--no-verify",
}  # fmt: skip
HELP_NAMES = ["-h", "--help"]
_ARGUMENTS = "deepbench.arguments"  # where a context keeps the arguments as they were given


@dataclass(frozen=True)
class CommandLine:
    """A parsed command line."""

    words: tuple[str, ...]  # in the order of the command line
    values: Mapping[str, object] = field(default_factory=dict)  # by long option; "" for a switch
    arguments: tuple[str, ...] = ()  # words and options as they were given

    def has(self, option: str) -> bool:
        return option in self.values

    def get(self, option: str) -> str | None:
        """The value of an option as a text; a number in its shortest form."""
        value = self.values.get(option)
        if isinstance(value, float):
            return str(value).removesuffix(".0")
        return None if value is None else str(value)

    def texts(self, option: str) -> tuple[str, ...]:
        """The values of an option that may be given several times."""
        values = self.values.get(option, ())
        assert isinstance(values, tuple)
        return values

    def integer(self, option: str) -> int | None:
        """The value of an option whose type is an IntRange."""
        value = self.values.get(option)
        assert value is None or isinstance(value, int)
        return value

    def real(self, option: str) -> float | None:
        """The value of an option whose type is a FloatRange."""
        value = self.values.get(option)
        assert value is None or isinstance(value, float)
        return value


class Option(click.Option):
    """An option. Without `metavar` it is a switch. One that is `repeated` may be given several
    times."""

    def __init__(
        self,
        flag: str,
        help: str,
        metavar: str = "",
        kind: click.ParamType[Any] | None = None,
        short: str = "",
        repeated: bool = False,
    ) -> None:
        """`kind` is the type of the value, any text if it is not given."""
        self.flag = flag  # with its dashes
        self.short = short
        self.choices = choices_of(kind) if kind else ()
        names = f"{short}, {flag}" if short else flag
        self.usage = f"{names} {metavar}" if metavar else names
        declarations = [flag, short] if short else [flag]
        if metavar:
            # Several values are accepted here so that _require_given_once() can refuse the second.
            super().__init__(
                declarations, help=help, metavar=metavar, multiple=True,
                callback=_several_values if repeated else _require_given_once,
                type=OptionValue(self.usage, flag, kind or TextWithCandidates()),
            )  # fmt: skip
        else:
            super().__init__(declarations, help=help, count=True, callback=_require_given_once)


class Command(click.Command):
    """A subcommand: its options, the meaning of its words, and the function that runs a command
    line."""

    def __init__(
        self,
        name: str,
        options: Sequence[Option],
        run: Callable[[CommandLine], int],
        usage: str | Callable[[], str],
        complete: Callable[[], Sequence[str]] | None = None,
    ) -> None:
        """`usage` is the help text above the options. `complete` lists the words that the shell
        offers; without it, the shell completes names of files."""
        words = click.Argument(
            ["words"], nargs=-1, type=FILE if complete is None else TextWithCandidates(complete)
        )
        super().__init__(
            name, params=[words, *options], context_settings={"help_option_names": HELP_NAMES}
        )
        self.options = tuple(options)
        self._usage = usage
        self._run = run

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        given = tuple(args)
        ctx.meta[_ARGUMENTS] = given
        if not ctx.resilient_parsing:
            self._refuse_single_dash(given)
        try:
            return super().parse_args(ctx, args)
        except click.NoSuchOption as error:
            raise self._unknown_option_error(_option_as_typed(error.option_name, given)) from None
        except click.BadOptionUsage as error:
            raise self._misuse_error(error.option_name, given) from None

    def get_help_option(self, ctx: click.Context) -> click.Option | None:
        option = super().get_help_option(ctx)
        if option is not None:
            option.help = "print this help"
        return option

    def invoke(self, ctx: click.Context) -> int:
        return self._run(_command_line(self.options, ctx))

    def usage_text(self) -> str:
        """The help above the options."""
        return (self._usage if isinstance(self._usage, str) else self._usage()).rstrip()

    def format_help(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        formatter.write(f"{self.usage_text()}\n")
        records = [
            record
            for parameter in self.get_params(ctx)
            if isinstance(parameter, click.Option)
            and (record := parameter.get_help_record(ctx)) is not None
        ]
        with formatter.section("options"):
            formatter.write_dl(records)

    def _options_by_name(self) -> dict[str, Option]:
        return {name: option for option in self.options for name in option.opts}

    def _refuse_single_dash(self, arguments: Sequence[str]) -> None:
        """Click reads -output as -o with the value 'utput'."""
        for argument in arguments:
            if argument == "--":
                return
            name = argument.partition("=")[0]
            if not name.startswith("--") and f"-{name}" in self._options_by_name():
                raise self._unknown_option_error(name)

    def _unknown_option_error(self, name: str) -> UsageError:
        known = self._options_by_name()
        if name in ("-o", "--output", "--out") and "--format" in known and "--output" not in known:
            cure = ": redirect the output with '> FILE'"
        else:
            cure = f"{_suggest_option(name, known)}; --help lists the options"
        return UsageError(f"there is no option {in_quotes(name)} here{cure}")

    def _misuse_error(self, name: str, arguments: Sequence[str]) -> UsageError:
        option = self._options_by_name().get(name)
        if option is not None and option.metavar:
            return UsageError(f"{option.flag} needs a value: {option.usage}")
        flag = name if option is None else option.flag
        values = (word.partition("=") for word in arguments)
        value = next((value for word, _, value in values if word == name), "")
        return UsageError(f"{flag} takes no value, not {in_quotes(value)}")


def parse_arguments(arguments: Sequence[str], options: Sequence[Option]) -> CommandLine:
    """Splits words from options. Raises UsageError for an option that is not one of `options`, is
    given twice, lacks its value or has one too many."""
    command = Command("", options, lambda line: 0, usage="")
    command.add_help_option = False  # it would print
    with command.make_context("", list(arguments)) as ctx:
        return _command_line(options, ctx)


def option_for_synonym(word: str, known: Mapping[str, Option]) -> str:
    """The option, with its value, that other programs call `word`; '' if deepbench has none."""
    option = _SYNONYMS.get(word.lower(), "")
    name, _, value = option.partition(" ")
    choices = known[name].choices if name in known else ("",)
    return option if not choices or value in choices else ""


def _command_line(options: Sequence[Option], ctx: click.Context) -> CommandLine:
    values = {option.flag: ctx.params.get(option.name or "") for option in options}
    given = {flag: value for flag, value in values.items() if value is not None}
    words = tuple(ctx.params["words"])
    if "" in words:  # as a path, it would be the working directory
        raise UsageError("'': the name is empty; name one or leave it out")
    return CommandLine(words, given, ctx.meta.get(_ARGUMENTS, ()))


def _require_given_once(ctx: click.Context, parameter: click.Parameter, value: object) -> object:
    """The value of an option, "" for a switch, None where it is not given."""
    assert isinstance(parameter, Option)
    values = value if isinstance(value, tuple) else ("",) * int(str(value or 0))
    if len(values) > 1:
        raise UsageError(f"{parameter.flag} is given twice")
    return values[0] if values else None


def _several_values(ctx: click.Context, parameter: click.Parameter, value: object) -> object:
    """The values of an option that may be given several times, None where it is not given."""
    return value or None


def _option_as_typed(name: str, arguments: Sequence[str]) -> str:
    """The option with all its letters, of which click names one: '-x' of '-xyz'."""
    if name.startswith("--"):
        return name
    single = (word.partition("=")[0] for word in arguments if not word.startswith("--"))
    return next((word for word in single if word.startswith(name)), name)


def _suggest_option(name: str, known: Mapping[str, Option]) -> str:
    """The option that is close to an unknown one, in meaning or in letters."""
    bare = name.lstrip("-").replace("_", "-").lower()
    if elsewhere := option_for_synonym(bare, known):
        return f" (did you mean '{elsewhere}'?)"
    options = [*(flag for flag in known if flag.startswith("--")), "--help"]
    longer = [option for option in options if len(bare) > 1 and option.startswith(f"--{bare}")]
    if len(longer) == 1:
        return f" (did you mean {longer[0]!r}?)"
    if "--backend" in known and (backend := backend_by_name_or_synonym(bare)):
        return f" (did you mean '--backend {backend}'?)"
    return suggestion(bare, [option[2:] for option in options]).replace("mean '", "mean '--")
