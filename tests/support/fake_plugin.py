"""The fake backend of tests/plugins, built against the installed headers."""

from __future__ import annotations

import subprocess
from pathlib import Path

from required_tools import require_program
from source_tree import ROOT

PLUGINS = ROOT / "tests/plugins"


def build_fake_backend(library: Path) -> Path:
    """Compiles it as `library` and returns that; skips the test where there is no compiler."""
    from deepbench import _core

    compiler = require_program("cc", "gcc")
    headers = Path(_core.package_directory()) / "include"
    subprocess.run(
        [compiler, "-std=c11", "-D_GNU_SOURCE", "-O1", "-shared", "-fPIC", f"-I{headers}",
         "-o", str(library), str(PLUGINS / "fake_backend.c"), "-lm"],
        check=True,
    )  # fmt: skip
    return library
