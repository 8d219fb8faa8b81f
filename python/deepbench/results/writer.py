"""Writes result files.

A row reaches the file as soon as it is finished. A killed run leaves at most its last line
incomplete, which resuming cuts off. A file has one writer at a time, see file_lock.py.
"""

from __future__ import annotations

import errno
import json
import os
import re
import stat
from collections.abc import Iterable
from pathlib import Path

from deepbench.json_types import JsonObject
from deepbench.results import file_lock, output_place, strict_json
from deepbench.results.reader import (
    ResultError,
    ResultFile,
    os_reason,
    parsed,
    read_open_file,
)

_CONTEXT_PREFIX = b'{"type": "context"'
# A text within the context has its quotes escaped, so that this is the beginning of another line.
_LATER_LINE = re.compile(rb'\{\s*"type"\s*:\s*"(row|ceiling|chain)"')
_CURE = "--resume continues it, --overwrite replaces it"
_OPEN_ATTEMPTS = 10  # to open a file that others create and remove


class ResultWriter:
    """Writes rows to a result file, each at once: a killed process loses no finished row."""

    def __init__(self, path: Path, descriptor: int, size: int, created: bool) -> None:
        self.path = path
        self._descriptor = descriptor
        self._size = size  # bytes of complete lines
        self._created = created
        self._wrote = False  # True once the file holds exactly what this writer wrote
        self.torn_context = False  # whether the file holds only a part of a context line
        self._regular = stat.S_ISREG(os.fstat(descriptor).st_mode)

    @classmethod
    def create(cls, path: Path, overwrite: bool = False, cure: str = _CURE) -> ResultWriter:
        """Opens a file to write from its beginning. An old file keeps its content until the context
        is written. `cure` ends the error message for a file that exists."""
        reason = output_place.unusable_reason(path)
        if reason is not None:
            raise ResultError(f"{path}: {reason}")
        existed = os.path.lexists(path)
        if path.is_dir():
            raise ResultError(f"{path}: is a folder; name a file")
        keeps = not (path.exists() and not path.is_file())  # devices and pipes hold no content
        if existed and keeps and not overwrite:
            raise ResultError(
                file_lock.locked_message(path)
                if file_lock.is_locked(path)
                else f"{path}: exists; {cure}"
            )
        flags = os.O_WRONLY | os.O_CREAT | (os.O_EXCL if keeps and not overwrite else 0)
        return cls(path, _open_locked(path, flags), 0, created=not existed)

    @classmethod
    def for_resuming(cls, path: Path) -> tuple[ResultWriter, ResultFile | None]:
        """Opens and reads a file to resume. It stays unchanged until continue_from(). The content
        is None if there is no file, or if its context line is incomplete."""
        reason = output_place.unusable_reason(path)
        if reason is not None:
            raise ResultError(f"{path}: {reason}")
        existed = os.path.lexists(path)
        descriptor = _open_locked(path, os.O_RDWR | os.O_CREAT)
        try:
            with os.fdopen(os.dup(descriptor), "rb") as file:
                data = read_open_file(path, file)
            torn_context = _is_only_torn_context(path, data)
            old = parsed(path, data) if data and not torn_context else None
        except BaseException:
            os.close(descriptor)
            raise
        writer = cls(path, descriptor, old.size if old else 0, created=not existed)
        writer.torn_context = torn_context
        return writer, old

    def continue_from(self, old: ResultFile) -> None:
        """Cuts off an incomplete last line, and continues behind the last complete one."""
        assert self._size == old.size
        self._truncate()
        self._wrote = True
        if not old.ends_with_newline:
            self._write(b"\n")

    def replace(self, context: JsonObject, lines: Iterable[str]) -> None:
        """Replaces the content atomically: after a crash, the file has either the old or the new
        content. The new file is locked before it gets the name."""
        if not self._regular:
            self._write_context_and_lines(context, lines)
            return
        place = self.path.resolve()
        new_path = output_place.place_beside(place, ".", ".new")
        self._remove_left_over(new_path)
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL
        writer = ResultWriter(self.path, _open_locked(new_path, flags), 0, created=False)
        try:
            writer._write_context_and_lines(context, lines)
            os.fchmod(writer._descriptor, stat.S_IMODE(os.fstat(self._descriptor).st_mode))
            new_path.replace(place)
        except BaseException as error:
            new_path.unlink(missing_ok=True)
            os.close(writer._descriptor)
            if isinstance(error, OSError):
                raise ResultError(f"{self.path}: {os_reason(error)}") from None
            raise
        os.close(self._descriptor)
        self._descriptor, self._size = writer._descriptor, writer._size
        self._wrote = True

    def _remove_left_over(self, new_path: Path) -> None:
        """Removes what a killed process left; the lock excludes others. Raises ResultError."""
        try:
            new_path.unlink(missing_ok=True)
        except OSError as error:
            reason = error.strerror or str(error)
            raise ResultError(
                f"{self.path}: cannot be replaced, since {str(new_path)!r} cannot be removed "
                f"({reason}); remove it"
            ) from None

    def _write_context_and_lines(self, context: JsonObject, lines: Iterable[str]) -> None:
        self.write_context(context)
        for line in lines:
            self._write_line(line)

    def write_context(self, context: JsonObject) -> None:
        self._truncate()
        self._write_line(json.dumps(context, ensure_ascii=False))

    def write_line(self, line: str) -> None:
        """Writes one line. On failure the file is cut back to its complete lines. Raises
        ResultError, also if others replaced or changed the file."""
        self._require_same_file(line)
        self._write_line(line)

    def _write_line(self, line: str) -> None:
        self._write(line.encode("utf-8", errors="replace") + b"\n")

    def close(self) -> None:
        """Closes the file. Removes a file that this writer created and that is still empty."""
        if self._descriptor < 0:
            return
        self._require_same_file()
        descriptor, self._descriptor = self._descriptor, -1
        if self._created and self._size == 0:  # removed while it is still locked
            self.path.unlink(missing_ok=True)
        try:
            os.close(descriptor)
        except OSError as error:  # a network file system may report earlier writes only here
            raise ResultError(f"{self.path}: {os_reason(error)}", 1) from None

    @property
    def is_intact(self) -> bool:
        """Whether the file has what this writer wrote: others may remove, replace or change it."""
        if self._descriptor < 0:
            return False
        if not self._regular or not self._wrote:
            return True
        there = file_lock.is_still_at(self.path, self._descriptor)
        return there and os.fstat(self._descriptor).st_size == self._size

    def _require_same_file(self, line: str = "") -> None:
        """Raises ResultError if others removed, replaced or changed the file. Its rows, including
        `line`, are first saved to another file if possible."""
        if self.is_intact or self._descriptor < 0:
            return
        there = file_lock.is_still_at(self.path, self._descriptor)
        kept = self._save_rescue_file(line)
        os.close(self._descriptor)
        self._descriptor = -1
        happened = "was changed" if there else "was removed or replaced"
        saved = f"what was written is in {kept}" if kept else "what was written is lost"
        raise ResultError(f"{self.path}: {happened} while the run wrote it; {saved}", 1)

    def _save_rescue_file(self, line: str) -> Path | None:
        """Saves the written lines and `line` to a new file. Returns its path; None on failure."""
        try:
            data = Path(f"/proc/self/fd/{self._descriptor}").read_bytes()[: self._size]
            if len(data) < self._size or b"\0" in data:
                return None
            place = self._unused_rescue_path()
            with place.open("xb") as file:
                file.write(data + (line.encode("utf-8", errors="replace") + b"\n" if line else b""))
        except OSError:
            return None
        return place

    def _unused_rescue_path(self) -> Path:
        suffixes = (f".rescued{number or ''}" for number in range(_OPEN_ATTEMPTS))
        places = [output_place.place_beside(self.path, suffix=suffix) for suffix in suffixes]
        return next((place for place in places if not os.path.lexists(place)), places[-1])

    def _write(self, data: bytes) -> None:
        done = 0
        try:
            while done < len(data):
                done += os.write(self._descriptor, data[done:])
        except OSError as error:
            self._truncate(ignore_errors=True)
            raise ResultError(f"{self.path}: {os_reason(error)}") from None
        except BaseException:  # after Ctrl-C the file must end with a complete line
            self._truncate(ignore_errors=True)
            raise
        self._size += len(data)
        self._wrote = True

    def _truncate(self, ignore_errors: bool = False) -> None:
        if not self._regular:
            return
        try:
            os.ftruncate(self._descriptor, self._size)
            os.lseek(self._descriptor, self._size, os.SEEK_SET)
        except OSError as error:
            if not ignore_errors:
                raise ResultError(f"{self.path}: {os_reason(error)}") from None


