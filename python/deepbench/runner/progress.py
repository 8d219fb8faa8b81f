"""The screen of a run: rows on standard output, on a terminal with color and with a
progress bar below them. Elsewhere everything is plain text, and rich is not imported.

This file and environment.py are the only ones in Python that read a clock, and never for a result.
"""

from __future__ import annotations

import contextlib
import io
import os
import sys
import time
from typing import TYPE_CHECKING, TextIO

from deepbench.errors import printable_line, printable_lines, with_ascii_fallbacks
from deepbench.marked_text import MarkedText
from deepbench.terminal_text import folded, shortened_by_words

if TYPE_CHECKING:
    from rich.console import Console, RenderableType

_REDRAW_INTERVAL_S = 0.2  # between two drawings of the progress line
_BAR_COLUMNS = 20
_LEAST_BAR_TERMINAL = 60  # columns; a narrower terminal has no bar
_CTRL_C = "^C"  # what a terminal writes behind the progress line, and clear() removes with it


class Stopwatch:
    """Measures the seconds since its construction."""

    def __init__(self) -> None:
        self._start = time.monotonic()

    def elapsed_s(self) -> float:
        return time.monotonic() - self._start


class Deadline:
    """A point in time some seconds ahead."""

    def __init__(self, seconds: float) -> None:
        self._end = time.monotonic() + seconds

    def remaining_s(self) -> float:
        """Seconds until the deadline, 0 after it."""
        return max(0.0, self._end - time.monotonic())


class Screen:
    """Writes the report to standard output and everything else to standard error. Messages that
    standard error does not accept are dropped, because the run is worth more than a message.

    report() raises BrokenPipeError when the reader of standard output has closed it.
    """

    def __init__(self, out: TextIO | None = None, err: TextIO | None = None) -> None:
        self._out = out or sys.stdout
        self._err = err or sys.stderr
        self._is_terminal = self._err.isatty()
        self._drawn_width = 0  # columns of the progress line on the screen
        self._since_drawn: Stopwatch | None = None

    def report(self, text: str) -> None:
        """Writes complete lines of the report and flushes them. Control characters are replaced,
        since names and notes may come from a file of unknown origin."""
        if not text:
            return
        self.clear()
        if isinstance(text, MarkedText) and self._out.isatty():
            self._write(printable_lines(text[: text.plain_length]))
            marked = printable_lines(text[text.plain_length :])
            self._write(_styled_text(marked, text.style, self._out))
        else:
            self._write(printable_lines(text))
        self._out.flush()

    def without_report(self) -> Screen:
        """A screen with the same standard error, whose report goes nowhere."""
        return Screen(io.StringIO(), self._err)

    def _write(self, text: str) -> None:
        self._out.write(with_ascii_fallbacks(text, self._out.encoding))

    def drop_report(self) -> None:
        """Discards the report from now on, for a reader that has closed standard output."""
        self._out = _redirected_to_nowhere(self._out)

    def report_width(self) -> int | None:
        """Columns of the terminal that shows the report, or None without a terminal."""
        return _terminal_columns(self._out) if self._out.isatty() else None

    def say(self, text: str) -> None:
        """Writes lines to standard error, folded between words on a terminal. Messages of
        libraries pass here too."""
        self.clear()
        lines = printable_lines(text.expandtabs().replace("\r", ""))
        if self._is_terminal:
            lines = _folded_text(lines, _terminal_columns(self._err))
        self._write_message(with_ascii_fallbacks(lines, self._err.encoding) + "\n")

    @property
    def is_due(self) -> bool:
        """Whether a progress line would be drawn: standard error is a terminal, and the last line
        is old enough."""
        return self._is_terminal and not (
            self._since_drawn and self._since_drawn.elapsed_s() < _REDRAW_INTERVAL_S
        )

    def _write_message(self, text: str) -> None:
        try:
            self._err.write(text)
            self._err.flush()
        except OSError:
            self._err, self._is_terminal = _redirected_to_nowhere(self._err), False

    def progress(self, text: str, share: float) -> None:
        """Replaces the progress line if it is due. `share` is the finished part of the work."""
        if not self.is_due:
            return
        columns = _terminal_columns(self._err)
        width = max(0, columns - 1 - len(_CTRL_C))
        self._write_message("\r" + _progress_line(printable_line(text), share, width, self._err))
        self._drawn_width, self._since_drawn = max(0, columns - 1), Stopwatch()

    def clear(self) -> None:
        """Removes the progress line from the screen."""
        if self._drawn_width:
            self._write_message("\r" + " " * self._drawn_width + "\r")
            self._drawn_width, self._since_drawn = 0, None


