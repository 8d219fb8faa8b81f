"""Tools that a test needs. Where the environment variable CI is set, a missing one is a failure, so
that no test is skipped unnoticed; elsewhere the test is skipped."""

from __future__ import annotations

import importlib.util
import os
import shutil

import pytest


def require_module(name: str) -> None:
    if importlib.util.find_spec(name) is None:
        _skip_or_fail(f"the Python module {name} is not installed")


def require_program(*names: str) -> str:
    """The path of the first of these programs that is installed."""
    for name in names:
        if path := shutil.which(name):
            return path
    _skip_or_fail(f"{' or '.join(names)} is not installed")
    raise AssertionError


def _skip_or_fail(reason: str) -> None:
    if os.environ.get("CI"):
        pytest.fail(f"{reason}, and CI must not skip a test")
    pytest.skip(reason, allow_module_level=True)
