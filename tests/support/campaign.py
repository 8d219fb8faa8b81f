"""Runs a check on many examples: a fixed number of them, or as many as a time allows. Each example
has limits on its time and memory."""

from __future__ import annotations

import contextlib
import hashlib
import signal
import tempfile
import time
import unicodedata
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NoReturn

import pytest
from hypothesis import HealthCheck, given, seed, settings
from hypothesis import strategies as st

# CPU time, so that a busy machine makes no example fail. The second limit is for native code, in
# which Python cannot raise an exception: it ends the process.
_MAX_CPU_S, _MAX_NATIVE_CPU_S = 20.0, 120.0
_MAX_MEMORY_KIB = 512 << 10  # that an example may add to what the process has
_CONTROLS = ("Cc", "Zl", "Zp")  # categories of characters: controls, ends of lines and paragraphs
_DIRECTIONS = ("LRE", "RLE", "LRO", "RLO", "PDF", "LRI", "RLI", "FSI", "PDI")  # changes of them
_PEAK = Path("/proc/self/clear_refs")  # writing 5 to it resets the peak of the process's memory


class ExampleTooSlow(Exception):
    """An example took more CPU time than any input should."""


class Campaign:
    """The examples of one test. All of them follow from a seed."""

    def __init__(self, name: str, first_seed: int, duration_s: float | None) -> None:
        self.name = name
        self.examples = 0
        self.took_s = 0.0
        self._seed = first_seed
        self._duration_s = duration_s  # None: the number of examples that the test names
        self._failing: tuple[Any, ...] = ()

    def run(
        self, check: Callable[..., object], *inputs: st.SearchStrategy[Any], count: int
    ) -> None:
        """Calls `check` with examples of `inputs`, `count` times or, in blocks of that size that
        have a seed each, as long as the campaign takes."""
        began, number = time.monotonic(), self._seed
        while True:
            self._run_block(check, inputs, number, count)
            self.took_s = time.monotonic() - began
            if self._duration_s is None or self.took_s >= self._duration_s:
                return
            number += 1

    def _run_block(
        self,
        check: Callable[..., object],
        inputs: tuple[st.SearchStrategy[Any], ...],
        number: int,
        count: int,
    ) -> None:
        def check_example(values: tuple[Any, ...]) -> None:
            self.examples += 1
            try:
                with _limited():
                    check(*values)
            except Exception:
                self._failing = values
                raise

        chosen = settings(
            max_examples=count,
            database=None,
            deadline=None,
            report_multiple_bugs=False,
            suppress_health_check=list(HealthCheck),
        )
        try:
            with _failing_instead_of_hanging():
                seed(number)(chosen(given(st.tuples(*inputs))(check_example)))()
        except Exception as error:
            print(f"repeat it with --seed {number}{self._saved_failure()}")
            raise error

    def _saved_failure(self) -> str:
        """Where the first bytes of the failing example are saved."""
        data = next((one for one in self._failing if isinstance(one, bytes)), None)
        if data is None:
            return ""
        digest = hashlib.sha256(data).hexdigest()[:12]
        path = Path(tempfile.gettempdir(), f"deepbench-{self.name}-{digest}")
        path.write_bytes(data)
        return f"; the input is in {path}, for tests/fuzz/corpus/{self.name}"


def require_printable_line(message: object) -> None:
    """Fails unless a message is one line that every terminal can show."""
    text = str(message)
    assert text
    assert text.isprintable(), f"unprintable: {text!r}"
    assert len(text) <= 2000, f"a message of {len(text)} characters: {text[:200]!r}"


def require_line_without_controls(message: object) -> None:
    """Fails unless a message of the native core is one line that controls no terminal. The core
    does not know which characters Unicode has assigned."""
    text = str(message)
    assert text
    controls = [
        letter
        for letter in text
        if unicodedata.category(letter) in _CONTROLS
        or unicodedata.bidirectional(letter) in _DIRECTIONS
    ]
    assert not controls, f"{controls} in {text!r}"
    assert len(text) <= 2000, f"a message of {len(text)} characters: {text[:200]!r}"


@contextlib.contextmanager
def _failing_instead_of_hanging() -> Iterator[None]:
    if not hasattr(signal, "SIGPROF"):
        yield
        return
    before = signal.signal(signal.SIGPROF, _raise_too_slow)
    try:
        yield
    finally:
        signal.signal(signal.SIGPROF, before)


def _raise_too_slow(number: int, frame: object) -> NoReturn:
    raise ExampleTooSlow(f"more than {_MAX_CPU_S:.0f} s of CPU time")


@contextlib.contextmanager
def _limited() -> Iterator[None]:
    base = _reset_peak_kib()
    signal.setitimer(signal.ITIMER_PROF, _MAX_CPU_S)
    signal.setitimer(signal.ITIMER_VIRTUAL, _MAX_NATIVE_CPU_S)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
    if base is not None:
        added = _memory_kib("VmHWM") - base
        assert added <= _MAX_MEMORY_KIB, f"the example took {added} KiB of memory"


def _reset_peak_kib() -> int | None:
    """The memory that the process has now. None where its peak cannot be reset."""
    try:
        _PEAK.write_text("5")
    except OSError:
        return None
    return _memory_kib("VmRSS")


def _memory_kib(name: str) -> int:
    text = Path("/proc/self/status").read_text()
    return int(text.partition(f"{name}:")[2].split(maxsplit=1)[0])


def corpus(target: str) -> list[Any]:
    """The files of a target's corpus, as parameters of a test."""
    folder = Path(__file__).parents[1] / "fuzz/corpus" / target
    files = sorted(folder.iterdir()) if folder.is_dir() else []
    return [pytest.param(path, id=path.name) for path in files]
