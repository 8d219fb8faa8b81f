"""The command line in a process of its own."""

from __future__ import annotations

import subprocess
import sys

DEEPBENCH = [sys.executable, "-m", "deepbench"]


def deepbench(*arguments: str, text: str | None = None) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*DEEPBENCH, *arguments], input=text, capture_output=True, text=True, timeout=120
    )
