"""Reads result files (docs/reference/rows.md): the context first, then one row, ceiling, visit or
chain per line. Visits whose row is missing, because the run ended early, are combined.

A killed run leaves at most its last line incomplete. Reading drops that line with a warning.
"""

from __future__ import annotations

import contextlib
import errno
import io
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

from deepbench.errors import UserError, printable_line
from deepbench.input_files import (
    NotRegularFile,
    TooLargeFile,
    open_regular,
    read_regular,
    read_whole,
)
from deepbench.json_types import JsonObject
from deepbench.paused_collector import paused_collector
from deepbench.redaction import redacted_context
from deepbench.results import schema, schema_check, strict_json
from deepbench.results.ceilings import CeilingLine, Ceilings, ceiling_of_json_value
from deepbench.results.chains import ChainLine, chain_of_json_value
from deepbench.results.row import Row, row_of_json_value
from deepbench.results.visits import (
    VisitLine,
    combined_rows,
    planned_visits,
    visit_of_json_value,
)

_MAX_FILE_BYTES = 1 << 30  # bytes: fifty thousand rows of a thousand samples each
_HOW_TO_MAKE_ONE = "a result file is written by deepbench with -o"
_REST_KEY = b'"rest_ns"'  # a row with this key was preceded by rests of the device
_GZIP_MAGIC = b"\x1f\x8b"
_MAX_BLANK_LINES = 1000
_MAX_VERSION_SHOWN = 40
_MAX_OPTIONS = 256  # a run states about thirty
_MAX_ATTRIBUTE_NAMES = 256  # all operations together have about forty


class ResultError(UserError):
    """A result file cannot be read or written. The message is one line: file, problem and cure."""


StoredLine = Row | CeilingLine | VisitLine | ChainLine


@dataclass(frozen=True)
class ResultFile:
    """The content of a result file."""

    path: Path
    context: JsonObject
    rows: tuple[Row, ...]  # by position, assessed against the ceilings of the file
    size: int  # bytes up to the end of the last whole line
    torn: bool  # the last line was incomplete and is left out
    ends_with_newline: bool = True  # whether the last complete line has its newline
    stored: tuple[StoredLine, ...] = ()  # in the order of the file

    @property
    def ceilings(self) -> tuple[JsonObject, ...]:
        """In the order of the file; the last one of a key counts."""
        return tuple(one.members for one in self.stored if isinstance(one, CeilingLine))

    @property
    def chains(self) -> tuple[ChainLine, ...]:
        """In the order of the file; the last one of a pass counts."""
        return tuple(one for one in self.stored if isinstance(one, ChainLine))

    @property
    def visits(self) -> tuple[VisitLine, ...]:
        """In the order of the file."""
        return tuple(one for one in self.stored if isinstance(one, VisitLine))

    @property
    def stored_rows(self) -> tuple[Row, ...]:
        """The rows that have a line, unlike those of visits alone."""
        return tuple(one for one in self.stored if isinstance(one, Row))

    @property
    def lines(self) -> tuple[str, ...]:
        """Rows, ceilings, chains and the visits of missing rows as JSON of the current schema
        version, in the order of the file."""
        known = {row.position for row in self.stored_rows}
        return tuple(
            one.line
            for one in self.stored
            if not (isinstance(one, VisitLine) and one.row.position in known)
        )

    @property
    def warning(self) -> str | None:
        if not self.torn:
            return None
        return printable_line(f"{self.path}: its last line is cut short and was left out")


@dataclass(frozen=True)
class _Format:
    """The facts on which reading the lines of a file depends."""

    version: object  # of the schema
    has_rests: bool  # the device rested in some row
    keeps_lines: bool
    validates_rows: bool


@dataclass(frozen=True)
class Detail:
    """The parts that a reader of many rows may omit."""

    validation: bool = True  # of rows; for bytes that are known to be valid
    lines: bool = True  # lines of rows, which hold more than the row itself
    shares: bool = True  # shares of the ceilings of the file, which a model's totals need as well


WHOLE = Detail()


def read(path: Path, detail: Detail = WHOLE) -> ResultFile:
    """Reads a result file. Raises ResultError for any file that is not a valid result file."""
    return parsed(path, read_bytes(path), detail)


