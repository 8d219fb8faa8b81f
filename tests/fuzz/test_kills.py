"""Kills of a run on two ranks lose no row, leave no process, and leave nothing in shared memory.

The short form kills a few times at moments that differ from run to run, which no machine could
repeat; `--kills 100` is the campaign.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from kill_campaign import KillCampaign

SHORT = 10  # kills
# In which the processes of a killed run must have ended. The short form, which runs on busy
# machines, looks for processes that do not end by themselves.
ORPHAN_S, SHORT_ORPHAN_S = 10.0, 50.0


@pytest.mark.skipif(
    not Path(f"/proc/self/task/{os.getpid()}/children").exists(),
    reason="a process cannot be asked for its children here",
)
@pytest.mark.parametrize("backend", ["cpu"])
def test_kills_of_ranks(
    request: pytest.FixtureRequest, tmp_path: Path, cpu: None, backend: str
) -> None:
    kills = int(request.config.getoption("--kills", 0) or 0)
    seed = int(request.config.getoption("--seed", 0) or 0)
    orphan_s = ORPHAN_S if kills else SHORT_ORPHAN_S
    found = KillCampaign(tmp_path, ("--backend", backend), seed, orphan_s).run(kills or SHORT)
    print(found.text)
    assert not found.problems, "\n".join([found.text, *found.problems])
