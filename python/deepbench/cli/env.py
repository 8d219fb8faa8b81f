"""deepbench env: prints every backend with its devices, and every library with its version and path
or the reason why it cannot be used."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator

import click

from deepbench.byte_size import size_text
from deepbench.cli.command import Command, CommandLine, Option
from deepbench.errors import UsageError, printable_line
from deepbench.json_types import JsonObject
from deepbench.report.fields import time_text
from deepbench.runner.progress import Screen
from deepbench.terminal_text import folded

_OPTIONS = (
    Option("--cmake-dir", "print only the folder of deepbench's CMake package"),
    Option("--format", "text (default) or json", "WORD", click.Choice(("text", "json"))),
)


_USAGE = """\
usage: deepbench env [options]

Prints the host, every backend with its devices, and every library with its
version and path, or the reason why it cannot be used.
"""


def main(line: CommandLine) -> int:
    if line.words:
        raise UsageError(f"env takes no words, not {line.words[0]!r}")
    if line.has("--cmake-dir"):
        return _print_cmake_dir()
    from deepbench.runner.installation_facts import installation_facts  # not for help

    facts = installation_facts()
    screen = Screen()
    if line.get("--format") == "json":
        screen.report(json.dumps(facts, indent=2) + "\n")
    else:
        screen.report("".join(f"{part}\n" for part in _fact_lines(facts, screen.report_width())))
    return 0


def _print_cmake_dir() -> int:
    from deepbench.runner.installation_facts import cmake_dir

    folder = cmake_dir()
    if not folder.is_dir():
        raise UsageError(f"this installation has no CMake package at {folder}; reinstall deepbench")
    print(folder)
    return 0


def _fact_lines(facts: JsonObject, width: int | None) -> Iterator[str]:
    """The facts as lines that fit a terminal of some width; None: any width."""
    for line in _facts_text(facts).split("\n"):
        margin = line[: len(line) - len(line.lstrip())]
        yield from folded(line, width, f"{margin}    ")


def _facts_text(facts: JsonObject) -> str:
    from deepbench.results.build import revision_text

    lines = [f"deepbench {facts['version']}  {facts['package']}"]
    lines.append(f"  revision: {_line(revision_text(facts['build']) or 'not recorded')}")
    lines += [f"  headers: {facts['include_dir']}", f"  deepbench_run: {facts['deepbench_run']}"]
    lines += _indented_lines("host", facts["host"])
    for backend in facts["backends"]:
        lines += ["", f"backend {_line(backend['name'])}  {_line(backend['path'])}"]
        if backend["reason"]:
            lines.append(f"  cannot be used: {_line(backend['reason'])}")
        for device in backend["devices"] or ():
            facts_of_it = {name: value for name, value in device.items() if name != "index"}
            lines += _indented_lines(f"device {device.get('index')}", facts_of_it, "  ")
        lines += _library_lines(backend["libraries"] or {})
        lines += _indented_lines("sets in its worker", backend["environment"] or {}, "  ")
        lines += [f"  warning: {_line(text)}" for text in backend["warnings"] or ()]
    if not facts["backends"]:
        lines += [
            "",
            "no backend was found: reinstall deepbench, or name a plugin's folder in "
            "DEEPBENCH_BACKEND_PATH",
        ]
    lines += [f"warning: {_line(text)}" for text in facts["warnings"]]
    return "\n".join(lines)


def _line(value: object) -> str:
    """A text of a backend or a system as a part of one line."""
    return printable_line(str(value))


def _library_lines(libraries: JsonObject) -> list[str]:
    lines = []
    for name, facts in libraries.items():
        title = f"  library {_line(name)}"
        if facts.get("reason"):
            lines.append(f"{title}: absent: {_line(facts['reason'])}")
        else:
            found = (
                f"  ({_line(_discovery_text(facts['found_by']))})" if facts.get("found_by") else ""
            )
            place = _line(facts.get("path"))
            lines.append(f"{title} {_line(facts.get('version'))}  {place}{found}")
    return lines


def _discovery_text(way: str) -> str:
    """How a library was found. The variable of library folders is not named if deepbench, and not
    the user, has set it."""
    from deepbench.libraries import library_path_variable
    from deepbench.nvidia_packages import FOLDERS_OF_PACKAGES

    variables = set(map(library_path_variable, FOLDERS_OF_PACKAGES))
    set_by_deepbench = way in variables and way not in os.environ
    return "among Python's packages or conda's" if set_by_deepbench else way


def _indented_lines(title: str, facts: JsonObject, margin: str = "") -> list[str]:
    """A heading and one line for each known fact. Nested facts are indented further."""
    lines = [f"{margin}{_line(title)}"] if facts else []
    for name, value in facts.items():
        if isinstance(value, dict):
            lines += _indented_lines(name, value, margin + "  ")
        elif value is not None:
            lines.append(f"{margin}  {_line(name)}: {_line(value)}{_readable(name, value)}")
    return lines


def _readable(name: str, value: object) -> str:
    """Repeats a number of bytes or of nanoseconds in a larger unit."""
    number = float(value) if isinstance(value, (int, float)) else 0.0
    if name.endswith("_ns") and number >= 1e3:
        return f" ({time_text(number)})"
    if name.endswith("_bytes") and number >= 1024:
        return f" ({size_text(number)})"
    return ""


command = Command("env", _OPTIONS, main, _USAGE, complete=lambda: ())
