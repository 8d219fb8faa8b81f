"""Traces: reads the calls of a program that a profiler or a library recorded (torch.profiler, the
logs of cuBLASLt and oneDNN), and writes them as a suite with counts and their times as a result
file."""

from __future__ import annotations

from deepbench.traces.errors import TraceError
from deepbench.traces.reading import read_trace
from deepbench.traces.recording import LeftOut, Recorded, Recording
from deepbench.traces.suite_text import suite_text
from deepbench.traces.time_rows import time_file

__all__ = [
    "LeftOut",
    "Recorded",
    "Recording",
    "TraceError",
    "read_trace",
    "suite_text",
    "time_file",
]