def _redirected_to_nowhere(stream: TextIO) -> TextIO:
    """A stream that discards all text. So does the given one, with what it has buffered."""
    nowhere = open(os.devnull, "w", encoding="utf-8")  # noqa: PTH123, SIM115
    with contextlib.suppress(OSError, ValueError):  # a stream in memory has no descriptor
        os.dup2(nowhere.fileno(), stream.fileno())
    return nowhere


def _terminal_columns(stream: TextIO) -> int:
    try:
        return os.get_terminal_size(stream.fileno()).columns or 80
    except (OSError, ValueError):
        return 80


def _folded_text(text: str, width: int) -> str:
    return "\n".join(part for line in text.split("\n") for part in folded(line, width))


def _progress_line(text: str, share: float, width: int, stream: TextIO) -> str:
    """A bar and a text in exactly `width` columns."""
    from rich.progress_bar import ProgressBar
    from rich.table import Table
    from rich.text import Text

    line = Table.grid(padding=(0, 1), pad_edge=False, expand=True)
    text_width = width
    cells: list[RenderableType] = []
    if width >= _LEAST_BAR_TERMINAL - 3:
        text_width -= _BAR_COLUMNS + 1
        line.add_column(width=_BAR_COLUMNS)
        cells.append(ProgressBar(total=1.0, completed=share, width=_BAR_COLUMNS))
    line.add_column(ratio=1, no_wrap=True, overflow="crop")
    # A Text, since rich would read [brackets] of a str as markup.
    line.add_row(*cells, Text(shortened_by_words(text, text_width)))
    console = _console_for(stream, width)
    with console.capture() as capture:
        console.print(line, end="")
    return capture.get().rstrip("\n")


def _styled_text(text: str, style: str, stream: TextIO) -> str:
    """The text in a style, unless the terminal has no colors or NO_COLOR is set."""
    from rich.text import Text

    console = _console_for(stream, _terminal_columns(stream))
    with console.capture() as capture:
        console.print(Text(text, style), end="", soft_wrap=True)
    return capture.get()


def _console_for(stream: TextIO, width: int) -> Console:
    from rich.console import Console

    return Console(file=stream, width=width)


def duration_text(seconds: float) -> str:
    """A duration in units that suit it: 0.04 s, 0.4 s, 12 s, 3 min 20 s, 1 h 5 min."""
    if 0.001 <= seconds < 0.095:
        return f"{seconds:.1g} s"
    if seconds < 9.95:
        return f"{seconds:.1f} s"
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        minutes, rest = divmod(whole, 60)
        return f"{minutes} min {rest} s" if rest else f"{minutes} min"
    hours, rest = divmod(whole // 60, 60)
    return f"{hours} h {rest} min" if rest else f"{hours} h"


def rough_duration_text(seconds: float) -> str:
    """A rounded duration for an estimate: 3 s, 35 s, 1 min 20 s, 4 h 40 min."""
    steps = {10: 1, 60: 5, 120: 10, 3600: 60, 36_000: 600}  # upper bound: rounding step, seconds
    step = next((step for below, step in steps.items() if seconds < below), 3600)
    return duration_text(max(step, round(seconds / step) * step)).replace(".0 s", " s")