def read_bytes(path: Path) -> bytes:
    """All bytes of a result file. Raises ResultError."""
    with _errors_named(path):
        return read_whole(path, _MAX_FILE_BYTES)


def read_through(path: Path, is_last: Callable[[bytes], bool]) -> list[bytes]:
    """The lines of a result file through the first that `is_last` accepts, or all of them if there
    is none. Raises ResultError."""
    lines = []
    with _errors_named(path), open_regular(path, _MAX_FILE_BYTES) as file:
        for line in file:
            lines.append(line)
            if is_last(line):
                break
    return lines


@contextlib.contextmanager
def _errors_named(path: Path) -> Iterator[None]:
    try:
        with _limits_named(path):
            yield
    except OSError as error:
        raise ResultError(f"{path}: {os_reason(error)}") from None
    except ValueError as error:  # NUL in the name
        raise ResultError(f"{str(path)!r}: {error}") from None


def read_open_file(path: Path, file: BinaryIO) -> bytes:
    """All bytes of a result file that is open already."""
    with _limits_named(path):
        return read_regular(file, _MAX_FILE_BYTES)


@contextlib.contextmanager
def _limits_named(path: Path) -> Iterator[None]:
    try:
        yield
    except NotRegularFile:
        raise ResultError(f"{path}: is not a regular file; {_HOW_TO_MAKE_ONE}") from None
    except TooLargeFile:
        raise ResultError(
            f"{path}: is larger than {_MAX_FILE_BYTES >> 20} MiB, the limit for result files"
        ) from None


@paused_collector()
def parsed(path: Path, data: bytes, detail: Detail = WHOLE) -> ResultFile:
    """The content of a result file from its bytes. Error messages call the file `path`."""
    if not data or data.isspace():
        raise ResultError(f"{path}: is empty; {_HOW_TO_MAKE_ONE}")
    if data.startswith(_GZIP_MAGIC):
        raise ResultError(f"{path}: is compressed; unpack it first")
    lines = io.BytesIO(data)  # splits lines without copying all of them
    first = lines.readline()
    size, torn, ends_with_newline = len(first), False, first.endswith(b"\n")
    context = _parse_context(path, first, whole=ends_with_newline)
    file_format = _Format(context["schema"], _REST_KEY in data, detail.lines, detail.validation)
    stored: list[StoredLine] = []
    blank_lines = 0
    for number, line in enumerate(lines, start=2):
        last = size + len(line) == len(data)
        may_be_torn = last and not line.endswith(b"\n")
        value = _parse_line(path, number, line, file_format, may_be_torn)
        if value is None and line.strip():
            torn = True
            break
        if value is None:
            blank_lines += 1
            if blank_lines > _MAX_BLANK_LINES:
                raise ResultError(f"{path}:{number}: has more than {_MAX_BLANK_LINES} blank lines")
        else:
            stored.append(value)
            ends_with_newline = line.endswith(b"\n")
        size += len(line)
    known = Ceilings(one.members for one in stored if isinstance(one, CeilingLine))
    assess = known.with_assessment if detail.shares or "workload" in context else _unchanged
    stored = [assess(one) if isinstance(one, Row) else one for one in stored]
    rows = [one for one in stored if isinstance(one, Row)]
    _refuse_duplicate_positions(path, rows)
    combined = _rows_of_visits(path, context, stored, {row.position for row in rows})
    rows += map(assess, combined)
    _refuse_too_many_attributes(path, rows)
    rows.sort(key=lambda row: row.position)  # a row that was measured again comes last
    return ResultFile(path, context, tuple(rows), size, torn, ends_with_newline, tuple(stored))


def _unchanged(row: Row) -> Row:
    return row


