"""What a run prints of its rows: provisional ones on a terminal alone, shares against the ceilings
that are known, and what becomes of a reader that has closed standard output."""

from __future__ import annotations

import fcntl
import io
import json
import os
import struct
import termios
from collections.abc import Iterator
from pathlib import Path

import pytest

from deepbench.cli import command
from deepbench.cli.options import OPTIONS, run_options
from deepbench.report.outline import OutlineProblem, outline
from deepbench.results import Row
from deepbench.results.ceilings import Ceilings
from deepbench.runner.progress import Screen
from deepbench.runner.run_report import RunReport
from example_rows import (
    make_ceiling,
    make_context,
    make_gemm,
    row_of_members,
    with_named_ceilings,
    without_times,
)


class ClosedReader(io.StringIO):
    writes = 0

    def write(self, text: str) -> int:
        self.writes += 1
        raise BrokenPipeError


class Terminal(io.StringIO):
    """A terminal of a given width, which keeps what is written."""

    def __init__(self, descriptor: int) -> None:
        super().__init__()
        self._descriptor = descriptor

    def isatty(self) -> bool:
        return True

    def fileno(self) -> int:
        return self._descriptor


@pytest.fixture
def terminal() -> Iterator[Terminal]:
    master, descriptor = os.openpty()
    fcntl.ioctl(descriptor, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 120, 0, 0))
    yield Terminal(descriptor)
    os.close(master)
    os.close(descriptor)


def gemm_row(position: int = 0) -> Row:
    """A row of 0.99 TFLOP/s whose shares follow from ceilings."""
    return row_of_members(with_named_ceilings(make_gemm(position)))


def ceilings_of(tflops: float) -> Ceilings:
    return Ceilings([make_ceiling("arithmetic", tflops), make_ceiling("bandwidth", 1000.0)])


def begun_report(
    out: io.StringIO, *words: str, ceilings: Ceilings | None = None, rows: int = 1
) -> RunReport:
    options = run_options(command.parse_arguments(list(words), OPTIONS))
    report = RunReport(options, Screen(out, io.StringIO()), ceilings or ceilings_of(2.0))
    shown = [gemm_row(position) for position in range(rows)]
    problems = [OutlineProblem("gemm", row.attributes, row.work.flops) for row in shown]
    report.prepare(make_context(rows=rows), outline(problems))
    assert not report.has_begun
    assert out.tell() == 0
    report.begin()
    assert report.has_begun
    return report


def test_a_row_is_printed_against_the_ceilings_that_are_known() -> None:
    out, known = io.StringIO(), ceilings_of(2.0)
    report = begun_report(out, "--format", "json", ceilings=known, rows=2)
    report.print_row(gemm_row(0))
    known.add(make_ceiling("arithmetic", 4.0))
    report.print_row(gemm_row(1))
    report.end()
    bounds = [row["bound"] for row in json.loads(out.getvalue())["rows"]]
    assert [bound["arithmetic_tflops"] for bound in bounds] == [2.0, 4.0]
    assert bounds[0]["share_roofline"] == pytest.approx(2 * bounds[1]["share_roofline"])
    assert report.has_row(0)
    assert not report.has_row(2)


def test_the_summary_names_rows_whose_ceiling_changed_after_they_were_printed() -> None:
    known = ceilings_of(2.0)
    report = begun_report(io.StringIO(), ceilings=known, rows=3)
    report.print_row(gemm_row(0))
    known.add(make_ceiling("arithmetic", 4.0))
    report.print_row(gemm_row(1))
    summary = report.summary([gemm_row(0), gemm_row(1), gemm_row(2)])  # the last is not printed
    assert summary.rows == 3
    assert summary.changed_shares.count("gemm m=1760") == 1
    assert "from 49.6 % to 24.8 %" in summary.changed_shares
    assert report.summary([gemm_row(1)]).changed_shares == ""


def test_first_visits_are_printed_on_a_terminal_ahead_of_all_visits(terminal: Terminal) -> None:
    report = begun_report(terminal, "--visits", "3")
    report.print_provisional_row(gemm_row())
    assert not report.has_row(0)
    report.begin_final_rows()
    report.print_row(gemm_row())
    report.end()
    first, _, final = terminal.getvalue().partition("\nfrom all 3 visits:\n")
    assert "provisional, from the first of 3 visits:" in first
    for part in (first, final):
        assert part.count("100.0 µs") == 1
        assert part.count("49.6") == 2  # of the arithmetic ceiling and of the roofline


@pytest.mark.parametrize("words", [("--visits", "3", "--format", "csv"), ("--visits", "1")])
def test_a_terminal_has_no_provisional_rows_in_other_formats_or_of_one_visit(
    terminal: Terminal, words: tuple[str, ...]
) -> None:
    report = begun_report(terminal, *words)
    printed = terminal.getvalue()
    report.print_provisional_row(gemm_row())
    report.begin_final_rows()
    assert terminal.getvalue() == printed
    assert "provisional" not in printed


def test_a_pipe_has_no_provisional_rows() -> None:
    out = io.StringIO()
    report = begun_report(out, "--visits", "3")
    report.print_provisional_row(gemm_row())
    report.begin_final_rows()
    report.print_row(gemm_row())
    report.end()
    assert "visits:" not in out.getvalue()
    assert out.getvalue().count("100.0 µs") == 1


def test_a_closed_reader_ends_a_run_unless_its_rows_go_to_a_file(tmp_path: Path) -> None:
    with pytest.raises(BrokenPipeError):
        begun_report(ClosedReader()).print_row(gemm_row())
    report = begun_report(out := ClosedReader(), "-o", str(tmp_path / "rows.jsonl"), rows=2)
    for position in range(2):
        report.print_row(gemm_row(position))
    report.end()
    assert report.has_row(1)
    assert out.writes == 1


def test_the_end_of_an_interrupted_report_may_find_no_space() -> None:
    class Full(io.StringIO):
        is_full = False

        def write(self, text: str) -> int:
            if self.is_full:
                raise OSError(28, "No space left on device")
            return super().write(text)

    out = Full()
    report = begun_report(out, "--format", "json")
    out.is_full = True
    report.end(ignore_errors=True)
    with pytest.raises(OSError, match="No space left"):
        report.end()


def test_a_table_has_the_columns_that_are_named_and_those_of_a_reference() -> None:
    report = begun_report(out := io.StringIO(), "--columns", "n,time")
    report.print_row(gemm_row())
    assert out.getvalue().split() == ["n", "time", "16", "100.0", "µs"]
    report = begun_report(out := io.StringIO(), "--against", "NVIDIA Tesla V100")
    report.print_row(gemm_row())
    assert "Tesla V100" in out.getvalue()


def test_a_row_without_times_has_no_share() -> None:
    failed = row_of_members(without_times(make_gemm(), "failed", "the worker crashed"))
    report = begun_report(out := io.StringIO())
    report.print_row(failed)
    report.end()
    assert "failed: the worker crashed" in out.getvalue()
    assert report.summary([failed]).changed_shares == ""
