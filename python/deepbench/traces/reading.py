"""Reads a trace or log of any kind that deepbench knows; its content tells the kind."""

from __future__ import annotations

import io
import re
import zlib
from collections.abc import Iterator
from pathlib import Path

from deepbench.input_files import NotRegularFile, TooLargeFile, read_whole
from deepbench.traces import cublaslt_log, onednn_log
from deepbench.traces.chrome_trace import read_chrome_trace
from deepbench.traces.cublaslt_log import read_cublaslt_log
from deepbench.traces.errors import TraceError
from deepbench.traces.onednn_log import read_onednn_log
from deepbench.traces.recording import Recording

MAX_BYTES = 512 << 20  # of the text, compressed or not
_GZIP = b"\x1f\x8b"
_JSON = re.compile(rb"\s*(\{|\[\s*[\[\]{])")  # lines of a log may begin with [2026-11-26 ...]
_AUTOMATIC_HEADER = 32 + zlib.MAX_WBITS
_MAX_LINE = 16 << 10  # characters of a line of a log
_KINDS = (
    "is neither a workbook, a Chrome trace of torch.profiler, nor a log of cuBLASLt "
    "(CUBLASLT_LOG_LEVEL=2) or oneDNN (ONEDNN_VERBOSE=1)"
)


def read_trace(path: Path) -> Recording:
    """The calls that a trace or log holds. Raises TraceError unless there is at least one that is a
    problem of deepbench."""
    try:
        recording = _recording(_content(path))
    except TraceError as error:
        raise TraceError(f"{path}: {error}") from None
    if not recording.problems:
        raise TraceError(f"{path}: has no product or convolution that deepbench can measure"
                         f"{_first_left_out(recording)}")  # fmt: skip
    return recording


def _content(path: Path) -> bytes:
    """The text of the file, decompressed. Raises TraceError without the name of the file."""
    try:
        data = read_whole(path, MAX_BYTES)
    except OSError as error:
        raise TraceError(error.strerror or str(error)) from None
    except NotRegularFile:
        raise TraceError("is not a regular file; name a trace or a log") from None
    except TooLargeFile:
        raise TraceError(_too_large()) from None
    except ValueError as error:  # a NUL character in the name
        raise TraceError(str(error)) from None
    if data.startswith(_GZIP):
        data = _decompressed(data)
    if not data.strip():
        raise TraceError("is empty; name a trace or a log")
    return data


def _decompressed(data: bytes) -> bytes:
    stream = zlib.decompressobj(_AUTOMATIC_HEADER)
    try:
        text = stream.decompress(data, MAX_BYTES)
    except zlib.error:
        raise TraceError("is not a valid gzip file; export the trace again") from None
    if not stream.eof:
        if stream.unconsumed_tail:
            raise TraceError(_too_large())
        raise TraceError("is cut short: its gzip data has no end; export the trace again")
    return text


def _too_large() -> str:
    return (
        f"has more than {MAX_BYTES >> 20} MiB of text, the limit for traces; profile fewer steps, "
        "without stacks"
    )


def _recording(data: bytes) -> Recording:
    if _JSON.match(data):
        return read_chrome_trace(data)
    if any(mark in data for mark in onednn_log.MARKS):
        return read_onednn_log(_lines(data))
    if cublaslt_log.MARK in data:
        return read_cublaslt_log(_lines(data))
    raise TraceError(_KINDS)


def _lines(data: bytes) -> Iterator[str]:
    """The lines of a log. What a program prints beside it may be of any kind."""
    for line in io.BytesIO(data):
        yield line[:_MAX_LINE].decode("utf-8", errors="replace")


def _first_left_out(recording: Recording) -> str:
    for one in recording.left_out[:1]:
        return f"; most of it is {one.name}" + (f": {one.reason}" if one.reason else "")
    return ""
