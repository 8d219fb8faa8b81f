"""The screen and the estimate of the time left."""

from __future__ import annotations

import fcntl
import io
import os
import struct
import termios

import pytest

from deepbench.progress import Deadline, Estimate, Screen, duration


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_a_report_is_as_wide_as_its_terminal_alone() -> None:
    assert Screen(io.StringIO(), io.StringIO()).report_width() is None
    master, terminal = os.openpty()
    try:
        fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 93, 0, 0))
        with open(terminal, "w", closefd=False) as out:
            assert Screen(out, io.StringIO()).report_width() == 93
    finally:
        os.close(master)
        os.close(terminal)


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0, "0.0 s"),
        (0.00001, "0.0 s"),
        (0.001, "0.001 s"),
        (0.04, "0.04 s"),
        (0.096, "0.1 s"),
        (9.94, "9.9 s"),
        (9.96, "10 s"),
        (59.4, "59 s"),
        (60, "1 min"),
        (200, "3 min 20 s"),
        (3599.6, "1 h"),
        (3900, "1 h 5 min"),
    ],
)
def test_duration(seconds: float, text: str) -> None:
    assert duration(seconds) == text


def test_report_and_talk_go_apart() -> None:
    out, err = io.StringIO(), io.StringIO()
    screen = Screen(out, err)
    screen.report("a row\n")
    screen.say("a word")
    screen.progress("row 1 of 2")  # no terminal: nothing
    screen.clear()
    assert out.getvalue() == "a row\n"
    assert err.getvalue() == "a word\n"


def test_progress_line_is_replaced_and_removed() -> None:
    out, err = Terminal(), Terminal()
    screen = Screen(out, err)
    screen.progress("row 1 of 2")
    screen.progress("too soon to be drawn again")
    assert err.getvalue() == "\rrow 1 of 2"
    screen.report("a row\n")
    assert err.getvalue() == "\rrow 1 of 2\r          \r"
    assert out.getvalue() == "a row\n"
    screen.progress("row 2 of 2")
    screen.say("done")
    assert err.getvalue().endswith("\rrow 2 of 2\r          \rdone\n")
    assert "\x1b" not in err.getvalue()


def test_progress_line_fits_the_terminal() -> None:
    err = Terminal()
    Screen(Terminal(), err).progress("x" * 500)
    assert len(err.getvalue()) == 80  # of 80 columns the last stays free


def test_first_estimate_is_a_guess() -> None:
    estimate = Estimate([1e9] * 10, guess_flops_per_s=1e10, cap_s=10)
    assert estimate.left_s() == pytest.approx(10 * (0.5 + 0.5))


def test_estimate_learns_from_rows() -> None:
    estimate = Estimate([1e9, 3e9, 1e9, 3e9], guess_flops_per_s=1e15, cap_s=100)
    estimate.finished(2.0)
    estimate.finished(4.0)
    assert 4.0 <= estimate.left_s() <= 8.0
    assert estimate.left_s(into_row_s=1.0) == pytest.approx(estimate.left_s() - 1.0)
    estimate.finished(2.0)
    estimate.finished(4.0)
    assert estimate.left_s() == 0.0


def test_large_rows_are_capped_but_for_calls_that_take_longer() -> None:
    assert Estimate([2.4e9], 1e9, cap_s=10).left_s() == pytest.approx(0.5 + 10)
    assert Estimate([1e11], 1e9, cap_s=10).left_s() == pytest.approx(0.5 + 3 * 100)


def test_rows_without_flops_are_estimated_too() -> None:
    estimate = Estimate([0.0] * 4, guess_flops_per_s=1e9, cap_s=10)
    estimate.finished(1.0)
    estimate.finished(1.0)
    assert estimate.left_s() == pytest.approx(2.0)


def test_deadline_passes() -> None:
    assert Deadline(0).remaining_s() == 0
    assert Deadline(100).remaining_s() > 99
    assert Deadline(float("inf")).remaining_s() == float("inf")
