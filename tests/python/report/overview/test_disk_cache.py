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


def test_a_link_is_not_followed(cache_folder: Path, tmp_path: Path) -> None:
    cached_text("a", lambda: "one")
    [file] = cache_folder.iterdir()
    elsewhere = tmp_path / "elsewhere"
    file.rename(elsewhere)
    file.symlink_to(elsewhere)
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
