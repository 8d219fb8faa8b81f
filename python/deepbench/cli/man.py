"""deepbench man: prints the manual page, which is made of the help of every command."""

from __future__ import annotations

import sys
from collections.abc import Iterator

import click

from deepbench.cli.command import HELP_NAMES, Command, CommandLine
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

    root = group()
    yield f'.TH DEEPBENCH 1 "" "deepbench {_core.version}" "User Commands"'
    yield from (".SH NAME", r"deepbench \- times the basic operations of deep learning")
    yield ".SH SYNOPSIS"
    yield from _verbatim_lines(usage())
    yield ".SH EXIT STATUS"
    for status, meaning in _EXIT_STATUS:
        yield from (".TP", f".B {status}", _roff_escaped(meaning))
    with click.Context(root, info_name="deepbench") as context:
        for name in root.list_commands(context):
            command = root.get_command(context, name)
            assert command is not None
            with click.Context(
                command, context, info_name=name, terminal_width=80, help_option_names=HELP_NAMES
            ) as inner:
                yield f'.SH "DEEPBENCH {name.upper()}"'
                yield from _verbatim_lines(command.get_help(inner))


def _verbatim_lines(text: str) -> Iterator[str]:
    yield ".nf"
    yield from map(_roff_escaped, text.rstrip().split("\n"))
    yield ".fi"


def _roff_escaped(line: str) -> str:
    """A line that roff prints as it is."""
    line = line.replace("\\", r"\e").replace("-", r"\-")
    return rf"\&{line}" if line.startswith((".", "'")) else line


command = Command("man", (), main, _USAGE, complete=lambda incomplete: ())
