"""The environment variables of a side, from the command line."""

from __future__ import annotations

import re
from collections.abc import Sequence

from deepbench.errors import UsageError, in_quotes

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
# Variables that a side cannot set, because one deepbench runs both sides on one device and starts
# their workers itself.
_OWN = {
    "_DEEPBENCH_WORKER": "deepbench finds its workers by it",
    "CUDA_VISIBLE_DEVICES": "both sides use one device, which --device names",
}
_OF_RANKS = re.compile(
    r"RANK|WORLD_SIZE|(LOCAL|MASTER|OMPI_COMM|PMI|PMIX|SLURM|TORCHELASTIC)_.*"
    r"|DEEPBENCH_(RANKS_.*|MASTER_PORT|RENDEZVOUS_TIMEOUT)"
)
_OF_THE_INTERPRETER = "PYTHON"


def parse_variables(flag: str, words: Sequence[str]) -> dict[str, str]:
    """The variables that KEY=VALUE words set. Raises UsageError."""
    variables: dict[str, str] = {}
    for word in words:
        name, equals, value = word.partition("=")
        if not equals or not _NAME.fullmatch(name):
            raise UsageError(
                f"{flag} {in_quotes(word)}: must set a variable, as in {flag} OMP_NUM_THREADS=2"
            )
        if name in variables:
            raise UsageError(f"{flag} {name} is given twice")
        if reason := _refusal(name):
            raise UsageError(f"{flag} {name}: cannot be set: {reason}")
        variables[name] = value
    return variables


def _refusal(name: str) -> str | None:
    """The reason why a side cannot set a variable; None if it can."""
    if _OF_RANKS.fullmatch(name):
        return "ab measures without ranks"
    if name.startswith(_OF_THE_INTERPRETER):
        return "one Python runs both sides"
    return _OWN.get(name)