def _parse_context(path: Path, line: bytes, whole: bool) -> JsonObject:
    try:
        value = strict_json.parsed(line)
    except strict_json.NotJson:
        if not whole and line.lstrip().startswith(b"{"):
            what = "its first line, the context, is cut short; nothing can be read"
            raise ResultError(f"{path}: {what}") from None
        value = None
    except strict_json.JsonError as error:
        if not line.lstrip().startswith(b"{"):
            raise ResultError(f"{path}: is not a result file; {_HOW_TO_MAKE_ONE}") from None
        raise ResultError(f"{path}:1: {error}") from None
    if not isinstance(value, dict) or value.get("type") != "context":
        raise ResultError(f"{path}: is not a result file; {_HOW_TO_MAKE_ONE}")
    version = value.get("schema")
    if isinstance(version, int) and version > schema.VERSION:
        writer = printable_line(str(value.get("version", "of its day")))[:_MAX_VERSION_SHOWN]
        raise ResultError(
            f"{path}: has schema {schema_check.shortened_json(version)}, this deepbench reads up "
            f"to {schema.VERSION}; read it with deepbench {writer} or newer"
        )
    try:
        schema.check_context(value)
    except schema.SchemaError as error:
        raise ResultError(f"{path}:1: {error}") from None
    _refuse_too_many_options(path, value)
    return redacted_context(value)


def _parse_line(
    path: Path, number: int, line: bytes, file_format: _Format, may_be_torn: bool
) -> StoredLine | None:
    """The row, ceiling, visit or chain in a line. None for a blank line, or for an incomplete one
    if `may_be_torn`."""
    if not line.strip():
        return None
    try:
        value: Any = strict_json.parsed(line)
        if isinstance(value, dict) and value.get("type") == "ceiling":
            return ceiling_of_json_value(value, line, file_format.version, file_format.has_rests)
        if isinstance(value, dict) and value.get("type") == "visit":
            return visit_of_json_value(value, line)
        if isinstance(value, dict) and value.get("type") == "chain":
            return chain_of_json_value(value, line)
        if isinstance(value, dict) and value.get("type") == "context":
            raise ResultError(
                f"{path}:{number}: is a second context; a result file holds one run, and commands "
                "take several files"
            )
        return row_of_json_value(
            value,
            line,
            file_format.version,
            file_has_rests=file_format.has_rests,
            keeps_line=file_format.keeps_lines,
            validates=file_format.validates_rows,
        )
    except strict_json.NotJson as error:
        if may_be_torn:
            return None
        raise ResultError(f"{path}:{number}: {error}") from None
    except (strict_json.JsonError, schema.SchemaError) as error:
        raise ResultError(f"{path}:{number}: {error}") from None


def _rows_of_visits(
    path: Path, context: JsonObject, stored: list[StoredLine], known: set[int]
) -> list[Row]:
    """The rows of which the file has visits only, except those at `known` positions."""
    visits = [one for one in stored if isinstance(one, VisitLine)]
    if all(visit.row.position in known for visit in visits):
        return []
    try:
        combined = combined_rows(visits, planned_visits(context))
    except ValueError as error:
        raise ResultError(f"{path}: its visits cannot be combined: {error}") from None
    return [row for position, row in combined.items() if position not in known]


def _refuse_too_many_options(path: Path, context: JsonObject) -> None:
    """Limits the number of options, since each row is grouped by all of them."""
    for key in ("options", "option_values"):
        if (count := len(context.get(key) or ())) > _MAX_OPTIONS:
            raise ResultError(
                f"{path}:1: {key} has {count:,} names; a result file has at most {_MAX_OPTIONS}"
            )


def _refuse_too_many_attributes(path: Path, rows: list[Row]) -> None:
    """Limits the number of attribute names, since each becomes a column of a table."""
    names = {name for row in rows for name in row.attributes}
    if len(names) > _MAX_ATTRIBUTE_NAMES:
        raise ResultError(
            f"{path}: has {len(names)} names of attributes; a result file has at most "
            f"{_MAX_ATTRIBUTE_NAMES}"
        )


def _refuse_duplicate_positions(path: Path, rows: list[Row]) -> None:
    seen: set[int] = set()
    for row in rows:
        if row.position in seen:
            raise ResultError(f"{path}: has two rows at position {row.position}")
        seen.add(row.position)


def os_reason(error: OSError) -> str:
    """The meaning of an operating system error for a result file."""
    known = {
        errno.ENOENT: "there is no such file",
        errno.EACCES: "permission to write or read it is missing",
        errno.EISDIR: "is a folder; name a file",
        errno.ENOSPC: "the disk is full; every row written before is kept",
        errno.EDQUOT: "the disk quota is used up; every row written before is kept",
        errno.EFBIG: "may not grow further (ulimit -f); every row written before is kept",
        errno.EROFS: "the file system is read-only",
    }
    return known.get(error.errno or 0, error.strerror or str(error))
