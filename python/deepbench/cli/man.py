"""deepbench man: prints the manual page, which is generated from the help of every command."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator

import click

from deepbench.cli.command import Command, CommandLine, Option
from deepbench.errors import UsageError

_USAGE = """\
usage: deepbench man

Prints the manual page in the format of man. To read it, or to install it:

  deepbench man | man -l -
  deepbench man > ~/.local/share/man/man1/deepbench.1
"""
_EXIT_STATUS = (
    ("0", "every row is ok or unsupported, and at least one is ok"),
    ("1", "a row failed, or a comparison found a regression"),
    ("2", "bad usage or bad input"),
    ("130", "interrupted with Ctrl-C"),
    ("143", "ended by SIGTERM or SIGHUP"),
)


def main(line: CommandLine) -> int:
    if line.words:
        raise UsageError(f"man takes no words, not {line.words[0]!r}")
    sys.stdout.writelines(f"{text}\n" for text in _page_lines())
    return 0


def _page_lines() -> Iterator[str]:
    from deepbench import _core
    from deepbench.cli.commands import group, usage

    yield f'.TH DEEPBENCH 1 "" "deepbench {_core.version}" "User Commands"'
    yield from (".SH NAME", r"deepbench \- times the basic operations of deep learning")
    yield ".SH SYNOPSIS"
    yield from _verbatim_lines(usage())
    root = group()
    with click.Context(root, info_name="deepbench") as context:
        found = [(name, root.get_command(context, name)) for name in root.list_commands(context)]
        commands = [(name, one) for name, one in found if isinstance(one, Command)]
        for name, command in commands:
            yield f'.SH "DEEPBENCH {name.upper()}"'
            yield from _verbatim_lines(command.usage_text())
        yield ".SH OPTIONS"
        for options, names in _names_by_options(commands).items():
            yield f'.SS "deepbench {", ".join(names)}"'
            yield from _option_lines(options, context)
    yield ".SH EXIT STATUS"
    for status, meaning in _EXIT_STATUS:
        yield from (".TP", f".B {status}", _roff_escaped(meaning))


def _names_by_options(
    commands: Iterable[tuple[str, Command]],
) -> dict[tuple[Option, ...], list[str]]:
    """The commands that share their options, such as all operations."""
    names: dict[tuple[Option, ...], list[str]] = {}
    for name, command in commands:
        if command.options:
            names.setdefault(command.options, []).append(name)
    return names


def _option_lines(options: Iterable[Option], context: click.Context) -> Iterator[str]:
    for option in options:
        record = option.get_help_record(context)
        assert record is not None
        names, meaning = map(_roff_escaped, record)
        yield from (".TP", f".B {names}", meaning)


def _verbatim_lines(text: str) -> Iterator[str]:
    yield ".nf"
    yield from map(_roff_escaped, text.rstrip().split("\n"))
    yield ".fi"


def _roff_escaped(line: str) -> str:
    """A line that roff prints as it is."""
    line = line.replace("\\", r"\e").replace("-", r"\-")
    return rf"\&{line}" if line.startswith((".", "'")) else line


command = Command("man", (), main, _USAGE, complete=lambda: ())