def _is_only_torn_context(path: Path, data: bytes) -> bool:
    """Whether the file holds only a part of a context line, left by a killed process. Raises
    ResultError for lines that have lost their newlines: they may hold rows."""
    if b"\n" in data or not data:
        return False
    if _CONTEXT_PREFIX.startswith(data):
        return True
    if not data.startswith(_CONTEXT_PREFIX):
        return False
    if b"\r" in data or _LATER_LINE.search(data):
        raise ResultError(
            f"{path}: its lines do not end with a newline; restore the newlines, or name another "
            "file"
        )
    return not _is_json(data)


def _is_json(data: bytes) -> bool:
    try:
        strict_json.parsed(data)
    except strict_json.NotJson:
        return False
    except strict_json.JsonError:
        pass  # complete, and refused by the reader
    return True


def _open_locked(path: Path, flags: int) -> int:
    """Opens a file that no other process writes. Devices and pipes may have several writers."""
    for _ in range(_OPEN_ATTEMPTS):
        descriptor = _open_descriptor(path, flags)
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            return descriptor
        if not file_lock.try_lock(descriptor):
            os.close(descriptor)
            raise ResultError(file_lock.locked_message(path))
        if file_lock.is_still_at(path, descriptor):
            return descriptor
        os.close(descriptor)
    raise ResultError(f"{path}: another process keeps creating and removing it; name another file")


def _open_descriptor(path: Path, flags: int) -> int:
    try:
        return output_place.open_output(path, flags)
    except FileExistsError:
        raise ResultError(file_lock.locked_message(path)) from None  # another run just created it
    except OSError as error:
        if error.errno == errno.ENOENT and not path.parent.is_dir():
            raise ResultError(f"{path}: there is no folder {str(path.parent)!r}; make it") from None
        raise ResultError(f"{path}: {os_reason(error)}") from None
    except ValueError as error:  # NUL in the name
        raise ResultError(f"{str(path)!r}: {error}") from None
