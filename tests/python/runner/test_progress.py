"""The screen and the estimate of the time left."""

from __future__ import annotations

import fcntl
import io
import os
import re
import struct
import termios

import pytest

from deepbench.marked_text import MarkedText
from deepbench.runner.progress import Deadline, Screen, duration_text, rough_duration_text


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
    assert duration_text(seconds) == text


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
    assert rough_duration_text(seconds) == text


def test_report_and_talk_go_apart() -> None:
    out, err = io.StringIO(), io.StringIO()
    screen = Screen(out, err)
    screen.report("a row\n")
    screen.say("a word")
    assert not screen.is_due
    screen.progress("row 1 of 2", 0.0)  # no terminal: nothing
    screen.clear()
    assert out.getvalue() == "a row\n"
    assert err.getvalue() == "a word\n"


BAR = "\N{BOX DRAWINGS HEAVY HORIZONTAL}" * 20


def without_escapes(text: str) -> str:
    return re.sub(r"\x1b\[[0-9;]*m", "", text)


def test_progress_line_is_replaced_and_removed() -> None:
    out, err = Terminal(), Terminal()
    screen = Screen(out, err)
    assert screen.is_due
    screen.progress("row 1 of 2", 0.0)
    assert not screen.is_due
    screen.progress("too soon to be drawn again", 0.5)
    drawn = without_escapes(err.getvalue())
    assert drawn == "\r" + BAR + " " + "row 1 of 2".ljust(56)
    screen.report("a row\n")
    assert without_escapes(err.getvalue()) == drawn + "\r" + " " * 79 + "\r"
    assert out.getvalue() == "a row\n"
    screen.progress("row 2 of 2", 0.5)
    screen.say("done")
    assert without_escapes(err.getvalue()).endswith("\r" + " " * 79 + "\rdone\n")
    assert "\x1b[?" not in err.getvalue()  # the cursor stays: a killed run leaves no trace


@pytest.mark.parametrize("text", ["x" * 500, "[red]a row[/red] :smile: \x1b[31m\n", ""])
def test_progress_line_fits_the_terminal(text: str) -> None:
    err = Terminal()
    Screen(Terminal(), err).progress(text, 0.3)
    drawn = without_escapes(err.getvalue())
    assert len(drawn) == 1 + 77  # of 80 columns three stay free: for ^C and the cursor
    if text.startswith("["):
        assert "[red]a row[/red] :smile: \N{REPLACEMENT CHARACTER}[31m" in drawn


def test_messages_are_folded_between_words_on_a_terminal() -> None:
    pipe, terminal = io.StringIO(), Terminal()
    text = "deepbench: warning: " + "words " * 20 + "end\n  of it"
    for err in (pipe, terminal):
        Screen(io.StringIO(), err).say(text)
    assert pipe.getvalue() == text + "\n"
    assert max(map(len, terminal.getvalue().splitlines())) <= 80
    assert terminal.getvalue().split() == text.split()
    assert terminal.getvalue().endswith("\n  of it\n")


def test_a_long_progress_line_ends_with_a_whole_word() -> None:
    """A part of a number would look like another number."""
    err = Terminal()
    problem = "gemm m=1760 n=16 k=1760 trans_a=n precision=half"
    Screen(Terminal(), err).progress(f"row 1 of 2: {problem}", 0.3)
    shown = without_escapes(err.getvalue())
    assert shown.rstrip().endswith(" row 1 of 2: gemm m=1760 n=16 k=1760 trans_a=n ...")


def test_a_narrow_terminal_has_no_bar() -> None:
    master, terminal = os.openpty()
    try:
        fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 40, 0, 0))
        with open(terminal, "w", closefd=False) as err:
            Screen(io.StringIO(), err).progress("row 1 of 2", 0.0)
        assert without_escapes(os.read(master, 1000).decode()) == f"\r{'row 1 of 2':<37}"
    finally:
        os.close(master)
        os.close(terminal)


def test_marked_text_has_color_on_a_terminal_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.delenv("NO_COLOR", raising=False)
    text = MarkedText("m\n", "16 [b] failed: \x1b[2J\n", "red")
    clean = "m\n16 [b] failed: \N{REPLACEMENT CHARACTER}[2J\n"
    terminal, pipe = Terminal(), io.StringIO()
    Screen(terminal, Terminal()).report(text)
    Screen(pipe, Terminal()).report(text)
    assert terminal.getvalue().startswith("m\n\x1b[31m16 [b]")
    assert without_escapes(terminal.getvalue()) == pipe.getvalue() == clean


@pytest.mark.parametrize(("name", "value"), [("NO_COLOR", "1"), ("TERM", "dumb")])
def test_color_can_be_switched_off(monkeypatch: pytest.MonkeyPatch, name: str, value: str) -> None:
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.setenv(name, value)
    out, err = Terminal(), Terminal()
    screen = Screen(out, err)
    screen.report(MarkedText("", "a row\n", "red"))
    screen.progress("row 1 of 2", 0.5)
    assert out.getvalue() == "a row\n"
    assert "\x1b[3" not in err.getvalue()


def test_deadline_passes() -> None:
    assert Deadline(0).remaining_s() == 0
    assert Deadline(100).remaining_s() > 99
    assert Deadline(float("inf")).remaining_s() == float("inf")
