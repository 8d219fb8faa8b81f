"""Options of the campaigns, and the numbers of examples that they ran."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from campaign import Campaign

_CAMPAIGNS = pytest.StashKey[list[Campaign]]()
_COUNT = pytest.StashKey[int]()


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("campaigns")
    hours = "divide this time among the fuzzers, instead of the short form"
    group.addoption("--hours", type=float, default=0.0, help=hours)
    group.addoption("--seed", type=int, default=0, help="the first seed of the fuzzers' examples")
    group.addoption("--kills", type=int, default=0, help="kills of the campaign on ranks")


def pytest_configure(config: pytest.Config) -> None:
    config.stash[_CAMPAIGNS] = []


def pytest_collection_finish(session: pytest.Session) -> None:
    session.config.stash[_COUNT] = sum(
        "campaign" in getattr(item, "fixturenames", ()) for item in session.items
    )


@pytest.fixture
def campaign(request: pytest.FixtureRequest) -> Iterator[Campaign]:
    """The examples of this test: a fixed number, the same in every run, unless the command line
    gives a time or a seed. The time is divided among the tests of the command."""
    config = request.config
    hours = float(config.getoption("--hours", 0.0) or 0.0)
    duration_s = hours * 3600 / config.stash[_COUNT] if hours else None
    name = request.node.path.stem.removeprefix("test_")
    one = Campaign(name, int(config.getoption("--seed", 0) or 0), duration_s)
    yield one
    config.stash[_CAMPAIGNS].append(one)


def pytest_terminal_summary(
    terminalreporter: pytest.TerminalReporter, config: pytest.Config
) -> None:
    for one in config.stash.get(_CAMPAIGNS, []):
        terminalreporter.write_line(f"{one.name}: {one.examples} examples in {one.took_s:.1f} s")
