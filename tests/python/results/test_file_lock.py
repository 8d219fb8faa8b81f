"""Tests that a result file has one writer: a second one is refused in one line, and a writer that
was killed leaves no lock."""

from __future__ import annotations

import errno
import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from deepbench.results import ResultError, ResultWriter, file_lock, read
from deepbench.results.atomic_write import WriteError, write
from example_rows import make_context, make_gemm, members
from fake_plugin import build_fake_backend
from polling import wait_until


def locked_writer(path: Path) -> ResultWriter:
    writer = ResultWriter.create(path)
    writer.write_context(make_context())
    return writer


def test_the_second_is_refused_whatever_it_asks(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    writer = locked_writer(path)
    line = rf"^{path}: process {os.getpid()} is writing it; wait for its end, or name another file$"
    for attempt in (
        lambda: ResultWriter.create(path),
        lambda: ResultWriter.create(path, overwrite=True),
        lambda: ResultWriter.for_resuming(path),
    ):
        with pytest.raises(ResultError, match=line):
            attempt()
    writer.write_line(json.dumps(make_gemm()))
    writer.close()
    assert len(read(path).rows) == 1
    ResultWriter.for_resuming(path)[0].close()


def test_by_another_name_it_is_the_same_file(tmp_path: Path) -> None:
    writer = locked_writer(tmp_path / "a.jsonl")
    (tmp_path / "link").symlink_to("a.jsonl")
    os.link(tmp_path / "a.jsonl", tmp_path / "hard")
    for name in ("link", "hard"):
        with pytest.raises(ResultError, match=rf"{name}: process {os.getpid()} is writing it"):
            ResultWriter.for_resuming(tmp_path / name)
    writer.close()


def test_replaced_content_has_the_same_writer(tmp_path: Path) -> None:
    path, link = tmp_path / "a.jsonl", tmp_path / "link"
    path.touch(0o640)
    link.symlink_to("a.jsonl")
    (tmp_path / ".a.jsonl.new").write_text("of one that was killed")
    writer, _ = ResultWriter.for_resuming(link)
    writer.write_context(make_context())
    writer.replace(make_context(set=None), [json.dumps(make_gemm(1))])
    with pytest.raises(ResultError, match=f"process {os.getpid()} is writing it"):
        ResultWriter.for_resuming(path)
    writer.write_line(json.dumps(make_gemm()))
    writer.close()
    assert [row["position"] for row in members(read(path).rows)] == [0, 1]
    assert (link.is_symlink(), path.stat().st_mode & 0o777) == (True, 0o640)
    assert sorted(one.name for one in tmp_path.iterdir()) == ["a.jsonl", "link"]


def test_content_that_cannot_be_replaced_stays(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "a.jsonl"
    writer = locked_writer(path)
    before = path.read_bytes()

    def raise_disk_full(descriptor: int, data: bytes) -> int:
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr("deepbench.results.writer.os.write", raise_disk_full)
        with pytest.raises(ResultError, match="the disk is full"):
            writer.replace(make_context(set=None), [])
    assert path.read_bytes() == before
    assert [one.name for one in tmp_path.iterdir()] == ["a.jsonl"]
    writer.write_line(json.dumps(make_gemm()))
    writer.close()
    assert len(read(path).rows) == 1


def test_a_file_that_others_take_away_is_told(tmp_path: Path) -> None:
    """And what was written stays, beside it."""
    path, saved = tmp_path / "a.jsonl", tmp_path / "a.jsonl.rescued"
    for take, how in (
        (path.unlink, "was removed or replaced"),
        (lambda: check_replaces_whole(path), "was removed or replaced"),
        (lambda: os.truncate(path, 3), "was changed"),
        (lambda: os.truncate(path, 1 << 20), "was changed"),
    ):
        path.unlink(missing_ok=True)
        writer = locked_writer(path)
        writer.write_line(json.dumps(make_gemm()))
        written = path.read_bytes()
        take()
        with pytest.raises(
            ResultError, match=f"{how} while the run wrote it; what was written is"
        ) as told:
            writer.write_line(json.dumps(make_gemm(1)))
        assert told.value.exit_status == 1
        if path.exists() and path.stat().st_size == 3:
            assert not saved.exists()
        else:
            line = json.dumps(make_gemm(1)).encode() + b"\n"
            assert saved.read_bytes() == written + line  # the row in hand too
            saved.unlink()
        writer.close()


def test_what_was_rescued_before_stays(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl.rescued").write_text("of an earlier run")
    writer = locked_writer(tmp_path / "a.jsonl")
    (tmp_path / "a.jsonl").unlink()
    with pytest.raises(ResultError, match=r"is in .*a\.jsonl\.rescued1$"):
        writer.close()
    assert (tmp_path / "a.jsonl.rescued").read_text() == "of an earlier run"


def test_a_file_with_the_longest_name_is_rescued(tmp_path: Path) -> None:
    path = tmp_path / ("a" * 249 + ".jsonl")
    writer = locked_writer(path)
    written = path.read_bytes()
    path.unlink()
    with pytest.raises(ResultError, match=r"is in .*\.rescued$"):
        writer.close()
    [saved] = tmp_path.iterdir()
    assert saved.read_bytes() == written


def test_a_torn_file_that_is_not_gone_on_with_stays_as_it_is(tmp_path: Path) -> None:
    writer = locked_writer(tmp_path / "a.jsonl")
    writer.close()
    torn = (tmp_path / "a.jsonl").read_bytes() + b'{"type": "ro'
    (tmp_path / "a.jsonl").write_bytes(torn)
    ResultWriter.for_resuming(tmp_path / "a.jsonl")[0].close()
    assert (tmp_path / "a.jsonl").read_bytes() == torn
    assert [one.name for one in tmp_path.iterdir()] == ["a.jsonl"]


def check_replaces_whole(path: Path) -> None:
    other = path.with_name("b")
    other.write_text("of another")
    other.replace(path)


def test_a_file_that_is_gone_at_the_end_is_told(tmp_path: Path) -> None:
    writer = locked_writer(tmp_path / "a.jsonl")
    (tmp_path / "a.jsonl").unlink()
    with pytest.raises(ResultError, match=r"what was written is in .*a\.jsonl\.rescued$"):
        writer.close()


def test_a_report_does_not_replace_what_is_being_written(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    writer = locked_writer(path)
    with pytest.raises(WriteError, match=f"process {os.getpid()} is writing it"):
        write(path, b"<html>", overwrite=True)
    writer.close()
    write(path, b"<html>", overwrite=True)
    assert path.read_bytes() == b"<html>"


def test_it_may_be_read_meanwhile(tmp_path: Path) -> None:
    writer = locked_writer(tmp_path / "a.jsonl")
    writer.write_line(json.dumps(make_gemm()))
    assert len(read(tmp_path / "a.jsonl").rows) == 1
    writer.close()


def test_what_is_no_file_has_as_many_writers_as_it_likes() -> None:
    writers = [ResultWriter.create(Path("/dev/null"), overwrite=bool(i)) for i in range(2)]
    for writer in writers:
        writer.write_context(make_context())
        writer.close()


def test_a_file_that_its_writer_removed_is_not_written_to(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "a.jsonl"
    first = ResultWriter.create(path)
    opened = os.open
    late = [first.close]

    def open_before_file_is_removed(*arguments: object) -> int:
        descriptor = opened(*arguments)  # type: ignore[arg-type]
        while late:
            late.pop()()  # nothing was written: the file goes
        return descriptor

    monkeypatch.setattr("deepbench.results.writer.os.open", open_before_file_is_removed)
    writer, old = ResultWriter.for_resuming(path)
    monkeypatch.undo()
    assert old is None
    writer.write_context(make_context())
    writer.close()
    assert read(path).rows == ()


def test_without_locks_nobody_is_kept_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(file_lock, "fcntl", None)
    writers = [ResultWriter.create(tmp_path / "a", overwrite=bool(i)) for i in range(2)]
    for writer in writers:
        writer.close()


@pytest.mark.parametrize("text", ["", "1: FLOCK ADVISORY WRITE 0 0:1:{inode} 0 EOF\n", None])
def test_a_writer_that_is_not_known_is_another(
    text: str | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, locks = tmp_path / "a", tmp_path / "locks"
    path.touch()
    if text is not None:
        locks.write_text(text.format(inode=path.stat().st_ino))
    monkeypatch.setattr(file_lock, "_PROC_LOCKS", locks)
    assert file_lock.lock_holder(path) == "another process"


def test_a_killed_run_keeps_nobody_out(tmp_path: Path) -> None:
    plugin = build_fake_backend(tmp_path / "libdeepbench_fake.so")
    file, began = tmp_path / "rows.jsonl", tmp_path / "began"

    def gemm_command(*more: str) -> list[str]:
        return [sys.executable, "-m", "deepbench", "gemm", "m=8,9,10", "n=8", "k=40", "--samples",
                "2", "--backend", str(plugin), "-o", str(file), *more]  # fmt: skip

    hanging = f"when m=9 log {began}\nwhen m=9 hang time_batch"
    first = subprocess.Popen(
        gemm_command(), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        env=os.environ | {"DEEPBENCH_FAKE_SCRIPT": hanging},
    )  # fmt: skip
    try:
        wait_until(lambda: began.exists() and "time_batch" in began.read_text())
        for more in ([], ["--resume"], ["--overwrite"]):
            done = subprocess.run(gemm_command(*more), capture_output=True, text=True, timeout=600)
            assert (done.returncode, done.stdout) == (2, "")
            assert done.stderr == (
                f"deepbench: error: {file}: process {first.pid} is writing it; wait for its end, "
                "or name another file\n"
            )
    finally:
        first.send_signal(signal.SIGKILL)
        first.wait()
    assert [row["position"] for row in members(read(file).rows)] == [0]
    done = subprocess.run(gemm_command("--resume"), capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stderr
    assert [row["status"] for row in members(read(file).rows)] == ["ok"] * 3
