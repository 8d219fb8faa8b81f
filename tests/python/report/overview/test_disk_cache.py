"""Tests that a cached text is made once, and ignored unless this user wrote it completely."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from deepbench.report.overview.disk_cache import cached_text


@pytest.fixture(autouse=True)
def cache_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("DEEPBENCH_CACHE_DIR", str(tmp_path / "cache"))
    return tmp_path / "cache" / "reports"


def fail_if_called() -> str:
    raise AssertionError("it was kept")


def test_a_text_is_made_once_for_each_key() -> None:
    assert cached_text("a", lambda: "one") == "one"
    assert cached_text("b", lambda: "two") == "two"
    assert cached_text("a", fail_if_called) == "one"
    assert cached_text("b", fail_if_called) == "two"


def test_a_file_that_is_not_whole_is_made_again(cache_folder: Path) -> None:
    cached_text("a", lambda: "one")
    [file] = cache_folder.iterdir()
    file.write_bytes(file.read_bytes()[:-1])
    assert cached_text("a", lambda: "again") == "again"
    assert cached_text("a", fail_if_called) == "again"


@pytest.mark.parametrize("shared", ["file", "folder"])
def test_what_others_can_write_is_not_read(cache_folder: Path, shared: str) -> None:
    cached_text("a", lambda: "one")
    [file] = cache_folder.iterdir()
    (file if shared == "file" else cache_folder).chmod(0o777)
    assert cached_text("a", lambda: "again") == "again"


def test_a_link_is_neither_read_nor_written_through(cache_folder: Path, tmp_path: Path) -> None:
    cached_text("a", lambda: "one")
    [file] = cache_folder.iterdir()
    elsewhere = tmp_path / "elsewhere"
    file.rename(elsewhere)
    before = elsewhere.read_bytes()
    file.symlink_to(elsewhere)
    assert cached_text("a", lambda: "again") == "again"
    assert elsewhere.read_bytes() == before
    assert not file.is_symlink()
    assert cached_text("a", fail_if_called) == "again"


def test_nothing_is_written_where_others_can_write(cache_folder: Path, tmp_path: Path) -> None:
    cache_folder.mkdir(parents=True)
    cache_folder.chmod(0o777)
    assert cached_text("a", lambda: "one") == "one"
    assert list(cache_folder.iterdir()) == []
    cache_folder.rename(tmp_path / "target")
    (tmp_path / "target").chmod(0o700)
    cache_folder.symlink_to(tmp_path / "target")
    assert cached_text("a", lambda: "one") == "one"
    assert list((tmp_path / "target").iterdir()) == []


def test_in_a_folder_of_all_only_a_folder_of_this_user_is_used(cache_folder: Path) -> None:
    cache_folder.parent.mkdir()
    cache_folder.parent.chmod(0o777)
    cached_text("a", lambda: "one")
    assert cache_folder.stat().st_mode & 0o777 == 0o700
    assert cached_text("a", fail_if_called) == "one"
    cache_folder.rename(cache_folder.parent / "moved away")
    cache_folder.mkdir()
    cache_folder.chmod(0o777)  # as another user's folder of this name
    assert cached_text("a", lambda: "again") == "again"
    assert list(cache_folder.iterdir()) == []


def test_a_pipe_in_the_cache_does_not_stop_a_report(cache_folder: Path) -> None:
    cached_text("a", lambda: "one")
    [file] = cache_folder.iterdir()
    file.unlink()
    os.mkfifo(file)
    assert cached_text("a", lambda: "again") == "again"


@pytest.mark.parametrize("place", ["relative", "/dev/null/cache", ""])
def test_without_a_folder_nothing_is_kept(
    place: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("XDG_CACHE_HOME", "HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("DEEPBENCH_CACHE_DIR", place)
    assert cached_text("a", lambda: "one") == "one"
    assert cached_text("a", lambda: "again") == "again"
    assert os.listdir(tmp_path) == []  # noqa: PTH208
