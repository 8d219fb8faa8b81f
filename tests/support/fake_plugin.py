"""The fake backend of tests/plugins, built against the installed headers."""

from __future__ import annotations

import subprocess
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

from required_tools import require_program
from source_tree import ROOT

PLUGINS = ROOT / "tests/plugins"


def build_fake_backend(library: Path) -> Path:
    """Writes it as `library` and returns that; skips the test where there is no compiler."""
    library.write_bytes(_compiled_backend())
    library.chmod(0o755)
    return library


@cache
def _compiled_backend() -> bytes:
    from deepbench import _core

    compiler = require_program("cc", "gcc")
    headers = Path(_core.package_directory()) / "include"
    with TemporaryDirectory() as folder:
        library = Path(folder, "libdeepbench_fake.so")
        subprocess.run(
            [compiler, "-std=c11", "-D_GNU_SOURCE", "-O2", "-shared", "-fPIC", f"-I{headers}",
             "-o", str(library), str(PLUGINS / "fake_backend.c"), "-lm"],
            check=True,
        )  # fmt: skip
        return library.read_bytes()
