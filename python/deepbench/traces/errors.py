"""Errors about traces and logs: one line that names the file and the cure."""

from __future__ import annotations

from deepbench.errors import UserError


class TraceError(UserError):
    """A trace cannot be used. The message is one line."""


class CallError(ValueError):
    """A call of a trace is no problem of deepbench. The text is the reason, for a list."""
