"""Reading options off a command line. Options and words may come in any order."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from deepbench.errors import UsageError, shown, suggestion


@dataclass(frozen=True)
class Flag:
    """One option. Without `metavar` it is a switch."""

    name: str  # with its dashes
    help: str
    metavar: str = ""
    short: str = ""
    choices: tuple[str, ...] = ()

    @property
    def usage(self) -> str:
        names = f"{self.short}, {self.name}" if self.short else self.name
        return f"{names} {self.metavar}" if self.metavar else names


@dataclass(frozen=True)
class CommandLine:
    """What stood on a command line: words in their order, and options by name."""

    words: tuple[str, ...]
    values: dict[str, str] = field(default_factory=dict)  # a switch that was given has ""

    def has(self, name: str) -> bool:
        return name in self.values

    def get(self, name: str) -> str | None:
        return self.values.get(name)


HELP = Flag("--help", "this text", short="-h")

# What other programs call an option, as ours write it.
_SYNONYMS = {
    "best": "--algorithm best", "exhaustive": "--algorithm exhaustive",
    "hot": "--cache hot", "cold": "--cache cold", "steady": "--power steady",
    "cpu": "--backend cpu", "gpu": "--backend cuda", "cuda": "--backend cuda",
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
_OF_REPORTS = ("html", "png", "svg", "xlsx")


def parse(arguments: Sequence[str], flags: Sequence[Flag]) -> CommandLine:
    """Splits words from options. Raises UsageError for an option that is not one of `flags`, is
    given twice, lacks its value or has one too many."""
    known = {name: flag for flag in flags for name in (flag.name, flag.short) if name}
    words: list[str] = []
    values: dict[str, str] = {}
    rest = list(arguments)
    while rest:
        argument = rest.pop(0)
        if argument == "--":
            words += rest
            break
        if not argument.startswith("-") or argument == "-":
            words.append(argument)
            continue
        flag, value = _split(argument, known)
        if flag.name in values:
            raise UsageError(f"{flag.name} is given twice")
        values[flag.name] = _value(flag, value, rest)
    return CommandLine(tuple(words), values)


def _split(argument: str, known: dict[str, Flag]) -> tuple[Flag, str | None]:
    """The option in '--name', '--name=value', '-n' or '-nvalue', and the value that it holds."""
    name, equals, value = argument.partition("=")
    if name in known:
        return known[name], value if equals else None
    is_short = not argument.startswith("--") and f"-{name}" not in known  # -output is no -o utput
    if is_short and argument[:2] in known:
        return known[argument[:2]], argument[2:]
    if name in ("-o", "--output", "--out") and "--format" in known and "--output" not in known:
        raise UsageError(f"there is no option {shown(name)} here: '> FILE' keeps what is printed")
    raise UsageError(
        f"there is no option {shown(name)} here{_did_you_mean(name, known)}; "
        "--help lists the options"
    )


def _did_you_mean(name: str, known: dict[str, Flag]) -> str:
    """The option that is close to an unknown one, in meaning or in letters."""
    bare = name.lstrip("-").replace("_", "-").lower()
    if elsewhere := synonym_of(bare, known):
        return f" (did you mean '{elsewhere}'?)"
    options = [flag for flag in known if flag.startswith("--")]
    longer = [option for option in options if len(bare) > 1 and option.startswith(f"--{bare}")]
    if len(longer) == 1:
        return f" (did you mean {longer[0]!r}?)"
    return suggestion(bare, [option[2:] for option in options]).replace("mean '", "mean '--")


def synonym_of(word: str, known: Mapping[str, Flag]) -> str:
    """The option, with its value, that other programs call `word`; '' where there is none here."""
    option = _SYNONYMS.get(word.lower(), "")
    name, _, value = option.partition(" ")
    choices = known[name].choices if name in known else ("",)
    return option if not choices or value in choices else ""


def _value(flag: Flag, value: str | None, rest: list[str]) -> str:
    if not flag.metavar:
        if value is not None:
            raise UsageError(f"{flag.name} takes no value, not {shown(value)}")
        return ""
    if value is None:
        if not rest or (rest[0].startswith("-") and not _is_number(rest[0])):
            raise UsageError(f"{flag.name} needs a value: {flag.usage}")
        value = rest.pop(0)
    if not value:
        raise UsageError(f"{flag.name} needs a value: {flag.usage}")
    if flag.choices and value not in flag.choices:
        near = suggestion(value, flag.choices)
        if flag.name == "--format" and value.lower() in _OF_REPORTS:
            near = f"; 'deepbench report FILE -o NAME.{value.lower()}' makes such a file"
        raise UsageError(
            f"{flag.name} {shown(value)}: must be one of {' '.join(flag.choices)}{near}"
        )
    return value


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def whole_number(text: str) -> int | None:
    """What a user means by some digits; None where it is no such number. At most nine of them:
    int() refuses thousands."""
    few = text.isascii() and text.isdigit() and len(text) < 10
    return int(text) if few and text == str(int(text)) else None


def help_lines(flags: Sequence[Flag]) -> list[str]:
    """One line for each option."""
    width = max(len(flag.usage) for flag in flags)
    return [f"  {flag.usage:<{width}}  {flag.help}" for flag in flags]
