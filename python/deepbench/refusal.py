"""The base of every error that ends a command in one line instead of a traceback."""

from __future__ import annotations


class Refusal(Exception):
    """What was wrong, where, and what would be right. `exit_status`: 2 for bad usage or input
    that nothing was done with, 1 where a run was under way."""

    def __init__(self, message: str, exit_status: int = 2) -> None:
        super().__init__(message)
        self.exit_status = exit_status
