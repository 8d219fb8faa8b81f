"""Files that are there as a whole or not at all."""

from __future__ import annotations

import errno
import os
import socket
import stat
from pathlib import Path

import pytest

from deepbench.results import atomic_write
from deepbench.results.atomic_write import WriteError


def test_a_file_is_written_with_the_permissions_of_any_other(tmp_path: Path) -> None:
    path, other = tmp_path / "page.html", tmp_path / "other"
    other.touch()
    atomic_write.write(path, b"text", overwrite=False)
    assert path.read_bytes() == b"text"
    assert path.stat().st_mode == other.stat().st_mode


def test_an_old_file_stays_unless_it_is_to_be_replaced(tmp_path: Path) -> None:
    path = tmp_path / "page.html"
    path.write_bytes(b"old")
    path.chmod(0o640)
    with pytest.raises(WriteError, match="exists; --overwrite replaces it"):
        atomic_write.write(path, b"new", overwrite=False)
    assert path.read_bytes() == b"old"
    atomic_write.write(path, b"new", overwrite=True)
    assert path.read_bytes() == b"new"
    assert stat.S_IMODE(path.stat().st_mode) == 0o640


def test_a_link_stays_one(tmp_path: Path) -> None:
    target, link = tmp_path / "target", tmp_path / "link"
    target.write_bytes(b"old")
    link.symlink_to(target)
    atomic_write.write(link, b"new", overwrite=True)
    assert link.is_symlink()
    assert target.read_bytes() == b"new"


def test_a_file_has_the_longest_name(tmp_path: Path) -> None:
    """The length of a name is limited in bytes, of which each of these characters takes four."""
    path = tmp_path / ("\U0001f600" * 62 + ".html")
    atomic_write.write(path, b"text", overwrite=False)
    assert path.read_bytes() == b"text"


@pytest.mark.parametrize("old", [None, b"old"])
def test_a_disk_that_fills_up_leaves_what_was_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, old: bytes | None
) -> None:
    path = tmp_path / "page.html"
    if old:
        path.write_bytes(old)

    def raise_disk_full(descriptor: int) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "fsync", raise_disk_full)
    with pytest.raises(WriteError, match="the disk is full; nothing was written") as caught:
        atomic_write.write(path, b"new", overwrite=True)
    assert caught.value.exit_status == 1
    assert [entry.name for entry in tmp_path.iterdir()] == ([path.name] if old else [])
    assert not old or path.read_bytes() == old


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no /dev/full here")
def test_devices_are_written_as_they_are() -> None:
    with pytest.raises(WriteError, match="/dev/full: the disk is full"):
        atomic_write.write(Path("/dev/full"), b"x" * 100_000, overwrite=False)
    atomic_write.write(Path("/dev/null"), b"text", overwrite=False)
    assert stat.S_ISCHR(Path("/dev/null").stat().st_mode)


def test_a_pipe_without_a_path_of_its_own_is_written() -> None:
    """As /dev/stdout names the pipe to another program."""
    reader, writer = os.pipe()
    with os.fdopen(reader, "rb") as file:
        atomic_write.write(Path(f"/dev/fd/{writer}"), b"text", overwrite=False)
        os.close(writer)
        assert file.read() == b"text"


def test_a_socket_is_refused() -> None:
    """As /dev/stdout may name one."""
    with socket.socket() as one, pytest.raises(WriteError, match="is a socket, which cannot"):
        atomic_write.write(Path(f"/dev/fd/{one.fileno()}"), b"text", overwrite=False)


@pytest.mark.parametrize(
    ("name", "message"),
    [
        (".", "is a folder"),
        ("missing/page.html", "there is no folder"),
        ("nul\0", "NUL"),
        ("x" * 300, "the name is too long"),
    ],
)
def test_places_that_cannot_be_written(tmp_path: Path, name: str, message: str) -> None:
    with pytest.raises(WriteError, match=message):
        atomic_write.write(tmp_path / name, b"text", overwrite=True)
    assert list(tmp_path.iterdir()) == []


def test_links_and_pipes_that_cannot_be_written(tmp_path: Path) -> None:
    (tmp_path / "loop").symlink_to("loop")
    (tmp_path / "astray").symlink_to("none/page.html")
    os.mkfifo(tmp_path / "pipe")
    for name, message in {
        "loop": "is a link that cannot be followed",
        "astray": "is a link into a folder that does not exist",
        "pipe": "is a pipe that nobody reads",
    }.items():
        with pytest.raises(WriteError, match=message):
            atomic_write.write(tmp_path / name, b"text", overwrite=True)


def test_a_removed_working_directory_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "gone").mkdir()
    monkeypatch.chdir(tmp_path / "gone")
    (tmp_path / "gone").rmdir()
    with pytest.raises(WriteError, match=r"page\.html: the working directory was removed"):
        atomic_write.write(Path("page.html"), b"text", overwrite=True)
