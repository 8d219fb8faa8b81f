"""Compares texts with golden files.

DEEPBENCH_UPDATE_GOLDEN=1 rewrites the golden files. Review them before committing.
"""

from __future__ import annotations

import os

from source_tree import ROOT

GOLDEN = ROOT / "tests/golden"


def check_golden(path: str, text: str) -> None:
    """Fails if the text differs from the file below tests/golden."""
    if os.environ.get("DEEPBENCH_UPDATE_GOLDEN"):
        (GOLDEN / path).write_bytes(text.encode())
    assert text == golden_text(path)


def golden_text(path: str) -> str:
    return (GOLDEN / path).read_bytes().decode()
