"""Waiting in a test for what another process does."""

from __future__ import annotations

import time
from collections.abc import Callable


def wait_until(happens: Callable[[], bool], limit_s: float = 60) -> None:
    """Returns when the condition holds. Raises an error if it does not hold within the limit."""
    end = time.monotonic() + limit_s
    while not happens():
        assert time.monotonic() < end, "it never happened"
        time.sleep(0.005)
