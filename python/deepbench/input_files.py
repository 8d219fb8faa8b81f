"""Reads whole input files without waiting indefinitely and with a limit on their size."""

from __future__ import annotations

import contextlib
import os
import select
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

_PIPE_READ_BYTES = 1 << 16


class NotRegularFile(ValueError):
    """A device, a socket, or a pipe where none is accepted."""


class TooLargeFile(ValueError):
    """A file has more bytes than its reader accepts."""


def read_whole(path: str | Path, limit: int, *, pipe: bool = False) -> bytes:
    """All bytes of a regular file and, with `pipe`, of a pipe until its writer closes it. Raises
    OSError, NotRegularFile, TooLargeFile, and ValueError for a name that no file can have."""
    with open(Path(path), "rb", opener=_open_nonblocking) as file:
        if pipe and stat.S_ISFIFO(os.fstat(file.fileno()).st_mode):
            return _read_pipe(file.fileno(), limit)
        return read_regular(file, limit)


@contextlib.contextmanager
def open_regular(path: Path, limit: int) -> Iterator[BinaryIO]:
    """A regular file for reading. Raises OSError, NotRegularFile, TooLargeFile, and ValueError for
    a name that no file can have."""
    with open(path, "rb", opener=_open_nonblocking) as file:
        _size_of_regular(file, limit)
        yield file


def read_regular(file: BinaryIO, limit: int) -> bytes:
    """The bytes that an open file has now. Files of /proc, which may be endless, state a size of 0
    and count as empty."""
    return file.read(_size_of_regular(file, limit)) or b""


def _size_of_regular(file: BinaryIO, limit: int) -> int:
    facts = os.fstat(file.fileno())
    if not stat.S_ISREG(facts.st_mode):
        raise NotRegularFile
    if facts.st_size > limit:
        raise TooLargeFile
    return facts.st_size


def _read_pipe(descriptor: int, limit: int) -> bytes:
    """Reads a pipe. A pipe without a writer is empty."""
    data = bytearray()
    while True:
        try:
            piece = os.read(descriptor, _PIPE_READ_BYTES)
        except BlockingIOError:
            select.select([descriptor], [], [])
            continue
        data += piece
        if len(data) > limit:
            raise TooLargeFile
        if not piece:
            return bytes(data)


def _open_nonblocking(path: str, flags: int) -> int:
    """Opens a file without waiting, even a named pipe that has no writer."""
    return os.open(path, flags | getattr(os, "O_NONBLOCK", 0))
