"""Compares texts with golden files.

DEEPBENCH_UPDATE_GOLDEN=1 rewrites the golden files. Review them before committing.
"""

from __future__ import annotations

import os

from source_tree import ROOT


def check_golden(path: str, text: str) -> None:
    """Fails if the text differs from the file below tests/golden."""
    file = ROOT / "tests/golden" / path
    if os.environ.get("DEEPBENCH_UPDATE_GOLDEN"):
        file.write_bytes(text.encode())
    assert text == file.read_bytes().decode()
