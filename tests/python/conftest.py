"""What tests need of the machine: those marked gpu are skipped, with a reason, where no NVIDIA
device can be used. None fails because the machine is busy: examples have no deadline."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from functools import cache

import pytest

try:
    import hypothesis
except ImportError:  # tests that need it say so; those of devices do not
    pass
else:
    hypothesis.settings.register_profile("unhurried", deadline=None)
    hypothesis.settings.load_profile("unhurried")


@cache
def gpu_reason() -> str | None:
    """Why no NVIDIA device can be used here, or None."""
    command = [sys.executable, "-m", "deepbench", "env", "--format", "json"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    if done.returncode:
        return done.stderr.strip() or f"env ends with status {done.returncode}"
    for backend in json.loads(done.stdout)["backends"]:
        if backend["name"] == "cuda":
            return backend["reason"]
    return "this deepbench has no CUDA backend"


@pytest.fixture(scope="session")
def isolated_cache(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Nothing is kept where the user's is."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("DEEPBENCH_CACHE_DIR", str(tmp_path_factory.mktemp("cache")))
        yield


def pytest_runtest_setup(item: pytest.Item) -> None:
    if item.get_closest_marker("gpu") and gpu_reason():
        pytest.skip(f"no NVIDIA device: {gpu_reason()}")
