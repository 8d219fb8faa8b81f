"""The folder that keeps compiled kernels and scripts of reports from run to run."""

from __future__ import annotations

import os
import stat
from pathlib import Path


def cache_folder() -> Path | None:
    """The folder, which backends find in the same way (kernel_cache.hpp). None: there is none."""
    chosen = os.environ.get("DEEPBENCH_CACHE_DIR")
    if chosen:
        return Path(chosen) if Path(chosen).is_absolute() else None
    for variable, below in (("XDG_CACHE_HOME", "deepbench"), ("HOME", ".cache/deepbench")):
        base = Path(os.environ.get(variable) or "")
        if base.is_absolute():
            return base / below
    return None


def is_private(facts: os.stat_result) -> bool:
    """Whether a file or folder of the cache is the user's or root's, and only its owner can write
    it, as kernel_cache.hpp requires too. Others are not used."""
    return facts.st_uid in (0, os.getuid()) and not facts.st_mode & (stat.S_IWGRP | stat.S_IWOTH)
