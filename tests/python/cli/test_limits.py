"""Limits of the system and missing devices end a command with one line."""

from __future__ import annotations

import re
import resource
import subprocess
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from command_line import DEEPBENCH, deepbench
from deepbench.cli import main
from deepbench.report.overview import vega
from example_rows import make_gemm
from report_files import with_samples, write_result_file

GIB = 1 << 30


def run_limited(
    *arguments: object, before: Callable[[], object]
) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*DEEPBENCH, *map(str, arguments)],
        capture_output=True, text=True, timeout=600, preexec_fn=before,
    )  # fmt: skip


def test_a_page_needs_address_space(tmp_path: Path) -> None:
    pytest.importorskip("vl_convert")
    results = tmp_path / "rows.jsonl"
    deepbench("memory", "kind=copy", "bytes=4096", "--samples", "2", "-o", results)
    done = run_limited(
        "report", results, "-o", tmp_path / "page.html",
        before=lambda: resource.setrlimit(resource.RLIMIT_AS, (8 * GIB, 8 * GIB)),
    )  # fmt: skip
    assert done.returncode == 2
    assert done.stderr.count("\n") == 1
    assert "charts need 66 GiB of address space" in done.stderr
    assert not (tmp_path / "page.html").exists()


@pytest.mark.parametrize("name", ["page.html", "chart.svg"])
def test_charts_need_threads(
    name: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """V8 aborts the process where it cannot start its own. A limit on processes does not hold for
    root, so that the test starts no more than two threads."""
    pytest.importorskip("vl_convert")
    results = write_result_file(tmp_path / "rows.jsonl", [with_samples(make_gemm())])
    start, count = threading.Thread.start, threading.active_count()

    def start_two(thread: threading.Thread) -> None:
        if threading.active_count() >= count + 2:
            raise RuntimeError("can't start new thread")
        start(thread)

    monkeypatch.setattr(threading.Thread, "start", start_two)
    vega.require_resources.cache_clear()
    assert main(["report", str(results), "-o", str(tmp_path / name)]) == 2
    assert re.fullmatch(
        r"deepbench: error: charts need \d+ threads, more than this process may start: "
        r"raise 'ulimit -u', or give '--format markdown'\n",
        capsys.readouterr().err,
    )
    assert threading.active_count() == count
    assert not (tmp_path / name).exists()


@pytest.mark.parametrize("name", ["page.html", "chart.svg"])
@pytest.mark.parametrize("files", [6, 12, 16])
def test_charts_need_open_files(name: str, files: int, tmp_path: Path) -> None:
    """With fewer, threads of vl-convert would panic and print lines of their own."""
    pytest.importorskip("vl_convert")
    results = write_result_file(tmp_path / "rows.jsonl", [with_samples(make_gemm())])
    done = run_limited(
        "report", results, "-o", tmp_path / name,
        before=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (files, files)),
    )  # fmt: skip
    assert done.returncode == 2
    assert re.fullmatch(
        r"deepbench: error: charts need \d+ open files"
        r".*'ulimit -n'.*\n",
        done.stderr,
    )
    assert not (tmp_path / name).exists()


def test_a_result_file_takes_no_more_memory_than_its_size(tmp_path: Path) -> None:
    results = tmp_path / "rows.jsonl"
    deepbench("memory", "kind=copy", "bytes=4096", "--samples", "2", "-o", results)
    done = run_limited(
        "show", results,
        before=lambda: resource.setrlimit(resource.RLIMIT_AS, (GIB // 2, GIB // 2)),
    )  # fmt: skip
    assert (done.returncode, done.stderr.count("Traceback")) == (0, 0)


def test_memory_that_runs_out_is_one_line(tmp_path: Path) -> None:
    (tmp_path / "suite.txt").write_bytes(b"# a comment\n" * 1_000_000)
    done = run_limited(
        "run", tmp_path / "suite.txt",
        before=lambda: resource.setrlimit(resource.RLIMIT_AS, (GIB // 10, GIB // 10)),
    )  # fmt: skip
    assert done.returncode in (1, 2)
    assert "Traceback" not in done.stderr
    assert done.stderr.startswith("deepbench: error: ")


@pytest.mark.parametrize("mib", [30, 40, 50, 80, 120])
def test_a_workbook_without_memory_is_one_line(mib: int, tmp_path: Path) -> None:
    """Whichever library misses it: some of them print lines of their own, or end the process."""
    pytest.importorskip("xlsxwriter")
    results = write_result_file(tmp_path / "rows.jsonl", [with_samples(make_gemm())])
    book = tmp_path / "book.xlsx"
    done = run_limited(
        "report", results, "-o", book,
        before=lambda: resource.setrlimit(resource.RLIMIT_AS, (mib << 20, mib << 20)),
    )  # fmt: skip
    assert done.stderr.count("\n") == 1, done.stderr
    if done.returncode == 0:
        assert book.exists()
        return
    assert done.returncode in (1, 2)
    assert done.stderr.startswith("deepbench: error: ")
    assert "memory" in done.stderr or "cannot be loaded" in done.stderr
    assert not book.exists()


@pytest.mark.parametrize("closed", [(0,), (0, 2), (2,)])
def test_closed_streams_need_no_file_that_is_missing(closed: tuple[int, ...]) -> None:
    from os import close

    done = run_limited("list", before=lambda: [close(one) for one in closed])
    assert done.returncode == 0
    assert "training" in done.stdout
