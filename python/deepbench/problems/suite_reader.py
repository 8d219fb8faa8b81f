"""Reads a suite file: problem lines, comments and headers, as in docs/reference/suites.md.

This file handles encoding, lines, headers, quoting, the application and the count. The native
parser decides whether a problem is valid; see suite_expansion.py.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import NoReturn

from deepbench.call_counts import MAX_COUNT
from deepbench.errors import in_quotes
from deepbench.input_files import NotRegularFile, TooLargeFile, read_whole

MAX_BYTES = 16 * 1024 * 1024
MAX_LINES = 1_000_000
MAX_LINE_CHARACTERS = 4096

_BOM = b"\xef\xbb\xbf"
_HEADER = re.compile(r"#\s*(defaults?|phases?|constants?)\s*:(.*)")
_HEADERS = {"default": "precision=half", "phases": "fwd bwd_data", "constant": "a"}
_NAME = re.compile(r"[a-z_][a-z0-9_]*")
_VALUE = re.compile(r'[^\s"=]+')
_TOKEN = re.compile(r'(?:[^\s"]+|"[^"\\]*(?:\\.[^"\\]*)*")+')
_METADATA = ("application", "count")  # keys that are not part of the problem
# The beginnings of words that do not belong to the problem.
_BESIDE_PROBLEM = ("#", *(f"{key}=" for key in _METADATA))
_COUNT = re.compile(r"[1-9][0-9]{0,15}")
_ESCAPED = re.compile(r"\\(.)")
_QUOTED = re.compile(r'"([^"\\]*(?:\\.[^"\\]*)*)"')


class SuiteError(ValueError):
    """A suite cannot be used. The message is one line: place, problem and cure."""


@dataclass(frozen=True)
class Entry:
    """One problem line."""

    text: str  # the problem as written, without its metadata, one space between words
    application: str | None
    source: str  # the path as the user gave it, or "training/gemm"
    line: int  # from 1
    count: int | None = None  # how often the application makes this call; None: not stated


@dataclass(frozen=True)
class Suite:
    """The problems of a file in their order, duplicates included, and the values of its headers."""

    name: str
    entries: tuple[Entry, ...]  # at least one
    defaults: Mapping[str, str]  # "# default:", for keys that a line does not set
    phases: tuple[str, ...]  # "# phases:", each line stands for one problem per phase
    constant: tuple[str, ...]  # "# constant:", operands that are constant in their application
    # The line of each word of a header: ("default", "precision") -> 3.
    lines: Mapping[tuple[str, str], int] = field(compare=False)

    @property
    def source(self) -> str:
        """The name of the file in error messages."""
        return self.entries[0].source


def read(path: str | os.PathLike[str]) -> Suite:
    """Reads the suite in a file. Raises SuiteError for any file that is not a valid suite."""
    given = os.fspath(path)
    source = _printable(given) or "''"
    return from_bytes(_read_limited(given, source), source, _printable(Path(given).stem))


def from_bytes(data: bytes, source: str, name: str) -> Suite:
    """The suite in the content of a file. Error messages call the file `source`."""
    reader = _Reader(source)
    for number, line in enumerate(_split_lines(data, source), start=1):
        reader.read_line(number, line)
    return reader.finish(name)


def fail(source: str, line: int | None, what: str, right: str = "") -> NoReturn:
    """Raises a SuiteError for a line of a suite."""
    where = source if line is None else f"{source}:{line}"
    message = f"{what}; {right}" if right else what
    raise SuiteError(f"{where}: {' '.join(message.split())}")


def _read_limited(path: str, source: str) -> bytes:
    """The content of a file. Reading stops at the largest size that a suite may have."""
    right = "give the path of a suite, a text file with one problem on each line"
    try:
        return read_whole(path, MAX_BYTES, pipe=True)
    except FileNotFoundError:
        fail(source, None, "there is no such file", right)
    except IsADirectoryError:
        fail(source, None, "is a directory", right)
    except PermissionError:
        fail(source, None, "may not be read", "permission to read it is needed")
    except OSError as error:
        fail(source, None, f"cannot be read ({error.strerror})", right)
    except NotRegularFile:
        fail(source, None, "is neither a file nor a pipe", right)
    except TooLargeFile:
        fail(source, None, "is too large", f"a suite has at most {MAX_BYTES >> 20} MiB")
    except ValueError as error:  # NUL or a lone surrogate in the name
        fail(source, None, f"cannot be the name of a file ({_printable(str(error))})", right)


def _split_lines(data: bytes, source: str) -> list[str]:
    """The lines of a file without their ends. Only LF and CRLF end a line."""
    data = data.removeprefix(_BOM)
    right = "a suite is UTF-8 text with one problem on each line"
    if data.startswith(b"{"):
        cure = "'deepbench show' prints it; repeat its command with --resume to continue"
        fail(source, 1, "is not a suite but looks like a result file", cure)
    nul = data.find(b"\0")
    if nul >= 0:
        line = data.count(b"\n", 0, nul) + 1
        fail(source, line, "is not a text file, it has a NUL byte here", right)
    if data.count(b"\n") > MAX_LINES:
        fail(source, MAX_LINES + 1, "too many lines", f"a suite has at most {MAX_LINES:,}")
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        fail(source, line, "is not a text file, it has bytes that are not UTF-8 here", right)
    return [line.removesuffix("\r") for line in text.split("\n")]


class _Reader:
    """Collects the entries and headers of a suite file, line by line."""

    def __init__(self, source: str) -> None:
        self._source = source
        self._line = 0
        self._entries: list[Entry] = []
        self._defaults: dict[str, str] = {}
        self._names: dict[str, list[str]] = {"phases": [], "constant": []}
        self._lines: dict[tuple[str, str], int] = {}

    def read_line(self, number: int, line: str) -> None:
        self._line = number
        if len(line) > MAX_LINE_CHARACTERS:
            self._fail(f"the line has {len(line):,} characters", f"at most {MAX_LINE_CHARACTERS:,}")
        line = line.strip()
        if line.startswith("#"):
            header = _HEADER.fullmatch(line)
            if header is not None:
                self._check_characters(line)
                self._read_header(header[1], header[2].split())
        elif line:
            self._check_characters(line)
            self._read_problem(line)

    def finish(self, name: str) -> Suite:
        if not self._entries:
            fail(
                self._source,
                None,
                "has no problems",
                "a suite has at least one line such as 'gemm m=1760 n=16 k=1760'",
            )
        return Suite(
            name=name,
            entries=tuple(self._entries),
            defaults=MappingProxyType(dict(self._defaults)),
            phases=tuple(self._names["phases"]),
            constant=tuple(self._names["constant"]),
            lines=MappingProxyType(dict(self._lines)),
        )

    def _read_problem(self, line: str) -> None:
        words: list[str] = []
        metadata: dict[str, str] = {}
        for token in self._split_words(line):
            if not token.startswith(_BESIDE_PROBLEM):
                words.append(token)
                continue
            if token.startswith("#"):
                self._fail("a comment follows a problem", "a comment has a line of its own")
            key, _, value = token.partition("=")
            if key in metadata:
                self._fail(f"{key} is given twice", "a problem has one")
            metadata[key] = value
        application = self._read_application(metadata.get("application"))
        count = self._read_count(metadata.get("count"))
        if not words:
            what = "a count" if application is None else "an application"
            self._fail(f"{what} without a problem", "begin the line with an operation's name")
        self._entries.append(Entry(" ".join(words), application, self._source, self._line, count))

    def _read_application(self, value: str | None) -> str | None:
        if value is None:
            return None
        application = self._unquoted(value)
        if not application.strip():
            self._fail("the application is empty", "omit application if it is unknown")
        return application

    def _read_count(self, value: str | None) -> int | None:
        if value is None:
            return None
        if not _COUNT.fullmatch(value) or int(value) > MAX_COUNT:
            self._fail(
                f"the count {in_quotes(value)} is not an integer from 1 to {MAX_COUNT:,}",
                "write how often the application makes this call, such as count=32",
            )
        return int(value)

    def _read_header(self, keyword: str, words: list[str]) -> None:
        if keyword not in _HEADERS:
            known = ", ".join(f"'# {name}:'" for name in _HEADERS)
            self._fail(f"there is no header '# {keyword}:'", f"headers are {known}")
        if self._entries:
            self._fail(
                f"'# {keyword}:' comes after a problem",
                "a header is for the whole file and comes before its first problem",
            )
        if not words:
            self._fail(
                f"'# {keyword}:' is empty", f"write for example '# {keyword}: {_HEADERS[keyword]}'"
            )
        for word in words:
            if keyword == "default":
                self._read_default(word)
            else:
                self._read_name(keyword, word)
        if self._names["phases"] and "phase" in self._defaults:
            self._fail("'# phases:' and a default phase are both given", "a suite has one of them")

    def _read_default(self, word: str) -> None:
        key, equals, value = word.partition("=")
        if not equals or not _NAME.fullmatch(key) or not _VALUE.fullmatch(value):
            self._fail(f"'{word}' is not a default", "write KEY=VALUE, without spaces or quotes")
        if key in _METADATA:
            self._fail(f"{key} has no default", "write it on each problem's line")
        if key in self._defaults:
            self._fail(f"the default of {key} is given twice", "a key has one default")
        self._defaults[key] = value
        self._lines["default", key] = self._line

    def _read_name(self, keyword: str, word: str) -> None:
        names = self._names[keyword]
        if not _NAME.fullmatch(word):
            self._fail(
                f"'{word}' is not a name",
                f"write '# {keyword}:' with names of a-z, 0-9 and _, spaces between them",
            )
        if word in names:
            self._fail(f"'# {keyword}:' names {word} twice", "name it once")
        names.append(word)
        self._lines[keyword, word] = self._line

    def _split_words(self, line: str) -> list[str]:
        """The words of a line; white space inside double quotes does not end one."""
        if '"' not in line:
            return line.split()
        words: list[str] = _TOKEN.findall(line)
        if "".join(words).count('"') < line.count('"'):
            self._fail("a quote is not closed", 'write application="..." with both quotes')
        return words

    def _unquoted(self, value: str) -> str:
        quoted = _QUOTED.fullmatch(value)
        if quoted is not None:
            return _ESCAPED.sub(r"\1", quoted[1])
        if '"' in value or value.startswith("'"):
            self._fail(
                "the application is not quoted as it should be",
                'write application="...", with \\" for a quote inside',
            )
        return value

    def _check_characters(self, line: str) -> None:
        text = line.replace("\t", " ")
        if not text.isprintable():
            invisible = next(character for character in text if not character.isprintable())
            self._fail(
                f"the line has the invisible character U+{ord(invisible):04X}",
                "write it with ordinary spaces and printable text",
            )

    def _fail(self, what: str, right: str) -> NoReturn:
        fail(self._source, self._line, what, right)


def _printable(text: str) -> str:
    """`text`, escaped where a terminal or a single line could not show it."""
    return text if text.isprintable() else text.encode("unicode_escape").decode("ascii")
