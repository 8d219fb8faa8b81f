"""Input files are read whole, and nothing is waited for that may never come."""

from __future__ import annotations

import os
import threading
from pathlib import Path

import pytest

from deepbench.input_files import NotRegularFile, TooLargeFile, read_whole


def test_a_file_is_read_up_to_the_limit(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_bytes(b"twelve bytes")
    assert read_whole(file, 12) == b"twelve bytes"
    with pytest.raises(TooLargeFile):
        read_whole(file, 11)


def test_devices_and_sockets_are_refused(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    for path in (Path("/dev/zero"), tmp_path / "pipe"):
        with pytest.raises(NotRegularFile):
            read_whole(path, 100)
    with pytest.raises(NotRegularFile):
        read_whole("/dev/zero", 100, pipe=True)


def test_a_pipe_without_a_writer_is_empty(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    assert read_whole(tmp_path / "pipe", 100, pipe=True) == b""


def test_a_pipe_is_read_until_its_writer_closes_it() -> None:
    reader, writer = os.pipe()
    go_on = threading.Event()

    def write() -> None:
        with os.fdopen(writer, "wb", buffering=0) as file:
            file.write(b"one ")
            go_on.wait()
            file.write(b"two")

    thread = threading.Thread(target=write)
    thread.start()
    try:
        threading.Timer(0.05, go_on.set).start()
        assert read_whole(f"/proc/self/fd/{reader}", 7, pipe=True) == b"one two"
    finally:
        go_on.set()
        thread.join()
        os.close(reader)


def test_the_limit_holds_for_a_pipe() -> None:
    reader, writer = os.pipe()
    try:
        os.write(writer, b"x" * 101)
        with pytest.raises(TooLargeFile):
            read_whole(f"/proc/self/fd/{reader}", 100, pipe=True)
    finally:
        os.close(reader)
        os.close(writer)
