"""The MPIs that tests start ranks with.

DEEPBENCH_TEST_MPI names the folders that they are installed in (bin/mpirun, lib/libmpi.so), with
colons between them; otherwise whatever is installed beside this Python is taken.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

LIMIT_S = 600


def mpi_folders() -> list[Path]:
    named = os.environ.get("DEEPBENCH_TEST_MPI", "")
    places = [Path(word) for word in named.split(":") if word] or [Path(sys.prefix)]
    return [place for place in places if (place / "bin/mpirun").exists()]


def mpi_environment(mpi: Path) -> dict[str, str]:
    ours = ("RANK", "WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT", "DEEPBENCH_")
    kept = {name: value for name, value in os.environ.items() if not name.startswith(ours)}
    return kept | {
        "PATH": f"{mpi / 'bin'}:{kept['PATH']}",
        "DEEPBENCH_CPU_LIBRARY_PATH": str(mpi / "lib"),
        # Open MPI refuses root, and more ranks than cores.
        "OMPI_ALLOW_RUN_AS_ROOT": "1",
        "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
        "PRTE_MCA_rmaps_default_mapping_policy": ":oversubscribe",
    }


def run_mpi(mpi: Path, words: list[str], **variables: str) -> subprocess.CompletedProcess[str]:
    environment = mpi_environment(mpi) | variables
    return subprocess.run(words, capture_output=True, text=True, timeout=LIMIT_S, env=environment)
