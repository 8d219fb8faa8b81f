"""Writes the content of a trace as a suite, with a line per problem and application."""

from __future__ import annotations

from deepbench.errors import printable_line
from deepbench.traces.recording import Recording


def suite_text(recording: Recording, name: str) -> str:
    """The suite. `name` is that of the trace's file."""
    lines = [f"# Calls of {printable_line(name)}, {recording.source}.", ""]
    for one in recording.problems:
        for application, count in one.applications.items():
            named = f" application={_quoted(application)}" if application else ""
            lines.append(f"{one.words} count={count}{named}")
    return "\n".join(lines) + "\n"


def _quoted(text: str) -> str:
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'
