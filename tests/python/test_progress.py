"""The screen and the estimate of the time left."""

from __future__ import annotations

import fcntl
import io
import os
import struct
import termios

import pytest

from deepbench.runner.progress import Deadline, Screen, duration, rough_duration


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


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0, "1 s"),
        (3.4, "3 s"),
        (9.6, "10 s"),
        (58.9, "1 min"),
        (78, "1 min 20 s"),
        (596, "10 min"),
        (3599, "1 h"),
        (16_860, "4 h 40 min"),
        (90_000, "25 h"),
    ],
)
def test_an_estimate_is_rounded(seconds: float, text: str) -> None:
    assert rough_duration(seconds) == text


def test_report_and_talk_go_apart() -> None:
    out, err = io.StringIO(), io.StringIO()
    screen = Screen(out, err)
    screen.report("a row\n")
    screen.say("a word")
    assert not screen.is_due
    screen.progress("row 1 of 2")  # no terminal: nothing
    screen.clear()
    assert out.getvalue() == "a row\n"
    assert err.getvalue() == "a word\n"


def test_progress_line_is_replaced_and_removed() -> None:
    out, err = Terminal(), Terminal()
    screen = Screen(out, err)
    assert screen.is_due
    screen.progress("row 1 of 2")
    assert not screen.is_due
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


def test_deadline_passes() -> None:
    assert Deadline(0).remaining_s() == 0
    assert Deadline(100).remaining_s() > 99
    assert Deadline(float("inf")).remaining_s() == float("inf")
